import { describe, expect, it } from 'vitest'
import { agents, dependencies, graphOf, play, refuses, scripted, statusOf, structure } from '@beaver/testing'
import { bidIn } from './group-chat-program.ts'
import { groupChat } from './group-chat.ts'

const args = { task: 'Agree on a name', agents: agents('alice', 'bob') }
const moderator = { name: 'chair', instruction: 'Lead the discussion.' }
const open = { ...args, turns_max: 3, stop_phrase: 'agreed' }
const moderated = { ...args, turns_max: 2, speaker: 'model', moderator }
const bidding = { ...args, turns_max: 2, speaker: 'bids' }
const chat = (call: object) => graphOf(groupChat.plan(call))

describe('GroupChat in a fixed order', () => {
  it('is whole from the start: each turn hears all earlier ones, two turns for each agent', () => {
    expect(dependencies(chat(args))).toEqual([
      ['alice #1', []],
      ['bob #2', ['alice #1']],
      ['alice #3', ['alice #1', 'bob #2']],
      ['bob #4', ['alice #1', 'bob #2', 'alice #3']],
      ['#result', ['alice #1', 'bob #2', 'alice #3', 'bob #4']],
    ])
  })

  it('ends with the text of the last turn', () => {
    expect(play(chat(args), scripted({ 'bob #4': 'Beaver.' })).result.final_output).toBe('Beaver.')
  })

  it('ends with what the summarizer writes from all turns', () => {
    const played = play(
      chat({ ...args, summarizer: agents('scribe')[0] }),
      scripted({ scribe: 'They agreed.' }),
    )
    expect(played.result).toEqual({
      final_output: 'They agreed.',
      outputs: [{ node_id: 'scribe', output: 'They agreed.' }],
    })
    expect(played.told.get('scribe')?.from).toEqual(['alice #1', 'bob #2', 'alice #3', 'bob #4'])
  })

  it('goes on after a failed turn, which nobody hears, and is no silent success', () => {
    const played = play(chat(args), scripted({ 'bob #4': null }))
    expect([played.result.final_output, played.team.outcome]).toEqual(['alice #3 says', 'incomplete'])
    expect(play(chat(args), scripted({ 'bob #2': null })).told.get('alice #3')?.from).toEqual(['alice #1'])
  })

  it('ends after a third failed turn with what was said', () => {
    const played = play(
      chat({ ...args, turns_max: 6 }),
      scripted({ 'alice #3': null, 'bob #2': null, 'bob #4': null }),
    )
    expect(played.ran).toEqual(['alice #1', 'bob #2', 'alice #3', 'bob #4'])
    expect([statusOf(played, 'alice #5'), played.result.final_output]).toEqual(['blocked', 'alice #1 says'])
  })
})

describe('GroupChat with a stop rule', () => {
  it('grows turn by turn, and ends when the phrase is said', () => {
    const played = play(chat(open), scripted({ 'bob #2': 'Fine.\n\n**AGREED.**' }))
    expect(played.ran).toEqual(['alice #1', 'bob #2'])
    expect([played.result.final_output, played.team.outcome]).toEqual(['Fine.\n\n**AGREED.**', 'complete'])
    expect(played.events.filter((event) => event.type === 'graph_extended').length).toBe(2)
  })

  it('does not end when the phrase is part of a sentence, and says so', () => {
    const played = play(
      chat({ ...open, stop_phrase: 'we agree' }),
      scripted({ 'alice #1': 'I do not think we agree yet.', 'bob #2': 'Nobody said:\n> we agree' }),
    )
    expect(played.ran).toEqual(['alice #1', 'bob #2', 'alice #3'])
    expect(played.diagnostics).toEqual(['stop_phrase_mentioned', 'stop_phrase_mentioned'])
  })

  it('ends when a turn matches the pattern', () => {
    const played = play(
      chat({ ...args, stop_pattern: '^DONE$' }),
      scripted({ 'alice #1': 'not DONE', 'bob #2': 'DONE' }),
    )
    expect(played.ran).toEqual(['alice #1', 'bob #2'])
  })

  it('is bounded by turns_max', () => {
    const played = play(chat(open), scripted({}))
    expect(played.ran).toEqual(['alice #1', 'bob #2', 'alice #3'])
    expect(structure(played).find(([id]) => id === 'alice #3')?.[1]).toEqual(['alice #1', 'bob #2'])
  })

  it('has the summarizer write the result however it ended', () => {
    const played = play(
      chat({ ...open, summarizer: agents('scribe')[0] }),
      scripted({ 'alice #1': 'agreed' }),
    )
    expect([played.ran, played.result.final_output]).toEqual([['alice #1', 'scribe'], 'scribe says'])
  })

  it('says that it was cut short when a third turn failed', () => {
    const played = play(
      chat({ ...open, turns_max: 9 }),
      scripted({ 'bob #2': null, 'alice #3': null, 'bob #4': null }),
    )
    expect([played.ran.length, played.diagnostics, played.result.final_output]).toEqual([
      4,
      ['chat_cut_short'],
      'alice #1 says',
    ])
  })

  it('fails when no turn completed at all', () => {
    const played = play(chat({ ...open, turns_max: 9 }), () => null)
    expect([played.ran.length, played.team.nodes.get('#4 floor')?.failure?.class]).toEqual([
      3,
      'empty_output',
    ])
  })
})

describe('GroupChat with a moderator', () => {
  const speakers = (answers: Record<string, string | null>): string[] =>
    play(chat(moderated), scripted(answers)).ran.filter((id) => !id.startsWith('chair'))

  it('gives the turn to the one the moderator names', () => {
    expect(
      speakers({
        'chair #1': '{"next": "bob"}',
        'chair #2': 'I think **Bob** has more to say: {"next": "bob"}',
      }),
    ).toEqual(['bob #1', 'bob #2'])
    expect(speakers({ 'chair #1': '"Bob".', 'chair #2': '**bob**' })).toEqual(['bob #1', 'bob #2'])
  })

  it('asks once more for a name it does not know, with the fault', () => {
    const played = play(
      chat(moderated),
      scripted({ 'chair #1': '{"next": "bobb"}', 'chair #1 again': 'bob', 'chair #2': 'alice' }),
    )
    expect(played.ran).toEqual(['chair #1', 'chair #1 again', 'bob #1', 'chair #2', 'alice #2'])
    expect(played.diagnostics).toEqual(['unknown_speaker'])
    expect(played.told.get('chair #1 again')?.instruction).toContain(
      '"bobb" does not name one of the speakers. Did you mean "bob"?',
    )
  })

  it.each([['carol'], ['Either alice or bob.'], ['Anybody but bob.']])(
    'falls back to the declared order, with a diagnostic, when the second answer is %j too',
    (answer) => {
      const played = play(
        chat(moderated),
        scripted({ 'chair #1': answer, 'chair #1 again': answer, 'chair #2': 'bob' }),
      )
      expect(played.ran).toEqual(['chair #1', 'chair #1 again', 'alice #1', 'chair #2', 'bob #2'])
      expect(played.diagnostics).toEqual(['unknown_speaker', 'speaker_in_order'])
    },
  )

  it('falls back to the declared order when the moderator fails', () => {
    const played = play(chat(moderated), scripted({ 'chair #1': null, 'chair #2': null }))
    expect(played.ran.filter((id) => !id.startsWith('chair'))).toEqual(['alice #1', 'bob #2'])
    expect([played.diagnostics, played.team.outcome]).toEqual([
      ['speaker_in_order', 'speaker_in_order'],
      'incomplete',
    ])
  })

  it('the moderator hears every turn, has no tools, and may end the chat by the stop phrase', () => {
    const graph = chat({ ...moderated, turns_max: 9, stop_phrase: 'the end' })
    expect(graph.nodes[0]).toMatchObject({ node_id: 'chair #1', allowed_tool_names: [] })
    const played = play(graph, scripted({ 'chair #1': 'alice', 'chair #2': 'The end.' }))
    expect([played.ran, played.result.final_output]).toEqual([
      ['chair #1', 'alice #1', 'chair #2'],
      'alice #1 says',
    ])
    expect(played.told.get('chair #2')?.from).toEqual(['alice #1'])
  })
})

describe('GroupChat with bids', () => {
  it('has all bid at the same time, and the highest speaks; of equal ones the first', () => {
    const played = play(
      chat(bidding),
      scripted({
        'alice #1 bid': '20',
        'bob #1 bid': 'My bid: 70.',
        'alice #2 bid': '{"bid": 50}',
        'bob #2 bid': '50',
      }),
    )
    expect(played.ran).toEqual([
      'alice #1 bid',
      'bob #1 bid',
      'bob #1',
      'alice #2 bid',
      'bob #2 bid',
      'alice #2',
    ])
    expect(played.told.get('alice #2')?.from).toEqual(['bob #1'])
  })

  it.each([
    ['from 0 to 100 I bid 75', null],
    ['75', 75],
    ['**75/100**', 75],
    ['I have much to add.\nBID: 80', 80],
    ['My bid: 70.', 70],
    ['```json\n{"bid": "65"}\n```', 65],
    ['{"bid": 101}', null],
    ['-5', null],
    ['50 or 60', null],
    ['bid: 10 to 20', null],
    ['٧٥', null],
    ['1e2', null],
  ])('reads %j as %j', (answer, bid) => expect(bidIn(answer)).toBe(bid))

  it('asks once more for a bid that code cannot read', () => {
    const played = play(
      chat({ ...bidding, turns_max: 1 }),
      scripted({
        'alice #1 bid': '40',
        'bob #1 bid': 'from 0 to 100 I bid 75',
        'bob #1 bid again': '{"bid": 75}',
      }),
    )
    expect(played.ran).toEqual(['alice #1 bid', 'bob #1 bid', 'bob #1 bid again', 'bob #1'])
    expect(played.told.get('bob #1 bid again')?.instruction).toContain('Your first answer was no bid')
    expect([played.diagnostics, played.team.outcome]).toEqual([['invalid_bid'], 'complete'])
  })

  it('leaves out what is no bid, with a diagnostic', () => {
    const played = play(
      chat({ ...bidding, turns_max: 1 }),
      scripted({ 'alice #1 bid': '250', 'alice #1 bid again': '250', 'bob #1 bid': '0' }),
    )
    expect([played.ran.at(-1), played.diagnostics]).toEqual(['bob #1', ['invalid_bid', 'invalid_bid']])
  })

  it('goes by the declared order when nobody bids', () => {
    const played = play(
      chat({ ...bidding, turns_max: 1 }),
      scripted({ 'alice #1 bid': null, 'bob #1 bid': 'much' }),
    )
    expect([played.ran.at(-1), played.diagnostics]).toEqual([
      'alice #1',
      ['invalid_bid', 'invalid_bid', 'speaker_in_order'],
    ])
  })
})

describe('GroupChat refuses', () => {
  it.each([
    [{ agents: [] }, 'agents_empty', 'agents', 'empty'],
    [{ agents: agents('a', 'a') }, 'duplicate_agent', 'agents.1.name', '"a"'],
    [{ agents: agents('a#1') }, 'invalid_agent_name', 'agents.0.name', '"a#1"'],
    [{ speaker: 'model' }, 'invalid_arguments', 'moderator', '"moderator" is missing'],
    [{ moderator }, 'invalid_arguments', 'moderator', 'round_robin'],
    [{ speaker: 'model', moderator: agents('bob')[0] }, 'duplicate_agent', 'moderator.name', '"bob"'],
    [{ summarizer: agents('bob')[0] }, 'duplicate_agent', 'summarizer.name', '"bob"'],
    [{ speaker: 'loudest' }, 'invalid_arguments', 'speaker', '"speaker"'],
    [{ turns_max: 0 }, 'invalid_arguments', 'turns_max', 'is 0: write a whole number from 1 to 100'],
    [{ turns_max: 2.5 }, 'invalid_arguments', 'turns_max', '2.5'],
    [{ stop_pattern: '(' }, 'invalid_arguments', 'stop_pattern', '"("'],
    [{ stop_pattern: '(?=a)' }, 'invalid_arguments', 'stop_pattern', 'RE2'],
    [{ rounds: 3 }, 'invalid_arguments', 'rounds', '"rounds"'],
  ])('%j', (change, code, path, part) => {
    refuses(groupChat, { ...args, ...change }, { code, path, parts: [part] })
  })

  it('a chat that may need more runs or edges than the limits allow', () => {
    const many = { ...bidding, turns_max: 100 }
    refuses(groupChat, many, {
      code: 'too_many_edges',
      path: 'turns_max',
      parts: ['edgesMax is 8192', 'Lower turns_max'],
    })
    refuses(
      groupChat,
      many,
      { code: 'too_many_agents', path: 'turns_max', parts: ['500 agent runs', 'agentsMax is 499'] },
      { limits: { agentsMax: 499 } },
    )
  })
})
