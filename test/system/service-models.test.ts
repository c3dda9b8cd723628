// Models that a program brings, through a real service: its worker threads ask them in the program's thread.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type AgentService,
  type AgentServiceOptions,
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  ProviderError,
  type RecordedEvent,
} from '@beaver/service'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { type TestServer, testServer } from '../support/nats.ts'
import { type TestServices, testServices } from '../support/service.ts'

let server: TestServer
let kit: TestServices
beforeAll(async () => {
  server = await testServer()
  kit = await testServices(server)
})
afterAll(async () => {
  await kit[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const answer = (over: Partial<ChatAnswer>): ChatAnswer => ({
  content: null,
  toolCalls: [],
  finishReason: 'stop',
  usage: { input_tokens: 7, output_tokens: 3, calls: 1, cached_input_tokens: 4 },
  model: 'mine-1-exact',
  responseId: null,
  ...over,
})

const textOf = ({ messages }: ChatRequest): string =>
  messages.findLast(({ role }) => role === 'user')?.content ?? ''
const resultsOf = ({ messages }: ChatRequest): string[] =>
  messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []))

/** A model of the program that keeps what it was asked, and how many of its calls were aborted. */
function mine(reply: (request: ChatRequest) => Partial<ChatAnswer> | Promise<Partial<ChatAnswer>>) {
  const requests: ChatRequest[] = []
  const seen = { requests, aborted: 0 }
  const provider: ChatProvider = {
    name: 'mine',
    model: 'mine-1',
    async chat(request) {
      requests.push(request)
      const aborted = new Promise<never>((_, reject) =>
        request.signal.addEventListener('abort', () => {
          seen.aborted++
          reject(request.signal.reason as Error)
        }),
      )
      return answer(await Promise.race([reply(request), aborted]))
    },
  }
  return { provider, seen }
}

const call = (name: string, args: unknown): Partial<ChatAnswer> => ({
  finishReason: 'tool_calls',
  toolCalls: [{ id: 'c1', name, arguments: JSON.stringify(args) }],
  state: { thought: 'sealed' },
})
const never = (): Promise<never> => new Promise(() => {})

let services = 0
/** Without the endpoint of the kit, and with tasks that no other service takes. */
const alone = (
  config: NonNullable<AgentServiceOptions['config']> = {},
): NonNullable<AgentServiceOptions['config']> => ({
  namespace: `own_${process.pid}_${++services}`,
  model: { name: 'unused' },
  ...config,
})

describe('a model of the program', () => {
  const main = mine((request) => {
    if (textOf(request) === 'Be overloaded.')
      return Promise.reject(Object.assign(new Error('Overloaded.'), { status: 503 }))
    if (resultsOf(request).length > 0)
      return (request.onText?.('The team '), request.onText?.('is done.'), { content: 'The team is done.' })
    return call('ConcurrentWorkflow', {
      task: 'Say it.',
      agents: [
        { name: 'one', instruction: 'Say it.', model: 'local' },
        { name: 'two', instruction: 'Say it.' },
      ],
    })
  })
  const local = mine(() => ({ content: 'from the local one' }))
  const slow = mine((request) =>
    slow.seen.requests.length === 1 ? never() : { content: `again: ${textOf(request)}` },
  )
  const broken = mine(() => ({ finishReason: 7 }) as never)
  const refusing = mine(() =>
    Promise.reject(new ProviderError('provider_refused', 'The licence is used up.')),
  )
  const waiting = mine(never)
  let service: AgentService
  beforeAll(() => {
    service = kit.service({
      models: {
        main: {
          ...main.provider,
          chat: (request) =>
            textOf(request).includes('<instruction')
              ? local.provider.chat(request)
              : main.provider.chat(request),
        },
        local: local.provider,
        slow: { provider: slow.provider, timeoutMs: 200 },
        ...{ broken: broken.provider, refusing: refusing.provider, waiting: waiting.provider },
      },
      profiles: [
        { name: 'chooser', model_choice: true },
        ...['slow', 'broken', 'refusing', 'waiting'].map((name) => ({ name, model: name })),
      ],
      profile: 'chooser',
      config: alone({
        models: { cheap: { name: 'cheap-1', base_url: kit.provider.url } },
        model: { fallback: 'cheap' },
      }),
      apiKey: '',
    })
  })

  it('drives a root and a team, with its state and its usage, and shows its words as they come', async () => {
    const events: RecordedEvent[] = []
    const words: string[] = []
    const result = await service.processDirect('Ask the team.', {
      onEvent: (event) => events.push(event),
      onDelta: ({ text }) => words.push(text),
    })
    expect(result).toMatchObject({
      status: 'completed',
      output_text: 'The team is done.',
      provider_name: 'mine:main',
      model: 'mine-1-exact',
      simulated: false,
    })
    expect(result.usage).toEqual({ input_tokens: 28, output_tokens: 12, calls: 4, cached_input_tokens: 16 })
    expect(words.join('')).toContain('The team is done.')
    const answers = events.flatMap((event) =>
      event.type === 'assistant_message_added' ? [event.data.provider_name] : [],
    )
    expect(answers.toSorted()).toEqual(['mine:local', 'mine:main', 'mine:main', 'mine:main'])
    const second = main.seen.requests.at(-1)?.messages.find((message) => message.role === 'assistant')
    expect(second).toMatchObject({ provider_state: { provider: 'mine', fields: { thought: 'sealed' } } })
    expect(kit.provider.requests).toEqual([])
  })

  it('that fails gives way to an endpoint', async () => {
    kit.provider.answerBy(() => say('from the endpoint'))
    const events: RecordedEvent[] = []
    expect(
      await service.processDirect('Be overloaded.', { onEvent: (event) => events.push(event) }),
    ).toMatchObject({
      output_text: 'from the endpoint',
      provider_name: 'openai-compatible:cheap',
    })
    const failed = events.flatMap((event) => (event.type === 'provider_call_failed' ? [event.data] : []))
    expect(failed).toMatchObject([
      { provider_name: 'mine:main', status: 503, retry_in_ms: 0, failure: { class: 'provider_unavailable' } },
    ])
  })

  it('that is named by a profile and never answers is given up after its time, and asked again', async () => {
    expect(await service.processDirect('Wait.', { profile: 'slow' })).toMatchObject({
      status: 'completed',
      output_text: 'again: Wait.',
    })
    expect(slow.seen.aborted).toBe(1)
  })

  it('that is named by a profile and gives no answer at all fails the task, and says what is wrong with it', async () => {
    const { status, failure } = await service.processDirect('Answer.', { profile: 'broken' })
    expect([status, failure?.class, failure?.message]).toEqual([
      'failed',
      'malformed_output',
      expect.stringContaining('finishReason'),
    ])
    expect(broken.seen.requests).toHaveLength(3)
  })

  it('that is named by a profile and refuses for good fails the task at once', async () => {
    expect(await service.processDirect('Answer.', { profile: 'refusing' })).toMatchObject({
      status: 'failed',
      failure: { class: 'provider_refused', message: 'The licence is used up.' },
    })
    expect(refusing.seen.requests).toHaveLength(1)
  })

  it('that is named by a profile has its call ended with its task when that is cancelled', async () => {
    const cancel = new AbortController()
    const task = service.processDirect('Wait.', { signal: cancel.signal, profile: 'waiting' })
    await until('the model is asked', () => waiting.seen.requests.length === 1)
    cancel.abort()
    expect(await task).toMatchObject({ status: 'cancelled' })
    await until('the program knows', () => waiting.seen.aborted === 1)
  })
})

describe('a model of the program beside an endpoint that is down', () => {
  let module: string
  const config = alone({
    model: { base_url: 'http://127.0.0.1:1/v1', name: 'down', fallback: ['local'] },
    provider_outage_ms_max: 0,
  })
  const local = mine(() => ({ content: 'from the program' }))
  const waiting = mine(never)
  const working = mine((request) => {
    if (textOf(request).includes('Block'))
      return resultsOf(request).length > 0 ? { content: 'over' } : call('block', {})
    return working.seen.requests.filter((each) => textOf(each).includes('Wait')).length === 1
      ? never()
      : { content: 'waited' }
  })
  /** They share a home, so the second one goes on with the tasks of the first. */
  const serviceWith = (later: ChatProvider): AgentService =>
    kit.service({
      home: join(kit.workspace, 'home-of-two'),
      models: { local: { provider: local.provider, fallback: 'main' }, working: working.provider, later },
      profiles: ['working', 'later'].map((name) => ({ name, model: name })),
      tools: [module],
      config,
    })
  let service: AgentService
  beforeAll(async () => {
    module = join(kit.workspace, 'block.mjs')
    const agent = import.meta.resolve('@beaver/service')
    await writeFile(
      module,
      `import { defineTool, z } from '${agent}'\nexport const block = defineTool({ name: 'block', description: 'd', input: z.object({}), timeoutMs: 100, run: () => { for (;;); } })\n`,
    )
    service = serviceWith(waiting.provider)
    await service.start()
  })

  it('is asked in its place', async () => {
    expect(await service.submitDirect('Say it.')).toMatchObject({
      output_text: 'from the program',
      provider_name: 'mine:local',
    })
  })

  it('is one that a task may name, as the main model is', async () => {
    expect(await service.submitDirect('Say it.', { model: 'local' })).toMatchObject({
      output_text: 'from the program',
      provider_name: 'mine:local',
    })
    expect(await service.submitDirect('Say it.', { model: 'main', profile: 'later' })).toMatchObject({
      provider_name: 'mine:local',
    })
    await expect(service.submitDirect('Say it.', { model: 'none' })).rejects.toThrow(
      '(loaded: main, local, working, later)',
    )
  })

  it('has its call ended with its worker thread, and the loop asks again from another thread', async () => {
    const waited = service.submitDirect('Wait.', { profile: 'working' })
    await until('the model is asked', () => working.seen.requests.length === 1)
    const blocking = service.submitDirect('Block.', { profile: 'working' })
    expect(await waited).toMatchObject({ status: 'completed', output_text: 'waited' })
    expect(working.seen.aborted).toBe(1)
    expect((await blocking).status).toBe('completed')
  })

  it('has its call ended when the service stops, and the next service asks again', async () => {
    const task = service.submitDirect('Go on.', { taskId: 'on', profile: 'later' })
    await until('the model is asked', () => waiting.seen.requests.length === 1)
    await Promise.all([
      expect(task).rejects.toMatchObject({ code: 'no_daemon' }),
      service.shutdown({ graceMs: 0 }),
    ])
    expect(waiting.seen.aborted).toBe(1)
    expect(await serviceWith(mine(() => ({ content: 'went on' })).provider).result('on')).toMatchObject({
      status: 'completed',
      output_text: 'went on',
    })
  })
})

test.each<[string, Parameters<TestServices['service']>[0], RegExp]>([
  [
    'has the name of a configured model',
    { models: { local: mine(never).provider }, config: { models: { local: { name: 'x' } } } },
    /models\.local: is also the name of a model that the program brings/,
  ],
  [
    'has the name of a model of an endpoint',
    { models: { 'a/b': mine(never).provider }, config: { endpoints: { a: { models: ['b'] } } } },
    /models\.a\/b/,
  ],
  ['has a name that is none', { models: { 'a b': mine(never).provider } }, /models\.a b: the name must be/],
  [
    'is the main one beside an endpoint',
    { models: { main: mine(never).provider } },
    /model\.base_url: must be left out, because the program brings the model "main"/,
  ],
  [
    'names a fallback that nothing has',
    { models: { local: { provider: mine(never).provider, fallback: 'x' } } },
    /models\.local\.fallback: names "x"/,
  ],
  [
    'names itself as fallback',
    { models: { local: { provider: mine(never).provider, fallback: ['main', 'local'] } } },
    /"local" twice in the route local → main → local/,
  ],
  [
    'is no provider',
    { models: { local: {} as ChatProvider } },
    /"local" of the program is neither a ChatProvider/,
  ],
  ['has no name', { models: { local: { ...mine(never).provider, name: '' } } }, /needs a name/],
  [
    'has no time',
    { models: { local: { provider: mine(never).provider, timeoutMs: 0 } } },
    /timeoutMs that is no whole number from 100 to 3600000/,
  ],
  [
    'has answers of no length',
    { models: { local: { ...mine(never).provider, outputTokensMax: 0.5 } } },
    /outputTokensMax that is no whole number from 1 to 100000000/,
  ],
])('a model that %s is refused when the service is made', (_, options, message) => {
  expect(() => kit.service(options)).toThrow(
    expect.objectContaining({
      code: 'invalid_configuration',
      message: expect.stringMatching(message) as string,
    }),
  )
})
