// Decides who is charged for the loss of a worker thread. Pure. What happens to the charged loops is decided
// in loop-supervisor.ts. A loop is charged only if it had work in the thread at that moment: a tool, or an
// answer that it was reading. A loop that waits for its host, for the model or for a cell is not charged. The
// user's tools are charged before built-in tools, which run in every system and are bounded. A tool whose
// loop has ended may still be the cause. Then the thread was lost to a suspect, and no loop is charged.
import type { VitalsReading } from './thread-vitals.ts'

export interface Charge {
  /** By loop, the tools under way; empty for an answer that was read. Loops may have ended since. */
  readonly loops: ReadonlyMap<number, readonly string[]>
  /** The user's tools that were under way. */
  readonly ownTools: readonly string[]
}

export function chargeFor({ reader, calls }: Pick<VitalsReading, 'reader' | 'calls'>): Charge {
  if (reader !== null) return { loops: new Map([[reader, []]]), ownTools: [] }
  const own = calls.filter((call) => call.own)
  const loops = new Map<number, string[]>()
  for (const { loop, tool } of own.length > 0 ? own : calls) {
    const tools = loops.get(loop) ?? []
    if (!tools.includes(tool)) tools.push(tool)
    loops.set(loop, tools)
  }
  return { loops, ownTools: [...new Set(own.map(({ tool }) => tool))] }
}
