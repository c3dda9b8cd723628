// What a failed call costs: the server has counted it, has begun to answer, or has done nothing.
import { brokenOffUsage, type ChatRequest } from '@beaver/agent'
import { afterEach, describe, expect, it } from 'vitest'
import {
  ask,
  call,
  chunk,
  closeServers,
  end,
  failureOf,
  type Handler,
  json,
  provider,
  say,
  serve,
  sse,
} from '../test/kit.ts'
import { httpPost, type HttpPost } from './http-post.ts'
import { openAiChatProvider } from './openai-chat.ts'
import { responsesProvider } from '../test/responses-kit.ts'

afterEach(closeServers)

const counted = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 60 },
}
const usage = { input_tokens: 100, output_tokens: 20, calls: 1, cached_input_tokens: 60 }
const unknown = { input_tokens: 0, output_tokens: 0, calls: 1, unknown_calls: 1 }
/** What a stream costs that breaks off after so many bytes. */
const cutAfter = (bytes: number) => ({ usage: brokenOffUsage(ask(), bytes), model: 'm-1' })
const completion = (choice: object, over: object = {}): object => ({
  id: 'r',
  model: 'm-1',
  choices: [{ index: 0, ...choice }],
  ...over,
})
const message = (over: object): object => ({
  message: { role: 'assistant', content: null, ...over },
  finish_reason: 'stop',
})

/** What is paid with the failure of a call, asked in one piece and as a stream. */
async function paidFor(handler: Handler): Promise<unknown[]> {
  const url = await serve(handler)
  return [
    await failureOf(provider(url).chat(ask())),
    await failureOf(provider(url).chat(ask({ onText: () => undefined }))),
  ].map(({ paid }) => paid)
}

describe('a failure of chat completions', () => {
  it.each<[string, Handler, object | null]>([
    [
      'a refusal',
      json(completion(message({ refusal: 'I will not.' }), { usage: counted })),
      { usage, model: 'm-1' },
    ],
    [
      'a refusal that is not counted',
      json(completion(message({ refusal: 'I will not.' }))),
      { usage: unknown, model: 'm-1' },
    ],
    [
      'an error in the choice',
      json(completion({ error: { code: 502, message: 'upstream' } }, { usage: counted })),
      { usage, model: 'm-1' },
    ],
    [
      'an answer without a choice',
      json({ model: 'm-1', choices: [], usage: counted }),
      { usage, model: 'm-1' },
    ],
    [
      'an answer that cannot be read',
      json({ model: 'm-1', choices: 7, usage: counted }),
      { usage, model: 'm-1' },
    ],
    [
      'a usage that makes no sense',
      json({ model: 'm-1', choices: [], usage: { prompt_tokens: [10], completion_tokens: -5 } }),
      { usage: unknown, model: 'm-1' },
    ],
    ['an error in place of an answer', json({ error: { code: 400, message: 'bad' } }), null],
    [
      'an error that is counted as nothing',
      json(
        completion(
          { error: { code: 502, message: 'upstream' } },
          { usage: { prompt_tokens: 0, completion_tokens: 0 } },
        ),
      ),
      null,
    ],
    ['a status', json({ error: { message: 'busy' } }, 503), null],
    ['no answer', (_, response) => void response.destroy(), null],
    ['something else', json('<html>'), null],
  ])('%s', async (_, handler, paid) => expect(await paidFor(handler)).toEqual([paid, paid]))

  it.each<[string, Handler, object | null]>([
    [
      'that stops after the count',
      sse([say('half'), chunk({}, null, { choices: [], usage: counted })], { cut: true }),
      { usage, model: 'm-1' },
    ],
    ['that stops after a piece', sse([say('half'), say('一半')], { cut: true }), cutAfter(10)],
    ['that stops in its thoughts', sse([chunk({ reasoning_content: 'hm' })], { cut: true }), cutAfter(2)],
    [
      'that stops in a call',
      sse([chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{' } }] })], {
        cut: true,
      }),
      cutAfter('cf{'.length),
    ],
    [
      'that tells an error after a piece',
      sse([say('half'), { error: { code: 502, message: 'upstream' } }]),
      cutAfter(4),
    ],
    [
      'that ends without a count, and cannot be read',
      sse([call(0, { id: 'c', function: { arguments: '{}' } }), end('tool_calls')]),
      { usage: unknown, model: 'm-1' },
    ],
    ['that only names its role', sse([chunk({ role: 'assistant', content: '' })], { cut: true }), null],
    ['that stops before the first piece', sse([], { cut: true }), null],
    [
      'that tells an error after the count',
      sse([say('half'), chunk({}, null, { usage: counted }), { error: { code: 502, message: 'upstream' } }]),
      { usage, model: 'm-1' },
    ],
    ['that tells an error at once', sse([{ error: { code: 503, message: 'busy' } }]), null],
  ])('a stream %s', async (_, handler, paid) =>
    expect(
      (await failureOf(provider(await serve(handler)).chat(ask({ onText: () => undefined })))).paid,
    ).toEqual(paid),
  )
})

describe('a call that is cancelled', () => {
  /** What is paid when the caller gives up as soon as the server has done its part. */
  async function paidWhenCancelled(handler: Handler, over: Partial<ChatRequest> = {}): Promise<unknown> {
    const stop = new AbortController()
    const url = await serve((...exchange) => {
      handler(...exchange)
      if (over.onText === undefined) stop.abort(new Error('enough'))
    })
    const asked = { signal: stop.signal, ...over }
    if (over.onText !== undefined) asked.onText = () => stop.abort(new Error('enough'))
    return (await failureOf(provider(url).chat(ask(asked)))).paid
  }

  it('costs what was sent, if nothing was received', async () => {
    const messages: ChatRequest['messages'] = [{ role: 'user', content: 'x'.repeat(1_000) }]
    const usage = brokenOffUsage({ messages, tools: [] }, 0)
    expect(usage.input_tokens).toBeGreaterThan(1_000)
    expect(await paidWhenCancelled(() => {}, { messages })).toEqual({ usage, model: 'm' })
  })

  it('costs what was received, too', async () => {
    const half = sse([chunk({ reasoning_content: 'hm' }), say('half')], { open: true })
    expect(await paidWhenCancelled(half, { onText: () => undefined })).toEqual(cutAfter(6))
  })

  it('costs what the server counted, if it did', async () => {
    const half = sse([chunk({}, null, { choices: [], usage: counted }), say('half')], { open: true })
    expect(await paidWhenCancelled(half, { onText: () => undefined })).toEqual({ usage, model: 'm-1' })
  })

  it('costs nothing before there is a connection, and after the server refused it', async () => {
    const stop = new AbortController()
    const reason = new Error('enough')
    const http: HttpPost = () => (stop.abort(reason), Promise.reject(reason))
    const options = { ...{ name: 'p', apiKey: 'k', model: 'm', timeoutMs: 9_000 }, http }
    await expect(openAiChatProvider(options).chat(ask({ signal: stop.signal }))).rejects.toBe(reason)
    const refused = new AbortController()
    const url = await serve((_, response) => {
      response.writeHead(503, { 'content-length': 2 })
      response.end('{}')
    })
    const post = httpPost()
    const refuses: HttpPost = async (...sent) => {
      const answer = await post(...sent)
      return { ...answer, text: () => answer.text().finally(() => refused.abort(reason)) }
    }
    const asked = openAiChatProvider({ ...options, baseURL: url, http: refuses })
    await expect(asked.chat(ask({ signal: refused.signal }))).rejects.toBe(reason)
  })
})

describe('a failure of responses', () => {
  const reported = {
    input_tokens: 100,
    output_tokens: 20,
    total_tokens: 120,
    input_tokens_details: { cached_tokens: 60 },
  }
  const failed = {
    id: 'r',
    object: 'response',
    model: 'm-1',
    status: 'failed',
    error: { code: 'server_error', message: 'x' },
    output: [],
    usage: reported,
  }

  it('that was counted is paid', async () => {
    const url = await serve(json(failed))
    expect((await failureOf(responsesProvider(url).chat(ask()))).paid).toEqual({ usage, model: 'm-1' })
    const streamed = await serve(sse([{ type: 'response.failed', response: failed }]))
    expect(
      (await failureOf(responsesProvider(streamed).chat(ask({ onText: () => undefined })))).paid,
    ).toEqual({ usage, model: 'm-1' })
  })
})

describe('the trace of a call', () => {
  const trace = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=1' }

  it('is in the headers of each request, in each protocol', async () => {
    const heard: unknown[] = []
    const url = await serve((request, response, body) => {
      const { traceparent, tracestate } = request.headers
      heard.push({ traceparent, tracestate })
      json(completion(message({ content: 'ok' }), { usage: counted }))(request, response, body)
    })
    await provider(url).chat(ask({ trace }))
    await failureOf(responsesProvider(url).chat(ask({ trace })))
    await provider(url).chat(ask())
    expect(heard).toEqual([trace, trace, {}])
  })
})
