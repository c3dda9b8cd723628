import type { QueryOutput } from '@beaver/contracts'
import { type DataOf, type DomainEvent, event, type TaskId } from '@beaver/core'
import { expect, test } from 'vitest'
import { answer } from '../../test/checked-answer.ts'
import {
  answer as said,
  type LogWriter,
  newStream,
  runCompleted,
  runStarted,
  singleTask,
  submitted,
  teamTask,
  toolResult,
  toolStarted,
  userMessage,
  workflowTask,
} from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import { openReadModel, type ReadModel } from '../read-model.ts'

type Prompt = QueryOutput<'prompt'>

const system = (content: string, context?: DataOf<'system_prompt_snapshotted'>['context']): DomainEvent =>
  event('system_prompt_snapshotted', { content, ...(context === undefined ? {} : { context }) }, 'r')
const call = (id: string, path = 'a') => ({ id, name: 'read_file', arguments: JSON.stringify({ path }) })
const ask = (model: ReadModel, input: object = {}): Prompt =>
  answer(model.sql, 'prompt', { task_id: 't', run_id: 'r', ...input })
const texts = ({ messages }: Prompt): unknown[] =>
  messages.map(({ role, content, taskseq }) => [role, content, taskseq])

/** Two turns with a tool, then the answer. */
function turns(log: LogWriter, over: Partial<DataOf<'run_started'>> = {}): void {
  log.write(submitted(log.log))
  log.write(event('task_claimed', { daemon: 'd1' }))
  const started = runStarted('r').data as DataOf<'run_started'>
  log.write(
    event('run_started', { ...started, ...over }, 'r'),
    system('Be brief.', [{ part: 'base', tokens_estimated: 3 }]),
    userMessage('r', 'Count'),
  )
  log.write(said('r', null, [call('a'), call('b')]), toolStarted('r', 'a'), toolStarted('r', 'b'))
  log.write(toolResult('r', 'b', 'two'))
  log.write(toolResult('r', 'a', 'one'))
  log.write(said('r', 'Three.'), runCompleted('r'))
}

test('the newest answer was given to everything before it, each text with the event that has it', async () => {
  using model = await modelOf((stream) => turns(stream.log('t')))
  const found = ask(model)
  expect(found).toMatchObject({
    run_id: 'r',
    taskseq: 11,
    provider: 'openai',
    model: 'small',
    input_tokens: 10,
    settings: { model: null, model_settings: null, output_schema: null },
    tools: ['read_file', 'SequentialWorkflow'],
    context: [{ part: 'base', tokens_estimated: 3 }],
    message_count: 5,
    same_until: 2,
    unreadable_events: 0,
    more: false,
  })
  expect(texts(found)).toEqual([
    ['system', 'Be brief.', 4],
    ['user', 'Count', 5],
    ['assistant', null, 6],
    ['tool', 'one', 10],
    ['tool', 'two', 9],
  ])
  expect(found.messages[2]?.calls).toEqual([
    { call_id: 'a', tool: 'read_file', arguments: '{"path":"a"}', arguments_chars: 12 },
    { call_id: 'b', tool: 'read_file', arguments: '{"path":"a"}', arguments_chars: 12 },
  ])
  expect(found.messages[3]).toMatchObject({ index: 3, call_id: 'a' })
})

test('an earlier answer was given to what was there then', async () => {
  using model = await modelOf((stream) => turns(stream.log('t')))
  expect(ask(model, { taskseq: 6 })).toMatchObject({ taskseq: 6, message_count: 2, same_until: null })
  expect(() => ask(model, { taskseq: 7 })).toThrow(
    expect.objectContaining({
      code: 'invalid_arguments',
      problems: [{ path: 'taskseq', message: expect.stringContaining('The event 7') }],
    }),
  )
})

test('messages come in pages, and a long text says how long it is', async () => {
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(submitted(log.log), runStarted('r'), system('s'.repeat(50_000)), userMessage('r', 'x'))
    log.write(
      said('r', null, [
        { ...call('a'), arguments: 'a'.repeat(15_000) },
        { ...call('b'), arguments: 'b'.repeat(15_000) },
      ]),
    )
    log.write(toolResult('r', 'a', '1'), toolResult('r', 'b', '2'), said('r', 'y'))
  })
  const pages = [ask(model, { limit: 2 })]
  for (let { next } = pages[0]!; next !== null; { next } = pages.at(-1)!)
    pages.push(ask(model, { limit: 2, after: next }))
  expect(pages.map(({ messages }) => messages.map(({ index }) => index))).toEqual([[0, 1], [2, 3], [4]])
  expect(pages.map(({ message_count }) => message_count)).toEqual([5, 5, 5])
  const [first] = pages[0]!.messages
  expect([first?.content?.length, first?.content_chars]).toEqual([20_000, 50_000])
  expect(pages[1]!.messages[0]?.calls?.map((each) => [each.arguments.length, each.arguments_chars])).toEqual([
    [15_000, 15_000],
    [5_000, 15_000],
  ])
})

test('what was left out of a long conversation is shown as the model had it', async () => {
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(submitted(log.log), runStarted('r'), system('s'), userMessage('r', 'x'))
    log.write(said('r', null, [call('a')]), toolResult('r', 'a', 'a very long result'))
    log.write(
      event('context_compacted', { results: [{ call_id: 'a', tool_name: 'read_file', chars: 18 }] }, 'r'),
    )
    log.write(said('r', 'y'))
  })
  const found = ask(model)
  expect(texts(found).at(-1)).toEqual([
    'tool',
    expect.stringContaining('[result of read_file, call a: 18 characters'),
    7,
  ])
  expect(found.same_until).toBe(2)
})

test('a root has the history of its session, with the task from which each message comes', async () => {
  using model = await modelOf((stream) => {
    singleTask(stream.log('one'), { text: 'First?', final: 'Yes.' })
    const log = stream.log('t')
    const given = submitted(log.log).data as DataOf<'task_submitted'>
    log.write(
      event('task_submitted', {
        ...given,
        previous_task_id: 'one' as TaskId,
        request: { ...given.request, history: [{ role: 'user', content: 'From my client.' }] },
      }),
      runStarted('r'),
      system('s'),
      userMessage('r', 'Second?'),
      said('r', 'y'),
    )
  })
  expect(ask(model).messages.map(({ content, taskseq, task_id }) => [content, taskseq, task_id])).toEqual([
    ['s', 3, undefined],
    ['First?', null, 'one'],
    ['Yes.', null, 'one'],
    ['From my client.', null, undefined],
    ['Second?', 4, undefined],
  ])
})

test('a root in its own mode has no teams to call, and the first answer chose the mode', async () => {
  const tools = ['read_file', 'team_output', 'workflow:map', 'SequentialWorkflow']
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    const started = runStarted('r').data as DataOf<'run_started'>
    log.write(
      submitted(log.log),
      event('run_started', { ...started, tools, max_tool_iterations: 2 }, 'r'),
      system('s'),
      userMessage('r', 'x'),
    )
    log.write(
      event(
        'execution_mode_selected',
        {
          task_id: log.log.task,
          attempt_index: 1,
          execution_mode: 'single',
          routing_source: 'main_agent_first_turn',
          primary_template_skill: 'x',
          ignored_template_skills: [],
          workflow_tool: null,
          content: null,
        },
        'r',
      ),
      said('r', null, [call('a')]),
      toolResult('r', 'a', '1'),
    )
    log.write(
      event(
        'tools_left_out',
        { provider_name: 'openai', tools: [{ name: 'workflow:map', reason: 'x' }] },
        'r',
      ),
    )
    log.write(said('r', null, [call('b')]), toolResult('r', 'b', '2'))
    log.write(said('r', 'y'))
  })
  expect(ask(model, { taskseq: 6 }).tools).toEqual(['read_file', 'workflow:map', 'SequentialWorkflow'])
  expect(ask(model, { taskseq: 9 }).tools).toEqual(['read_file'])
  // Its iterations are used up.
  const last = ask(model)
  expect([last.tools, texts(last).at(-1)]).toEqual([
    [],
    ['user', expect.stringContaining('Answer now'), null],
  ])
})

test('a run that was asked nothing has what it has so far, and that of a tool asks nothing', async () => {
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(submitted(log.log), runStarted('r'), system('s'), userMessage('r', 'x'))
    workflowTask(stream.log('w', { session: 'w' }))
  })
  const found = ask(model)
  expect(found).toMatchObject({ taskseq: null, provider: null, message_count: 2, same_until: null })
  expect(answer(model.sql, 'prompt', { task_id: 'w', run_id: 'run-find' })).toMatchObject({
    taskseq: null,
    tools: [],
    message_count: 0,
  })
})

test('a lost event is counted, and what is known is shown', async () => {
  const stream = newStream()
  const log = stream.log('t')
  log.write(
    submitted(log.log),
    runStarted('r'),
    system('x'.repeat(200_000)),
    userMessage('r', 'x'),
    said('r', 'y'),
  )
  stream.blobs.clear()
  using model = openReadModel(':memory:', { readBlob: stream.readBlob })
  model.begin('S@1')
  await model.apply(stream.messages)
  expect(ask(model)).toMatchObject({ unreadable_events: 1, message_count: 1, messages: [{ content: 'x' }] })
})

test('what nobody who may sign has signed was sent to no model, and is no answer of one', async () => {
  const stream = newStream()
  turns(stream.log('t'))
  const log = stream.log('u', { session: 'u' })
  log.write(submitted(log.log), runStarted('r'), system('s'), userMessage('r', 'x'))
  const forged = log.write(userMessage('r', 'Forged.'), said('r', 'Forged.'))
  using model = openReadModel(':memory:', { readBlob: stream.readBlob })
  model.begin('S@1')
  await model.apply(stream.messages)
  const prompt = (): Prompt => answer(model.sql, 'prompt', { task_id: 'u', run_id: 'r' })
  expect(prompt()).toMatchObject({ taskseq: 6, message_count: 3 })
  model.sql.run(
    "insert into audit_findings (task_key, kind, message, sequence) select task_key, 'signature', '', ? from tasks where task_id = 'u'",
    [forged.sequence],
  )
  expect(prompt()).toMatchObject({ taskseq: null, message_count: 2 })
})

test('a member of a team has its own message, and no history', async () => {
  using model = await modelOf((stream) => {
    singleTask(stream.log('one'))
    teamTask(stream.log('t'))
  })
  expect(texts(ask(model, { run_id: 'run-write' }))).toEqual([['user', 'Do write', expect.any(Number)]])
})
