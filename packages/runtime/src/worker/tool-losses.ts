// Remembers which of the user's tools have cost so many threads that their calls no longer run in a shared thread.
// T1. A tool that was under way in `lossesMax` lost threads within `periodMs` is suspect until the daemon ends. An innocent tool that is
//     called as often becomes suspect too: its calls cost more, and still have their results.

const toolPolicy = { lossesMax: 3, periodMs: 600_000 } as const

export interface ToolLosses {
  /** @returns whether a tool has become suspect by it */
  add(tools: readonly string[], nowMs: number): boolean
  names(): readonly string[]
}

export function toolLosses({ lossesMax, periodMs }: { lossesMax: number; periodMs: number } = toolPolicy): ToolLosses {
  const losses = new Map<string, readonly number[]>()
  const suspects = new Set<string>()
  return {
    add(tools, nowMs) {
      const before = suspects.size
      for (const tool of tools) {
        const recent = [...(losses.get(tool) ?? []).filter((atMs) => nowMs - atMs <= periodMs), nowMs].slice(-lossesMax)
        losses.set(tool, recent)
        if (recent.length >= lossesMax) suspects.add(tool)
      }
      return suspects.size > before
    },
    names: () => [...suspects],
  }
}
