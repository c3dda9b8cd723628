// Requests that the `openai` client carries: what reaches the server, and what a failure says. The suites of
// Responses and embeddings claim the rest.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { apiKey, ask, closeServers, type Handler, json, serve } from '../test/kit.ts'
import { httpPost, type HttpPost } from './http-post.ts'
import { openAiChatProvider } from './openai-chat.ts'
import type { ClientVariant } from './openai-client.ts'
import { openAiEmbeddings } from './provider-bundle.ts'
import { openAiEndpoint } from './openai-endpoint.ts'
import { openAiResponsesProvider } from './openai-responses.ts'

const folder = mkdtempSync(join(tmpdir(), 'beaver-client-'))
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(async () => {
  vi.unstubAllEnvs()
  await closeServers()
})

interface Seen {
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Record<string, unknown>
}
let seen: Seen[] = []
beforeEach(() => (seen = []))

const answering =
  (answer: (seen: Seen) => Handler): Handler =>
  (incoming, response, body) => {
    const each = {
      url: incoming.url ?? '',
      headers: incoming.headers,
      body: JSON.parse(body) as Record<string, unknown>,
    }
    seen.push(each)
    answer(each)(incoming, response, body)
  }

const completion = json({
  id: 'c',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
})
const vectors = json({ data: [{ index: 0, embedding: [1, 2] }] })
const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hello' }] }
const response = json({ id: 'r', object: 'response', model: 'm', status: 'completed', output: [message] })
const never = new AbortController().signal

describe('Azure', () => {
  const azure = async (deployment?: string) => ({
    ...{ name: 'azure', apiKey, model: 'gpt-5', timeoutMs: 20_000, headers: { 'X-Title': 'Beaver' } },
    baseURL: (
      await serve(
        answering(({ url }) =>
          url.includes('embeddings') ? vectors : url.includes('responses') ? response : completion,
        ),
      )
    ).replace('/v1', '/openai'),
    variant: { azure: { apiVersion: '2026-01-01', ...(deployment === undefined ? {} : { deployment }) } },
  })

  it('is asked for a deployment and a version, with the key in its own header', async () => {
    expect((await openAiChatProvider(await azure()).chat(ask())).content).toBe('hello')
    expect((await openAiChatProvider(await azure('mine')).chat(ask())).content).toBe('hello')
    expect(seen.map(({ url }) => url)).toEqual([
      '/openai/deployments/gpt-5/chat/completions?api-version=2026-01-01',
      '/openai/deployments/mine/chat/completions?api-version=2026-01-01',
    ])
    for (const { headers, body } of seen) {
      expect(headers).toMatchObject({
        'api-key': apiKey,
        'content-type': 'application/json',
        'x-title': 'Beaver',
      })
      expect(headers['authorization']).toBeUndefined()
      expect(body).toMatchObject({ model: 'gpt-5', messages: [{ role: 'user' }] })
    }
  })

  it('is asked for vectors and for responses', async () => {
    expect((await openAiEmbeddings(await azure()).embed(['a'], never)).vectors).toEqual([[1, 2]])
    expect((await openAiResponsesProvider(await azure()).chat(ask())).content).toBe('hello')
    expect(seen.map(({ url }) => url)).toEqual([
      '/openai/deployments/gpt-5/embeddings?api-version=2026-01-01',
      '/openai/responses?api-version=2026-01-01',
    ])
  })
})

describe('a workload identity', () => {
  const file = join(folder, 'token')
  /** Takes the place of OpenAI's server of tokens, whose address the client does not let anybody change. */
  async function standing(tokens: Handler): Promise<HttpPost> {
    const at = new URL(await serve(answering(() => tokens)))
    const http = httpPost()
    return (url, ...rest) => http(url.host === 'auth.openai.com' ? new URL(url.pathname, at) : url, ...rest)
  }
  let issued = 0
  beforeEach(() => void (issued = 0))
  const issue: Handler = (...given) =>
    json({
      access_token: `access-token-${++issued}`,
      issued_token_type: 'x',
      token_type: 'Bearer',
      expires_in: 3600,
    })(...given)
  const variant: ClientVariant = {
    workloadIdentity: { identityProviderId: 'idp_1', serviceAccountId: 'sa_1', token: { file } },
  }
  const asking = async (model: Handler, tokens: Handler = issue, over: { variant?: ClientVariant } = {}) =>
    openAiChatProvider({
      ...{
        name: 'openai',
        apiKey: 'none',
        keyName: 'model.workload_identity',
        model: 'm',
        timeoutMs: 20_000,
        variant,
        ...over,
      },
      ...{ baseURL: await serve(answering(() => model)), http: await standing(tokens) },
    })

  it('gives the token of its place for one of OpenAI, and uses that for the next requests, too', async () => {
    writeFileSync(file, 'token-of-the-cluster\n')
    const provider = await asking(completion)
    const answers = await Promise.all([provider.chat(ask()), provider.chat(ask())])
    expect([...answers, await provider.chat(ask())].map(({ content }) => content)).toEqual([
      'hello',
      'hello',
      'hello',
    ])
    const [exchange, ...calls] = seen
    expect([exchange?.url, exchange?.body]).toMatchObject([
      '/oauth/token',
      { subject_token: 'token-of-the-cluster', identity_provider_id: 'idp_1', service_account_id: 'sa_1' },
    ])
    expect(calls.map(({ headers }) => headers['authorization'])).toEqual(
      calls.map(() => 'Bearer access-token-1'),
    )
    expect(calls).toHaveLength(3)
  })

  it('gets a new token once if its token is refused', async () => {
    writeFileSync(file, 'token-of-the-cluster')
    let asked = 0
    const provider = await asking((...given) =>
      ++asked === 1 ? json({ error: { message: 'expired' } }, 401)(...given) : completion(...given),
    )
    expect((await provider.chat(ask())).content).toBe('hello')
    expect(seen.map(({ headers }) => headers['authorization'])).toEqual([
      undefined,
      'Bearer access-token-1',
      undefined,
      'Bearer access-token-2',
    ])
  })

  it('shows no token, also if a server echoes one', async () => {
    writeFileSync(file, 'token-of-the-cluster')
    const provider = await asking((incoming, ...rest) =>
      json(
        { error: { message: `${'x'.repeat(280)} I saw ${incoming.headers.authorization?.slice(7)}` } },
        400,
      )(incoming, ...rest),
    )
    const message = await provider.chat(ask()).then(
      () => '',
      (error: Error) => error.message,
    )
    expect(message).toMatch(/I saw \[/)
    expect(message).not.toContain('access')
  })

  it('is waited for no longer than the call', async () => {
    writeFileSync(file, 'token-of-the-cluster')
    const asked = Promise.withResolvers<void>()
    const stop = new AbortController()
    const call = (await asking(completion, () => asked.resolve())).chat(ask({ signal: stop.signal }))
    await asked.promise
    stop.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
  })

  it.each<[string, () => ClientVariant, Handler, object]>([
    [
      'no file',
      () => ({
        workloadIdentity: {
          identityProviderId: 'i',
          serviceAccountId: 's',
          token: { file: join(folder, 'none') },
        },
      }),
      issue,
      {
        class: 'provider_unavailable',
        message: expect.stringMatching(
          /^There is no token for the endpoint .*none.*Check "workload_identity" in the configuration\.$/,
        ) as string,
      },
    ],
    [
      'refused',
      () => variant,
      json({ error: 'invalid_grant', error_description: 'unknown service account' }, 401),
      {
        class: 'provider_refused',
        message: expect.stringMatching(
          /HTTP 401: .*unknown service account.*Check "workload_identity"/,
        ) as string,
      },
    ],
    ['a server of tokens that is down', () => variant, json('', 503), { class: 'provider_unavailable' }],
    [
      'a token that is none',
      () => variant,
      json({ access_token: '' }),
      { class: 'provider_unavailable', message: expect.stringMatching(/^There is no token/) as string },
    ],
    [
      'no connection',
      () => variant,
      (_, answer) => void answer.destroy(),
      {
        class: 'provider_unavailable',
        message: expect.stringMatching(
          /auth\.openai\.com cannot be reached: .*Check "workload_identity"/,
        ) as string,
      },
    ],
  ])('that cannot be proven says so: %s', async (_, of, tokens, failure) => {
    writeFileSync(file, 'token-of-the-cluster')
    await expect((await asking(completion, tokens, { variant: of() })).chat(ask())).rejects.toMatchObject(
      failure,
    )
    expect(seen.filter(({ url }) => url !== '/oauth/token')).toEqual([])
  })
})

describe('a request through the client', () => {
  const endpoint = async (handler: Handler) =>
    openAiEndpoint({
      name: 'x',
      apiKey,
      model: 'm',
      timeoutMs: 20_000,
      baseURL: await serve(answering(() => handler)),
    })

  it.each([
    ['an error of OpenAI', { error: { message: 'bad', type: 't', code: 'c' } }],
    ['an error without a member', { object: 'error', message: 'bad', code: 400 }],
    ['a text', 'bad'],
  ])('has a refusal with its whole body: %s', async (_, body) => {
    const { post } = await endpoint(json(body, 422, { 'retry-after': '7' }))
    const refusal = await post('/responses', { body: '{}' }, never).catch(
      (error: unknown) => error as { headers: Headers },
    )
    expect(refusal).toMatchObject({ name: 'EndpointRefusal', status: 422, serverError: { message: 'bad' } })
    expect((refusal as { headers: Headers }).headers.get('retry-after')).toBe('7')
    expect(seen).toHaveLength(1)
  })

  it('is sent once, whatever the answer asks for, and follows no redirect', async () => {
    const other = await serve(answering(() => response))
    for (const handler of [
      json({}, 503, { 'x-should-retry': 'true' }),
      json({}, 429, { 'retry-after': '0' }),
      json('', 307, { location: other }),
    ])
      await expect((await endpoint(handler)).post('/responses', { body: '{}' }, never)).rejects.toMatchObject(
        { name: 'EndpointRefusal' },
      )
    expect(seen).toHaveLength(3)
  })

  it.each(['/responses', '/chat/completions'])(
    'goes to its endpoint, with its key and without what the environment adds: %s',
    async (path) => {
      const other = await serve(answering(() => response))
      vi.stubEnv('OPENAI_BASE_URL', other)
      vi.stubEnv('OPENAI_CUSTOM_HEADERS', 'X-Gateway-Secret: s\nAuthorization: Bearer other')
      const asked: string[] = []
      const http: HttpPost = (url) => (asked.push(url.href), Promise.reject(new Error('not sent')))
      const atOpenAi = openAiEndpoint({ name: 'openai', apiKey, model: 'm', timeoutMs: 20_000, http })
      await expect(atOpenAi.post(path, { body: '{}' }, never)).rejects.toThrow('not sent')
      expect(asked).toEqual([`https://api.openai.com/v1${path}`])
      await (await endpoint(response)).post(path, { body: '{}' }, never)
      expect(seen.map(({ headers }) => [headers['authorization'], headers['x-gateway-secret']])).toEqual([
        [`Bearer ${apiKey}`, undefined],
      ])
    },
  )

  it('ends its connection when it is aborted while the body comes', async () => {
    const closed = Promise.withResolvers<void>()
    const { post } = await endpoint((_, answer) => {
      answer.on('close', closed.resolve)
      answer.writeHead(200).write('first')
    })
    const stop = new AbortController()
    const { bytes } = await post('/responses', { body: '{}' }, stop.signal)
    const reading = (async () => {
      for await (const _ of bytes) stop.abort()
    })()
    await expect(reading).rejects.toThrow()
    await closed.promise
  })
})
