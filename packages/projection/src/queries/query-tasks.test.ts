import { type DataOf, event, type TeamRunId } from '@beaver/core'
import { type AppliedBudget, newSpend, reservedIn, spendEvent } from '@beaver/core/budget'
import { usdOf } from '@beaver/core/cost'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { answer } from '../../test/checked-answer.ts'
import {
  answer as said,
  type LogWriter,
  newStream,
  runCompleted,
  runStarted,
  singleTask,
  submitted,
  toolResult,
  toolStarted,
  usage,
  workflowTask,
} from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'

const of = { per: 'run', exceeded: 'wait' } as const
const ofTask: AppliedBudget = { of: 'task', ...of, limits: { usd: 1, tool_calls: 5 } }
const ofNode: AppliedBudget = { of: 'node', ...of, limits: { model_calls: 3 } }

const reserved = (run: string, tokens: number) =>
  event(
    'model_call_reserved',
    {
      ...{ provider_name: 'openai', model: 'small', usd_max: 0.1 },
      ...{ input_tokens_max: tokens, output_tokens_max: 10 },
    },
    run,
  )
const suspended = event('task_suspended', {
  ...{ daemon: 'd1', waits_for: 'limit', wait_ms: 1, until: '2026-01-02T00:00:00.000Z', reason: 'x' },
})
const raisedNode = event('budget_raised', {
  ...{ request_id: 'q', by: 'cli', budget: { of: 'node', name: 'write', per: 'run' } as const },
  more: { model_calls: 2 },
} as DataOf<'budget_raised'>)

function begin(writer: LogWriter, budgets: readonly AppliedBudget[] = [ofTask]): void {
  writer.write(submitted(writer.log))
  writer.epoch = 1
  writer.write(event('task_claimed', { daemon: 'd1', budgets: [...budgets] }), runStarted('root'))
}

async function summaryOf(write: (writer: LogWriter) => void) {
  using model = await modelOf((stream) => write(stream.log('t')))
  const [task] = answer(model.sql, 'tasks', {}).tasks
  if (task === undefined) throw new Error('There is no task.')
  return task
}

describe('what a task in a list reserves of its budget', () => {
  test('is what its calls under way may use at most', async () => {
    const one = await summaryOf((writer) => {
      begin(writer)
      writer.write(runStarted('other'), reserved('root', 90), reserved('other', 40))
    })
    expect(one.reserved).toEqual({ usd: 0.2, tokens: 150, model_calls: 2, tool_calls: 0 })
    expect(one.budgets).toEqual([ofTask])
  })

  test.each([
    ['its answer', said('root', 'x')],
    ['the end of its run', runCompleted('root')],
    ['a suspension of the task', suspended],
  ])('is nothing after %s', async (_, settled) => {
    const settledAtOnce = await summaryOf((writer) => {
      begin(writer)
      writer.write(reserved('root', 90), settled)
    })
    expect(settledAtOnce.reserved).toBeUndefined()
  })

  test('is the newest reservation of a run, also over several batches', async () => {
    using model = await modelOf(() => {})
    const stream = newStream()
    const writer = stream.log('t')
    begin(writer)
    writer.write(reserved('root', 90))
    await model.apply(stream.messages)
    writer.write(said('root', null), reserved('root', 40))
    await model.apply(stream.messages.slice(-1))
    expect(answer(model.sql, 'tasks', {}).tasks[0]?.reserved).toMatchObject({ tokens: 50, model_calls: 1 })
    writer.write(suspended)
    await model.apply(stream.messages.slice(-1))
    expect(answer(model.sql, 'tasks', {}).tasks[0]?.reserved).toBeUndefined()
  })
})

test('what a task reserves is what its owner counts, whatever happens and however it is batched', async () => {
  const runs = fc.constantFrom('root', 'other')
  const asked = { provider_name: 'openai', model: 'small', usage: usage(1, 1) }
  const step = fc.oneof(
    fc.tuple(runs, fc.nat(9)).map(([run, tokens]) => reserved(run, tokens)),
    runs.map((run) => said(run, 'x')),
    runs.map((run) => toolStarted(run, 'c')),
    runs.map((run) => runCompleted(run)),
    runs.map((run) => event('model_call_lost', asked, run)),
    fc
      .tuple(runs, fc.constantFrom('skill_selection' as const, 'knowledge_search' as const))
      .map(([run, purpose]) => event('model_call_paid', { purpose, ...asked }, run)),
    fc.constant(suspended),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, fc.boolean()), { maxLength: 12 }), async (steps) => {
      using model = await modelOf(() => {})
      const stream = newStream()
      const writer = stream.log('t')
      begin(writer)
      writer.write(runStarted('other'))
      let applied = 0
      for (const [next, ends] of steps) {
        writer.write(next)
        if (!ends) continue
        await model.apply(stream.messages.slice(applied))
        applied = stream.messages.length
      }
      await model.apply(stream.messages.slice(applied))
      const spend = steps.reduce(
        (before, [next]) => spendEvent(before, next, { atMs: 0, priceFor: () => ({ input: 1, output: 1 }) }),
        newSpend(),
      )
      const { usd, tokens, model_calls } = reservedIn(spend, 'run')
      const counted = model_calls === 0 ? undefined : { usd: usdOf(usd), tokens, model_calls, tool_calls: 0 }
      expect(answer(model.sql, 'tasks', {}).tasks[0]?.reserved).toEqual(counted)
    }),
  )
})

test('a task in a list has its calls of tools where a budget bounds them', async () => {
  const withTools = (budgets: readonly AppliedBudget[]) =>
    summaryOf((writer) => {
      begin(writer, budgets)
      writer.write(
        said('root', null, [{ id: 'c', name: 'read_file', arguments: '{}' }]),
        toolStarted('root', 'c'),
        toolResult('root', 'c', 'x'),
      )
    })
  expect((await withTools([ofTask])).tool_calls).toBe(1)
  expect((await withTools([ofNode])).tool_calls).toBeUndefined()
})

test('a node at work has what it used of its own budget, with what it was given more', async () => {
  const task = await summaryOf((writer) => {
    begin(writer, [ofTask, ofNode])
    const team = { parent: 'root', team: 'team-1' as TeamRunId }
    writer.write(
      runStarted('run-read', { ...team, node: 'read' }),
      runStarted('run-write', { ...team, node: 'write' }),
      said('run-read', 'x'),
      runCompleted('run-read'),
      said('run-write', null),
      reserved('run-write', 40),
      raisedNode,
      raisedNode,
    )
    writer.epoch = 2
    writer.write(event('task_claimed', { daemon: 'd2', budgets: [ofTask, ofNode] }))
  })
  expect(task.node_uses).toMatchObject([
    {
      ...{ node_id: 'write', run_id: 'run-write', calls: 1, input_tokens: 10, output_tokens: 5 },
      ...{ tool_calls: 0, reserved: { tokens: 50 } },
    },
  ])
  expect(task.budgets).toEqual([ofTask, ofNode, { ...ofNode, name: 'write', limits: { model_calls: 7 } }])
})

describe('tasks are filtered', () => {
  test('to those that have not ended, and by their workflow', async () => {
    using model = await modelOf((stream) => {
      singleTask(stream.log('ended'))
      begin(stream.log('open'))
      workflowTask(stream.log('team'))
      const asked = stream.log('asked')
      asked.write(submitted(asked.log))
    })
    const ids = (input: object) => answer(model.sql, 'tasks', input).tasks.map(({ task_id: id }) => id)
    const [all, workflows] = [ids({}), ids({ workflow: 'workflow:map' })]
    expect(ids({ status: 'open' })).toEqual(['asked', 'open'])
    expect(workflows).toEqual(['team'])
    expect(ids({ workflow: null })).toEqual(all.filter((id) => !workflows.includes(id)))
    expect(ids({ workflow: null, status: 'completed' })).toEqual(['ended'])
  })
})
