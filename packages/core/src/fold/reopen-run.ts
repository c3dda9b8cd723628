// The events of one run that a retry keeps: all of them if the run completed, otherwise those up to the point
// where it can continue. Pure. The kept events fold to a run that thinks or acts: its next model call or its
// next tool call is due. Failed tries are left out, because the retry has tries and waits of its own. The
// order of events does not change.
import type { EventType } from '../events/catalog.ts'
import type { RecordedEvent } from '../journal/record.ts'

const ends: ReadonlySet<EventType> = new Set(['run_completed', 'run_failed', 'run_cancelled'])

/**
 * Failed tries and restarts are of no use to a retry. A restart that names suspect tools is kept: their calls
 * run in a cell from then on.
 */
const isTrouble = (event: RecordedEvent): boolean =>
  event.type === 'provider_call_failed' ||
  (event.type === 'run_restarted' && (event.data.suspect_tools ?? []).length === 0)

/** The events of a run that stays ended, without its failed tries. */
export function runKept(run: readonly RecordedEvent[]): RecordedEvent[] {
  return run.filter((event) => !isTrouble(event))
}

/**
 * The events of a run that continues. The list is empty if the run had not begun to think; then the run
 * starts from the beginning.
 *
 * @param due calls that lose their results; what the run did after the answer that asked for one of them is
 * left out
 */
export function runReopened(run: readonly RecordedEvent[], due: ReadonlySet<string>): RecordedEvent[] {
  if (!run.some(({ type }) => type === 'user_message_added' || type === 'tool_call_requested')) return []
  const last = newestAnswer(run, due)
  const calls = new Set(last === null ? ofToolNode(run) : callsOf(last))
  const answers = run.filter((event) => event.type === 'assistant_message_added')
  const dropped = answers.find(({ taskseq }) => taskseq > (last?.taskseq ?? 0))
  const kept = run.filter((event) => {
    if (ends.has(event.type) || isTrouble(event)) return false
    // The first answer of a run chooses its mode.
    if (event.type === 'execution_mode_selected' && dropped === answers[0]) return answers.length === 0
    if (event.type === 'tool_result_recorded' && calls.has(event.data.call_id)) {
      // A cancelled call is due again. What happens to it depends on whether it may have taken effect.
      return event.data.error !== 'cancelled' && !due.has(event.data.call_id)
    }
    if (last !== null && due.size > 0 && event.taskseq > last.taskseq)
      return 'call_id' in event.data && calls.has(event.data.call_id ?? '')
    return dropped === undefined || event.taskseq < dropped.taskseq
  })
  return withIterations(kept, run)
}

type Answer = Extract<RecordedEvent, { type: 'assistant_message_added' }>

/** The newest answer from which the run continues. An answer without calls ended the run, without success. */
function newestAnswer(run: readonly RecordedEvent[], due: ReadonlySet<string>): Answer | null {
  const calling = run.filter(
    (event): event is Answer => event.type === 'assistant_message_added' && event.data.tool_calls.length > 0,
  )
  return calling.find((answer) => callsOf(answer).some((id) => due.has(id))) ?? calling.at(-1) ?? null
}

const callsOf = (answer: Answer): string[] => answer.data.tool_calls.map(({ id }) => id)
const ofToolNode = (run: readonly RecordedEvent[]): string[] =>
  run.flatMap((event) => (event.type === 'tool_call_requested' ? [event.data.call.id] : []))

/**
 * A run that used up its iterations could do nothing in a retry. It gets as many iterations again as it used.
 */
function withIterations(kept: RecordedEvent[], run: readonly RecordedEvent[]): RecordedEvent[] {
  const failed = run.find((event) => event.type === 'run_failed')
  if (failed?.data.failure.class !== 'iterations_exhausted') return kept
  return kept.map((event) =>
    event.type === 'run_started'
      ? {
          ...event,
          data: {
            ...event.data,
            max_tool_iterations: event.data.max_tool_iterations + failed.data.tool_iterations,
          },
        }
      : event,
  )
}
