// MajorityVote: several independent answers to one question, and the answer that most of them give. Code
// counts the votes (`#tally`); a model does not. With `options`, the count decides (`#winner`). Without them,
// the consensus agent writes the result from the answers and the count. A voter does not see the answers of
// others.
import type { ExecutionNode } from '@beaver/core'
import { z } from 'zod'
import {
  agentsFault,
  type PlacedAgent,
  taskField,
  workflowAgentSpec,
  type WorkflowAgentSpec,
} from '../agent-spec.ts'
import {
  asSettings,
  builtGraph,
  codeStep,
  countField,
  sizeFault,
  stepId,
  stepNode,
} from '../growing/growing-team.ts'
import { majorityVoteProgram } from './majority-vote-program.ts'
import { sameAnswer, voteInstruction } from './majority-vote-tally.ts'
import { workflowOf } from '../workflow.ts'
import { type Refusal, refuse } from '../workflow-error.ts'
import { quote } from '../arguments/wording.ts'

const votesMax = 100

const input = z.strictObject({
  task: taskField,
  agents: z
    .array(workflowAgentSpec)
    .min(1)
    .optional()
    .describe('The voters, each with an instruction of its own. Or give voter and votes.'),
  voter: workflowAgentSpec
    .optional()
    .describe('One voter that answers several times, each time afresh. Or give agents.'),
  votes: countField(
    1,
    votesMax,
    `With voter: how many answers, 1 to ${votesMax}; 5 when left out.`,
  ).optional(),
  options: z
    .array(z.string().min(1).max(200))
    .min(2)
    .max(50)
    .optional()
    .describe(
      'The answers to choose from: the count alone decides; of equal ones the first in this list. Or give consensus.',
    ),
  consensus: workflowAgentSpec
    .optional()
    .describe('The agent that writes the result from the answers and the count. Or give options.'),
  quorum: countField(
    1,
    512,
    'How many valid votes a result needs. Left out: more than half of the voters.',
  ).optional(),
})
type Args = z.output<typeof input>

/** The workflow `MajorityVote`: independent answers, and a count. */
export const majorityVote = workflowOf({
  name: 'MajorityVote',
  description:
    'Gets several independent answers to one question and finds the one that most give: code counts them, and with options the count alone decides. ' +
    'Choose it when one answer may be wrong and agreement is a check: a classification, a yes or no, a figure from a text. ' +
    'Not for several views to be merged (MixtureOfAgents), and not for positions that should answer each other (GroupChat).',
  input,
  build(args, limits) {
    const shape = shapeFault(args)
    if (shape !== null) return shape
    const { task, consensus, options } = args
    const voters = votersOf(args)
    const runs = voters.length + (consensus === undefined ? 0 : 1)
    const edges = voters.length * 2 + 1
    const fault =
      agentsFault(everyone(args), limits) ??
      quorumFault(args, voters.length) ??
      sizeFault({ runs, edges }, args.voter === undefined ? 'agents' : 'votes', 'Use fewer voters.', limits)
    if (fault !== null) return fault
    const quorum = args.quorum ?? Math.floor(voters.length / 2) + 1
    const ids = voters.map(({ id }) => id)
    const instruction = voteInstruction(options)
    const votes = voters.map(({ id, agent }) =>
      stepNode(agent, {
        workflow: 'MajorityVote',
        id,
        instruction: `${agent.instruction}\n\n${instruction}`,
        dependsOn: [],
      }),
    )
    const last =
      consensus === undefined
        ? codeStep('#winner', 'winner', ['#tally'])
        : consensusNode(consensus, ids, quorum)
    const nodes: ExecutionNode[] = [...votes, codeStep('#tally', 'tally', ids, { quorum }), last]
    const settings = asSettings({ options: options ?? null })
    return builtGraph({
      workflow: 'MajorityVote',
      task,
      nodes,
      outputs: [last.node_id, '#tally'],
      output: last.node_id,
      settings,
    })
  },
  program: majorityVoteProgram,
})

interface Voter {
  readonly id: string
  readonly agent: WorkflowAgentSpec
}

function votersOf({ agents, voter, votes = 5 }: Args): Voter[] {
  if (voter === undefined) return (agents ?? []).map((agent) => ({ id: agent.name, agent }))
  return Array.from({ length: votes }, (_, index) => ({ id: stepId(voter.name, index + 1), agent: voter }))
}

function consensusNode(agent: WorkflowAgentSpec, voters: readonly string[], quorum: number): ExecutionNode {
  const told =
    'The independent answers are in <dependency_output>, and from "#tally" how many gave which. Write the result from them; where they disagree, say so.'
  return stepNode(agent, {
    workflow: 'MajorityVote',
    id: agent.name,
    instruction: `${agent.instruction}\n\n${told}`,
    dependsOn: [...voters, '#tally'],
    quorum,
  })
}

function everyone({ agents = [], voter, consensus }: Args): PlacedAgent[] {
  return [
    ...agents.map((agent, index) => ({ agent, path: `agents.${index}` })),
    ...(voter === undefined ? [] : [{ agent: voter, path: 'voter' }]),
    ...(consensus === undefined ? [] : [{ agent: consensus, path: 'consensus' }]),
  ]
}

function shapeFault({ agents, voter, votes, options, consensus }: Args): Refusal | null {
  if (agents === undefined && voter === undefined) {
    return refuse(
      'agents_empty',
      'agents',
      'There are no voters. Give "agents", or "voter": {"name": "…", "instruction": "…"} with "votes".',
    )
  }
  if (agents !== undefined && voter !== undefined)
    return refuse('invalid_arguments', 'voter', '"agents" and "voter" are both given. Keep one of them.')
  if (agents !== undefined && votes !== undefined)
    return refuse(
      'invalid_arguments',
      'votes',
      '"votes" belongs to "voter": each of "agents" answers once. Remove it.',
    )
  if (options === undefined && consensus === undefined) {
    return refuse(
      'aggregator_required',
      'consensus',
      '"consensus" is missing. Add the agent that writes the result: "consensus": {"name": "…", "instruction": "…"}; or give "options".',
    )
  }
  if (options !== undefined && consensus !== undefined) {
    return refuse(
      'invalid_arguments',
      'consensus',
      '"options" and "consensus" are both given: with options the count alone decides. Keep one of them.',
    )
  }
  const twice = (options ?? []).findIndex(
    (option, index) => (options ?? []).findIndex((other) => sameAnswer(other) === sameAnswer(option)) < index,
  )
  const empty = (options ?? []).findIndex((option) => sameAnswer(option) === '')
  if (empty !== -1)
    return refuse(
      'invalid_arguments',
      `options.${empty}`,
      `The option ${quote(options?.[empty])} holds nothing but punctuation. Name it in words.`,
    )
  return twice === -1
    ? null
    : refuse(
        'invalid_arguments',
        `options.${twice}`,
        `The option ${quote(options?.[twice])} is there already. Give each option once.`,
      )
}

function quorumFault({ quorum }: Args, voters: number): Refusal | null {
  return quorum === undefined || quorum <= voters
    ? null
    : refuse(
        'invalid_arguments',
        'quorum',
        `"quorum" is ${quorum}, more than the ${voters} answers there are.`,
      )
}
