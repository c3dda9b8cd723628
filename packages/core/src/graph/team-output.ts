// What a team gives when it has ended. Pure.
import type { NodeOutput } from '../events/task-events.ts'
import type { TeamState } from '../fold/team-state.ts'
import type { TeamProgram, TeamView } from './team-program.ts'

/**
 * The outputs of an ended team, in declared order (D-31). A program may define the final output of a complete
 * team.
 *
 * @param outputs the texts of the completed nodes, by node id
 * @example
 * const [team] = foldTask(events).teams.values()
 * if (team !== undefined) teamOutput(team, new Map([['writer', 'Twice a day.']])).final_output // => 'Twice a day.'
 */
export function teamOutput(
  team: TeamState,
  outputs: ReadonlyMap<string, string>,
  program: TeamProgram | null = null,
): { final_output: string; outputs: { node_id: string; output: string }[] } {
  const { graph } = team
  const kept = (
    team.outcome === 'complete'
      ? graph.outputs.filter((id) => outputs.has(id))
      : partialOutputs(team, outputs)
  ).map((id) => ({
    node_id: id,
    output: outputs.get(id) ?? '',
  }))
  if (program?.result !== undefined && team.outcome === 'complete')
    return { ...program.result(viewOf(team, outputs)), outputs: kept }
  if (graph.output !== null) return { final_output: outputs.get(graph.output) ?? '', outputs: kept }
  const only = graph.outputs.length === 1 ? kept[0] : undefined
  return { final_output: only?.output ?? joinedOutputs(kept), outputs: kept }
}

/**
 * Several outputs as one text: a section for each (D-31).
 *
 * @example
 * joinedOutputs([{ node_id: 'a', output: 'one' }, { node_id: 'b', output: 'two' }]) // => '## a\n\none\n\n## b\n\ntwo'
 */
export function joinedOutputs(outputs: readonly NodeOutput[]): string {
  return outputs.map(({ node_id, output }) => `## ${node_id}\n\n${output}`).join('\n\n')
}

/**
 * The partial outputs of an incomplete team (D-34): the outputs that exist, and for each missing output the
 * last results on the way to it.
 */
function partialOutputs({ graph }: TeamState, outputs: ReadonlyMap<string, string>): string[] {
  const nodes = new Map(graph.nodes.map((node) => [node.node_id, node]))
  const used = new Set(
    graph.nodes.filter((node) => outputs.has(node.node_id)).flatMap((node) => node.depends_on),
  )
  const kept = new Set(graph.outputs.filter((id) => outputs.has(id)))
  const open = graph.outputs.filter((id) => !outputs.has(id))
  const seen = new Set(open)
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const needed of nodes.get(id)?.depends_on ?? []) {
      if (seen.has(needed)) continue
      seen.add(needed)
      if (!outputs.has(needed)) open.push(needed)
      else if (!used.has(needed) && nodes.get(needed)?.kind !== 'code') kept.add(needed)
    }
  }
  return graph.nodes.map((node) => node.node_id).filter((id) => kept.has(id))
}

function viewOf(team: TeamState, outputs: ReadonlyMap<string, string>): TeamView {
  return {
    graph: team.graph,
    sharedState: team.sharedState,
    statusOf: (id) => team.nodes.get(id)?.status ?? 'waiting',
    outputOf: (id) => outputs.get(id) ?? null,
    failureOf: (id) => team.nodes.get(id)?.failure ?? null,
  }
}
