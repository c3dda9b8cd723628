// A task that is driven by the daemon that accepts it, at once and without the queue (docs/decisions/0031).
// The first entries of the task and its acceptance are one write: before it, nothing of the task exists. If
// the acceptance is refused, or if nothing was written, nothing has begun, and the task is accepted like any
// other.
import {
  type AcceptOutcome,
  type AppendOutcome,
  foldTask,
  headAfter,
  type RecordedEvent,
  type SealedRecord,
} from '@beaver/core'
import type { LoadedTask } from './load-task.ts'

/** What the log of a task begins with. */
export interface Opening {
  readonly submitted: SealedRecord
  /** The event of `submitted`. */
  readonly event: RecordedEvent
  /** Writes the first entries of the log, `submitted` among them. */
  write(payloads: readonly Uint8Array[]): Promise<AppendOutcome>
  /** The place of the task in its session, once it is written; 0 before. */
  acceptedRevision(): number
}

/** The task as it will be once its first record stands in the journal. */
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

/** How the acceptance went; `null` when it was never tried. */
export interface OpenedAcceptance {
  readonly opening: Opening
  /** @param over resolves when the task is not driven any more */
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
