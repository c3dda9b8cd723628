// Bounds the number and the bytes of the tools that MCP servers add to every request to a model. In the order
// of the list, a tool that does not fit is left out with a reason; later ones may still fit.
import type { LeftOut, Listing } from './list-tools.ts'

export interface ToolBounds {
  readonly toolsMax: number
  readonly bytesMax: number
}

/** For one server. `tools` in the configuration selects its tools. */
export const serverBounds: ToolBounds = { toolsMax: 200, bytesMax: 256 * 1024 }
/** For all servers of a process together. */
export const totalBounds: ToolBounds = { toolsMax: 500, bytesMax: 512 * 1024 }

export class ToolBudget {
  readonly #bounds: ToolBounds
  #tools = 0
  #bytes = 0

  constructor(bounds: ToolBounds) {
    this.#bounds = bounds
  }

  /** Counts a tool, if it fits. */
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
