// MajorityVote: several independent answers to one question, and the answer that most of them give. Code
// counts the votes (`#tally`). With `options`, the count decides (`#winner`); without them, the consensus
// agent writes the result. A voter does not see the answers of others.
import type {
  Diagnostic,
  ExecutionNode,
  NodeEntry,
  NodeSequel,
  TeamProgram,
  TeamView,
} from '@beaver/core/graph'
import {
  agentsFault,
  type PlacedAgent,
  quote,
  quoteAll,
  type Refusal,
  refuse,
  taskField,
  type WorkflowAgentSpec,
  workflowAgentSpec,
  workflowOf,
} from '@beaver/workflows'
import { z } from 'zod'
import {
  asSettings,
  builtGraph,
  codeStep,
  countField,
  sizeFault,
  stepId,
  stepNode,
} from '../growing/growing-team.ts'
import {
  decidedAnswer,
  sameAnswer,
  type Tally,
  tallyOf,
  type Vote,
  voteInstruction,
} from './majority-vote-tally.ts'

// Counts the votes of a MajorityVote (`#tally`) and, with options, names the winner (`#winner`). Only valid
// votes count, for the quorum and for the decision. Of equal options the first in declared order wins, and
// the tally and a diagnostic say so. A vote with options that no open answer can change is decided without
// waiting. The tally is an output with every vote, so that a reader can check the decision.

const voteSettings = z.object({ options: z.array(z.string()).nullable() })

const majorityVoteProgram: TeamProgram = {
  enter(team, node) {
    if (node.kind === 'code') return node.operation === 'tally' ? counted(team, node) : winner(team)
    if (node.depends_on.includes('#tally') && team.statusOf('#tally') !== 'completed')
      return noResult('The answers could not be counted.')
    return { kind: 'run', input: null }
  },
  after(team, node, output) {
    const voters = team.graph.nodes.find((each) => each.node_id === '#tally')
    return voters?.depends_on.includes(node.node_id) === true
      ? decided(team, voters, { voter: node.node_id, answer: output })
      : { kind: 'go_on' }
  },
}

function decided(team: TeamView, tallied: ExecutionNode, newest: Vote): NodeSequel {
  const { options } = voteSettings.parse(team.graph.settings)
  const voters = tallied.depends_on
  const open = voters.filter(
    (id) => id !== newest.voter && (team.statusOf(id) === 'waiting' || team.statusOf(id) === 'running'),
  )
  if (options === null || open.length === 0) return { kind: 'go_on' }
  const votes = voters.flatMap((voter) => {
    const answer = voter === newest.voter ? newest.answer : team.outputOf(voter)
    return answer === null ? [] : [{ voter, answer }]
  })
  const winner = decidedAnswer(tallyOf(votes, options), options, {
    open: open.length,
    quorum: tallied.quorum ?? voters.length,
  })
  if (winner === null) return { kind: 'go_on' }
  const message = `${quote(winner)} has won, whatever the others answer: ${quoteAll(open)} ${open.length === 1 ? 'is' : 'are'} not waited for.`
  return {
    kind: 'go_on',
    dismiss: { nodes: open, reason: 'The vote is decided.' },
    diagnostics: [{ code: 'vote_decided', message }],
  }
}

function tallyNow(
  team: TeamView,
  voters: readonly string[],
): { tally: Tally; options: readonly string[] | null } {
  const { options } = voteSettings.parse(team.graph.settings)
  const votes = voters.flatMap((voter) => {
    const answer = team.outputOf(voter)
    return answer === null ? [] : [{ voter, answer }]
  })
  return { tally: tallyOf(votes, options), options }
}

function counted(team: TeamView, node: ExecutionNode): NodeEntry {
  const voters = node.depends_on
  const { tally, options } = tallyNow(team, voters)
  const quorum = node.quorum ?? voters.length
  const valid = tally.counts.reduce((sum, each) => sum + each.votes, 0)
  const notAwaited = voters.filter((voter) => team.statusOf(voter) === 'skipped')
  const missing = voters.filter(
    (voter) => team.statusOf(voter) !== 'completed' && !notAwaited.includes(voter),
  )
  if (valid < Math.max(1, quorum)) return noResult(tooFew({ tally, options, valid, quorum, missing }))
  const diagnostics: Diagnostic[] = tally.invalid.map((voter) => ({
    code: 'invalid_vote',
    message:
      options === null
        ? `${quote(voter)} gave no answer that can be counted.`
        : `${quote(voter)} named none of the options ${quoteAll(options)}.`,
  }))
  const tie = tally.tied.length > 0
  const brokenBy = !tie ? null : options === null ? 'consensus' : 'order_of_options'
  if (tie) {
    const first =
      options === null ? '' : `: ${quote(tally.tied[0])} wins, as the first of them in the options`
    diagnostics.push({
      code: 'tie',
      message: `${quoteAll(tally.tied)} have ${tally.counts[0]?.votes} votes each${first}.`,
    })
  }
  const decision = tie && options === null ? null : (tally.counts[0]?.answer ?? null)
  const output = {
    decision,
    quorum,
    valid,
    ...tally,
    missing,
    not_awaited: notAwaited,
    tie_broken_by: brokenBy,
  }
  return { kind: 'output', output: JSON.stringify(output), diagnostics }
}

interface TooFew {
  readonly tally: Tally
  readonly options: readonly string[] | null
  readonly valid: number
  readonly quorum: number
  readonly missing: readonly string[]
}

function tooFew({ tally, options, valid, quorum, missing }: TooFew): string {
  const whyInvalid = options === null ? 'are blank' : `name none of the options ${quoteAll(options)}`
  const invalid = tally.invalid.length === 0 ? '' : ` ${quoteAll(tally.invalid)} ${whyInvalid}.`
  const absent = missing.length === 0 ? '' : ` There is no answer of ${quoteAll(missing)}.`
  const there =
    valid === 0
      ? 'No answer could be counted'
      : valid === 1
        ? 'Only 1 vote is valid'
        : `Only ${valid} votes are valid`
  return `${there}; the quorum is ${quorum}.${invalid}${absent}`
}

function winner(team: TeamView): NodeEntry {
  const voters = team.graph.nodes.find((node) => node.node_id === '#tally')?.depends_on ?? []
  const first = tallyNow(team, voters).tally.counts[0]
  return first === undefined
    ? noResult('No answer could be counted.')
    : { kind: 'output', output: first.answer }
}

const noResult = (message: string): NodeEntry => ({
  kind: 'fail',
  failure: { class: 'malformed_output', message },
})

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
  const assignment =
    'The independent answers are in <dependency_output>, and from "#tally" how many gave which. Write the result from them; where they disagree, say so.'
  return stepNode(agent, {
    workflow: 'MajorityVote',
    id: agent.name,
    instruction: `${agent.instruction}\n\n${assignment}`,
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
