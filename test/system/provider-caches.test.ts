// What an endpoint's cache finds of the requests of a daemon: two tasks of a session and one of another session, each with a loop of a tool and a
// team. The endpoints have real caches (prefixCache): what they find depends on the words, the key and the marks of the requests alone.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheWordings, prefixCache, type PrefixCacheOptions } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, type SeenRequest, say, use } from '../support/fake-provider.ts'
import { type TestServer, testServer } from '../support/nats.ts'
import { testServices } from '../support/service.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const team = {
  task: 'Say how it is.',
  agents: [
    { name: 'one', instruction: 'Read it.' },
    { name: 'two', instruction: 'Check it.' },
  ],
}

/** The root reads three times, starts a team and ends. Each agent of the team reads twice. */
function answerTo({ messages, results: { length: results } }: SeenRequest): FakeReply {
  const read = use(['read_file', { path: 'long.txt' }])
  const root = messages.some(({ role, content }) => role === 'user' && (content ?? '').includes('weather'))
  if (!root) return results < 2 ? read : say('It is sunny.')
  if (results < 3) return read
  return results < 4 ? use(['SequentialWorkflow', team]) : say('It is sunny in Paris.')
}

interface Made {
  readonly content: string | null
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }[]
}

/** The same answer by the Responses API. */
function asItems(reply: FakeReply): object {
  const { choices } = JSON.parse(reply?.body ?? '') as { choices: readonly { readonly message: Made }[] }
  const { content, tool_calls: calls = [] } = choices[0]?.message ?? { content: null }
  const output = [
    ...calls.map(({ id, function: f }) => ({ type: 'function_call', id: `fc_${id}`, call_id: id, name: f.name, arguments: f.arguments, status: 'completed' })),
    ...(content === null
      ? []
      : [{ type: 'message', id: 'm', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: content, annotations: [] }] }]),
  ]
  return { id: 'r', object: 'response', model: 'm', status: 'completed', output }
}

interface Scene {
  readonly model: object
  readonly cache: PrefixCacheOptions
  /** The header with the key. */
  readonly header?: string
  /** Whether the endpoint refuses marks in the parts of results. */
  readonly refusesParts?: boolean
}

/** Runs the tasks, and returns how much of the input was read from the cache, as the endpoint knows it and as the journal has it. */
async function share({ model, cache: options, header, refusesParts = false }: Scene) {
  await using kit = await testServices(server)
  await writeFile(join(kit.workspace, 'long.txt'), 'It is sunny in Paris. '.repeat(100))
  const service = kit.service({ config: { model: { base_url: kit.provider.url, name: 'fake-model', ...model } } })
  await service.start()
  const cache = prefixCache(options)
  const total = { input: 0, cached: 0, written: 0 }
  kit.provider.answerBy((request) => {
    if (refusesParts && /"role":"tool"[^}]*"content":\[/.test(request.body)) {
      const wording = cacheWordings.find(({ refuses }) => refuses === 'marks_in_results')
      return { status: 400, body: JSON.stringify(wording?.body) }
    }
    const key = header === undefined ? undefined : request.headers[header]
    const { input, cached, written } = cache.use(request.body, typeof key === 'string' ? key : undefined)
    total.input += input
    total.cached += cached
    total.written += written
    const details = { cached_tokens: cached, cache_write_tokens: written }
    const reply = answerTo(request)
    if (!request.body.includes('"input":')) {
      const usage = { prompt_tokens: input, completion_tokens: 5, total_tokens: input + 5, prompt_tokens_details: details }
      return { body: JSON.stringify({ ...(JSON.parse(reply?.body ?? '') as object), usage }) }
    }
    const usage = { input_tokens: input, output_tokens: 5, total_tokens: input + 5, input_tokens_details: details }
    return { body: JSON.stringify({ ...asItems(reply), usage }) }
  })
  const recorded = { input: 0, cached: 0, written: 0 }
  for (const sessionId of ['a', 'a', 'b']) {
    const { status, failure, usage } = await service.submitDirect('How is the weather?', { sessionId })
    expect([status, failure]).toEqual(['completed', null])
    recorded.input += usage.input_tokens
    recorded.cached += usage.cached_input_tokens ?? 0
    recorded.written += usage.cache_write_tokens ?? 0
  }
  expect(recorded).toEqual(total)
  return { ...total, share: total.cached / total.input, requests: kit.provider.requests.length }
}

const chat = { protocol: 'chat_completions' }
const responses = { protocol: 'responses' }
const machines = { kind: 'automatic', machines: 3 } as const

describe.each([
  ['that caches what is marked', { model: chat, cache: { kind: 'marked' } }, { cache: 'markers' }],
  ['that takes no marks in the parts of results', { model: chat, cache: { kind: 'marked' }, refusesParts: true }, { cache: 'markers' }],
  ['with several machines', { model: chat, cache: machines }, { cache: 'key' }],
  ['with several machines and a header', { model: chat, cache: machines, header: 'x-grok-conv-id' }, { cache_key_header: 'x-grok-conv-id' }],
  ['of the Responses API with several machines', { model: responses, cache: machines }, { cache: 'key' }],
  ['of the Responses API that marks the end itself', { model: responses, cache: { kind: 'breakpoints' } }, { cache: 'markers' }],
] as const)('an endpoint %s', (_, scene, setting) => {
  it('finds more of the input if it is helped', async () => {
    const alone = await share(scene)
    const helped = await share({ ...scene, model: { ...scene.model, ...setting } })
    expect(helped.share).toBeGreaterThan(0.7)
    expect(helped.share - alone.share).toBeGreaterThan(0.05)
    // A write costs more than an input that is not kept, so nothing is written twice.
    expect(helped.written).toBeLessThanOrEqual(helped.input - helped.cached)
  })
})
