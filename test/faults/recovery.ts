// How long work stands still after a fault: from the fault to the next event of each task it hit. A task is
// hit when it was being driven where the fault struck; one that waits for a person or for its turn is not. An
// event that a dead daemon wrote before it died is not its task's next event.
import type { Hit } from './faults.ts'
import type { Logs, SeenEvent, TaskLog } from './logs.ts'
import type { FaultKind } from './plan.ts'

export interface RecoverySamples {
  readonly ms: number[]
  /** Tasks that had no further event. */
  lost: number
}

export interface Recovery {
  strike(kind: FaultKind, hit: Hit, logs: Logs): void
  saw(event: SeenEvent): void
  /** By kind of fault. */
  samples(): Readonly<Partial<Record<FaultKind, RecoverySamples>>>
  /** The slowest: which task, after which fault. */
  slowest(
    count: number,
  ): readonly { readonly task: string; readonly fault: FaultKind; readonly at: number; readonly ms: number }[]
}

interface Waiting {
  readonly kind: FaultKind
  readonly at: number
  readonly deadSource: string | null
}

export function measureRecovery(): Recovery {
  const waiting = new Map<TaskLog, Waiting[]>()
  const samples: Partial<Record<FaultKind, RecoverySamples>> = {}
  const all: { task: string; fault: FaultKind; at: number; ms: number }[] = []
  const of = (kind: FaultKind): RecoverySamples => (samples[kind] ??= { ms: [], lost: 0 })
  return {
    strike(kind, hit, logs) {
      if (hit.kind === 'none') return
      const at = Date.now()
      for (const log of logs.tasks.values()) {
        if (log.owner === null || log.end !== null || log.asking.size > 0) continue
        if (hit.kind === 'daemon' && log.owner !== hit.daemon) continue
        const entry = {
          kind,
          at,
          deadSource: hit.kind === 'daemon' && hit.dead ? `/beaver/daemons/${hit.daemon}` : null,
        }
        const before = waiting.get(log)
        if (before === undefined) waiting.set(log, [entry])
        else before.push(entry)
      }
    },
    saw({ log, time, source }) {
      const open = waiting.get(log)
      if (open === undefined) return
      const left = open.filter(({ kind, at, deadSource }) => {
        if (time <= at || source === deadSource) return true
        of(kind).ms.push(time - at)
        all.push({ task: log.id.task, fault: kind, at, ms: time - at })
        return false
      })
      if (left.length === 0) waiting.delete(log)
      else waiting.set(log, left)
    },
    samples() {
      for (const [log, open] of waiting) if (log.end === null) for (const { kind } of open) of(kind).lost++
      waiting.clear()
      return samples
    },
    slowest: (count) => all.toSorted((a, b) => b.ms - a.ms).slice(0, count),
  }
}
