// The strategies whose graph is known from the start (D-48): round_robin, broadcast, sequential, with one
// agent node for each step. A member's failure stops only a member that works on its output: in sequential,
// and where a coordinator would have nothing to write from.
import type { ExecutionNode } from '@beaver/core/graph'
import { stepId } from '../growing/growing-team.ts'
import type { Member } from './configuration.ts'
import { gateNode, interactionsNode, memberNode, type TeamSettings } from './member-nodes.ts'

export interface TeamPlan {
  readonly nodes: readonly ExecutionNode[]
  readonly outputs: readonly string[]
  /** `null`: the outputs are joined (D-31). */
  readonly output: string | null
}

const message = (text: string) => ({ input: { text }, assignment: 'Do what the <task> asks of you.' })
const before = 'What was asked and answered before is in <dependency_output>.'

/** Task k goes to member k mod n. */
export function roundRobinTasks(team: TeamSettings, tasks: readonly string[]): TeamPlan {
  const ids = tasks.map((_, index) => stepId(memberInTurn(team, index).name, index + 1))
  const nodes = tasks.flatMap((task, index): ExecutionNode[] => {
    const shared = team.share_interactions ? interactionsNode(index + 1, ids.slice(0, index)) : []
    const assignment = `Your task:\n${task}${shared.length === 0 ? '' : `\n\n${before}`}`
    return [
      ...shared,
      memberNode(team, memberInTurn(team, index), {
        id: ids[index] ?? '',
        input: { text: task },
        assignment,
        dependsOn: idsOf(shared),
      }),
    ]
  })
  return { nodes, outputs: ids, output: ids.length === 1 ? (ids[0] ?? null) : null }
}

/** The single message goes to the next member in turn. */
export function roundRobinMessage(team: TeamSettings, text: string, turn: number): TeamPlan {
  const member = memberInTurn(team, turn)
  return {
    nodes: [memberNode(team, member, { id: member.name, ...message(text) })],
    outputs: [member.name],
    output: member.name,
  }
}

/** The message goes to all members. A coordinator, if there is one, writes the result from their answers. */
export function broadcast(
  team: TeamSettings,
  text: string,
  { concurrent, coordinator }: { concurrent: boolean; coordinator: Member | undefined },
): TeamPlan {
  const ids = team.members.map((member) => member.name)
  const nodes = team.members.flatMap((member, index): ExecutionNode[] => {
    const shared = team.share_interactions ? interactionsNode(index + 1, ids.slice(0, index)) : []
    const gate =
      concurrent || index === 0 || shared.length > 0 ? [] : [gateNode(index + 1, ids[index - 1] ?? '')]
    const assignment =
      shared.length === 0 ? message(text).assignment : `${message(text).assignment} ${before}`
    return [
      ...shared,
      ...gate,
      memberNode(team, member, {
        id: member.name,
        input: { text },
        assignment,
        dependsOn: idsOf([...shared, ...gate]),
      }),
    ]
  })
  if (coordinator === undefined)
    return { nodes, outputs: ids, output: ids.length === 1 ? (ids[0] ?? null) : null }
  const assignment =
    'The answers of all members are in <dependency_output>. Put them together into one result for the <task>.'
  const synthesis = memberNode(team, coordinator, {
    id: coordinator.name,
    input: { text },
    assignment,
    dependsOn: ids,
    quorum: 1,
    part: 'synthesis',
  })
  return { nodes: [...nodes, synthesis], outputs: [...ids, synthesis.node_id], output: synthesis.node_id }
}

/** Member 1 works on the message, member k on the output of member k - 1. */
export function sequential(team: TeamSettings, text: string): TeamPlan {
  const ids = team.members.map((member) => member.name)
  const nodes = team.members.flatMap((member, index): ExecutionNode[] => {
    const previous = ids[index - 1]
    if (previous === undefined) return [memberNode(team, member, { id: member.name, ...message(text) })]
    const shared = team.share_interactions ? interactionsNode(index + 1, ids.slice(0, index - 1)) : []
    const assignment = `Work on the output of ${previous}, in <dependency_output>; the <task> says what all of you are working on.${shared.length === 0 ? '' : ' What was asked and answered before that is there too.'}`
    return [
      ...shared,
      memberNode(team, member, {
        id: member.name,
        input: { outputOf: previous },
        assignment,
        dependsOn: [...idsOf(shared), previous],
      }),
    ]
  })
  return { nodes, outputs: ids, output: ids.at(-1) ?? null }
}

const memberInTurn = ({ members }: TeamSettings, turn: number): Member =>
  members[turn % members.length] as Member
const idsOf = (nodes: readonly ExecutionNode[]): string[] => nodes.map((node) => node.node_id)
