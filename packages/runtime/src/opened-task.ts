// A task that the accepting daemon drives at once, without the queue (docs/decisions/0031). Its first entries
// and its acceptance are one write. If that write is refused or never happens, nothing of the task exists,
// and it is accepted like any other.
import { foldTask } from '@beaver/core/fold'
import {
  type AcceptOutcome,
  type AppendOutcome,
  headAfter,
  type RecordedEvent,
  type SealedRecord,
} from '@beaver/core/journal'
import type { LoadedTask } from './load-task.ts'

/** The beginning of a new task's log. */
export interface Opening {
  readonly submitted: SealedRecord
  /** The task's `submitted` event. */
  readonly event: RecordedEvent
  /** Writes the first entries of the log, `submitted` among them. */
  write(payloads: readonly Uint8Array[]): Promise<AppendOutcome>
  /** The place of the task in its session; 0 before it is written. */
  acceptedRevision(): number
}

/** The task as it will be after its first record is in the journal. */
export function openedTask({ event }: Opening): LoadedTask {
  return {
    events: [event],
    state: foldTask([event]),
    head: headAfter(event),
    revision: 0,
    acceptedRevision: 0,
    askedAtMs: new Map(),
    archive: null,
    foreign: 0,
  }
}

/** How the acceptance went; `null` if it was never tried. */
export interface OpenedAcceptance {
  readonly opening: Opening
  /** @param over resolves when the task is no longer driven */
  outcome(over: Promise<unknown>): Promise<AcceptOutcome | null>
}

export function openedAcceptance(
  first: Pick<Opening, 'submitted' | 'event'>,
  accept: (payloads: readonly Uint8Array[]) => Promise<AcceptOutcome>,
): OpenedAcceptance {
  const { promise, resolve, reject } = Promise.withResolvers<AcceptOutcome | null>()
  let tried = false
  let acceptedRevision = 0
  return {
    opening: {
      ...first,
      async write(payloads) {
        tried = true
        const accepting = accept(payloads)
        accepting.then(resolve, reject)
        const outcome = await accepting
        if (outcome.kind !== 'accepted') return { kind: 'fenced' }
        acceptedRevision = outcome.acceptedRevision
        return { kind: 'appended', revision: outcome.revision }
      },
      acceptedRevision: () => acceptedRevision,
    },
    outcome(over) {
      void over.then(() => tried || resolve(null))
      return promise
    },
  }
}
