// AgentService on a real nats-server, with real worker threads: what it allows when, and what becomes of its
// tasks.
import { join } from 'node:path'
import {
  type AgentRunResult,
  type AgentService,
  type BeaverError,
  defineProfile,
  defineTool,
  defineWorkflow,
  type RecordedEvent,
  z,
} from '@beaver/service'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { type TestServer, testServer } from '../support/nats.ts'
import { hold, refused, type TestServices, testServices } from '../support/service.ts'

let server: TestServer
let kit: TestServices
/** In running mode, for the tests that need nothing else. */
let running: AgentService
/** Shares the namespace of `running`: the two share their tasks. It goes from state to state. */
let second: AgentService
const hooksRan: string[] = []
beforeAll(async () => {
  server = await testServer()
  kit = await testServices(server)
  running = kit.service()
  second = kit.service()
  await running.start()
})
afterAll(async () => {
  await kit[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const answerAll = (): void => kit.provider.answerBy(({ text }) => say(`done: ${text}`))
describe('a service that was made', () => {
  it('refuses what running mode is for, and has no client before it is booted', async () => {
    await expect(second.submitDirect('x')).rejects.toMatchObject(
      refused('wrong_state', /is idle\. Call start\(\) first/),
    )
    await expect(second.stop()).rejects.toMatchObject(refused('wrong_state', /has not been started/))
    expect(() => second.client).toThrow(expect.objectContaining(refused('wrong_state', /not booted/)))
  })

  it('and did nothing closes without having started anything', async () => {
    const service = kit.service({ natsUrl: 'nats://127.0.0.1:1' })
    await service.close()
    expect(service.state).toBe('closed')
  })
})

describe('a direct task', () => {
  it('boots what it needs, and resolves with what the run came to', async () => {
    answerAll()
    const result = await second.processDirect('Say hello.', { sessionId: 'greetings', taskId: 'hello' })
    expect(result).toEqual<AgentRunResult>({
      task_id: 'hello',
      session_id: 'greetings',
      run_id: expect.stringMatching(/^run_/) as string,
      status: 'completed',
      output_text: 'done: Say hello.',
      finish_reason: 'stop',
      tool_iterations: 0,
      provider_name: 'openai-compatible',
      model: 'fake-model',
      usage: { input_tokens: 10, output_tokens: 5, calls: 1 },
      outputs: [],
      simulated: false,
      failure: null,
    })
    expect(await second.result('hello')).toEqual(result)
    expect(second.state).toBe('idle')
  })

  it('asked for again with its id is the same task; with another request it is refused, and so is what does not exist', async () => {
    answerAll()
    const first = await second.processDirect('Say it once.', { taskId: 'once' })
    expect(await second.processDirect('Say it once.', { taskId: 'once' })).toEqual(first)
    expect(kit.provider.about('Say it once.')).toHaveLength(1)
    await expect(second.processDirect('Something else.', { taskId: 'once' })).rejects.toMatchObject(
      refused('conflict'),
    )
    await expect(second.processDirect('x', { skill: 'nonsense' })).rejects.toMatchObject(
      refused('unknown_skill'),
    )
    await expect(second.processDirect('  ')).rejects.toMatchObject(refused('invalid_arguments'))
    await expect(second.result('nonsense')).rejects.toMatchObject(refused('not_found'))
  })

  it('that fails resolves, and says so', async () => {
    kit.provider.answerBy(() => say(''))
    expect(await second.processDirect('Say nothing.')).toMatchObject({
      status: 'failed',
      output_text: '',
      failure: { class: 'empty_output' },
    })
  })

  it('holds up start and close while it runs', async () => {
    const held = hold(kit, 'Take long.')
    const task = second.processDirect('Take long.')
    await held.asked
    await expect(second.start()).rejects.toMatchObject(
      refused('wrong_state', /1 direct tasks have not ended/),
    )
    await expect(second.close()).rejects.toMatchObject(refused('wrong_state', /Await them first/))
    held.release()
    expect(await task).toMatchObject({ status: 'completed' })
  })
})

describe('tasks in running mode', () => {
  it('of one session run in the order of the calls, those of others at the same time', async () => {
    const held = hold(kit, 'first of the queue')
    const names = ['first', 'second', 'third', 'fourth', 'fifth']
    const ended: string[] = []
    const tasks = names.map((name) =>
      running.submitDirect(`The ${name} of the queue`, { sessionId: 'queue' }).then(() => ended.push(name)),
    )
    await held.asked
    await running.submitDirect('Of another session')
    expect(ended).toEqual([])
    held.release()
    await Promise.all(tasks)
    expect(ended).toEqual(names)
    const asked = kit.provider.about('of the queue')
    expect(asked.map(({ text }) => /The (\w+)/.exec(text)?.[1])).toEqual(names)
    expect(asked.at(-1)?.messages.map(({ content }) => content)).toEqual(
      expect.arrayContaining(['done: The first of the queue']),
    )
  })

  it('tell their events as they come; a callback that throws stops nothing', async () => {
    answerAll()
    const events: RecordedEvent[] = []
    const onEvent = (event: RecordedEvent): void => {
      events.push(event)
      throw new Error('my mistake')
    }
    await running.submitDirect('Tell me.', { onEvent, source: 'a test', title: 'A story', userId: 'ada' })
    expect(events.map(({ taskseq }) => taskseq)).toEqual(events.map((_, i) => i + 1))
    expect([events[0]?.type, events.at(-1)?.type]).toEqual(['task_submitted', 'task_completed'])
    expect(events[0]?.data).toMatchObject({
      request: { text: 'Tell me.', source: 'a test', title: 'A story', user_id: 'ada' },
    })
    expect(kit.told).toContain('onEvent failed: my mistake')
  })

  it('tell their words as the model says them', async () => {
    const { promise: followed, resolve: follow } = Promise.withResolvers<void>()
    const chunk = (delta: object, finish_reason: string | null = null): string =>
      `data: ${JSON.stringify({ id: 'r', object: 'chat.completion.chunk', model: 'fake-model', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
    const body = `${['Word ', 'by ', 'word.'].map((content) => chunk({ content })).join('')}${chunk({}, 'stop')}data: [DONE]\n\n`
    kit.provider.answerBy(async () => {
      await followed
      return { headers: { 'content-type': 'text/event-stream' }, body }
    })
    const said: string[] = []
    const result = await running.submitDirect('Say it slowly.', {
      onDelta: ({ text }) => said.push(text),
      onEvent: ({ type }) => type === 'run_started' && follow(),
    })
    expect(result.output_text).toBe('Word by word.')
    // Hints: the last of them may come too late.
    expect(said.length).toBeGreaterThan(0)
    expect('Word by word.').toContain(said.join(''))
  })

  it('are cancelled by their signal, and resolve with that; aborted before, nothing is stored', async () => {
    const held = hold(kit, 'Be cancelled.')
    const stop = new AbortController()
    const task = running.submitDirect('Be cancelled.', { signal: stop.signal, taskId: 'cancelled-one' })
    await held.asked
    stop.abort(new Error('The user left.'))
    expect(await task).toMatchObject({
      status: 'cancelled',
      finish_reason: 'cancelled',
      failure: { message: 'The program cancelled it: The user left.' },
    })
    await until(
      'the model call was given up',
      () => kit.provider.about('Be cancelled.')[0]?.abandoned === true,
    )
    held.release()
    await expect(running.submitDirect('x', { signal: stop.signal, taskId: 'never-one' })).rejects.toThrow(
      'The user left.',
    )
    await expect(running.result('never-one')).rejects.toMatchObject(refused('not_found'))
  })

  it('aborted while they are submitted are cancelled too', async () => {
    answerAll()
    const stop = new AbortController()
    const task = running.submitDirect('Be cancelled at once.', { signal: stop.signal })
    stop.abort()
    expect(['cancelled', 'completed']).toContain((await task).status)
  })
})

describe('a service in running mode', () => {
  it('refuses to be started again, direct tasks, and to be closed', async () => {
    const starting = second.start()
    await expect(second.start()).rejects.toMatchObject(refused('wrong_state', /is starting/))
    await starting
    await expect(second.start()).rejects.toMatchObject(refused('wrong_state', /is running/))
    await expect(second.processDirect('x')).rejects.toMatchObject(refused('wrong_state', /submitDirect\(\)/))
    await expect(second.close()).rejects.toMatchObject(refused('wrong_state', /Await stop\(\) first/))
  })

  it('that stops takes no new tasks and lets those there are finish, queued ones too', async () => {
    const held = hold(kit, 'one before the stop')
    const tasks = ['one', 'two'].map((name) =>
      second.submitDirect(`The ${name} before the stop`, { sessionId: 's' }),
    )
    await held.asked
    const stopping = second.stop()
    expect(second.state).toBe('stopping')
    await expect(second.submitDirect('late')).rejects.toMatchObject(refused('wrong_state', /is stopping/))
    held.release()
    await stopping
    expect((await Promise.all(tasks)).map(({ status }) => status)).toEqual(['completed', 'completed'])
    await second.stop() // nothing
    expect(second.state).toBe('stopped')
    await expect(second.submitDirect('x')).rejects.toMatchObject(refused('wrong_state', /is stopped/))
    await expect(second.processDirect('x')).rejects.toMatchObject(refused('wrong_state', /is stopped/))
  })

  it('starts again after a stop; says after its grace what is open, and with force cancels it, but nothing of another service', async () => {
    const held = hold(kit, 'Take very long.')
    await second.start()
    const task = second.submitDirect('Take very long.', { taskId: 'long-one' })
    const ofRunning = running.submitDirect('Take very long. For somebody else.')
    await until('both are asked', () => kit.provider.about('Take very long.').length === 2, { everyMs: 5 })
    await expect(second.stop({ graceMs: 20 })).rejects.toMatchObject(
      refused('timeout', /1 open \(long-one\)/),
    )
    expect(second.state).toBe('stopping')
    await expect(second.close()).rejects.toMatchObject(refused('wrong_state'))
    await second.stop({ graceMs: 0, force: true })
    expect(await task).toMatchObject({ status: 'cancelled', failure: { message: 'The program stopped.' } })
    held.release()
    expect(await ofRunning).toMatchObject({ status: 'completed' })
  })
})

describe('a shutdown', () => {
  it('hands over what has not ended, and another service goes on with it', async () => {
    const held = hold(kit, 'Be handed over.')
    second.onShutdown(() => hooksRan.push('registered first'))
    second.onShutdown(() => Promise.reject(new Error('the disk is full')))
    second.onShutdown(() => hooksRan.push(`registered last, ${second.state}`))
    await second.start()
    const outcome = second
      .submitDirect('Be handed over.', { taskId: 'handed-over' })
      .catch((error: BeaverError) => {
        hooksRan.push(error.code)
        return error
      })
    await held.asked
    await second.shutdown({ graceMs: 20 })
    expect(await outcome).toMatchObject(refused('no_daemon', /handed-over.*continues it/))
    held.release()
    expect(await running.result('handed-over')).toMatchObject({
      status: 'completed',
      output_text: 'done: Be handed over.',
    })
  })

  it('runs the hooks after the last task, in reverse order, and tells the one that failed', () => {
    expect(hooksRan).toEqual(['no_daemon', 'registered last, closed', 'registered first'])
    expect(kit.told).toContain('A shutdown hook failed: the disk is full')
  })

  it('again is nothing; everything else is refused', async () => {
    await Promise.all([second.close(), second.shutdown()])
    for (const call of [
      () => second.processDirect('x'),
      () => second.start(),
      () => second.submitDirect('x'),
      () => second.stop(),
      () => second.result('x'),
    ])
      await expect(call()).rejects.toMatchObject(refused('wrong_state', /is closed/))
  })
})

describe('what a program brings', () => {
  const seen: string[] = []
  const asked: unknown[] = []
  let decision: boolean | string = true
  const stock = defineTool({
    name: 'stock',
    description: 'How many pieces are in stock.',
    input: z.strictObject({ article: z.string() }),
    run: ({ article }, { taskId, workspace }) => {
      seen.push(`${article} ${taskId} ${workspace}`)
      return { pieces: 7 }
    },
  })
  const letter = defineTool({
    name: 'letter',
    description: 'Sends it.',
    input: z.strictObject({}),
    permission: 'ask',
    run: () => ({ sent: seen.push('letter') > 0 }),
  })
  const shell = defineTool({
    name: 'shell',
    description: 'Runs a command.',
    input: z.strictObject({ line: z.string() }),
    subject: ({ line }) => line,
    run: ({ line }) => (seen.push(line), 'ran'),
  })
  let service: AgentService
  beforeAll(() => {
    service = kit.service({
      config: {
        namespace: server.newNamespace(),
        permissions: {
          rules: [
            { tool: 'shell', pattern: 'rm *', decision: 'deny' },
            { tool: 'shell', pattern: 'ls*', decision: 'allow' },
            { tool: 'shell', decision: 'ask' },
          ],
        },
      },
      tools: [stock, letter, shell],
      onApproval: (request) => {
        asked.push(request)
        return decision
      },
      workflows: [
        defineWorkflow({
          id: 'greet',
          description: 'Greets a person.',
          interfaceInputs: { name: { dataFlowType: 'STRING', required: true } },
          interfaceOutputs: { greeting: { dataFlowType: 'STRING' } },
          nodes: [{ id: 'greeting', kind: 'template', template: 'Hello {{ inputs.name }}.' }],
        }),
      ],
      profiles: [
        defineProfile({
          name: 'clerk',
          system_prompt: 'You are a clerk.',
          tool_ids_inventory: ['system:stock', 'system:letter', 'system:shell', 'workflow:greet'],
        }),
      ],
      profile: 'clerk',
    })
  })

  it('whose subject the rules of the configuration see; nobody is asked about arguments that do not fit', async () => {
    kit.provider.answerBy(({ results }) =>
      results.length === 0
        ? use(
            ['shell', { line: 'rm -rf /' }],
            ['shell', { line: 'ls' }],
            ['shell', { wrong: 1 }],
            ['shell', { line: 'make' }],
          )
        : say('done'),
    )
    const { task_id } = await service.processDirect('Clean up.', { profile: 'clerk' })
    const results: unknown[] = []
    for await (const event of service.client.watch(task_id))
      if (event.type === 'tool_result_recorded')
        results.push([event.data.call_id, event.data.error, event.data.content])
    expect(results).toEqual(
      expect.arrayContaining([
        [
          expect.anything(),
          'permission_denied',
          expect.stringContaining('on rm -rf /: this rule forbids it: deny shell rm *'),
        ],
        [expect.anything(), null, 'ran'],
        [expect.anything(), 'invalid_arguments', expect.stringContaining('line')],
        [expect.anything(), null, 'ran'],
      ]),
    )
    expect(asked).toMatchObject([{ tool_name: 'shell', subject: 'make' }])
    expect(seen).toEqual(['ls', 'make'])
    asked.length = 0
    seen.length = 0
  })

  it('is used: a tool that sees its variables, a profile, a workflow as a tool', async () => {
    kit.provider.answerBy(({ results }) =>
      results.length === 0 ? use(['stock', { article: 'A-1' }]) : say(results[0] ?? ''),
    )
    const result = await service.processDirect('How many?', { taskId: 'stock-one' })
    expect(result).toMatchObject({ status: 'completed', output_text: '{"pieces":7}', tool_iterations: 1 })
    expect(seen).toEqual([`A-1 stock-one ${kit.workspace}`])
    const [request] = kit.provider.about('How many?')
    expect(request?.tools.toSorted()).toEqual(['letter', 'shell', 'stock', expect.stringContaining('greet')])
    expect(request?.messages[0]?.content).toContain('You are a clerk.')
  })

  it('may be a task: its workflow', async () => {
    expect(
      await service.processDirect({ workflow: 'workflow:greet', arguments: { name: 'Ada' } }),
    ).toMatchObject({
      run_id: null,
      status: 'completed',
      output_text: 'Hello Ada.',
      finish_reason: 'stop',
    })
  })

  test.each<[string, boolean | string, string, readonly string[]]>([
    ['allowed', true, '{"sent":true}', ['letter']],
    ['denied with a reason', 'Not on a Sunday.', '(Not on a Sunday). Do not ask', []],
  ])('decides about calls that need an approval: %s', async (_, decided, told, sent) => {
    seen.length = asked.length = 0
    decision = decided
    kit.provider.answerBy(({ results }) =>
      results.length === 0 ? use(['letter', {}]) : say(results[0] ?? ''),
    )
    const result = await service.processDirect('Send it.')
    expect(result.output_text).toContain(told)
    expect(asked).toEqual([
      {
        task_id: result.task_id,
        run_id: result.run_id,
        call_id: 'call_0',
        tool_name: 'letter',
        subject: '{}',
        rule: null,
        call_hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      },
    ])
    expect(seen).toEqual(sent)
  })

  it('is refused where nobody can decide', async () => {
    kit.provider.answerBy(({ results }) =>
      results.length === 0 ? use(['letter', {}]) : say(results[0] ?? ''),
    )
    expect((await service.processDirect('Send it.', { approvals: 'refuse' })).output_text).toContain(
      'approval_denied',
    )
  })
})

describe('a home', () => {
  it('is of one service at a time: another is refused, and may have it afterwards', async () => {
    const place = { home: join(kit.workspace, 'shared'), config: { namespace: `home${process.pid}` } }
    const [first, other] = [kit.service(place), kit.service(place)]
    await first.boot()
    await expect(other.start()).rejects.toMatchObject(
      refused('start_failed', `Beaver is already running here \\(process ${process.pid}\\)`),
    )
    expect(other.state).toBe('idle')
    await first.close()
    // A shutdown that is called while it starts waits for the start.
    await Promise.all([other.start(), other.shutdown()])
    expect(other.state).toBe('closed')
  })
})
