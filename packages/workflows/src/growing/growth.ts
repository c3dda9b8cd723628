// Says how far a graph may grow while it runs, for people who look at a plan. The number is a bound: a graph
// never has more agents and tools than this.
import { definitionPrefix, type ExecutionGraph } from '@beaver/core'
import { z } from 'zod'
import { bodySize } from '../definitions/compile.ts'
import { mapItemsMax } from '../definitions/definition-file.ts'
import { graphSettings, operations } from '../definitions/settings.ts'
import { chatSize } from '../group-chat/group-chat.ts'

const hierarchy = z.object({ rounds_max: z.number(), delegations_max: z.number() })
const chat = z.object({
  agents: z.array(z.unknown()),
  speaker: z.string(),
  turns_max: z.number(),
  summarizer: z.unknown().optional(),
})
const team = z.object({ strategy: z.literal('leader_worker'), max_steps: z.number() })

/**
 * The most agents and tools that the graph may have when it ends. `null`: it has all of them from the start.
 *
 * @example
 * growthOf(graph) // => null
 */
export function growthOf(graph: ExecutionGraph): number | null {
  const now = graph.nodes.filter(({ kind }) => kind !== 'code').length
  const most = graph.workflow.startsWith(definitionPrefix) ? mapsMost(graph, now) : programMost(graph)
  return most === null || most <= now ? null : most
}

function programMost({ workflow, settings }: ExecutionGraph): number | null {
  switch (workflow) {
    case 'HierarchicalWorkflow': {
      const read = hierarchy.safeParse(settings)
      // The manager answers in each round and at the end, and each answer may be asked for twice.
      return read.success
        ? 2 * (read.data.rounds_max + 1) + read.data.rounds_max * read.data.delegations_max
        : null
    }
    case 'GroupChat': {
      const read = chat.safeParse(settings)
      return read.success ? chatSize(read.data).runs : null
    }
    case 'AgentTeam': {
      const read = team.safeParse(settings)
      return read.success ? read.data.max_steps : null
    }
    default:
      return null
  }
}

/** A map runs its body for each item. Maps within a body are bounded by the limit of the graph alone. */
function mapsMost(graph: ExecutionGraph, now: number): number | null {
  const settings = graphSettings.safeParse(graph.settings)
  if (!settings.success) return null
  const { definitions, limits } = settings.data
  const library = new Map(Object.entries(definitions))
  const nested = Object.values(definitions).some(({ nodes }) => nodes.some(({ kind }) => kind === 'map'))
  let most = now
  for (const node of graph.nodes) {
    if (node.kind !== 'code' || node.operation !== 'spread') continue
    const spread = operations.spread.safeParse(node.settings)
    if (!spread.success) continue
    const { body, max_items = mapItemsMax } = spread.data
    most += nested && body.kind === 'workflow' ? limits.agents_max : max_items * bodySize(body, library).runs
  }
  return Math.min(most, limits.agents_max)
}
