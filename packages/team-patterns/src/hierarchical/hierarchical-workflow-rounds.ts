// Builds the nodes of a HierarchicalWorkflow: `<manager> #<round>` decides, `<worker> #<round>.<n>` works,
// `#answer` is the result. The manager of a round depends on every delegation so far. It starts when they
// have ended, however they ended.
import type { AgentNode, ExecutionNode } from '@beaver/core/graph'
import { workflowAgentSpec } from '@beaver/workflows'
import { z } from 'zod'
import { excerpt, stepId, stepNode } from '../growing/growing-team.ts'
import {
  assigneeNames,
  dependencyNames,
  listNames,
  namedFields,
  namesField,
  workNames,
} from '../growing/known-names.ts'

/** What the program needs to know: the graph's `settings`. */
export const hierarchySettings = z.object({
  manager: workflowAgentSpec,
  workers: z.array(workflowAgentSpec),
  rounds_max: z.number(),
  delegations_max: z.number(),
  edges_max: z.number(),
})
export type Hierarchy = z.output<typeof hierarchySettings>

export const dependenciesMax = 32
const finalNames = ['final_answer', 'final_result', 'final_output', 'final_synthesis']

const filled = z.string().refine((text) => text.trim() !== '', 'is blank')

const delegation = namedFields(
  {
    id: z.preprocess((id) => (typeof id === 'number' ? String(id) : (id ?? undefined)), filled.optional()),
    worker: z.string(),
    instruction: filled,
    depends_on: namesField(dependenciesMax),
  },
  { worker: assigneeNames, instruction: workNames, depends_on: dependencyNames },
)
export type Delegation = z.output<typeof delegation>

const delegations = z.array(delegation).min(1, 'is empty')
/** Models fill both fields, and mean one of them. */
const noneOf = (value: unknown): unknown =>
  Array.isArray(value) && value.length === 0 ? undefined : (value ?? undefined)
const noText = (value: unknown): unknown =>
  typeof value === 'string' && value.trim() === '' ? undefined : (value ?? undefined)

/** An answer with a result and without delegations. */
export const finalAnswer = namedFields(
  {
    final: filled,
    delegations: z.preprocess(noneOf, z.undefined({ error: 'is there beside "final"' }).optional()),
  },
  { final: finalNames, delegations: listNames },
).transform(({ final }) => ({ final }))

/**
 * An answer with delegations. If it has a result, too, it is not over: the work decides. `final` is kept for
 * the last round.
 */
export const delegating = namedFields(
  { delegations, final: z.preprocess(noText, z.string().optional()) },
  { final: finalNames, delegations: listNames },
)

/** What a manager may answer. A bare list is a round of delegations. */
export const decision = z.union([
  finalAnswer,
  delegating,
  delegations.transform((each) => ({ delegations: each, final: undefined })),
])

export interface ManagerTurn {
  readonly round: number
  /** All delegations of the earlier rounds. */
  readonly delegated: readonly string[]
  /** What was wrong with the first answer of this round, and the node that gave it. */
  readonly correcting?: { readonly fault: string; readonly nodeId: string }
}

export function managerNode(team: Hierarchy, { round, delegated, correcting }: ManagerTurn): AgentNode {
  const { manager } = team
  const parts = [manager.instruction, brief(team, round)]
  if (correcting !== undefined) {
    parts.push(
      `Your answer ${JSON.stringify(correcting.nodeId)} cannot be used: ${correcting.fault} Correct it; another answer that cannot be used ends the work.`,
    )
  }
  return stepNode(manager, {
    workflow: 'HierarchicalWorkflow',
    id: stepId(manager.name, correcting === undefined ? round : `${round} again`),
    instruction: parts.join('\n\n'),
    dependsOn: [...delegated, ...(correcting === undefined ? [] : [correcting.nodeId])],
    quorum: 0,
    settings: { round, again: correcting !== undefined },
  })
}

export function workerNode(
  team: Hierarchy,
  delegated: { round: number; place: number; delegation: Delegation; dependsOn: readonly string[] },
): AgentNode {
  const worker = team.workers.find((each) => each.name === delegated.delegation.worker) ?? team.manager
  return stepNode(worker, {
    workflow: 'HierarchicalWorkflow',
    id: delegatedId(delegated.delegation, delegated.round, delegated.place),
    instruction: `${worker.instruction}\n\nYour part of the work:\n${delegated.delegation.instruction}`,
    dependsOn: delegated.dependsOn,
    settings: { delegated: delegated.delegation.instruction },
  })
}

export const delegatedId = ({ worker }: Delegation, round: number, place: number): string =>
  stepId(worker, `${round}.${place + 1}`)

/** Only a delegation has `settings.delegated`. */
export const isDelegation = (node: ExecutionNode): boolean => node.settings?.['delegated'] !== undefined

function brief(team: Hierarchy, round: number): string {
  const final = '{"final": "<the whole result>"}'
  const left = team.rounds_max - round + 1
  if (left <= 0)
    return `You lead a team. There are no rounds left: write the result from what the workers found. Answer with JSON only: ${final}`
  const workers = team.workers.map(({ name, instruction }) => `- ${name}: ${excerpt(instruction)}`).join('\n')
  return `You lead a team. You do not see the workers' conversations, only their outputs, in <dependency_output>; they see only their own instruction, the task and what they depend on. Workers:
${workers}

Answer with JSON only. To delegate: {"delegations": [{"worker": "<name>", "instruction": "<in full>", "depends_on": []}]}, at most ${team.delegations_max} of them; they run at the same time, except that each waits for those in its depends_on and gets their outputs. depends_on names workers of this answer, or ids given to delegations with "id" (needed when a worker has several), or earlier outputs by their id.
When you have the result: ${final}. Rounds of delegations left: ${left}.`
}
