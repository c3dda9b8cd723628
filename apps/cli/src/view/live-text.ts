// What the agents of a task are saying now, and how far their calls are: the end of each open answer, and the
// newest progress of each open call, from updates that may come late or be lost. It is bounded: `charsMax`
// characters of an answer, `runsMax` answers, `callsMax` calls. It is only a hint: what is journaled replaces
// it, and later updates of the same answer or call are ignored.
import {
  isProgress,
  type LiveDelta,
  type LiveProgress,
  type LiveUpdate,
  progressText,
  type RecordedEvent,
} from '@beaver/core'
import { oneLine } from '../text/plain-text.ts'

export interface LiveText {
  update(update: LiveUpdate): void
  /** Takes an event of the journal, which may end what was being said. */
  event(event: RecordedEvent): void
  /** What the run is saying. `null`: nothing. The text is not yet safe for a terminal. */
  of(runId: string): string | null
  /** How far the calls of the run are, a line for each. `null`: none tells it. */
  progressOf(runId: string): string | null
}

const charsMax = 4_000
const runsMax = 1_024
const callsMax = 4_096

interface Saying {
  readonly call: number
  text: string
  /** The characters of the answer so far, shown or not. */
  length: number
}

export function liveText(): LiveText {
  const saying = new Map<string, Saying>()
  /** The last provider call of each run whose answer is in the journal. */
  const answered = new Map<string, number>()
  const calls = openCalls()

  function piece({ run_id: run, call, offset, text }: LiveDelta): void {
    if (call <= (answered.get(run) ?? 0)) return
    let known = saying.get(run)
    if (known !== undefined && call < known.call) return
    if (known === undefined || call > known.call || offset === 0) {
      if (known === undefined && saying.size >= runsMax) return
      saying.set(run, (known = { call, text: '', length: 0 }))
    }
    if (offset < known.length) return
    const gap = offset > known.length ? ' … ' : ''
    known.text = (known.text + gap + text).slice(-charsMax)
    known.length = offset + text.length
  }

  return {
    update: (update) => (isProgress(update) ? calls.progress(update) : piece(update)),
    event(event) {
      calls.event(event)
      if (event.runId === undefined) return
      if (event.type === 'assistant_message_added') {
        answered.set(
          event.runId,
          Math.max((answered.get(event.runId) ?? 0) + 1, saying.get(event.runId)?.call ?? 0),
        )
        saying.delete(event.runId)
      } else if (
        event.type === 'provider_call_failed' ||
        event.type === 'run_completed' ||
        event.type === 'run_failed' ||
        event.type === 'run_cancelled'
      ) {
        saying.delete(event.runId)
      }
    },
    of: (runId) => saying.get(runId)?.text ?? null,
    progressOf: calls.of,
  }
}

/**
 * The calls of each run that have no result, and the newest progress of calls. An update may come before the
 * event that its call is in.
 */
function openCalls() {
  const open = new Map<string, Set<string>>()
  const newest = new Map<string, LiveProgress>()
  const keyOf = (run: string, call: string): string => JSON.stringify([run, call])
  return {
    progress(update: LiveProgress): void {
      const key = keyOf(update.run_id, update.call_id)
      newest.set(key, update)
      const [oldest = key] = newest.keys()
      if (newest.size > callsMax) newest.delete(oldest)
    },
    event({ type, runId, data }: RecordedEvent): void {
      if (runId === undefined) return
      if (type === 'assistant_message_added') open.set(runId, new Set(data.tool_calls.map(({ id }) => id)))
      else if (type === 'tool_call_requested') open.set(runId, new Set([data.call.id]))
      else if (type === 'tool_result_recorded') {
        open.get(runId)?.delete(data.call_id)
        newest.delete(keyOf(runId, data.call_id))
      } else if (type === 'run_completed' || type === 'run_failed' || type === 'run_cancelled')
        open.delete(runId)
    },
    of(run: string): string | null {
      const told = [...(open.get(run) ?? [])].flatMap((call) => newest.get(keyOf(run, call)) ?? [])
      return told.length === 0
        ? null
        : told.map((each) => oneLine(`${each.tool_name} ${progressText(each)}`)).join('\n')
    },
  }
}
