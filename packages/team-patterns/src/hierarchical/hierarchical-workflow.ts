// HierarchicalWorkflow: a manager delegates to named workers in rounds, until it has the answer. Code checks
// every delegation and builds the nodes. There are at most `rounds_max` rounds of at most `delegations_max`
// delegations; after the last one the manager can only answer.
import {
  agentsFault,
  placed,
  type Refusal,
  refuse,
  taskField,
  type WorkflowAgentSpec,
  workflowAgentSpec,
  workflowOf,
} from '@beaver/workflows'
import { z } from 'zod'
import { asSettings, builtGraph, countField, sizeFault } from '../growing/growing-team.ts'
import { hierarchicalProgram } from './hierarchical-workflow-program.ts'
import { managerNode } from './hierarchical-workflow-rounds.ts'

const roundsMax = 20
const delegationsMax = 50

/** The manager's answers are delegations, or a result, in a form that code reads. */
const formFault = ({ output_schema }: WorkflowAgentSpec): Refusal | null =>
  output_schema === undefined
    ? null
    : refuse(
        'invalid_arguments',
        'manager.output_schema',
        'The manager answers in a form of its own, so it has no output_schema. Give it to a worker, or to the task.',
      )

const boundsOf = z.object({ rounds_max: z.number(), delegations_max: z.number() })

/** The manager answers in each round and at the end, and each answer may be asked for twice. */
const runsMax = ({ rounds_max, delegations_max }: z.output<typeof boundsOf>): number =>
  2 * (rounds_max + 1) + rounds_max * delegations_max

/** The workflow `HierarchicalWorkflow`: a manager that delegates in rounds. */
export const hierarchicalWorkflow = workflowOf({
  name: 'HierarchicalWorkflow',
  description:
    'A manager splits the task, delegates parts to named workers in rounds, sees their outputs and failures, and delegates again or writes the result. ' +
    'Choose it when the parts of the work only show while it is done: research, an investigation, a search for a cause. ' +
    'Not when the steps are known now (GraphWorkflow or AgentRearrange), and not for one question to several experts (MixtureOfAgents).',
  input: z.strictObject({
    task: taskField,
    manager: workflowAgentSpec.describe(
      'The agent that delegates and writes the result: {"name": "…", "instruction": "…"}. It must not be in workers.',
    ),
    workers: z
      .array(workflowAgentSpec)
      .min(1)
      .describe('Name at least one worker; the manager is shown their names and instructions.'),
    rounds_max: countField(
      1,
      roundsMax,
      `How many rounds of delegations at most, 1 to ${roundsMax}; 5 when left out.`,
    ).optional(),
    delegations_max: countField(
      1,
      delegationsMax,
      `How many delegations in one round at most, 1 to ${delegationsMax}; 16 when left out.`,
    ).optional(),
  }),
  build({ task, manager, workers, rounds_max = 5, delegations_max = 16 }, limits) {
    const people = [
      ...placed(workers).map(({ agent }, index) => ({ agent, path: `workers.${index}` })),
      { agent: manager, path: 'manager' },
    ]
    const runs = runsMax({ rounds_max, delegations_max })
    const fault =
      agentsFault(people, limits) ??
      formFault(manager) ??
      sizeFault({ runs }, 'rounds_max', 'Lower rounds_max or delegations_max.', limits)
    if (fault !== null) return fault
    const team = { manager, workers, rounds_max, delegations_max, edges_max: limits.edgesMax }
    const first = managerNode(team, { round: 1, delegated: [] })
    return builtGraph({
      workflow: 'HierarchicalWorkflow',
      task,
      nodes: [first],
      outputs: [first.node_id],
      output: first.node_id,
      settings: asSettings(team),
    })
  },
  program: hierarchicalProgram,
  growthOf({ settings }) {
    const bounds = boundsOf.safeParse(settings).data
    return bounds === undefined ? null : runsMax(bounds)
  },
})
