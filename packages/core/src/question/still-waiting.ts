// What waits for a person in a task: a call for a decision, or a question for an answer. It waits until
// somebody says something, or until its call, its run or the task ends without that.
import { type EventType, isTerminalTaskEvent } from '../events/catalog.ts'
import type { RecordedEvent } from '../journal/record.ts'

/** The call that waits. A call waits for one thing at a time. */
export interface WaitingPlace {
  readonly runId: string | undefined
  readonly callId: string
}

const runEnds: ReadonlySet<EventType> = new Set(['run_completed', 'run_failed', 'run_cancelled'])

/** What still waits after an event. @param settles the events that say what was waited for */
export function stillWaiting<Waiting extends WaitingPlace>(
  waiting: readonly Waiting[],
  { type, data, runId }: RecordedEvent,
  settles: ReadonlySet<EventType>,
): readonly Waiting[] {
  if (waiting.length === 0) return waiting
  if (isTerminalTaskEvent(type)) return []
  if (runEnds.has(type)) return waiting.filter((each) => each.runId !== runId)
  if ((type === 'tool_result_recorded' || settles.has(type)) && 'call_id' in data)
    return without(waiting, { runId, callId: String(data.call_id) })
  return waiting
}

/** The same without one call. */
export const without = <Waiting extends WaitingPlace>(
  waiting: readonly Waiting[],
  { runId, callId }: WaitingPlace,
): readonly Waiting[] => waiting.filter((each) => each.runId !== runId || each.callId !== callId)
