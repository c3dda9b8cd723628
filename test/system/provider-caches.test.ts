// What an endpoint's cache finds of the requests of a daemon: two tasks of a session and one of another
// session, each with a loop of a tool and a team. The endpoints have real caches (prefixCache): what they
// find depends on the words, the key and the marks of the requests alone. One service asks all of them. Each
// is a model, and the profile with its name asks it.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheWordings, type CacheUse, prefixCache, type PrefixCacheOptions } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FakeReply, type SeenRequest, say, use } from '../support/fake-provider.ts'
import { type TestServer, testServer } from '../support/nats.ts'
import { type TestServices, testServices } from '../support/service.ts'

/** A team whose agents ask this model. */
const teamOf = (model: string) => ({
  task: 'Say how it is.',
  agents: [
    { name: 'one', instruction: 'Read it.', model },
    { name: 'two', instruction: 'Check it.', model },
  ],
})

/** The root reads three times, starts a team and ends. Each agent of the team reads twice. */
function answerTo({ messages, results: { length: results } }: SeenRequest, model: string): FakeReply {
  const read = use(['read_file', { path: 'long.txt' }])
  const root = messages.some(({ role, content }) => role === 'user' && (content ?? '').includes('weather'))
  if (!root) return results < 2 ? read : say('It is sunny.')
  if (results < 3) return read
  return results < 4 ? use(['SequentialWorkflow', teamOf(model)]) : say('It is sunny in Paris.')
}

interface Made {
  readonly content: string | null
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
}

/** The same answer by the Responses API. */
function asItems(reply: FakeReply): object {
  const { choices } = JSON.parse(reply?.body ?? '') as { choices: readonly { readonly message: Made }[] }
  const { content, tool_calls: calls = [] } = choices[0]?.message ?? { content: null }
  const output = [
    ...calls.map(({ id, function: f }) => ({
      type: 'function_call',
      id: `fc_${id}`,
      call_id: id,
      name: f.name,
      arguments: f.arguments,
      status: 'completed',
    })),
    ...(content === null
      ? []
      : [
          {
            type: 'message',
            id: 'm',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: content, annotations: [] }],
          },
        ]),
  ]
  return { id: 'r', object: 'response', model: 'm', status: 'completed', output }
}

const chat = { protocol: 'chat_completions' }
const responses = { protocol: 'responses' }
const machines = { kind: 'automatic', machines: 3 } as const

interface Endpoint {
  readonly model: object
  readonly cache: PrefixCacheOptions
  /** The header with the key. */
  readonly header?: string
  /** Whether the endpoint refuses marks in the parts of results. */
  readonly refusesParts?: boolean
}

/**
 * Endpoints without help. Without it, one that refuses marks in results and one that looks for a header are
 * asked the same as others of their kind.
 */
const alone = {
  marked: { model: chat, cache: { kind: 'marked' } },
  machines: { model: chat, cache: machines },
  responses_machines: { model: responses, cache: machines },
  responses_breakpoints: { model: responses, cache: { kind: 'breakpoints' } },
} as const satisfies Record<string, Endpoint>

/** Each with the one that it is compared with. */
const helped = [
  ['that caches what is marked', 'marked', { cache: 'markers' }, {}],
  ['that takes no marks in the parts of results', 'marked', { cache: 'markers' }, { refusesParts: true }],
  ['with several machines', 'machines', { cache: 'key' }, {}],
  [
    'with several machines and a header',
    'machines',
    { cache_key_header: 'x-grok-conv-id' },
    { header: 'x-grok-conv-id' },
  ],
  ['of the Responses API with several machines', 'responses_machines', { cache: 'key' }, {}],
  ['of the Responses API that marks the end itself', 'responses_breakpoints', { cache: 'markers' }, {}],
] as const

const endpoints: Readonly<Record<string, Endpoint>> = {
  ...alone,
  ...Object.fromEntries(
    helped.map(([, like, setting, more], i) => [
      `helped_${i}`,
      { ...alone[like], ...more, model: { ...alone[like].model, ...setting } },
    ]),
  ),
}

/** What an endpoint knows of its requests. */
interface Found {
  input: number
  cached: number
  written: number
}
const found: Readonly<Record<string, Found>> = Object.fromEntries(
  Object.keys(endpoints).map((name) => [name, { input: 0, cached: 0, written: 0 }]),
)
const caches = new Map(Object.entries(endpoints).map(([name, { cache }]) => [name, prefixCache(cache)]))

function answerOf(request: SeenRequest): FakeReply {
  const { model: name } = JSON.parse(request.body) as { model: string }
  const { header, refusesParts = false } = endpoints[name] as Endpoint
  if (refusesParts && /"role":"tool"[^}]*"content":\[/.test(request.body)) {
    const wording = cacheWordings.find(({ refuses }) => refuses === 'marks_in_results')
    return { status: 400, body: JSON.stringify(wording?.body) }
  }
  const key = header === undefined ? undefined : request.headers[header]
  const use = caches.get(name)?.use(request.body, typeof key === 'string' ? key : undefined)
  const { input, cached, written } = use as CacheUse
  const total = found[name] as Found
  total.input += input
  total.cached += cached
  total.written += written
  const details = { cached_tokens: cached, cache_write_tokens: written }
  const reply = answerTo(request, name)
  if (!request.body.includes('"input":')) {
    const usage = {
      prompt_tokens: input,
      completion_tokens: 5,
      total_tokens: input + 5,
      prompt_tokens_details: details,
    }
    return { body: JSON.stringify({ ...(JSON.parse(reply?.body ?? '') as object), usage }) }
  }
  const usage = {
    input_tokens: input,
    output_tokens: 5,
    total_tokens: input + 5,
    input_tokens_details: details,
  }
  return { body: JSON.stringify({ ...asItems(reply), usage }) }
}

let server: TestServer
let kit: TestServices
beforeAll(async () => {
  server = await testServer()
  kit = await testServices(server)
  await writeFile(join(kit.workspace, 'long.txt'), 'It is sunny in Paris. '.repeat(100))
  const names = Object.keys(endpoints)
  const service = kit.service({
    profiles: names.map((name) => ({ name, model: name })),
    config: {
      models: Object.fromEntries(
        names.map((name) => [name, { base_url: kit.provider.url, name, ...endpoints[name]?.model }]),
      ),
    },
  })
  await service.start()
  kit.provider.answerBy(answerOf)
  for (const name of names) {
    const recorded: Found = { input: 0, cached: 0, written: 0 }
    for (const session of ['a', 'a', 'b']) {
      const { status, failure, usage } = await service.submitDirect('How is the weather?', {
        sessionId: `${name} ${session}`,
        profile: name,
      })
      expect([name, status, failure]).toEqual([name, 'completed', null])
      recorded.input += usage.input_tokens
      recorded.cached += usage.cached_input_tokens ?? 0
      recorded.written += usage.cache_write_tokens ?? 0
    }
    // The journal has what the endpoint knows.
    expect([name, recorded]).toEqual([name, found[name]])
  }
})
afterAll(async () => {
  await kit[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const shareOf = ({ input, cached }: Found): number => cached / input

describe.each(helped.map(([title, like], i) => [title, like, `helped_${i}`] as const))(
  'an endpoint %s',
  (_, like, name) => {
    it('finds more of the input if it is helped', () => {
      const its = found[name] as Found
      expect(shareOf(its)).toBeGreaterThan(0.7)
      expect(shareOf(its) - shareOf(found[like] as Found)).toBeGreaterThan(0.05)
      // A write costs more than an input that is not kept, so nothing is written twice.
      expect(its.written).toBeLessThanOrEqual(its.input - its.cached)
    })
  },
)
