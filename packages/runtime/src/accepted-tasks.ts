// What this daemon accepts: if it takes the task itself, it need not read the log back.
// A1. A hint: when the log moved on since, the claim is refused and the task is read from the journal. A2. Bounded; taken once.
// A3. The queue may deliver a task before the write that accepted it is answered: whoever takes it waits for that answer.
import { logKey, type LogId, TransientMap } from '@beaver/core'
import { type LoadedTask, taskFrom } from './load-task.ts'

export interface AcceptedTasks {
  /** @param revision of the log's first entry; `null` when it was not written by us after all */
  expect(log: LogId, payload: Uint8Array, revision: Promise<number | null>): void
  /** The task as it was accepted; `null` when it must be read. */
  take(log: LogId): Promise<LoadedTask | null>
}

const keptMax = 10_000

export function acceptedTasks(): AcceptedTasks {
  const kept = new TransientMap<string, { payload: Uint8Array; revision: Promise<number | null> }>()
  return {
    expect(log, payload, revision) {
      const key = logKey(log)
      if (kept.size >= keptMax) kept.delete(kept.oldest() as string)
      const expected = { payload, revision: revision.catch(() => null) }
      kept.set(key, expected)
      void expected.revision.then((stored) => stored === null && kept.get(key) === expected && kept.delete(key))
    },
    async take(log) {
      const key = logKey(log)
      const expected = kept.get(key)
      if (expected === undefined) return null
      kept.delete(key)
      const revision = await expected.revision
      return revision === null ? null : taskFrom(expected.payload, revision)
    },
  }
}
