// Selects the tools of a listing that the configuration wants. list-tools.ts makes the listing, and
// server-tools.ts decides what is offered. Without a selection every listed tool is kept. A tool that is
// selected but not listed is left out with a reason.
import type { LeftOut, Listing } from './list-tools.ts'

/** @param wanted the names under `tools` in the configuration. Default: all tools. */
export function selectTools(listing: Listing, wanted: readonly string[] | undefined): Listing {
  if (wanted === undefined) return listing
  const { tools, leftOut, workflows } = listing
  const missing = wanted.filter(
    (each) =>
      tools.every((tool) => tool.name !== each) &&
      leftOut.every(({ tool }) => tool !== each) &&
      !workflows.includes(each),
  )
  return {
    ...listing,
    tools: tools.filter((tool) => wanted.includes(tool.name)),
    leftOut: [
      ...leftOut.filter(({ tool }) => tool === '*' || wanted.includes(tool)),
      ...missing.map((tool): LeftOut => ({
        tool,
        reason: 'is in the configuration, but the server does not list it',
      })),
    ],
  }
}
