// What this daemon accepted a moment ago: if it takes the task itself, it need not read the log back.
// A1. A hint: when the log moved on since, the claim is refused and the task is read from the journal. A2. Bounded; taken once.
import { foldTask, headAfter, logKey, type LogId, openRecord, splitBatch } from '@beaver/core'
import type { LoadedTask } from './load-task.ts'

export interface AcceptedTasks {
  remember(log: LogId, first: { payload: Uint8Array; revision: number }): void
  take(log: LogId): LoadedTask | null
}

const keptMax = 10_000

export function acceptedTasks(): AcceptedTasks {
  const kept = new Map<string, { payload: Uint8Array; revision: number }>()
  return {
    remember(log, first) {
      if (kept.size >= keptMax) kept.delete(kept.keys().next().value as string)
      kept.set(logKey(log), first)
    },
    take(log) {
      const first = kept.get(logKey(log))
      if (first === undefined) return null
      kept.delete(logKey(log))
      const [record] = splitBatch(first.payload)
      if (record === undefined || record.dataref !== undefined) return null
      const events = [openRecord(record)]
      return { events, state: foldTask(events), head: headAfter(record), revision: first.revision }
    },
  }
}
