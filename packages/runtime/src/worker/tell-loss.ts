// The one line a lost thread leaves in the daemon's log: who was on it, what is suspect, what starts again.
import { type Logger, threadFacts } from '@beaver/core'
import type { Loss } from './shard.ts'

export function tellLoss(logger: Logger, { thread, message, charge, loops, charged, stuck }: Loss): void {
  threadFacts.lost(logger, {
    thread,
    reason: message,
    suspects: [...new Set([...charge.loops.values()].flat())],
    charged: charged.map(({ spec }) => ({ task: spec.taskId, run: spec.start.run_id })),
    runs: loops.length,
    stuck,
  })
}
