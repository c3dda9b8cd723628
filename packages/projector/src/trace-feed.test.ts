import {
  type DomainEvent,
  event,
  type LogId,
  type Logger,
  loggerOver,
  type LogLine,
  silentLogger,
} from '@beaver/core'
import { draft, emptyHead, joinBatch, seal } from '@beaver/core/journal'
import { type JournalMessage, openReadModel, type ReadModel } from '@beaver/projection'
import { spanNames, type SpansSent, type TraceSpan } from '@beaver/telemetry/traces'
import { until, virtualClock } from '@beaver/testing'
import { afterEach, expect, test } from 'vitest'
import { TraceFeed } from './trace-feed.ts'

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

const start = Date.parse('2026-01-01T00:00:00.000Z')
const usage = { input_tokens: 10, output_tokens: 5, calls: 1 }
const failure = { class: 'provider_unavailable', message: 'hidden reason' } as const

/** A journal of tasks. Each event is 100 ms after the one before it. */
function journal() {
  const messages: JournalMessage[] = []
  const heads = new Map<string, typeof emptyHead>()
  let events = 0
  /** Events of one entry, which is a message. */
  function writeTogether(task: string, ...together: readonly DomainEvent[]): void {
    const log = { tenant: 'local', session: `hidden session of ${task}`, task } as LogId
    const records = together.map((each) => {
      const time = new Date(start + events++ * 100).toISOString()
      const head = heads.get(task) ?? emptyHead
      const epoch = head === emptyHead ? 0 : 1
      const sealed = seal(head, draft(each), { epoch, source: '/d', subject: task, time })
      heads.set(task, sealed.head)
      return sealed.record
    })
    messages.push({ sequence: messages.length * 2 + 1, log, payload: joinBatch(records) })
  }
  return {
    messages,
    writeTogether,
    /** Each event is an entry of its own. */
    write(task: string, ...each: readonly DomainEvent[]): void {
      for (const one of each) writeTogether(task, one)
    },
  }
}
type Journal = ReturnType<typeof journal>

const submitted = (task: string, of: { trace?: string; retries?: string } = {}): DomainEvent =>
  event('task_submitted', {
    task_id: task as never,
    session_id: `hidden session of ${task}` as never,
    tenant: 'local',
    previous_task_id: null,
    request: {
      text: 'hidden words',
      workspace: '/hidden',
      skill: null,
      source: 'cli',
      ...(of.retries === undefined ? {} : { retry_of: of.retries as never }),
    },
    ...(of.trace === undefined ? {} : { trace: { traceparent: of.trace } }),
  })

const runStarted = (run: string, team: string | null = null): DomainEvent =>
  event(
    'run_started',
    {
      run_id: run as never,
      parent_run_id: null,
      attempt_index: 1,
      agent_name: run,
      team_run_id: team as never,
      node_id: team === null ? null : run,
      source: 'cli',
      max_tool_iterations: 9,
      tools: [],
    },
    run,
  )

const answered = (run: string, ...calls: readonly (readonly [id: string, tool: string])[]): DomainEvent =>
  event(
    'assistant_message_added',
    {
      content: 'hidden answer',
      tool_calls: calls.map(([id, name]) => ({ id, name, arguments: '{"path":"hidden.txt"}' })),
      finish_reason: 'stop',
      usage,
      provider_name: 'openai',
      model: 'small',
      response_id: null,
      duration_ms: 40,
    },
    run,
  )

const started = (run: string, call_id: string, tool_name = 'find'): DomainEvent =>
  event('tool_call_started', { call_id, tool_name, idempotent: true }, run)

const resulted = (run: string, call_id: string, error: string | null = null): DomainEvent =>
  event(
    'tool_result_recorded',
    { call_id, tool_name: 'find', success: error === null, content: 'hidden result', error, duration_ms: 7 },
    run,
  )

const runCompleted = (run: string): DomainEvent =>
  event('run_completed', { finish_reason: 'stop', tool_iterations: 1, usage }, run)

const result = {
  final_output: 'hidden output',
  outputs: [],
  usage,
  provider: 'openai',
  model: 'small',
  simulated: false,
  failure: null,
}

/** A task that does nothing but end. */
const small = (to: Journal, task: string, of: Parameters<typeof submitted>[1] = {}): void =>
  to.write(task, submitted(task, of), runStarted('root'), event('task_completed', result))

/** A team of two, a call that a person refuses, a model that fails. */
function teamTask(to: Journal, task: string): void {
  const team = `team-${task}` as never
  const node = (node_id: string) => ({
    kind: 'code' as const,
    node_id,
    depends_on: [],
    operation: 'map',
  })
  to.write(
    task,
    submitted(task),
    event('task_claimed', { daemon: 'd1' }),
    runStarted('root'),
    event(
      'provider_call_failed',
      { failure, tries: 1, retry_in_ms: 0, status: 503, duration_ms: 30, model: 'big' },
      'root',
    ),
    answered('root', ['c1', 'find'], ['c2', 'GraphWorkflow']),
    event('approval_requested', { call_id: 'c1', tool_name: 'find', subject: 'x', rule: null }, 'root'),
    started('root', 'c2', 'GraphWorkflow'),
    event(
      'task_team_run_started',
      {
        team_run_id: team,
        run_id: 'root' as never,
        call_id: 'c2',
        graph: {
          workflow: 'GraphWorkflow',
          task: 'hidden task',
          nodes: [node('one'), node('two')] as never,
          outputs: ['two'],
          output: 'two',
        },
        concurrent_nodes_max: 2,
      },
      'root',
    ),
    runStarted('one', team),
    answered('one', ['c1', 'find']),
    started('one', 'c1'),
    event('task_suspended', {
      daemon: 'd1',
      waits_for: 'person',
      wait_ms: 5,
      until: '2026-01-01T00:00:09.000Z',
      reason: 'hidden',
    }),
    event('approval_denied', { call_id: 'c1', by: 'hidden person', reason: 'hidden reason' }, 'root'),
    resulted('root', 'c1', 'approval_denied'),
    resulted('one', 'c1'),
    answered('one'),
    runCompleted('one'),
    runStarted('two', team),
    answered('two', ['c1', 'find']),
    started('two', 'c1'),
    event('task_team_run_failed', { team_run_id: team, outcome: 'cancelled', message: 'hidden' }, 'root'),
    resulted('root', 'c2', 'cancelled'),
    event('task_failed', { ...result, failure }),
  )
}

/** A collector that answers as it is told, and what it has taken. */
function collector() {
  const taken: TraceSpan[] = []
  let answer: SpansSent = { kind: 'taken' }
  let asked = 0
  return {
    taken,
    says: (next: SpansSent) => void (answer = next),
    asked: () => asked,
    sink: {
      async send(spans: readonly TraceSpan[]): Promise<SpansSent> {
        asked++
        if (answer.kind === 'taken') taken.push(...spans)
        return answer
      },
      close: async () => {},
    },
  }
}

/** A file in memory. Default: a feed was here before the first message. */
function keptText(text: string | null = '{"stream":"S@1","sequence":0}') {
  return { read: () => text, write: async (next: string) => void (text = next) }
}
const sequenceIn = (kept: ReturnType<typeof keptText>): number =>
  (JSON.parse(kept.read() ?? '') as { sequence: number }).sequence

async function modelOf(from: Journal): Promise<ReadModel> {
  const model = openReadModel(':memory:', { readBlob: () => Promise.reject(new Error('no blob')) })
  stops.push(() => model.close())
  model.begin('S@1')
  await model.apply(from.messages)
  return model
}

function feedOf(
  model: ReadModel,
  of: Partial<ConstructorParameters<typeof TraceFeed>[0]> & { readonly logger?: Logger },
) {
  const clock = virtualClock()
  const parts = { namespace: 'test', ratio: 1, content: false, kept: keptText(), end: 0 }
  const feed = new TraceFeed(
    { model, sink: collector().sink, ...parts, ...of },
    { logger: of.logger ?? silentLogger, clock },
  )
  const running = feed.run()
  const stopped = (): Promise<void> => {
    feed.stop()
    return running
  }
  stops.push(stopped)
  /** Lets time pass until it is so. */
  const sends = (what: string, done: () => boolean): Promise<unknown> =>
    until(what, () => {
      clock.advance(60_000)
      return done()
    })
  return {
    feed,
    stopped,
    /** Tells the feed that the model has more, and lets time pass until it is so. */
    reads(what: string, done: () => boolean): Promise<unknown> {
      feed.applied()
      return sends(what, done)
    },
    sends,
  }
}

/** The spans of everything in a journal. */
async function spansOf(write: (to: Journal) => void, of: { content?: boolean; ratio?: number } = {}) {
  const from = journal()
  write(from)
  const to = collector()
  const kept = keptText()
  const end = from.messages.at(-1)?.sequence ?? 0
  const { reads, stopped } = feedOf(await modelOf(from), { sink: to.sink, kept, ...of })
  await reads('everything is read', () => sequenceIn(kept) === end)
  await stopped()
  return to.taken
}

/** Name, begin, end, error and events of each span, as a tree in the order in which they began. */
function treeOf(spans: readonly TraceSpan[], parent: string | null = null, depth = 0): string[] {
  return spans
    .filter(({ parentId }) => parentId === parent)
    .toSorted((x, y) => x.beganMs - y.beganMs || x.name.localeCompare(y.name))
    .flatMap((span) => [
      `${'  '.repeat(depth)}${span.name} ${span.beganMs - start}-${span.endedMs - start}${span.error === null ? '' : ` ${span.error}`}${span.events.map(({ name }) => ` +${name}`).join('')}`,
      ...treeOf(spans, span.spanId, depth + 1),
    ])
}

test('a team is inside of its call, its members are inside of the team, and what is open ends with it', async () => {
  const spans = await spansOf((to) => teamTask(to, 't'))
  expect(treeOf(spans)).toMatchInlineSnapshot(`
    [
      "task 0-2200 provider_unavailable +task_claimed +task_suspended",
      "  invoke_agent root 200-2200 cancelled",
      "    chat big 270-300 provider_unavailable",
      "    chat small 360-400",
      "    execute_tool GraphWorkflow 600-2100 cancelled",
      "      invoke_workflow GraphWorkflow 700-2000 cancelled",
      "        invoke_agent one 800-1600",
      "          chat small 860-900",
      "          execute_tool find 1000-1400",
      "          chat small 1460-1500",
      "        invoke_agent two 1700-2000 cancelled",
      "          chat small 1760-1800",
      "          execute_tool find 1900-2000 cancelled",
      "    execute_tool find 1293-1300 approval_denied +approval_requested +approval_denied",
    ]
  `)
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
})

test('a span has no text of a person, a model or a tool, unless the configuration says so', async () => {
  const write = (to: Journal): void => teamTask(to, 't')
  expect(JSON.stringify(await spansOf(write))).not.toContain('hidden')
  const told = JSON.stringify(await spansOf(write, { content: true }))
  expect(told).toContain('hidden answer')
  expect(told).toContain('hidden result')
  expect(told).toContain('hidden.txt')
  expect(told).not.toMatch(/hidden (?:words|person|reason)/)
})

test('a share of the tasks has spans, and they are the same tasks each time', async () => {
  const write = (to: Journal): void => {
    for (let i = 0; i < 40; i++) small(to, `t${i}`)
  }
  const [all, some, again, none] = await Promise.all(
    [1, 0.5, 0.5, 0].map(async (ratio) => {
      const spans = await spansOf(write, { ratio })
      return [...new Set(spans.map(({ traceId }) => traceId))].toSorted()
    }),
  )
  expect(all).toHaveLength(40)
  expect(some?.length).toBeGreaterThan(5)
  expect(some?.length).toBeLessThan(35)
  expect(some).toEqual(again)
  expect(none).toEqual([])
})

const [trace, parent] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']

test('a task that is submitted in a trace belongs there, and its submitter decides', async () => {
  const spans = await spansOf(
    (to) => {
      small(to, 'yes', { trace: `00-${trace}-${parent}-01` })
      small(to, 'no', { trace: `00-${trace}-${parent}-00` })
    },
    { ratio: 0 },
  )
  expect(
    spans.map(({ name, traceId, parentId, parentIsRemote, kind }) => [
      name,
      traceId,
      parentId,
      parentIsRemote,
      kind,
    ]),
  ).toEqual([
    ['invoke_agent root', trace, spans[1]?.spanId, false, 'internal'],
    ['task', trace, parent, true, 'consumer'],
  ])
})

test('a retry is linked with the task that it retries', async () => {
  const spans = await spansOf((to) => {
    small(to, 'old', { trace: `00-${trace}-${parent}-01` })
    small(to, 'new', { retries: 'old' })
  })
  const [old, retry] = spans.filter(({ name }) => name === 'task')
  expect(old?.links).toEqual([])
  expect(retry?.links).toEqual([
    { traceId: old?.traceId, spanId: old?.spanId, attributes: { [spanNames.link]: 'retry_of' } },
  ])
})

test('a feed that is stopped after each message goes on as if it had not been', async () => {
  const write = (to: Journal): void => {
    teamTask(to, 't')
    small(to, 'u')
  }
  const whole = await spansOf(write)
  const from = journal()
  write(from)
  const to = collector()
  const kept = keptText()
  const model = await modelOf(journal())
  for (const message of from.messages) {
    await model.apply([message])
    const { reads, stopped } = feedOf(model, { sink: to.sink, kept })
    await reads('the message is read', () => sequenceIn(kept) === message.sequence)
    await stopped()
  }
  expect(to.taken).toEqual(whole)
})

test('no span is lost where a reading ends between two events of one entry', async () => {
  const from = journal()
  for (let i = 0; i < 300; i++) {
    from.write(`t${i}`, submitted(`t${i}`))
    from.writeTogether(`t${i}`, runStarted('root'), event('task_completed', result))
  }
  const to = collector()
  const { reads } = feedOf(await modelOf(from), { sink: to.sink })
  await reads('all are sent', () => to.taken.length === 600)
  expect(new Set(to.taken.map(({ spanId }) => spanId)).size).toBe(600)
})

test('a feed that stops does not work off a long backlog', async () => {
  const from = journal()
  for (let i = 0; i < 600; i++) small(from, `t${i}`)
  const kept = keptText()
  const clock = virtualClock()
  let taken = 0
  const sink = {
    // Each request takes longer than the feed has when it stops.
    send: (spans: readonly TraceSpan[]): Promise<SpansSent> =>
      new Promise((resolve) => {
        clock.after(1_500, () => {
          taken += spans.length
          resolve({ kind: 'taken' })
        })
      }),
    close: async () => {},
  }
  const parts = { namespace: 'test', ratio: 1, content: false, kept, end: 0 }
  const feed = new TraceFeed({ model: await modelOf(from), sink, ...parts }, { logger: silentLogger, clock })
  const running = feed.run()
  feed.applied()
  feed.stop()
  let isOver = false
  void running.then(() => (isOver = true))
  const begun = clock.now()
  await until('it has stopped', () => {
    clock.advance(100)
    return isOver
  })
  expect(clock.now() - begun).toBeLessThanOrEqual(5_000)
  expect(taken).toBeLessThan(1_200)
})

test('what the process before left is sent, although nothing more comes', async () => {
  const from = journal()
  small(from, 't')
  const to = collector()
  const { sends } = feedOf(await modelOf(from), { sink: to.sink })
  await sends('it is sent', () => to.taken.length === 2)
})

test('while the collector does not answer, nothing is lost; what it refuses is left out', async () => {
  const from = journal()
  small(from, 't')
  const to = collector()
  const model = await modelOf(from)
  const { feed, reads } = feedOf(model, { sink: to.sink })
  to.says({ kind: 'failed', reason: 'nobody is there' })
  await reads('it tries again and again', () => to.asked() >= 3)
  expect(to.taken).toEqual([])
  expect(feed.state).toMatchObject({ sent: 0, refused: 0, waiting: from.messages.length })
  to.says({ kind: 'taken' })
  await reads('it has sent', () => to.taken.length > 0 && feed.state.waiting === 0)
  expect(feed.state).toMatchObject({ sent: 2, refused: 0, waiting: 0, refusal: null })
  to.says({ kind: 'refused', reason: 'the collector answers with 400' })
  small(from, 'u')
  await model.apply(from.messages)
  await reads('it has tried', () => feed.state.refused > 0)
  expect(feed.state).toMatchObject({ sent: 2, refused: 2, problem: null })
  expect(feed.state.refusal?.message).toBe('the collector answers with 400')
})

test('what a collector says that it left out is counted, and told once for many requests', async () => {
  const from = journal()
  const [to, model, logged] = [collector(), await modelOf(journal()), [] as LogLine[]]
  const { feed, stopped, reads } = feedOf(model, {
    sink: to.sink,
    logger: loggerOver((line) => logged.push(line)),
  })
  to.says({ kind: 'taken', left: { spans: 1, reason: 'it says: quota' } })
  for (let i = 1; i <= 5; i++) {
    small(from, `t${i}`)
    await model.apply(from.messages)
    await reads('it is sent', () => feed.state.refused === i)
  }
  await stopped()
  expect(feed.state).toMatchObject({ sent: 5, refused: 5, problem: null })
  const refusals = logged.filter((line) => line.event === 'spans_refused')
  expect(refusals.length).toBeLessThanOrEqual(2)
  expect(refusals[0]?.message).toBe('The collector refused 1 span, so it is left out: it says: quota.')
})

test('a collector that refuses everything is not asked about each span', async () => {
  const from = journal()
  for (let i = 0; i < 150; i++) small(from, `t${i}`)
  const [to, logged] = [collector(), [] as LogLine[]]
  const { feed, reads, stopped } = feedOf(await modelOf(from), {
    sink: to.sink,
    logger: loggerOver((line) => logged.push(line)),
  })
  to.says({ kind: 'refused', reason: 'the collector answers with 400' })
  await reads('all are refused', () => feed.state.refused === 300)
  await stopped()
  expect(to.asked()).toBeLessThan(60)
  expect(logged.filter((line) => line.event === 'spans_refused').length).toBeLessThanOrEqual(2)
})

test('a feed that stops while the collector does not answer sends the same spans the next time', async () => {
  const from = journal()
  small(from, 't')
  const [to, kept, model] = [collector(), keptText(), await modelOf(from)]
  const first = feedOf(model, { sink: to.sink, kept })
  to.says({ kind: 'failed', reason: 'nobody is there' })
  await first.reads('it has tried', () => to.asked() > 0)
  await first.stopped()
  to.says({ kind: 'taken' })
  await feedOf(model, { sink: to.sink, kept }).reads('it has sent', () => to.taken.length === 2)
})

const tasksIn = (spans: readonly TraceSpan[]): unknown[] =>
  spans.flatMap(({ name, attributes }) => (name === 'task' ? [attributes[spanNames.task]] : []))

test('what was there before the first feed has no spans, and a read model that is built again sends none twice', async () => {
  const from = journal()
  small(from, 'old')
  const model = await modelOf(from)
  const to = collector()
  const { reads } = feedOf(model, { sink: to.sink, kept: keptText(null) })
  small(from, 'new')
  await model.apply(from.messages)
  await reads('the new one is sent', () => to.taken.length > 0)
  expect(tasksIn(to.taken)).toEqual(['new'])
  model.clear()
  model.begin('S@1')
  await model.apply(from.messages)
  small(from, 'newest')
  await model.apply(from.messages)
  await reads('the newest one is sent', () => tasksIn(to.taken).includes('newest'))
  expect(tasksIn(to.taken)).toEqual(['new', 'newest'])
})

test('a projector that begins with an old journal sends nothing of it while it builds the read model', async () => {
  const from = journal()
  small(from, 'old')
  const end = from.messages.at(-1)?.sequence ?? 0
  const model = await modelOf(journal())
  const to = collector()
  const { reads } = feedOf(model, { sink: to.sink, kept: keptText(null), end })
  small(from, 'new')
  await model.apply(from.messages)
  await reads('the new one is sent', () => to.taken.length > 0)
  expect(tasksIn(to.taken)).toEqual(['new'])
})
