// Which of the user's tools cost the daemon so many threads that nobody's calls of them run in a shared thread any more.
// T1. A tool that was under way in `lossesMax` lost threads of `periodMs` is suspect until the daemon ends. Innocent tools that are
//     called as often become suspect too: their calls cost more, and still have their results.

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
