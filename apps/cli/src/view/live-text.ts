// Collects what the agents of a task are writing now and how far their calls are: the end of each open
// answer, and the newest progress of each open call. Updates may come late or be lost, so this is only a
// hint. An event in the journal replaces it, and later updates of the same answer or call are ignored. It
// keeps at most `charsMax` characters of an answer, `runsMax` answers and `callsMax` calls.
import { isProgress, type LiveDelta, type LiveProgress, type LiveUpdate, progressText } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import type { AgentView } from '@beaver/core/task-view'
import { oneLine } from '../text/plain-text.ts'

export interface LiveText {
  update(update: LiveUpdate): void
  /** Adds an event of the journal, which may end an answer or a call. */
  event(event: RecordedEvent): void
  /** The text that the run is writing; `null` if there is none. It is not yet safe for a terminal. */
  of(runId: string): string | null
  /** The progress of the agent's open calls, one line for each; `null` if no call reports any. */
  progressOf(agent: Pick<AgentView, 'runId' | 'calls'>): string | null
}

const charsMax = 4_000
const runsMax = 1_024
const callsMax = 4_096

interface Saying {
  readonly call: number
  text: string
  /** The number of characters of the answer so far, including those that were dropped. */
  length: number
}

export function liveText(): LiveText {
  const saying = new Map<string, Saying>()
  /** For each run, the number of its last provider call whose answer is in the journal. */
  const answered = new Map<string, number>()
  /** The newest progress of each call. It may come before the event that contains the call. */
  const newest = new Map<string, LiveProgress>()

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

  function progress(update: LiveProgress): void {
    const key = keyOf(update.run_id, update.call_id)
    newest.set(key, update)
    const [oldest = key] = newest.keys()
    if (newest.size > callsMax) newest.delete(oldest)
  }

  return {
    update: (update) => (isProgress(update) ? progress(update) : piece(update)),
    event(event) {
      if (event.runId === undefined) return
      if (event.type === 'tool_result_recorded') newest.delete(keyOf(event.runId, event.data.call_id))
      else if (event.type === 'assistant_message_added') {
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
    progressOf({ runId, calls }) {
      const told = calls.flatMap(({ id, result }) =>
        result === null ? (newest.get(keyOf(runId ?? '', id)) ?? []) : [],
      )
      return told.length === 0
        ? null
        : told.map((each) => oneLine(`${each.tool_name} ${progressText(each)}`)).join('\n')
    },
  }
}

const keyOf = (run: string, call: string): string => JSON.stringify([run, call])
