// Who is charged for a worker thread that was lost. Pure. What becomes of the charged belongs to the loop supervisor.
// L1. Only a loop with work in the thread at that moment is charged: its tools, or an answer it was reading. A loop that waits for
//     its host, for the model or for a cell is not. L2. The user's tools are charged before built-in ones, which run in every
//     system and are bounded. L3. A tool whose loop has ended may still be the cause: then the thread was lost to a suspect, and
//     nobody is charged.
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
