// Counts the votes of a MajorityVote (`#tally`) and, with options, names the winner (`#winner`).
// P1. Only existing answers are counted.
// P2. Of equal options the first in declared order wins, with a diagnostic.
import type { Diagnostic, NodeEntry, TeamProgram, TeamView } from '@beaver/core'
import { z } from 'zod'
import { type Tally, tallyOf } from './majority-vote-tally.ts'
import { quote, quoteAll } from '../arguments/wording.ts'

const voteSettings = z.object({ options: z.array(z.string()).nullable() })

export const majorityVoteProgram: TeamProgram = {
  enter(team, node) {
    if (node.kind === 'code') return node.operation === 'tally' ? counted(team, node.depends_on) : winner(team)
    if (node.depends_on.includes('#tally') && team.statusOf('#tally') !== 'completed') return noResult('The answers could not be counted.')
    return { kind: 'run', input: null }
  },
}

function tallyNow(team: TeamView, voters: readonly string[]): { tally: Tally; options: readonly string[] | null } {
  const { options } = voteSettings.parse(team.graph.settings)
  const votes = voters.flatMap((voter) => {
    const answer = team.outputOf(voter)
    return answer === null ? [] : [{ voter, answer }]
  })
  return { tally: tallyOf(votes, options), options }
}

function counted(team: TeamView, voters: readonly string[]): NodeEntry {
  const { tally, options } = tallyNow(team, voters)
  const valid = tally.counts.some((each) => each.votes > 0)
  if (!valid)
    return noResult(
      `No answer could be counted: ${quoteAll(tally.invalid)} ${options === null ? 'are blank' : `name none of the options ${quoteAll(options)}`}.`,
    )
  const missing = voters.filter((voter) => team.statusOf(voter) !== 'completed')
  const diagnostics: Diagnostic[] = tally.invalid.map((voter) => ({
    code: 'invalid_vote',
    message: options === null ? `${quote(voter)} gave no answer that can be counted.` : `${quote(voter)} named none of the options ${quoteAll(options)}.`,
  }))
  if (tally.tied.length > 0) {
    const first = options === null ? '' : `: ${quote(tally.tied[0])} wins, as the first of them in the options`
    diagnostics.push({ code: 'tie', message: `${quoteAll(tally.tied)} have ${tally.counts[0]?.votes} votes each${first}.` })
  }
  return { kind: 'output', output: JSON.stringify({ ...tally, missing }), diagnostics }
}

function winner(team: TeamView): NodeEntry {
  const voters = team.graph.nodes.find((node) => node.node_id === '#tally')?.depends_on ?? []
  const first = tallyNow(team, voters).tally.counts[0]
  return first === undefined ? noResult('No answer could be counted.') : { kind: 'output', output: first.answer }
}

const noResult = (message: string): NodeEntry => ({ kind: 'fail', failure: { class: 'malformed_output', message } })
