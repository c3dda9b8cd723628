import { type DomainEvent, event } from '@beaver/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Answers, graphOf, play, scripted } from '@beaver/testing'
import { agentTeam } from './agent-team.ts'
import { teamReport } from './team-report.ts'
import { teamStream, type TeamStreamEvent, teamStreamOf } from './team-stream.ts'

const submitted = event('task_submitted', {
  task_id: 'task1' as never,
  session_id: 's' as never,
  tenant: 't',
  previous_task_id: null,
  request: { text: 'x', workspace: '.', skill: null, source: 'cli' },
})
const taskEnd = (
  type: 'task_completed' | 'task_cancelled' | 'task_failed',
  message: string | null,
): DomainEvent =>
  event(type, {
    final_output: '',
    outputs: [],
    usage: { input_tokens: 0, output_tokens: 0 } as never,
    provider: null,
    model: null,
    simulated: false,
    failure: message === null ? null : { class: 'cancelled', message },
  })

function eventsOf(args: object, answers: Answers): DomainEvent[] {
  const played = play(graphOf(agentTeam.plan({ members: ['a', 'b'], message: 'm', ...args })), answers)
  return [submitted, ...played.events, taskEnd('task_completed', null)]
}

const told = (events: readonly TeamStreamEvent[]): string[] =>
  events.map((each) => `${each.type}${'member_name' in each ? ` ${each.member_name}` : ''}`)
const streamed = (events: readonly DomainEvent[]): TeamStreamEvent[] => [...teamStreamOf(events)]

describe('the stream of a team', () => {
  it('tells pieces of an answer while it is said, of members only, and then what is missing', () => {
    const stream = teamStream()
    const events = eventsOf({ strategy: 'sequential' }, scripted({ a: 'good morning' }))
    const told: TeamStreamEvent[] = []
    for (const each of events) {
      if (each.type === 'assistant_message_added' && each.runId === 'run-1') {
        const piece = { agent_name: 'a', node_id: 'a', call: 1, offset: 0, text: 'good ' }
        told.push(
          ...stream.live({ ...piece, run_id: 'run-1' }),
          ...stream.live({ ...piece, run_id: 'somebody else' }),
        )
      }
      told.push(...stream.next(each))
    }
    const pieces = told.flatMap((each) =>
      each.type === 'member_delta' && each.member_name === 'a' ? [[each.offset, each.text]] : [],
    )
    expect(pieces).toEqual([
      [0, 'good '],
      [5, 'morning'],
    ])
  })

  it('tells of the team, each member and its answer, and the result', () => {
    const stream = streamed(eventsOf({ strategy: 'sequential' }, scripted({ b: 'the end' })))
    expect(told(stream)).toEqual([
      'team_run_started',
      'member_started a',
      'member_delta a',
      'member_completed a',
      'member_started b',
      'member_delta b',
      'member_completed b',
      'team_run_completed',
    ])
    expect(stream[0]).toMatchObject({ workflow: 'AgentTeam', task: 'm', members: ['a', 'b'] })
    expect(stream[5]).toEqual({
      type: 'member_delta',
      task_id: 'task1',
      team_run_id: 'team1',
      run_id: 'run-2',
      member_name: 'b',
      node_id: 'b',
      text: 'the end',
      offset: 0,
    })
    expect(stream.at(-1)).toMatchObject({
      task_id: 'task1',
      team_run_id: 'team1',
      run_id: null,
      final_output: 'the end',
    })
  })

  it('tells of a failure once, and of those it kept from starting at the end', () => {
    const stream = streamed(eventsOf({ strategy: 'sequential' }, scripted({ a: null })))
    expect(told(stream)).toEqual([
      'team_run_started',
      'member_started a',
      'member_failed a',
      'team_run_failed',
    ])
    expect(stream.at(-1)).toMatchObject({
      outcome: 'incomplete',
      message: '0 of 2 nodes completed; failed: a; blocked: b',
      failures: [
        { node_id: 'a', failure: { class: 'tool_crash' } },
        { node_id: 'b', failure: { message: 'It never started: a has no result.' } },
      ],
    })
  })

  it('keeps what there is when the team is incomplete', () => {
    const stream = streamed(eventsOf({ strategy: 'broadcast' }, scripted({ a: null })))
    expect(stream.at(-1)).toMatchObject({
      type: 'team_run_failed',
      outputs: [{ node_id: 'b', output: 'b says' }],
      final_output: '## b\n\nb says',
    })
  })

  it('ends when the task ends without its team, members that were working included', () => {
    const all = eventsOf({ strategy: 'broadcast' }, scripted({}))
    const begun = all.slice(
      0,
      1 + all.findIndex((each) => each.type === 'node_started' && each.data.node_id === 'b'),
    )
    const stream = streamed([...begun, taskEnd('task_cancelled', 'stop it')])
    expect(told(stream).slice(-3)).toEqual(['member_failed a', 'member_failed b', 'team_run_failed'])
    expect(stream.at(-1)).toMatchObject({ outcome: 'cancelled', message: 'stop it' })
  })

  it('ends when the task ends before there was a team', () => {
    expect(streamed([submitted, taskEnd('task_failed', 'no such skill')])).toMatchObject([
      { type: 'team_run_failed', task_id: 'task1', team_run_id: null, message: 'no such skill' },
    ])
  })

  it('follows the team it was asked for, and no other', () => {
    const one = (answer: string | null): readonly DomainEvent[] =>
      play(
        graphOf(agentTeam.plan({ members: ['a'], message: 'm', strategy: 'sequential' })),
        scripted({ a: answer }),
      ).events
    const other = JSON.parse(
      JSON.stringify(one('done')).replaceAll('team1', 'team2').replaceAll('run-', 'other-'),
    ) as DomainEvent[]
    const [started, ...rest] = one(null)
    const stream = [
      ...teamStreamOf([started as DomainEvent, ...other.slice(0, 2), ...rest, ...other.slice(2)], {
        teamRunId: 'team2',
      }),
    ]
    expect(stream.map((each) => each.team_run_id)).toEqual(stream.map(() => 'team2'))
    expect(told(stream)).toEqual([
      'team_run_started',
      'member_started a',
      'member_delta a',
      'member_completed a',
      'team_run_completed',
    ])
  })

  it('has exactly one terminal event, the last, and one end for each start, wherever the task ends', () => {
    const args = fc.record({
      strategy: fc.constantFrom('leader_worker', 'round_robin', 'broadcast', 'sequential'),
      share_interactions: fc.boolean(),
      answers: fc.array(fc.constantFrom('no', null, '{"plan": [{"member": "b", "task": "x"}]}'), {
        minLength: 1,
        maxLength: 5,
      }),
      cut: fc.nat(60),
    })
    fc.assert(
      fc.property(args, ({ strategy, share_interactions, answers, cut }) => {
        let asked = 0
        const all = eventsOf(
          { strategy, share_interactions },
          () => answers[asked++ % answers.length] ?? null,
        )
        const follow = teamStream()
        const stream = [...all.slice(0, cut), taskEnd('task_cancelled', 'stop'), ...all.slice(cut)].flatMap(
          (each) => follow.next(each),
        )
        const kinds = stream.map((each) => each.type)
        expect(follow.ended).toBe(true)
        expect(kinds.filter((kind) => kind === 'team_run_completed' || kind === 'team_run_failed')).toEqual([
          kinds.at(-1),
        ])
        const nodes = (...types: string[]): string[] =>
          stream
            .flatMap((each) => ('node_id' in each && types.includes(each.type) ? [each.node_id] : []))
            .toSorted()
        expect(nodes('member_completed', 'member_failed')).toEqual(nodes('member_started'))
        for (const each of stream)
          expect([each.task_id, each.run_id === undefined]).toEqual([cut === 0 ? null : 'task1', false])
      }),
      { numRuns: 200 },
    )
  })
})

describe('the report of a team', () => {
  const timed = (events: readonly DomainEvent[]) =>
    events.map((each, second) => ({
      ...each,
      time: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(),
    }))

  it('holds the result, the outputs and interactions of the members, and how many steps it took', () => {
    const answers = scripted({
      'Coordinator #plan':
        '{"plan": [{"member": "a", "task": "1"}, {"member": "a", "task": "2"}, {"member": "c", "task": "3"}]}',
    })
    const { logs, ...report } = teamReport(timed(eventsOf({}, answers)))
    expect(logs.length).toBeGreaterThan(5)
    expect(report).toEqual({
      success: true,
      final_output: 'Coordinator #synthesis says',
      member_outputs: { a: 'a #1 says\n\na #2 says' },
      interactions: [
        {
          member_name: 'a',
          input: '1',
          output: 'a #1 says',
          timestamp: '2026-01-01T00:00:10.000Z',
          metadata: { node_id: 'a #1' },
        },
        {
          member_name: 'a',
          input: '2',
          output: 'a #2 says',
          timestamp: '2026-01-01T00:00:12.000Z',
          metadata: { node_id: 'a #2' },
        },
      ],
      failures: [],
      steps: 4,
      diagnostics: [
        {
          code: 'unknown_member',
          message: 'The plan names "c", who is not a member. That task is left out.',
        },
      ],
      message: null,
    })
  })

  it('tells what a member worked on where that was another output', () => {
    const { interactions } = teamReport(timed(eventsOf({ strategy: 'sequential' }, scripted({}))))
    expect(interactions.map(({ input, output }) => [input, output])).toEqual([
      ['m', 'a says'],
      ['a says', 'b says'],
    ])
  })

  it('is no success when a member failed', () => {
    expect(teamReport(timed(eventsOf({ strategy: 'broadcast' }, scripted({ a: null }))))).toMatchObject({
      success: false,
      message: expect.stringContaining('failed: a') as string,
      member_outputs: { b: 'b says' },
    })
  })

  it('says why each member has no result', () => {
    const { failures } = teamReport(timed(eventsOf({ strategy: 'sequential' }, scripted({ a: null }))))
    expect(failures).toEqual([
      { node_id: 'a', member_name: 'a', failure: { class: 'tool_crash', message: 'secret of the failure' } },
      {
        node_id: 'b',
        member_name: 'b',
        failure: { class: 'cancelled', message: 'It never started: a has no result.' },
      },
    ])
  })

  it('has a log of what happened, in words, unless the team has none', () => {
    const log = (more: object) =>
      teamReport(timed(eventsOf({ strategy: 'sequential', ...more }, scripted({ a: null })))).logs
    expect(log({}).map(({ who, what }) => `${who} ${what}`)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('team started: AgentTeam with 2 nodes'),
        expect.stringMatching(/^a failed.*secret of the failure/),
      ]),
    )
    expect(log({})[0]).toMatchObject({ timestamp: '2026-01-01T00:00:00.000Z', who: 'task' })
    expect(log({ enable_logging: true }).length).toBe(log({}).length)
    expect(log({ enable_logging: false })).toEqual([])
  })

  it('has a bounded log, which says what it leaves out', () => {
    const [first, ...rest] = eventsOf({ strategy: 'sequential' }, scripted({}))
    const many = Array.from({ length: 3_000 }, () => event('task_cancel_requested', { reason: 'x' }))
    const { logs } = teamReport(timed([first as DomainEvent, ...many, ...rest]))
    expect([logs.length, logs.at(-1)?.what]).toEqual([
      2_001,
      expect.stringMatching(/^\d+ more lines are left out/),
    ])
  })

  it('is no success without a final output', () => {
    expect(teamReport(timed(eventsOf({ strategy: 'sequential' }, scripted({ b: ' ' })))).success).toBe(false)
  })
})
