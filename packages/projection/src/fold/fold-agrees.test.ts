// The read model folds the journal into rows, core folds it into states. What both say of a run and of its
// calls is the same.
import { type DomainEvent, event } from '@beaver/core'
import {
  callAtClient,
  callWaits,
  foldTask,
  heldBy,
  runEnded,
  type RunState,
  shownStatusOfCalls,
  type TaskState,
} from '@beaver/core/fold'
import { openEntry, type RecordedEvent } from '@beaver/core/journal'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  answer as said,
  newStream,
  result,
  runStarted,
  submitted,
  toolResult,
  toolStarted,
  userMessage,
} from '../../test/journal-fixture.ts'
import { answer } from '../queries/queries.ts'
import { waitsFor } from '../queries/query-node.ts'
import { openReadModel } from '../read-model.ts'

const runs = ['run_a', 'run_b']
const calls = ['c1', 'c2', 'c3']
const usage = { input_tokens: 1, output_tokens: 1, calls: 1 }

const ofCall = fc.record({ run: fc.constantFrom(...runs), call: fc.constantFrom(...calls) })
const step: fc.Arbitrary<DomainEvent> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({
        run: fc.constantFrom(...runs),
        ids: fc.uniqueArray(fc.constantFrom(...calls), { maxLength: 3 }),
      })
      .map(asks),
  },
  {
    weight: 5,
    arbitrary: ofCall.map(({ run, call }) =>
      event('approval_requested', { call_id: call, tool_name: 'read_file', subject: 's', rule: null }, run),
    ),
  },
  {
    weight: 2,
    arbitrary: ofCall.map(({ run, call }) => event('approval_granted', { call_id: call, by: 'anna' }, run)),
  },
  {
    weight: 2,
    arbitrary: ofCall.map(({ run, call }) =>
      event('approval_denied', { call_id: call, by: 'ben', reason: '' }, run),
    ),
  },
  { weight: 2, arbitrary: ofCall.map(({ run, call }) => toolStarted(run, call)) },
  {
    weight: 2,
    arbitrary: ofCall.map(({ run, call }) =>
      event('client_call_requested', { call_id: call, tool_name: 'read_file' }, run),
    ),
  },
  {
    weight: 2,
    arbitrary: ofCall.map(({ run, call }) =>
      event('client_call_answered', { call_id: call, content: '', by: 'web' }, run),
    ),
  },
  { weight: 3, arbitrary: ofCall.map(({ run, call }) => toolResult(run, call, 'ok')) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...runs)
      .map((run) => event('run_cancelled', { reason: 'x', tool_iterations: 0, usage }, run)),
  },
  { weight: 1, arbitrary: fc.constant(event('task_cancelled', result())) },
)

function asks({ run, ids }: { run: string; ids: string[] }): DomainEvent {
  return said(
    run,
    'text',
    ids.map((id) => ({ id, name: 'read_file', arguments: '{}' })),
  )
}

/** What core's fold says waits for a person. */
function waiting(state: TaskState): string[] {
  if (state.ended !== null) return []
  return [...state.runs.values()]
    .filter((run) => !runEnded(run))
    .flatMap((run) => run.calls.filter(callWaits).map(({ id }) => `${run.start.run_id} ${id}`))
    .toSorted()
}

/** Which call each open call of a run that has not ended waits for. */
function waitsOf(state: TaskState): string[] {
  return [...state.runs.values()]
    .filter((run) => !runEnded(run))
    .flatMap(({ start, calls: made }) =>
      made.flatMap((call) => {
        const waits = callWaits(call) || callAtClient(call) ? call : heldBy(call, made)
        return waits === null ? [] : [`${start.run_id} ${call.id} ${waits.id}`]
      }),
    )
    .toSorted()
}

test('which calls wait for a person, whether any does, and what each run does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const stream = newStream()
      const writer = stream.log('t')
      // A provider gives ids anew with each answer; while a call is open its id is not given again.
      const open = new Set<string>()
      const believable = steps.filter((each) => {
        if (each.type === 'tool_result_recorded') open.delete(`${each.runId} ${each.data.call_id}`)
        if (each.type !== 'assistant_message_added') return true
        if ([...open].some((key) => key.startsWith(`${each.runId} `))) return false
        for (const { id } of each.data.tool_calls) open.add(`${each.runId} ${id}`)
        return true
      })
      const began = runs.flatMap((run) => [runStarted(run), userMessage(run, 'go')])
      writer.write(submitted(writer.log), ...began, ...believable)
      using model = openReadModel(':memory:', { readBlob: stream.readBlob })
      model.begin('S@1')
      await model.apply(stream.messages)
      const events: RecordedEvent[] = []
      for (const { payload } of stream.messages)
        for (const { event: each } of (await openEntry(payload, stream.readBlob)).records)
          if (each !== null) events.push(each)
      const state = foldTask(events)
      const { calls: shown } = answer(model.sql, 'approvals', {}) as unknown as {
        calls: { run_id: string; call_id: string }[]
      }
      expect(shown.map((call) => `${call.run_id} ${call.call_id}`).toSorted()).toEqual(waiting(state))
      const { tasks } = answer(model.sql, 'tasks', { status: 'waiting_for_approval' }) as unknown as {
        tasks: unknown[]
      }
      expect(tasks.length).toBe(waiting(state).length > 0 ? 1 : 0)
      const rows = model.sql.all<{ run_id: string; status: string }>('select run_id, status from runs')
      if (state.ended !== null) return
      const waits = model.sql.all<Record<'run_id' | 'call_id' | 'other', string | null>>(
        `select run_id, call_id, ${waitsFor} as other from tool_calls`,
      )
      expect(
        waits
          .flatMap(({ run_id, call_id, other }) => (other === null ? [] : [`${run_id} ${call_id} ${other}`]))
          .toSorted(),
      ).toEqual(waitsOf(state))
      expect(Object.fromEntries(rows.map(({ run_id, status }) => [run_id, status]))).toEqual(statuses(state))
    }),
    { numRuns: 100 },
  )
})

const statuses = (state: TaskState): Record<string, string> =>
  Object.fromEntries([...state.runs.values()].map((run) => [run.start.run_id, shown(run)]))

/** A call that is held does nothing, so screens say that the run waits. */
const shown = ({ status, calls: made }: RunState): string =>
  status === 'acting' || status === 'waiting_for_approval' ? shownStatusOfCalls(made) : status
