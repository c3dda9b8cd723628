import { event } from '@beaver/core'
import { expect, test } from 'vitest'
import { answer } from '../../test/checked-answer.ts'
import {
  answer as said,
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

const long = 'x'.repeat(30_000)

test('a root has its message, its calls in the order of the log, its output and its teams without their nodes', async () => {
  using model = await modelOf((stream) => teamTask(stream.log('t')))
  const found = answer(model.sql, 'run', { task_id: 't', run_id: 'root-run' })
  expect(found).toMatchObject({
    run: {
      run_id: 'root-run',
      parent_run_id: null,
      agent_name: 'root',
      status: 'completed',
      execution_mode: 'team',
      skills: ['report'],
      tool_calls: 1,
      calls: 2,
      teams: [
        {
          team_run_id: 'team-1',
          node_count: 4,
          nodes: [],
          nodes_by_status: { blocked: 1, completed: 2, failed: 1 },
        },
      ],
    },
    input: 'Write the report',
    input_chars: 16,
    output: 'The report is incomplete.',
    more: false,
  })
  expect(found.calls.map((call) => [call.kind, call.kind === 'model' ? call.text : call.result])).toEqual([
    ['model', null],
    ['tool', 'Two of four nodes completed.'],
    ['model', 'The report is incomplete.'],
  ])
})

test('the run of a node is what the node says of it', async () => {
  using model = await modelOf((stream) => teamTask(stream.log('t')))
  const run = answer(model.sql, 'run', { task_id: 't', run_id: 'run-write' })
  const node = answer(model.sql, 'node', { task_id: 't', node_id: 'write' })
  expect(run).toMatchObject({
    run: { node_id: 'write', team_run_id: 'team-1', parent_run_id: 'root-run' },
    output: 'the report',
  })
  const { run: view, ...work } = run
  expect(node).toMatchObject(work)
  expect(node.node.run).toEqual(view)
})

test('a call that the client must make, and one behind it, say so until the client has answered', async () => {
  const waits = async (...after: readonly ReturnType<typeof event>[]) => {
    using model = await modelOf((stream) => {
      const log = stream.log('t')
      const calls = ['c1', 'c2'].map((id) => ({ id, name: 'colour', arguments: '{}' }))
      log.write(submitted(log.log), runStarted('r'), userMessage('r', 'go'), said('r', '', calls))
      log.write(toolStarted('r', 'c1'))
      log.write(event('client_call_requested', { call_id: 'c1', tool_name: 'colour' }, 'r'), ...after)
    })
    return answer(model.sql, 'run', { task_id: 't', run_id: 'r' }).calls.flatMap((call) =>
      call.kind === 'tool' ? [[call.call_id, call.waits_for_call_id, call.waits_for_client]] : [],
    )
  }
  expect(await waits()).toEqual([
    ['c1', 'c1', true],
    ['c2', 'c1', true],
  ])
  expect(
    await waits(event('client_call_answered', { call_id: 'c1', content: 'blue', by: 'web' }, 'r')),
  ).toEqual([
    ['c1', undefined, undefined],
    ['c2', undefined, undefined],
  ])
})

test('the run of a tool node has its call and no message', async () => {
  using model = await modelOf((stream) => workflowTask(stream.log('t')))
  const found = answer(model.sql, 'run', { task_id: 't', run_id: 'run-find' })
  expect(found).toMatchObject({ run: { node_id: 'find', teams: [] }, input: null, input_chars: 0 })
  expect(found.calls.map((call) => call.kind)).toEqual(['tool'])
})

test('cuts texts, says their length, and pages the calls', async () => {
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(
      submitted(log.log),
      event('task_claimed', { daemon: 'd1' }),
      runStarted('r'),
      userMessage('r', long),
    )
    for (const id of ['a', 'b', 'c'])
      log.write(
        said('r', null, [{ id, name: 'read_file', arguments: '{}' }]),
        toolStarted('r', id),
        toolResult('r', id, long),
      )
    log.write(said('r', long))
  })
  const ask = (after: number): unknown =>
    answer(model.sql, 'run', { task_id: 't', run_id: 'r', after, limit: 3 })
  const first = answer(model.sql, 'run', { task_id: 't', run_id: 'r', limit: 3 })
  expect([first.input?.length, first.input_chars, first.output?.length, first.output_chars]).toEqual([
    20_000, 30_000, 20_000, 30_000,
  ])
  expect(first.calls[1]).toMatchObject({ call_id: 'a', result_chars: 30_000, success: true })
  expect(first).toMatchObject({ more: true })
  expect(ask(first.next ?? 0)).toMatchObject({
    more: true,
    calls: [{ call_id: 'b' }, { kind: 'model' }, { call_id: 'c' }],
  })
})

test('finds no run of another task', async () => {
  using model = await modelOf((stream) => {
    singleTask(stream.log('t'))
    teamTask(stream.log('other', { session: 'other' }))
  })
  for (const name of ['run', 'prompt'] as const)
    expect(() => answer(model.sql, name, { task_id: 't', run_id: 'root-run' })).toThrow(
      expect.objectContaining({ code: 'not_found', message: expect.stringContaining('"root-run"') }),
    )
})
