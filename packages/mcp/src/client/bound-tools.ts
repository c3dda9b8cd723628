// Bounds what MCP servers add to every request to a model: the number of their tools, and the bytes of what
// these say about themselves. Tools are taken in the order of the list, and each one that does not fit is
// left out with a reason. The others stay.
import type { LeftOut, Listing } from './list-tools.ts'

export interface ToolBounds {
  readonly toolsMax: number
  readonly bytesMax: number
}

/** For one server. `tools` in the configuration selects which ones these are. */
export const serverBounds: ToolBounds = { toolsMax: 200, bytesMax: 256 * 1024 }
/** For all servers of a process together. */
export const totalBounds: ToolBounds = { toolsMax: 500, bytesMax: 512 * 1024 }

/** Counts what is taken. */
export class ToolBudget {
  readonly #bounds: ToolBounds
  #tools = 0
  #bytes = 0

  constructor(bounds: ToolBounds) {
    this.#bounds = bounds
  }

  /** Whether a tool fits. If it does, it is counted. */
  take(bytes: number): boolean {
    if (this.#tools >= this.#bounds.toolsMax || this.#bytes + bytes > this.#bounds.bytesMax) return false
    this.#tools++
    this.#bytes += bytes
    return true
  }
}

export const boundText = ({ toolsMax, bytesMax }: ToolBounds): string =>
  `${toolsMax} tools and ${bytesMax / 1024} KiB of text`

export function boundTools(listing: Listing, bounds: ToolBounds = serverBounds): Listing {
  const { tools, leftOut } = listing
  const budget = new ToolBudget(bounds)
  const kept = tools.filter((tool) => budget.take(tool.bytes))
  if (kept.length === tools.length) return listing
  const names = new Set(kept.map(({ name }) => name))
  const reason = `is beyond the bound of one server (${boundText(bounds)}). Select tools with "tools" in the configuration`
  return {
    ...listing,
    tools: kept,
    leftOut: [
      ...leftOut,
      ...tools.filter(({ name }) => !names.has(name)).map(({ name }): LeftOut => ({ tool: name, reason })),
    ],
  }
}
