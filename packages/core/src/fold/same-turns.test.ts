// Given the log of a run, when it is folded, then its last turns count as the same or not.
import { describe, expect, it } from 'vitest'
import { answer, plain, recorded, result, runStarted } from '../../test/log.ts'
import type { DataOf, DomainEvent } from '../events/catalog.ts'
import { evolveRun } from './evolve-run.ts'
import { type RunState, startRun } from './run-state.ts'
import { goesNowhere } from './same-turns.ts'

type Log = readonly (DomainEvent | readonly DomainEvent[])[]

function folded(...events: Log): RunState {
  const log = recorded(
    runStarted('r1'),
    plain('user_message_added', { content: 'hi' }, 'r1'),
    ...events.flat(),
  )
  const [first, ...rest] = log
  return rest.reduce(
    (run, event) => evolveRun(run, event, event),
    startRun(first?.data as DataOf<'run_started'>),
  )
}
const times = (...events: Log): number => folded(...events).sameTurns.times

interface Call {
  readonly name?: string
  readonly args?: string
  readonly gives?: string
  readonly fails?: boolean
}
let ids = 0

/** An answer with these calls, then what happens to the first call, then the results of all. */
function turn(
  text: string | null,
  calls: readonly Call[],
  happens: (callId: string) => readonly DomainEvent[] = () => [],
): DomainEvent[] {
  const named = calls.map((call) => ({ name: 'read', args: '{}', gives: 'ok', ...call, id: `c${++ids}` }))
  const asked = answer('r1', text) as Extract<DomainEvent, { type: 'assistant_message_added' }>
  const tool_calls = named.map(({ id, name, args }) => ({ id, name, arguments: args }))
  return [
    { ...asked, data: { ...asked.data, tool_calls, finish_reason: 'tool_calls' } },
    ...happens(named[0]?.id ?? ''),
    ...named.map(({ id, name, gives, fails }) => result('r1', id, name, gives, fails !== true)),
  ]
}
const reads = (gives: string, text: string | null = null): DomainEvent[] => turn(text, [{ gives }])
const breaks = (why: string, text: string | null = null): DomainEvent[] =>
  turn(text, [{ gives: why, fails: true }])

describe('turns in a row that were the same', () => {
  it('are none before the first turn, and one after it', () => {
    expect(times()).toBe(0)
    expect(times(reads('a'))).toBe(1)
  })

  it('are those that made the same call and had the same result, whatever the words of the answer', () => {
    expect(times(reads('a'), reads('a', 'I look again'), reads('a', 'And again'))).toBe(3)
    expect(times(breaks('no'), breaks('no', 'I try again'))).toBe(2)
  })

  it('begin anew with another result, another tool, other arguments or another image', () => {
    const args = (args: string): DomainEvent[] => turn(null, [{ args }])
    expect(times(reads('a'), reads('a'), reads('b'))).toBe(1)
    expect(times(reads('a'), turn(null, [{ name: 'list', gives: 'a' }]))).toBe(1)
    expect(times(args('{"n":1}'), args('{"n":2}'))).toBe(1)
    expect(times(breaks('a'), reads('a'))).toBe(1)
    const shows = (digit: string): DomainEvent[] =>
      reads('a').map((each) =>
        each.type === 'tool_result_recorded'
          ? plain(
              'tool_result_recorded',
              {
                ...each.data,
                images: [{ media_type: 'image/png', sha256: digit.repeat(64), bytes: 1 }],
              },
              'r1',
            )
          : each,
      )
    expect(times(shows('1'), shows('1'))).toBe(2)
    expect(times(shows('1'), shows('2'))).toBe(1)
    expect(times(shows('1'), reads('a'))).toBe(1)
  })

  it('are those that follow each other: two that take turns never count', () => {
    expect(times(reads('a'), reads('b'), reads('a'), reads('b'))).toBe(1)
  })

  it('compare arguments as JSON values, and arguments that are no JSON as texts', () => {
    const args = (args: string): DomainEvent[] => turn(null, [{ args, gives: 'no', fails: true }])
    expect(times(args('{"a":1,"b":2}'), args('{ "b": 2, "a": 1 }'))).toBe(2)
    expect(times(args('{"a":'), args('{"a":'))).toBe(2)
    expect(times(args('{"a":'), args('{"a": '))).toBe(1)
  })

  it('are those that gave the same answer and failed again, whatever the words of the failure', () => {
    expect(times(breaks('at 10:01', 'x'), breaks('at 10:02', 'x'), breaks('at 10:03', 'x'))).toBe(3)
    expect(times(breaks('at 10:01', 'x'), breaks('at 10:02', 'y'))).toBe(1)
    expect(times(reads('at 10:01', 'x'), reads('at 10:02', 'x'))).toBe(1)
  })

  it('need every call of an answer to repeat the call at its place, because otherwise something moves', () => {
    const two = (a: string, b: Call): DomainEvent[] => turn('x', [{ gives: a }, { name: 'list', ...b }])
    expect(times(two('a', { gives: 'b' }), two('a', { gives: 'b' }))).toBe(2)
    expect(times(two('a', { gives: 'b' }), two('a', { gives: 'c' }))).toBe(1)
    expect(times(two('a', { gives: 'b' }), reads('a'))).toBe(1)
    expect(times(two('a', { gives: 'b' }), two('a', { gives: 'b', args: '{"n":1}' }))).toBe(1)
    // The first call has the same result, and the second failed again.
    expect(times(two('a', { gives: '1', fails: true }), two('a', { gives: '2', fails: true }))).toBe(2)
  })

  it('compare results in the order of the calls, not in that of the results', () => {
    const both = (first: string, second: string, turned: boolean): DomainEvent[] => {
      const [asked, a, b] = turn(null, [{ gives: first }, { gives: second }]) as DomainEvent[]
      return turned ? ([asked, b, a] as DomainEvent[]) : ([asked, a, b] as DomainEvent[])
    }
    expect(times(both('1', '2', false), both('1', '2', true))).toBe(2)
    expect(times(both('1', '2', false), both('2', '1', true))).toBe(1)
  })

  it('are not counted while a call of the last answer has no result', () => {
    const open = turn(null, [{}, {}]).slice(0, 2)
    expect(times(reads('a'), reads('a'), open)).toBe(2)
  })
})

describe('what a person says to the model', () => {
  const steer = plain('user_message_added', { content: 'Look there.', steer_request_id: 's1' }, 'r1')
  const asks = (id: string) =>
    plain('approval_requested', { call_id: id, tool_name: 'read', subject: 's', rule: null }, 'r1')
  const question = { message: 'Which?' }
  const answered =
    (by: string, user?: string) =>
    (id: string): DomainEvent[] => [
      plain('question_asked', { call_id: id, tool_name: 'read', question_index: 0, question }, 'r1'),
      plain(
        'question_answered',
        {
          call_id: id,
          question_index: 0,
          answer: { action: 'decline' },
          by,
          ...(user === undefined ? {} : { user_id: user }),
        },
        'r1',
      ),
    ]
  const denied = (by: string) => (id: string) => [
    asks(id),
    plain('approval_denied', { call_id: id, by, reason: 'no' }, 'r1'),
  ]
  const granted = (args?: string) => (id: string) => [
    asks(id),
    plain(
      'approval_granted',
      { call_id: id, by: 'ann', ...(args === undefined ? {} : { arguments: args }) },
      'r1',
    ),
  ]
  const twice = (happens: (id: string) => readonly DomainEvent[]): number =>
    times(turn(null, [{}], happens), turn(null, [{}], happens))

  it('is progress: a text that steers begins the count anew', () => {
    expect(times(reads('a'), reads('a'), steer)).toBe(0)
    expect(times(reads('a'), reads('a'), steer, reads('a'))).toBe(1)
  })

  it('is progress: an answer, a refusal and other arguments do not count, nor does the turn after them', () => {
    expect(twice(answered('ann'))).toBe(0)
    expect(twice(denied('ann'))).toBe(0)
    expect(twice(granted('{"n":1}'))).toBe(0)
    expect(times(reads('ok'), turn(null, [{}], answered('ann')), reads('ok'))).toBe(1)
    // A person whose name is the one that Beaver writes if nobody decided.
    expect(twice(answered('beaver', 'bob'))).toBe(0)
  })

  it('is not what Beaver says because nobody did, nor that a person only allowed the call', () => {
    expect(twice(answered('beaver'))).toBe(2)
    expect(twice(denied('beaver'))).toBe(2)
    expect(twice(granted())).toBe(2)
  })
})

it('the count outlasts what is no turn: failed tries, compactions, summaries and restarts', () => {
  const noUsage = { input_tokens: 0, output_tokens: 0, calls: 0 }
  const between = [
    plain(
      'provider_call_failed',
      { failure: { class: 'rate_limited', message: 'm' }, tries: 1, retry_in_ms: 5, status: 429 },
      'r1',
    ),
    plain('context_compacted', { results: [] }, 'r1'),
    plain(
      'context_summarized',
      { content: 's', messages_dropped: 2, usage: noUsage, provider_name: 'p', model: 'm' },
      'r1',
    ),
    plain('run_restarted', { failure: { class: 'worker_lost', message: 'm' }, restarts: 1 }, 'r1'),
  ]
  expect(times(reads('a'), between, reads('a'), between, reads('a'))).toBe(3)
})

describe('a run goes nowhere', () => {
  const bounded = (repeats_max: number | undefined, turns: number): boolean => {
    const { start, sameTurns } = folded(...Array.from({ length: turns }, () => reads('a')))
    return goesNowhere({
      start: { ...start, ...(repeats_max === undefined ? {} : { repeats_max }) },
      sameTurns,
    })
  }

  it('when it did the same as often as its bound says', () => {
    expect([1, 2, 3, 4].map((turns) => bounded(3, turns))).toEqual([false, false, true, true])
  })

  it('never without a bound, as in the logs of earlier versions', () => {
    expect(bounded(undefined, 9)).toBe(false)
  })
})
