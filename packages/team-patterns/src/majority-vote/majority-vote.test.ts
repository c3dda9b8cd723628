import { describe, expect, it } from 'vitest'
import { agents, dependencies, graphOf, play, refuses, scripted, statusOf } from '@beaver/testing'
import { decidedAnswer, sameAnswer, tallyOf, votedIn } from './majority-vote-tally.ts'
import { majorityVote } from './majority-vote.ts'

const consensus = { name: 'judge', instruction: 'Write the result.' }
const free = { task: 'How many legs?', agents: agents('a', 'b', 'c'), consensus }
const chosen = {
  task: 'Is it?',
  voter: { name: 'v', instruction: 'Think.' },
  votes: 4,
  options: ['yes', 'no'],
}
const run = (call: object, answers: Record<string, string | null>) =>
  play(graphOf(majorityVote.plan(call)), scripted(answers))
interface Tallied {
  counts: { answer: string; votes: number }[]
  invalid: string[]
  tied: string[]
  missing: string[]
}
const tallied = (played: ReturnType<typeof run>): Tallied =>
  JSON.parse(played.outputs.get('#tally') ?? '{}') as Tallied

describe('MajorityVote with a consensus agent', () => {
  it('builds independent voters, the tally, and the consensus that depends on them all', () => {
    const graph = graphOf(majorityVote.plan(free))
    expect(dependencies(graph)).toEqual([
      ['a', []],
      ['b', []],
      ['c', []],
      ['#tally', ['a', 'b', 'c']],
      ['judge', ['a', 'b', 'c', '#tally']],
    ])
    expect(graph).toMatchObject({ outputs: ['judge', '#tally'], output: 'judge' })
  })

  it('counts answers that differ in writing only as the same', () => {
    const played = run(free, { a: 'They have…\nVOTE: Eight legs.', b: 'vote: **eight  LEGS**', c: 'Six' })
    expect(tallied(played).counts).toEqual([
      { answer: 'Eight legs.', votes: 2, voters: ['a', 'b'] },
      { answer: 'Six', votes: 1, voters: ['c'] },
    ])
    expect([played.result.final_output, played.team.outcome, played.diagnostics]).toEqual([
      'judge says',
      'complete',
      [],
    ])
  })

  it('writes a result from those that are there when more than half are', () => {
    const played = run(free, { b: null })
    expect(played.told.get('judge')?.from).toEqual(['a', 'c', '#tally'])
    expect([tallied(played).missing, played.result.final_output, played.team.outcome]).toEqual([
      ['b'],
      'judge says',
      'incomplete',
    ])
  })

  it('writes none when too few are', () => {
    const played = run(free, { a: null, b: null })
    expect([statusOf(played, '#tally'), statusOf(played, 'judge'), played.result.final_output]).toEqual([
      'blocked',
      'blocked',
      '',
    ])
    expect(run({ ...free, quorum: 1 }, { a: null, b: null }).result.final_output).toBe('judge says')
    expect(statusOf(run({ ...free, quorum: 3 }, { a: null }), 'judge')).toBe('blocked')
  })

  it('tells of a tie and leaves it to the consensus', () => {
    const played = run({ ...free, agents: agents('a', 'b') }, { a: 'six', b: 'eight' })
    expect([tallied(played).tied, played.diagnostics]).toEqual([['six', 'eight'], ['tie']])
    expect(tallied(played)).toMatchObject({ decision: null, tie_broken_by: 'consensus' })
  })

  it('has no result when no answer can be counted, whatever else completed', () => {
    const played = run({ ...free, quorum: 1 }, { a: '…', b: '!', c: 'VOTE:' })
    expect([statusOf(played, '#tally'), statusOf(played, 'judge'), played.team.outcome]).toEqual([
      'failed',
      'failed',
      'incomplete',
    ])
  })
})

describe('MajorityVote with options', () => {
  it('asks one voter several times, and the count alone decides', () => {
    const played = run(chosen, {
      'v #1': 'VOTE: no',
      'v #2': 'Yes!',
      'v #3': '{"vote": "NO"}',
      'v #4': 'I doubt it.\n**VOTE:** "no"',
    })
    expect(played.ran).toEqual(['v #1', 'v #2', 'v #3', 'v #4'])
    expect([played.result.final_output, played.team.outcome]).toEqual(['no', 'complete'])
  })

  it('of equal options takes the first in declared order, with a diagnostic', () => {
    const played = run(chosen, { 'v #1': 'no', 'v #2': 'no', 'v #3': 'yes', 'v #4': 'yes' })
    expect([played.result.final_output, played.diagnostics]).toEqual(['yes', ['tie']])
  })

  it('does not guess what an answer means: what is no option is not counted, with a diagnostic', () => {
    const played = run(
      { ...chosen, quorum: 1 },
      { 'v #1': 'It is not a yes.', 'v #2': 'maybe', 'v #3': 'no', 'v #4': null },
    )
    expect([played.result.final_output, tallied(played).invalid, played.diagnostics]).toEqual([
      'no',
      ['v #1', 'v #2'],
      ['invalid_vote', 'invalid_vote'],
    ])
  })

  it('counts only valid votes for the quorum', () => {
    const five = { ...chosen, votes: 5 }
    const unclear = { 'v #1': 'VOTE: yes', '*': 'VOTE: unclear' }
    const played = run(five, unclear)
    expect([played.team.outcome, played.result.final_output, statusOf(played, '#tally')]).toEqual([
      'incomplete',
      '',
      'failed',
    ])
    expect(played.team.nodes.get('#tally')?.failure?.message).toBe(
      'Only 1 vote is valid; the quorum is 3. "v #2", "v #3", "v #4", "v #5" name none of the options "yes", "no".',
    )
    expect(run({ ...five, quorum: 1 }, unclear).result.final_output).toBe('yes')
  })

  it('does not wait for answers that cannot change the result', () => {
    const five = { ...chosen, votes: 5 }
    const played = play(graphOf(majorityVote.plan(five)), scripted({ '*': 'VOTE: no' }))
    expect(played.ran).toHaveLength(5)
    expect(['v #3', 'v #4', 'v #5'].map((voter) => statusOf(played, voter))).toEqual([
      'completed',
      'skipped',
      'skipped',
    ])
    expect([played.result.final_output, played.team.outcome, played.diagnostics]).toEqual([
      'no',
      'complete',
      ['vote_decided'],
    ])
    expect(tallied(played)).toMatchObject({
      decision: 'no',
      valid: 3,
      missing: [],
      not_awaited: ['v #4', 'v #5'],
    })
  })

  it('waits for answers that may change the result, by a tie, too', () => {
    const four = (answers: Record<string, string>) =>
      play(graphOf(majorityVote.plan({ ...chosen, quorum: 1 })), scripted(answers))
    const no = four({ 'v #1': 'no', 'v #2': 'no', 'v #3': 'yes', 'v #4': 'yes' })
    expect([no.result.final_output, statusOf(no, 'v #4')]).toEqual(['yes', 'completed'])
    const yes = four({ 'v #1': 'yes', 'v #2': 'yes', 'v #3': 'no', 'v #4': 'no' })
    expect([yes.result.final_output, statusOf(yes, 'v #2'), statusOf(yes, 'v #3')]).toEqual([
      'yes',
      'completed',
      'skipped',
    ])
  })

  it('waits for all with a consensus, which reads every answer', () => {
    expect(statusOf(run(free, { '*': 'eight' }), 'c')).toBe('completed')
  })

  it.each([
    [[2, 0], 1, 1, 'yes'],
    [[1, 0], 1, 1, 'yes'],
    [[0, 1], 1, 1, null],
    [[0, 2], 1, 1, 'no'],
    [[2, 0], 1, 3, null],
    [[0, 0], 4, 1, null],
  ])('with the votes %j, %i open and a quorum of %i: %j', ([yes = 0, no = 0], open, quorum, winner) => {
    const votes = [
      ...Array.from({ length: yes }, () => 'yes'),
      ...Array.from({ length: no }, () => 'no'),
    ].map((answer, i) => ({ voter: `v${i}`, answer }))
    expect(decidedAnswer(tallyOf(votes, ['yes', 'no']), ['yes', 'no'], { open, quorum })).toBe(winner)
  })

  it('has the tally in its result: each vote, the invalid ones, a tie and how it was broken', () => {
    const played = run(
      { ...chosen, votes: 5 },
      { 'v #1': 'no', 'v #2': 'no', 'v #3': 'VOTE: yes', 'v #4': 'yes', 'v #5': 'VOTE: it depends' },
    )
    expect(played.result.outputs.map(({ node_id }) => node_id)).toEqual(['#winner', '#tally'])
    expect(JSON.parse(played.result.outputs[1]?.output ?? '')).toEqual({
      decision: 'yes',
      quorum: 3,
      valid: 4,
      counts: [
        { answer: 'yes', votes: 2, voters: ['v #3', 'v #4'] },
        { answer: 'no', votes: 2, voters: ['v #1', 'v #2'] },
      ],
      votes: [
        { voter: 'v #1', vote: 'no' },
        { voter: 'v #2', vote: 'no' },
        { voter: 'v #3', vote: 'yes' },
        { voter: 'v #4', vote: 'yes' },
        { voter: 'v #5', vote: null, said: 'it depends' },
      ],
      invalid: ['v #5'],
      tied: ['yes', 'no'],
      missing: [],
      not_awaited: [],
      tie_broken_by: 'order_of_options',
    })
  })

  it('has no result when no answer names an option', () => {
    const played = run(chosen, { '*': 'perhaps' })
    expect([played.team.nodes.get('#tally')?.failure?.class, played.result.final_output]).toEqual([
      'malformed_output',
      '',
    ])
  })
})

describe('what of an answer counts', () => {
  it.each([
    ['Because.\nVOTE: a\nThen again:\n> VOTE: b', ' b'],
    ['{"answer": "x"}', 'x'],
    ['投票\nVOTE： 是', ' 是'],
    ['I vote: for x', 'I vote: for x'],
  ])('of %j is %j', (answer, voted) => expect(votedIn(answer)).toBe(voted))

  it.each([
    ['**Yes.**', 'YES'],
    ['「是」', '是'],
    ['"a  b"\n', 'A B'],
    ['ｙｅｓ', 'yes'],
  ])('%j and %j are the same', (one, other) => expect(sameAnswer(one)).toBe(sameAnswer(other)))

  it.each([
    ['5', '-5'],
    ['5', '5%'],
    ['C', 'C++'],
    ['C', 'C#'],
    ['कि', 'का'],
    ['👍', '👎'],
  ])('%j and %j are not', (one, other) => expect(sameAnswer(one)).not.toBe(sameAnswer(other)))
})

describe('MajorityVote refuses', () => {
  it.each([
    [{ agents: undefined }, 'agents_empty', 'agents', '"voter"'],
    [{ voter: chosen.voter }, 'invalid_arguments', 'voter', 'both given'],
    [{ votes: 3 }, 'invalid_arguments', 'votes', '"votes" belongs to "voter"'],
    [{ consensus: undefined }, 'aggregator_required', 'consensus', '"consensus" is missing'],
    [{ options: ['a', 'b'] }, 'invalid_arguments', 'consensus', 'both given'],
    [{ consensus: undefined, options: ['Yes', 'no', 'yes.'] }, 'invalid_arguments', 'options.2', '"yes."'],
    [{ consensus: undefined, options: ['a', '?'] }, 'invalid_arguments', 'options.1', '"?"'],
    [{ consensus: undefined, options: ['a'] }, 'invalid_arguments', 'options', '"options"'],
    [{ quorum: 4 }, 'invalid_arguments', 'quorum', 'more than the 3 answers'],
    [{ quorum: 0 }, 'invalid_arguments', 'quorum', 'whole number'],
    [{ consensus: agents('b')[0] }, 'duplicate_agent', 'consensus.name', '"b"'],
    [{ agents: undefined, voter: chosen.voter, votes: 101 }, 'invalid_arguments', 'votes', 'from 1 to 100'],
  ])('%j', (change, code, path, part) => {
    refuses(majorityVote, { ...free, ...change }, { code, path, parts: [part] })
  })

  it('more votes than the limit allows', () => {
    refuses(
      majorityVote,
      chosen,
      { code: 'too_many_agents', path: 'votes', parts: ['4 agent runs', 'agentsMax is 3'] },
      { limits: { agentsMax: 3 } },
    )
  })
})
