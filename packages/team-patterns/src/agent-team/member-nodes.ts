// Builds the nodes of an AgentTeam, and reads what they were asked and answered. The node of a member that
// works once has its name; otherwise its nodes are `<member> #<place>`. A member gets the earlier
// interactions from `#<place> interactions`, which completes however they ended, so it does not depend on
// another's success.
import type { JsonObject } from '@beaver/core'
import type { AgentNode, CodeNode, ExecutionNode, TeamView } from '@beaver/core/graph'
import { z } from 'zod'
import { codeStep, stepNode } from '../growing/growing-team.ts'
import { type Member, strategies, teamConfiguration, withInstruction } from './configuration.ts'

/** What the program, and every reader of the journal, needs to know of a team: the graph's `settings`. */
export const teamSettings = z.object({
  team: z.string(),
  strategy: z.enum(strategies),
  members: teamConfiguration.shape.members,
  coordinator: teamConfiguration.shape.coordinator,
  share_interactions: z.boolean(),
  shares_state: z.boolean(),
  /** Whether the report has a log. Default: true. */
  enable_logging: z.boolean().optional(),
  max_steps: z.number(),
  edges_max: z.number(),
})
export type TeamSettings = z.output<typeof teamSettings>

/** The role of a node in the team. Absent: a member's work. */
export type Part = 'plan' | 'synthesis'

export interface MemberWork {
  readonly id: string
  /**
   * What the node is asked. Its instruction contains it, unless it is the task, which every node gets, or the
   * output of another node.
   */
  readonly input: { readonly text: string } | { readonly outputOf: string }
  /** Added to the member's own instruction. */
  readonly assignment: string
  readonly dependsOn?: readonly string[]
  readonly quorum?: number
  readonly part?: Part
}

export function memberNode(
  team: Pick<TeamSettings, 'shares_state'>,
  member: Member,
  work: MemberWork,
): AgentNode {
  const { id, input, assignment, dependsOn = [], quorum, part } = work
  const settings: JsonObject = {
    ...('text' in input ? { input: input.text } : { input_from: input.outputOf }),
    ...(part === undefined ? {} : { part }),
  }
  const node = stepNode(withInstruction(member), {
    workflow: 'AgentTeam',
    id,
    instruction: member.instruction === undefined ? assignment : `${member.instruction}\n\n${assignment}`,
    dependsOn,
    settings,
    ...(quorum === undefined ? {} : { quorum }),
  })
  return {
    ...node,
    agent: { ...node.agent, system_prompt: member.system_prompt ?? '' },
    allowed_tool_names: toolsOf(member, team.shares_state),
  }
}

/** A list of tools also allows the shared state. `[]` still forbids every tool (D-41). */
function toolsOf({ allowed_tool_names: allowed = null }: Member, sharesState: boolean): string[] | null {
  if (allowed === null || allowed.length === 0 || !sharesState || allowed.includes(sharedStateTool))
    return allowed
  return [...allowed, sharedStateTool]
}

const sharedStateTool = 'team_shared_state'

/** Gives the earlier interactions to a member. Returns no node if there are none. */
export function interactionsNode(place: number, earlier: readonly string[]): CodeNode[] {
  return earlier.length === 0
    ? []
    : [codeStep(`#${place} interactions`, 'interactions', earlier, { quorum: 0 })]
}

/** Lets a member begin when the one before it has ended, but does not give it that answer. */
export const gateNode = (place: number, before: string): CodeNode =>
  codeStep(`#${place} gate`, 'gate', [before], { quorum: 0 })

/** How many edges a team has for its order and its result, at most. */
export const edgesOf = (runs: number, shares: boolean): number =>
  runs * 3 + (shares ? (runs * (runs - 1)) / 2 : 0)

export const isWork = (node: ExecutionNode): node is AgentNode => node.kind === 'agent'
export const partOf = (node: ExecutionNode): Part | null => {
  const part = node.settings?.['part']
  return part === 'plan' || part === 'synthesis' ? part : null
}

/** One exchange with a member (AT-10). Its time is in the journal. */
export interface Interaction {
  readonly member_name: string
  readonly input: string
  readonly output: string
  readonly metadata: { readonly node_id: string }
}

/** The completed exchanges with members, in the order of the graph, without those of the coordinator. */
export function interactionsOf(
  team: Pick<TeamView, 'graph' | 'outputOf'>,
  ids?: readonly string[],
): Interaction[] {
  return team.graph.nodes.flatMap((node) => {
    const output =
      isWork(node) && partOf(node) === null && (ids === undefined || ids.includes(node.node_id))
        ? team.outputOf(node.node_id)
        : null
    return output === null || !isWork(node)
      ? []
      : [
          {
            member_name: node.agent.name,
            input: inputOf(team, node),
            output,
            metadata: { node_id: node.node_id },
          },
        ]
  })
}

/** What a node was asked. */
function inputOf(team: Pick<TeamView, 'outputOf' | 'graph'>, node: AgentNode): string {
  const { input, input_from: from } = node.settings ?? {}
  if (typeof input === 'string') return input
  return typeof from === 'string' ? (team.outputOf(from) ?? '') : team.graph.task
}
