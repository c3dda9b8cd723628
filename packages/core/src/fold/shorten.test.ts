import { describe, expect, it } from 'vitest'
import { answer, plain, recorded, result, runStarted } from '../../test/log.ts'
import type { DataOf, DomainEvent } from '../events/catalog.ts'
import { framed, frameMark } from './frame.ts'
import { evolveRun } from './evolve-run.ts'
import { type RunState, startRun } from './run-state.ts'
import { newestExchange, resultReference } from './shorten.ts'

function folded(...events: DomainEvent[]): RunState {
  const [first, ...rest] = recorded(runStarted('r1'), ...events)
  return rest.reduce(
    (run, event) => evolveRun(run, event, event),
    startRun(first?.data as DataOf<'run_started'>),
  )
}
const usage = { input_tokens: 7, output_tokens: 3, calls: 1 }
const begun = [
  plain('system_prompt_snapshotted', { content: 'prompt' }, 'r1'),
  plain('user_message_added', { content: 'hi' }, 'r1'),
]
const exchange = (id: string) => [
  answer('r1', null, [{ id, name: 'read' }]),
  result('r1', id, 'read', `text of ${id}`),
]
const compacted = (data: DataOf<'context_compacted'>) => plain('context_compacted', data as never, 'r1')
const summarized = (messages_dropped: number) =>
  plain(
    'context_summarized',
    { content: 'short', messages_dropped, usage, provider_name: 'p', model: 'm' },
    'r1',
  )
const left = { call_id: 'a', tool_name: 'read', chars: 9 }
const contents = (run: RunState) => run.messages.map(({ role, content }) => `${role}: ${content}`)

describe('context_compacted', () => {
  it('replaces each named result by a reference, and keeps the other results and the facts', () => {
    const run = folded(...begun, ...exchange('a'), ...exchange('b'), compacted({ results: [left] }))
    expect(contents(run).filter((line) => line.startsWith('tool'))).toEqual([
      `tool: ${resultReference(left)}`,
      'tool: text of b',
    ])
    expect([run.compactions, run.facts.map((fact) => fact.result), run.status]).toEqual([
      1,
      ['text of a', 'text of b'],
      'thinking',
    ])
  })

  it('remembers how many messages of the history are left out, even if a later event does not name a number', () => {
    expect(
      folded(
        ...begun,
        compacted({ results: [], history_messages_dropped: 4 }),
        compacted({ results: [left] }),
      ).historyDropped,
    ).toBe(4)
  })
})

it('a result of a team that was left out says how to read it again, never to call the tool again (D-61)', () => {
  const ofTeam = { call_id: 'a', tool_name: 'SequentialWorkflow', chars: 3317, team: true }
  for (const reference of [
    resultReference(ofTeam),
    resultReference({ ...ofTeam, kept_chars: 5 }, 'some text'),
  ]) {
    expect(reference).toContain('read it with team_output {"call_id":"a"}')
    expect(reference).not.toContain('call the tool again')
  }
})
const summary = framed('short', { name: 'summary_of_earlier_work', mark: frameMark('r1') })

describe('context_summarized', () => {
  const run = folded(...begun, ...exchange('a'), ...exchange('b'), ...exchange('c'), summarized(4))

  it('replaces the messages after the run’s own message, and its usage counts', () => {
    expect(contents(run)).toEqual([
      'system: prompt',
      'user: hi',
      `user: ${summary}`,
      'assistant: null',
      'tool: text of c',
    ])
    expect([run.summaries, run.usage.calls, run.callsOfAnswers]).toEqual([1, 4, [['a'], ['b'], ['c']]])
  })

  it('may be summarised itself, together with the messages after it', () => {
    const next = [...exchange('d'), summarized(3)].reduce(
      (state, event, i) => evolveRun(state, event, { taskseq: 20 + i }),
      run,
    )
    expect(contents(next).slice(2)).toEqual([`user: ${summary}`, 'assistant: null', 'tool: text of d'])
    expect(next.callsOfAnswers).toEqual([['a'], ['b'], ['c'], ['d']])
  })
})

describe('an answer that was no summary', () => {
  const refused = plain('summary_refused', { reason: 'empty', usage, provider_name: 'p', model: 'm' }, 'r1')
  const run = folded(...begun, ...exchange('a'), ...exchange('b'), refused, refused)

  it('changes nothing but the usage, and is counted', () => {
    expect(contents(run)).toEqual(contents(folded(...begun, ...exchange('a'), ...exchange('b'))))
    expect([run.summariesRefused, run.usage.calls]).toEqual([2, 4])
  })

  it('leads to a note in the place of the older messages, and is counted anew after it', () => {
    const next = evolveRun(run, compacted({ results: [], messages_dropped: 2 }), { taskseq: 20 })
    expect(contents(next).slice(1)).toEqual([
      'user: hi',
      expect.stringMatching(/^user: <summary_of_earlier_work[^]*2 messages of your earlier work left out/),
      'assistant: null',
      'tool: text of b',
    ])
    expect(next.summariesRefused).toBe(0)
  })
})

it('resets the tries of the next call in either case, because it is another call', () => {
  const failed = plain(
    'provider_call_failed',
    { failure: { class: 'rate_limited', message: 'm' }, tries: 2, retry_in_ms: 5, status: 429 },
    'r1',
  )
  expect([
    folded(...begun, failed).tries,
    folded(...begun, failed, compacted({ results: [left] })).tries,
  ]).toEqual([2, 0])
  expect(folded(...begun, ...exchange('a'), ...exchange('b'), failed, summarized(2)).tries).toBe(0)
})

it('the newest exchange begins with the last answer that calls tools', () => {
  expect(newestExchange(folded(...begun).messages)).toBe(2)
  expect(newestExchange(folded(...begun, ...exchange('a'), ...exchange('b')).messages)).toBe(4)
})
