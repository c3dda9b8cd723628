import { isQueryName, queryContracts, type QueryName, type QueryOutput } from '@beaver/contracts'
import { type DataOf, event, type JsonObject, type TaskId } from '@beaver/core'
import { describe, expect, test } from 'vitest'
import {
  answer as said,
  graphOf,
  newStream,
  result,
  runStarted,
  singleTask,
  submitted,
  teamTask,
  userMessage,
  workflowTask,
} from '../../test/journal-fixture.ts'
import { answer } from '../../test/checked-answer.ts'
import { answerBytesMax } from './page.ts'
import { answer as answerOf } from './queries.ts'
import { openReadModel, type ReadModel } from '../read-model.ts'

type Stream = ReturnType<typeof newStream>

async function modelOf(stream: Stream): Promise<ReadModel> {
  const model = openReadModel(':memory:', { readBlob: stream.readBlob })
  model.begin('S@1')
  await model.apply(stream.messages)
  return model
}

function retry(stream: Stream, task: string, n: number): void {
  const writer = stream.log(`${task}.retry-${n}`)
  const given = submitted(writer.log).data as DataOf<'task_submitted'>
  writer.write(event('task_submitted', { ...given, request: { ...given.request, retry_of: task as TaskId } }))
}

const picture = { media_type: 'image/png', sha256: 'ab'.repeat(32), bytes: 9 } as const

/** A task whose message shows a picture, and whose texts name another one. */
function pictured(stream: Stream, task: string): void {
  const log = stream.log(task)
  const named = JSON.stringify({ images: [{ ...picture, sha256: 'cd'.repeat(32) }] })
  const shown = { content: named, images: [picture] }
  log.write(submitted(log.log), runStarted('r'), event('user_message_added', shown, 'r'))
}

const ids = (of: QueryOutput<'tasks'>): string[] => of.tasks.map((task) => task.task_id)
const refusal = (code: string, message: string): unknown =>
  expect.objectContaining({ code, message: expect.stringContaining(message) })

describe('every query', () => {
  test('answers in plain JSON with snake_case keys', async () => {
    const stream = newStream()
    teamTask(stream.log('task-1'))
    pictured(stream, 'pictured')
    using model = await modelOf(stream)
    const keys = new Set<string>()
    const inputs: Partial<Record<QueryName, JsonObject>> = {
      task: { task_id: 'task-1' },
      run: { task_id: 'task-1', run_id: 'run-check' },
      graph: { task_id: 'task-1' },
      node: { task_id: 'task-1', node_id: 'check' },
      prompt: { task_id: 'task-1', run_id: 'run-check' },
      spans: { task_id: 'task-1' },
      timeline: { task_id: 'task-1' },
      events: { task_id: 'task-1' },
      search: { query: 'report' },
      session_search: { query: 'report', tenant: 'local' },
      open_tasks: { tenant: 'local' },
      image: { task_id: 'pictured', sha256: picture.sha256 },
      session: { session_id: 'web:test' },
    }
    for (const name of Object.keys(queryContracts).filter(isQueryName)) {
      const given = answer(model.sql, name, inputs[name] ?? {})
      const text = JSON.stringify(given, (key, value: unknown) => (keys.add(key), value))
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(given)))
    }
    expect([...keys].filter((key) => !/^[a-z0-9_]*$/.test(key))).toEqual([])
  })

  test('refuses input of another shape, with the path of each problem', async () => {
    using model = await modelOf(newStream())
    const refused = [
      ['tasks', { limit: 0 }, 'limit'],
      ['tasks', { limit: 201 }, 'limit'],
      ['tasks', { status: 'lost' }, 'status'],
      ['task', {}, 'task_id'],
      ['events', { task_id: 'x', after: -1 }, 'after'],
      ['search', { query: 7 }, 'query'],
    ] as const
    for (const [name, input, path] of refused) {
      expect(() => answer(model.sql, name, input)).toThrow(
        expect.objectContaining({ code: 'invalid_arguments', problems: [expect.objectContaining({ path })] }),
      )
    }
    expect(() => answer(model.sql, 'tasks', { sesion: 'x' })).toThrow(refusal('invalid_arguments', 'sesion'))
    expect(() => answerOf(model.sql, 'toString', {})).toThrow(
      refusal('invalid_arguments', 'There is no query "toString"'),
    )
  })

  test('answers on an empty read model', async () => {
    using model = openReadModel(':memory:', { readBlob: newStream().readBlob })
    expect(answer(model.sql, 'tasks', undefined)).toEqual({ tasks: [], more: false, next: null })
    expect(answer(model.sql, 'status', {})).toMatchObject({
      stream: null,
      sequence: 0,
      tasks: 0,
      by_status: {},
      findings: 0,
    })
    expect(answer(model.sql, 'audit', {})).toMatchObject({ intact: true, findings: [], heads: [] })
    expect(answer(model.sql, 'search', { query: 'x' })).toMatchObject({ hits: [] })
    expect(() => answer(model.sql, 'task', { task_id: 'x' })).toThrow(refusal('not_found', '"x"'))
  })
})

describe('tasks', () => {
  test('come newest first, page by page, each once', async () => {
    const stream = newStream()
    for (let n = 1; n <= 7; n++) singleTask(stream.log(`t${n}`))
    using model = await modelOf(stream)
    const seen: unknown[] = []
    let before: number | null = null
    do {
      const given: QueryOutput<'tasks'> = answer(model.sql, 'tasks', {
        limit: 3,
        ...(before === null ? {} : { before }),
      })
      expect(given.more).toBe(given.next !== null)
      seen.push(...ids(given))
      before = given.next
    } while (before !== null)
    expect(seen).toEqual(['t7', 't6', 't5', 't4', 't3', 't2', 't1'])
  })

  test('are filtered by session and status', async () => {
    const stream = newStream()
    singleTask(stream.log('a', { session: '会话' }))
    teamTask(stream.log('b'))
    stream.log('c').write(submitted(stream.log('c').log))
    using model = await modelOf(stream)
    expect(ids(answer(model.sql, 'tasks', { session_id: '会话' }))).toEqual(['a'])
    expect(ids(answer(model.sql, 'tasks', { status: 'incomplete' }))).toEqual(['b'])
    expect(ids(answer(model.sql, 'tasks', { status: 'submitted', session_id: 'web:test' }))).toEqual(['c'])
    expect(ids(answer(model.sql, 'tasks', { tenant: 'other' }))).toEqual([])
  })

  test('tell what was asked, what it cost and how long it took, with a long text cut', async () => {
    const stream = newStream()
    singleTask(stream.log('a'), { text: '字'.repeat(500) })
    using model = await modelOf(stream)
    const { tasks } = answer(model.sql, 'tasks', {})
    expect(tasks[0]).toMatchObject({
      text: '字'.repeat(200),
      status: 'completed',
      agents: 1,
      input_tokens: 20,
      output_tokens: 10,
      elapsed_ms: 1000,
      simulated: false,
    })
  })
})

describe('task', () => {
  test('shows its runs as a tree, nodes in declared order, with evidence, failure and cause', async () => {
    const stream = newStream()
    teamTask(stream.log('task-1'))
    using model = await modelOf(stream)
    const given = answer(model.sql, 'task', { task_id: 'task-1' })
    expect(given).toMatchObject({
      final_output: 'The report is incomplete.',
      chain_ok: true,
      findings: [],
      outputs: [{ node_id: 'publish', output: '' }],
    })
    expect(given.runs.map((run) => run.run_id)).toEqual(['root-run'])
    const nodes = given.runs[0]!.teams[0]!.nodes
    expect(nodes.map((node) => [node.node_id, node.status, node.run?.run_id])).toEqual([
      ['gather', 'completed', 'run-gather'],
      ['check', 'failed', 'run-check'],
      ['write', 'completed', 'run-write'],
      ['publish', 'blocked', undefined],
    ])
    expect(nodes[1]).toMatchObject({
      evidence_passed: false,
      failure: { class: 'evidence_missing' },
      evidence: [
        { field: 'required_evidence', status: 'failed' },
        { field: 'validation_rules', requirement: 'be careful', status: 'not_checked' },
      ],
    })
    expect(nodes[3]).toMatchObject({ cause_node_id: 'check', depends_on: ['check', 'write'] })
    expect(given).toMatchObject({ failures: [{ scope: 'node', id: 'check' }, { scope: 'task' }] })
  })

  test('that is a workflow has its team at the top: every kind of node, what was computed, skipped, cancelled, noted, shared', async () => {
    const stream = newStream()
    workflowTask(stream.log('task-w'))
    using model = await modelOf(stream)
    const given = answer(model.sql, 'task', { task_id: 'task-w' })
    expect(given).toMatchObject({
      runs: [],
      chain_ok: true,
      task: { workflow: 'workflow:map', profile: 'analyst', root_run_id: null, agents: 4 },
    })
    const [team] = given.teams
    expect(team).toMatchObject({
      run_id: null,
      call_id: null,
      status: 'incomplete',
      node_count: 8,
      node_count_at_start: 6,
      output_nodes: ['end', 'item-2'],
      diagnostics: [{ node_id: 'item-1', code: 'unknown_member', message: 'Nobody is called z.' }],
      shared_state: { seen: 2, names: ['item-1', 'item-2'] },
      shared_state_changes: 4,
    })
    const told = team!.nodes.map((node) => [node.node_id, node.kind, node.status, node.run?.run_id ?? null])
    expect(told).toEqual([
      ['split', 'code', 'completed', null],
      ['find', 'tool', 'completed', 'run-find'],
      ['branch', 'agent', 'skipped', null],
      ['stop', 'agent', 'cancelled', 'run-stop'],
      ['tail', 'agent', 'blocked', null],
      ['end', 'agent', 'failed', null],
      ['item-1', 'agent', 'completed', 'run-item-1'],
      ['item-2', 'agent', 'completed', 'run-item-2'],
    ])
    const node = (id: string): unknown => team!.nodes.find((each) => each.node_id === id)
    expect(node('split')).toMatchObject({
      operation: 'map',
      output: '["x","y"]',
      output_chars: 9,
      added_after: null,
    })
    expect(node('find')).toMatchObject({ tool: 'read_file', run: { output: 'found it', tool_calls: 1 } })
    expect(node('branch')).toMatchObject({ skip_reason: 'The condition does not hold.' })
    expect(node('stop')).toMatchObject({ cancel_reason: 'not needed', failure: { class: 'cancelled' } })
    expect(node('end')).toMatchObject({
      depends_on: ['find', 'branch', 'item-1', 'item-2'],
      quorum: 1,
      failure: { message: 'No code for this.' },
    })
    expect(node('item-1')).toMatchObject({ added_after: 'split', depends_on: ['split'] })
  })

  test('is found by a beginning of its id that fits no other', async () => {
    const stream = newStream()
    for (const id of ['task_ab1', 'task_ab2', 'task_ab', '任务一']) singleTask(stream.log(id))
    using model = await modelOf(stream)
    const found = (task: string): unknown => answer(model.sql, 'task', { task_id: task }).task.task_id
    expect(found('task_ab2')).toBe('task_ab2')
    expect(found('task_ab')).toBe('task_ab')
    expect(found('任')).toBe('任务一')
    expect(() => found('task_')).toThrow(
      refusal('invalid_arguments', 'task_ab, task_ab1, task_ab2. Give more of the id.'),
    )
    expect(() => found('%')).toThrow(refusal('not_found', '"%"'))
    expect(() => found('TASK_AB')).toThrow(refusal('not_found', 'TASK_AB'))
  })

  test('is found by a beginning in spite of its retries, and a retry by that and its number', async () => {
    const stream = newStream()
    for (const id of ['task_ab1', 'task_ab2']) singleTask(stream.log(id))
    for (const n of [1, 2]) retry(stream, 'task_ab1', n)
    using model = await modelOf(stream)
    const found = (task: string): unknown => answer(model.sql, 'task', { task_id: task }).task.task_id
    expect([found('task_ab1'), found('task_ab2'), found('task_ab1.retry-2')]).toEqual([
      'task_ab1',
      'task_ab2',
      'task_ab1.retry-2',
    ])
    expect(() => found('task_a.retry-1')).toThrow(refusal('not_found', 'task_a.retry-1'))
    expect(() => found('task_ab1.')).toThrow(
      refusal('invalid_arguments', 'task_ab1.retry-1, task_ab1.retry-2'),
    )
    expect(found('task_ab1.retry-1')).toBe('task_ab1.retry-1')
    const another = newStream()
    singleTask(another.log('task_ab1'))
    retry(another, 'task_ab1', 1)
    using one = await modelOf(another)
    expect(
      ['task_a', 'task_a.retry-1'].map((id) => answer(one.sql, 'task', { task_id: id }).task.task_id),
    ).toEqual(['task_ab1', 'task_ab1.retry-1'])
  })

  test('that failed because of its text has that text, and one that failed otherwise has none', async () => {
    const stream = newStream()
    for (const unfit of ['{"n":"one"}', undefined]) {
      const writer = stream.log(unfit === undefined ? 'other' : 'unfit')
      writer.write(submitted(writer.log))
      const failure = { class: 'output_invalid', message: 'It does not fit.' } as const
      writer.write(
        event('task_failed', {
          ...result({ final_output: '', failure }),
          ...(unfit === undefined ? {} : { unfit_output: unfit }),
        }),
      )
    }
    using model = await modelOf(stream)
    expect(answer(model.sql, 'task', { task_id: 'unfit' })).toMatchObject({
      final_output: '',
      unfit_output: '{"n":"one"}',
    })
    expect(answer(model.sql, 'task', { task_id: 'other' })).not.toHaveProperty('unfit_output')
  })

  test('is the newest one by the word latest, unless a task has that id', async () => {
    const stream = newStream()
    singleTask(stream.log('z', { session: 'a' }))
    singleTask(stream.log('b', { session: 'b' }))
    const found = (using: Awaited<ReturnType<typeof modelOf>>, more: object = {}): unknown =>
      answer(using.sql, 'task', { task_id: 'latest', ...more }).task.task_id
    {
      using model = await modelOf(stream)
      expect(found(model)).toBe('b')
      expect(found(model, { session_id: 'a' })).toBe('z')
      expect(answer(model.sql, 'session', { session_id: 'latest' }).session.session_id).toBe('b')
      expect(() => found(model, { session_id: 'none' })).toThrow(refusal('not_found', '"latest"'))
    }
    singleTask(stream.log('latest', { session: 'latest' }))
    singleTask(stream.log('c', { session: 'c' }))
    using model = await modelOf(stream)
    expect(found(model)).toBe('latest')
    expect(answer(model.sql, 'session', { session_id: 'latest' }).session.session_id).toBe('latest')
  })

  test('of one id in two sessions is told apart by the session', async () => {
    const stream = newStream()
    singleTask(stream.log('same', { session: 'a' }))
    singleTask(stream.log('same', { session: 'b' }))
    using model = await modelOf(stream)
    expect(() => answer(model.sql, 'task', { task_id: 'same' })).toThrow(
      refusal('invalid_arguments', 'local/a/same, local/b/same. Name the session.'),
    )
    expect(answer(model.sql, 'task', { task_id: 'same', session_id: 'b' })).toMatchObject({
      task: { session_id: 'b' },
    })
  })

  test('of the greatest team fits one message and says that there is more', async () => {
    const stream = newStream()
    const log = stream.log('big')
    const graph = graphOf(Array.from({ length: 512 }, (_, n) => ({ id: `node ${n} ${'名'.repeat(50)}` })))
    log.write(submitted(log.log), runStarted('root'))
    log.write(
      event(
        'task_team_run_started',
        { team_run_id: 't' as never, run_id: 'root' as never, call_id: 'c', graph, concurrent_nodes_max: 16 },
        'root',
      ),
    )
    for (const [n, node] of graph.nodes.entries()) {
      const of = { team_run_id: 't' as never, node_id: node.node_id, run_id: `run-${n}` as never }
      log.write(
        event('node_started', { ...of, input: null }),
        runStarted(`run-${n}`, { parent: 'root', node: node.node_id, team: 't' }),
        said(`run-${n}`, '长'.repeat(5000)),
        event('node_completed', of),
      )
    }
    log.write(
      event(
        'task_completed',
        result({
          final_output: '长'.repeat(100_000),
          outputs: graph.nodes.map((node) => ({ node_id: node.node_id, output: '长'.repeat(5000) })),
        }),
      ),
    )
    using model = await modelOf(stream)
    const given = answer(model.sql, 'task', { task_id: 'big', limit: 512 })
    expect(Buffer.byteLength(JSON.stringify(given))).toBeLessThan(1024 * 1024)
    expect(given).toMatchObject({ more: true, final_output_chars: 100_000 })
    expect(given.runs[0]!.teams[0]!.nodes.length).toBeGreaterThan(100)
  })

  test('with forged runs that are their own ancestors still has an answer with every run once', async () => {
    const stream = newStream()
    const log = stream.log('t')
    log.write(
      submitted(log.log),
      runStarted('a', { parent: 'b' }),
      runStarted('b', { parent: 'a' }),
      runStarted('c', { parent: 'c' }),
      runStarted('d', { parent: 'nobody' }),
    )
    using model = await modelOf(stream)
    const text = JSON.stringify(answer(model.sql, 'task', { task_id: 't' }))
    for (const id of ['a', 'b', 'c', 'd']) expect(text.split(`"run_id":"${id}"`).length - 1).toBe(1)
  })
})

describe('events', () => {
  test('come in order, page by page, as they were journaled', async () => {
    const stream = newStream()
    singleTask(stream.log('t'))
    using model = await modelOf(stream)
    const first = answer(model.sql, 'events', { task_id: 't', limit: 4 })
    const rest = answer(model.sql, 'events', { task_id: 't', after: first.next })
    expect([...first.events, ...rest.events].map((each) => each.taskseq)).toEqual(
      Array.from({ length: 11 }, (_, n) => n + 1),
    )
    expect(rest.more).toBe(false)
    expect(first.events[0]).toMatchObject({
      type: 'task_submitted',
      epoch: 0,
      data: { task_id: 't' },
      sequence: 1,
    })
  })

  test('come newest first, of the types and of the part of the log that are asked for, as the timeline does', async () => {
    const stream = newStream()
    singleTask(stream.log('t'))
    using model = await modelOf(stream)
    for (const name of ['events', 'timeline'] as const) {
      const placesOf = (input: JsonObject): number[] =>
        answer(model.sql, name, { task_id: 't', ...input }).events.map(({ taskseq }) => taskseq)
      const first = answer(model.sql, name, { task_id: 't', order: 'desc', limit: 4 })
      expect([first.events.map(({ taskseq }) => taskseq), first.next]).toEqual([[11, 10, 9, 8], 8])
      expect(placesOf({ order: 'desc', before: 8 })).toEqual([7, 6, 5, 4, 3, 2, 1])
      expect(placesOf({ after: 3, before: 6 })).toEqual([4, 5])
      const all = answer(model.sql, 'events', { task_id: 't' }).events
      const types = ['task_submitted', 'turn_completed', 'run_started', 'task_completed']
      const wanted = all.filter(({ type }) => types.includes(type)).map(({ taskseq }) => taskseq)
      expect(wanted.length).toBeGreaterThan(2)
      expect(placesOf({ types })).toEqual(wanted)
      expect(placesOf({ types, order: 'desc' })).toEqual(wanted.toReversed())
      expect(placesOf({ types: ["') or true --"] })).toEqual([])
    }
  })

  test('stop at what fits one message, and go on from there', async () => {
    const stream = newStream()
    const log = stream.log('t')
    log.write(submitted(log.log))
    for (let n = 0; n < 30; n++) log.write(userMessage('r', `${n}${'x'.repeat(60_000)}`))
    log.write(userMessage('r', 'y'.repeat(2_000_000)))
    using model = await modelOf(stream)
    const seen: QueryOutput<'events'>['events'] = []
    for (let after: number | null = 0; after !== null;) {
      const given: QueryOutput<'events'> = answer(model.sql, 'events', { task_id: 't', after })
      expect(Buffer.byteLength(JSON.stringify(given))).toBeLessThan(answerBytesMax + 1024)
      seen.push(...given.events)
      after = given.next
    }
    expect(seen).toHaveLength(32)
    expect(seen.at(-1)).toMatchObject({ data: null, data_bytes: 2_000_014, blob_sha256: expect.any(String) })
  })
})

test('an image is found in the task that shows it alone, and not where a text names it', async () => {
  const stream = newStream()
  pictured(stream, 'pictured')
  singleTask(stream.log('other'))
  using model = await modelOf(stream)
  const { sha256 } = picture
  expect(answer(model.sql, 'image', { task_id: 'pictured', sha256 })).toMatchObject({
    taskseq: 3,
    image: picture,
  })
  const missing = refusal('not_found', 'shows no image')
  expect(() => answer(model.sql, 'image', { task_id: 'other', sha256 })).toThrow(missing)
  const named = { task_id: 'pictured', sha256: 'cd'.repeat(32) }
  expect(() => answer(model.sql, 'image', named)).toThrow(missing)
})

test('status counts tasks by their status and says where the projector stands', async () => {
  const stream = newStream()
  singleTask(stream.log('a'))
  teamTask(stream.log('b'))
  using model = await modelOf(stream)
  expect(answer(model.sql, 'status', {})).toMatchObject({
    stream: 'S@1',
    sequence: stream.messages.at(-1)!.sequence,
    events: 45,
    tasks: 2,
    by_status: { completed: 1, incomplete: 1 },
    findings: 0,
  })
})

test('status says since when the oldest task has waited for a daemon', async () => {
  const stream = newStream()
  singleTask(stream.log('done'))
  using model = await modelOf(stream)
  const oldest = (): unknown => (answer(model.sql, 'status', {}) as QueryOutput<'status'>).oldest_submitted_at
  expect(oldest()).toBeNull()
  const [first, second] = [stream.log('first'), stream.log('second')]
  await model.apply([first.write(submitted(first.log)), second.write(submitted(second.log))])
  const given: QueryOutput<'tasks'> = answer(model.sql, 'tasks', { status: 'submitted' })
  const times = Object.fromEntries(given.tasks.map((each) => [each.task_id, each.submitted_at]))
  expect([times['first'] === times['second'], oldest()]).toEqual([false, times['first']])
  await model.apply([first.write(event('task_claimed', { daemon: 'd' }), event('task_cancelled', result()))])
  expect(oldest()).toBe(times['second'])
})

test('audit gives the head of each log, to be compared with the journal', async () => {
  const stream = newStream()
  const a = stream.log('a')
  const b = stream.log('b')
  singleTask(a)
  singleTask(b)
  using model = await modelOf(stream)
  const heads = (input: JsonObject): unknown => answer(model.sql, 'audit', input).heads
  expect(heads({})).toMatchObject([
    { task_id: 'b', hash: b.head.hash },
    { task_id: 'a', hash: a.head.hash, last_taskseq: 11, epoch: 1, chain_ok: true },
  ])
  expect(heads({ task_id: 'a' })).toMatchObject([{ task_id: 'a' }])
  expect(answer(model.sql, 'audit', { limit: 1 })).toMatchObject({
    intact: true,
    more_heads: true,
    next_head: 2,
  })
  expect(heads({ limit: 1, before: 2 })).toMatchObject([{ task_id: 'a' }])
})
