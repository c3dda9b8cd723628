// Remembers which of the user's tools have cost so many threads that their calls no longer run in a shared
// thread. It applies the row `suspect_tool` of core's supervisors. A tool that was under way in more lost
// threads than the intensity allows is suspect until the daemon ends. An innocent tool that is called as
// often becomes suspect too: its calls cost more, and still have their results.
import { type Intensity, isExceeded, recentDeaths, supervisors } from '@beaver/core'

export interface ToolLosses {
  /** @returns whether a tool has become suspect by it */
  add(tools: readonly string[], nowMs: number): boolean
  names(): readonly string[]
}

export function toolLosses(
  intensity: Pick<Intensity, 'restartsMax' | 'periodMs'> = supervisors.suspect_tool.intensity,
): ToolLosses {
  const losses = new Map<string, readonly number[]>()
  const suspects = new Set<string>()
  return {
    add(tools, nowMs) {
      const before = suspects.size
      for (const tool of tools) {
        if (suspects.has(tool)) continue
        const recent = recentDeaths([...(losses.get(tool) ?? []), nowMs], nowMs, intensity)
        losses.set(tool, recent)
        if (isExceeded(recent.length, intensity)) suspects.add(tool)
      }
      return suspects.size > before
    },
    names: () => [...suspects],
  }
}
