// Counts the votes of a MajorityVote (`#tally`) and, with options, names the winner (`#winner`). Only valid
// votes count, for the quorum and for the decision. An answer that names no option, and one that is blank, is
// no vote. Of equal options the first in declared order wins. Without options, the consensus agent decides.
// The tally and a diagnostic say so. With options, a vote that no open answer can change any more is decided:
// nobody is waited for. The tally is an output of the team. It has every vote, so that a reader can check the
// decision.
import type { Diagnostic, ExecutionNode, NodeEntry, NodeSequel, TeamProgram, TeamView } from '@beaver/core'
import { z } from 'zod'
import { decidedAnswer, type Tally, tallyOf, type Vote } from './majority-vote-tally.ts'
import { quote, quoteAll } from '../arguments/wording.ts'

const voteSettings = z.object({ options: z.array(z.string()).nullable() })

export const majorityVoteProgram: TeamProgram = {
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
  const what = options === null ? 'are blank' : `name none of the options ${quoteAll(options)}`
  const invalid = tally.invalid.length === 0 ? '' : ` ${quoteAll(tally.invalid)} ${what}.`
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
