// leader_worker (D-49): the coordinator plans, members work, and the coordinator writes the result. If a plan
// cannot be used, the coordinator is asked once more; after that every member gets the message. A plan is
// read by the usual names of its fields (known-names.ts). Dropped with a diagnostic: assignments to unknown
// members, dependencies on unknown items, and items beyond `max_steps` nodes, but never an item that another
// one needs.
import type {
  AgentNode,
  Diagnostic,
  ExecutionGraph,
  ExecutionNode,
  Growth,
  NodeSequel,
  TeamView,
} from '@beaver/core/graph'
import { didYouMean, quote, quoteAll } from '@beaver/workflows'
import { z } from 'zod'
import { cycleOf, inOrderOfNeed } from '../growing/assignments.ts'
import { excerpt, stepId } from '../growing/growing-team.ts'
import { readJsonAnswer } from '../growing/json-answer.ts'
import {
  assigneeNames,
  dependencyNames,
  listNames,
  namedFields,
  namesField,
  workNames,
} from '../growing/known-names.ts'
import type { Member } from './configuration.ts'
import { edgesOf, interactionsNode, isWork, memberNode, type TeamSettings } from './member-nodes.ts'
import type { TeamPlan } from './strategies.ts'

/** Planning, one member, the result. */
export const leaderStepsMin = 3

const filled = z.string().refine((text) => text.trim() !== '', 'is blank')
/** Models number their tasks. */
const idField = z.preprocess(
  (id) => (typeof id === 'number' ? String(id) : (id ?? undefined)),
  filled.optional(),
)
const assignment = namedFields(
  { id: idField, member: z.string(), task: filled, depends_on: namesField(64) },
  { member: assigneeNames, task: workNames, depends_on: dependencyNames },
)
const list = z.array(assignment).min(1, 'is empty').max(1000)
const planObject = namedFields({ plan: list }, { plan: listNames })
const planAnswer = z.union([planObject.transform(({ plan }) => plan), list])
const form = '{"plan": [{"member": "<name>", "task": "<in full>", "depends_on": []}]}'

export function leaderWorker(team: TeamSettings, text: string): TeamPlan {
  const plan = planNode(team, text, null)
  return { nodes: [plan], outputs: [plan.node_id], output: plan.node_id }
}

function planNode(
  team: TeamSettings,
  text: string,
  correcting: { fault: string; nodeId: string } | null,
): AgentNode {
  const coordinator = leaderOf(team)
  const members = team.members.map((member) => `- ${member.name}${about(member)}`).join('\n')
  const state = team.shares_state
    ? ' Where a plan is worth sharing, store it under coordination_plan with team_shared_state.'
    : ''
  const assignment = `You coordinate a team. Decide which members take part in the <task>, what each does, and in which order. They see the <task>, what you ask, and the outputs they depend on, and nothing else. Members:
${members}

Answer with JSON only: ${form}. A member may have several tasks. "depends_on" names the members whose outputs a task needs; give tasks an "id" and name that where a member has several. At most ${stepsLeft(team, correcting === null ? 1 : 2)} tasks.${state}`
  const again =
    correcting === null
      ? ''
      : `\n\nYour plan ${quote(correcting.nodeId)} cannot be used: ${correcting.fault} Correct it.`
  // A plan has a form of its own. What the coordinator's output must be holds for the result.
  const { required_evidence: _, validation_rules: __, output_schema: ___, ...planner } = coordinator
  return memberNode(team, planner, {
    id: stepId(coordinator.name, correcting === null ? 'plan' : 'plan again'),
    input: { text },
    assignment: assignment + again,
    dependsOn: correcting === null ? [] : [correcting.nodeId],
    part: 'plan',
  })
}

const about = ({ instruction, system_prompt, allowed_tool_names: tools }: Member): string => {
  const description = instruction ?? system_prompt
  return `${description === undefined ? '' : `: ${excerpt(description)}`}${tools === undefined || tools === null ? '' : ` (tools: ${tools.length === 0 ? 'none' : tools.join(', ')})`}`
}

export const leaderOf = ({ coordinator }: TeamSettings): Member => coordinator ?? { name: 'Coordinator' }

/** How many members may still work after `used` steps, if one step is kept for the result. */
const stepsLeft = (team: TeamSettings, used: number): number => Math.max(0, team.max_steps - used - 1)

/** What follows from the coordinator's plan. */
export function planned(view: TeamView, team: TeamSettings, node: ExecutionNode, output: string): NodeSequel {
  const used = view.graph.nodes.filter(isWork).length
  const read = readPlan(team, output)
  if (!('fault' in read)) return { kind: 'go_on', ...grown(view.graph, team, read, stepsLeft(team, used)) }
  const unusable: Diagnostic = { code: 'plan_unusable', message: `${node.node_id}: ${read.fault}` }
  if (used === 1 && stepsLeft(team, 2) > 0) {
    const again = planNode(team, view.graph.task, { fault: read.fault, nodeId: node.node_id })
    return {
      kind: 'go_on',
      growth: { nodes: [again], outputs: [again.node_id], output: again.node_id },
      diagnostics: [unusable],
    }
  }
  const everyone = team.members.map(({ name }): Item => ({ member: name, task: view.graph.task, needs: [] }))
  const fallback: Diagnostic = {
    code: 'plan_fallback',
    message: 'No plan can be used, so every member gets the message.',
  }
  const { growth, diagnostics } = grown(
    view.graph,
    team,
    { items: everyone, diagnostics: [unusable, fallback] },
    stepsLeft(team, used),
  )
  return { kind: 'go_on', growth, diagnostics }
}

interface Item {
  readonly member: string
  readonly task: string
  /** The indexes of other items. */
  readonly needs: readonly number[]
}

interface Plan {
  readonly items: readonly Item[]
  readonly diagnostics: readonly Diagnostic[]
}

function readPlan(team: TeamSettings, output: string): Plan | { readonly fault: string } {
  const read = readJsonAnswer(output, planAnswer)
  if (!read.ok) {
    const near = readJsonAnswer(output, planObject)
    return { fault: `${near.ok ? read.fault : near.fault} Answer with ${form}, and nothing else.` }
  }
  const names = team.members.map((member) => member.name)
  const diagnostics: Diagnostic[] = []
  const known = read.value.filter(({ member }) => {
    if (names.includes(member)) return true
    diagnostics.push({
      code: 'unknown_member',
      message: `The plan names ${quote(member)}, who is not a member. That task is left out.${didYouMean(member, names)}`,
    })
    return false
  })
  if (known.length === 0) return { fault: `It names none of the members ${quoteAll(names)}.` }
  const items = known.map((each, index): Item => {
    const needs = [...new Set(each.depends_on ?? [])].flatMap((ref) => {
      const found = placesOf(known, ref, index)
      if (found.length === 0)
        diagnostics.push({
          code: 'missing_dependency',
          message: `The task of ${quote(each.member)} depends on ${quote(ref)}, which is not in the plan. The task does not wait for it.`,
        })
      return found
    })
    return { member: each.member, task: each.task, needs: [...new Set(needs)] }
  })
  const edges = items.reduce(
    (sum, item) => sum + item.needs.length,
    edgesOf(items.length, team.share_interactions),
  )
  if (edges > team.edges_max)
    return {
      fault: `It would need up to ${edges} edges; the limit edgesMax is ${team.edges_max}. Use fewer dependencies.`,
    }
  const cycle = cycleOf(items.map((item) => item.needs))
  if (cycle === null) return { items, diagnostics }
  const round = [...cycle, cycle[0] ?? 0].map((index) => quote(known[index]?.id ?? known[index]?.member))
  return { fault: `The tasks wait for each other: ${round.join(' -> ')}. Remove one of these dependencies.` }
}

/** The item with this id, otherwise all other items of a member with this name. */
function placesOf(items: readonly z.output<typeof assignment>[], ref: string, self: number): number[] {
  const byId = items.findIndex((item) => item.id === ref)
  return byId === -1
    ? items.flatMap((item, index) => (item.member === ref && index !== self ? [index] : []))
    : [byId]
}

function grown(
  graph: ExecutionGraph,
  team: TeamSettings,
  { items, diagnostics }: Plan,
  stepsMax: number,
): { growth: Growth; diagnostics: Diagnostic[] } {
  const order = inOrderOfNeed(items.map((item) => item.needs)).slice(0, stepsMax)
  const dropped = items.length - order.length
  const ids = new Map(order.map((at, place) => [at, stepId(items[at]?.member ?? '', place + 1)]))
  const done: string[] = []
  const nodes: ExecutionNode[] = order.flatMap((at, place): ExecutionNode[] => {
    const { member: name, task, needs } = items[at] as Item
    const needed = needs.map((need) => ids.get(need) ?? '')
    const shared = team.share_interactions
      ? interactionsNode(
          place + 1,
          done.filter((id) => !needed.includes(id)),
        )
      : []
    const id = ids.get(at) ?? ''
    done.push(id)
    const assignment = `The coordinator asks of you:\n${task}${needed.length + shared.length === 0 ? '' : '\n\nWhat you need from others is in <dependency_output>.'}`
    const dependsOn = [...needed, ...shared.map((node) => node.node_id)]
    return [
      ...shared,
      memberNode(team, team.members.find((member) => member.name === name) as Member, {
        id,
        input: { text: task },
        assignment,
        dependsOn,
      }),
    ]
  })
  const synthesis = synthesisNode(team, graph.task, done)
  const exhausted: Diagnostic[] =
    dropped === 0
      ? []
      : [
          {
            code: 'steps_exhausted',
            message: `${dropped} of ${items.length} tasks are left out: max_steps is ${team.max_steps}, the coordinator's steps included.`,
          },
        ]
  return {
    growth: {
      nodes: [...nodes, synthesis],
      outputs: [...done, synthesis.node_id],
      output: synthesis.node_id,
    },
    diagnostics: [...diagnostics, ...exhausted],
  }
}

function synthesisNode(team: TeamSettings, text: string, members: readonly string[]): AgentNode {
  const coordinator = leaderOf(team)
  const state = team.shares_state
    ? ' Bring the shared state up to date with team_shared_state where the result changes it.'
    : ''
  return memberNode(team, coordinator, {
    id: stepId(coordinator.name, 'synthesis'),
    input: { text },
    assignment: `You coordinated a team. The outputs of its members are in <dependency_output>. Put them together into the result for the <task>, and answer with the result itself.${state}`,
    dependsOn: members,
    quorum: 1,
    part: 'synthesis',
  })
}
