import type { SystemState } from '@beaver/contracts'
import { describe, expect, it } from 'vitest'
import {
  bytesText,
  endpointsOf,
  ratesOf,
  rateText,
  rowsOfTasks,
  slotsOf,
  troublesOf,
  withSample,
} from './look.ts'

const now = Date.parse('2026-11-29T10:00:00Z')
const at = (secondsAgo: number): string => new Date(now - secondsAgo * 1_000).toISOString()

type Daemon = SystemState['daemons']['list'][number]
const endpoint: NonNullable<Daemon['endpoints']>[number] = {
  ...{ name: 'model', provider: 'openai', model: 'gpt', host: 'api.example' },
  ...{ key_name: 'OPENAI_API_KEY', key_set: true, protocol: 'chat_completions' },
  ...{ circuit_open_ms: 0, wait_ms: 0, requests_per_minute_max: 60, tokens_per_minute_max: null },
  ...{ last_failure: null, answer: null },
}
const daemon: Daemon = {
  ...{ daemon: 'daemon_1', state: 'answers', seen_at: at(0), problem: null, version: '1.0.0' },
  ...{ started_at: at(60), tasks: 2, tasks_max: 4, threads: [{ loops: 2, answers: true }], threads_max: 1 },
  ...{ thread_restarts: 0, refused: 0, journal_silent_ms: 0, journal_changed: null, endpoints: [endpoint] },
}
const stream: SystemState['streams']['list'][number] = {
  ...{ name: 'BEAVER_x', what: 'journal', state: 'answers', messages: 40, bytes: 9_000, replicas: 3 },
  ...{ cluster: 'c', leader: 'n1', moving: false, survives: true },
  followers: [
    { server: 'n2', current: true, offline: false, lag: 0 },
    { server: 'n3', current: true, offline: false, lag: 0 },
  ],
}
const budget: SystemState['budgets']['list'][number] = {
  ...{ of: 'tenant', per: 'day', period: '2026-11-29', ends_at: null, limits: { tokens: 100 }, raised: {} },
  ...{ exceeded: 'wait', open_tasks: 1, waiting_tasks: 0 },
  used: { usd: 0, tokens: 50, model_calls: 1, tool_calls: 0 },
  reserved: { usd: 0, tokens: 0, model_calls: 0, tool_calls: 0 },
} as never
const sound: SystemState = {
  asked_at: at(0),
  gateway: { version: '1.0.0', started_at: at(60) },
  nats: { server: 'nats://127.0.0.1:4222', version: '2.15.1', connected: true },
  journal: { stream: 'BEAVER_x', state: 'there', last_sequence: 40, problem: null },
  streams: { problem: null, list: [stream] },
  daemons: { problem: null, list: [daemon], left_out: 0 },
  projector: {
    ...{ problem: null, seen_at: at(0), sequence: 40, behind: 0, behind_since: null, moved_at: at(1) },
    ...{ events: 90, quarantined: 0, findings: 0, tasks_broken: 0, texts_behind: 0, fault: null },
  },
  tasks: { problem: null, total: 7, by_status: { completed: 7 }, waiting: 0, oldest_submitted_at: null },
  budgets: { problem: null, list: [budget], total: 1 },
}

/** The troubles of a system that is sound but for this, each with its level. */
const wrong = (over: Partial<SystemState>): string[] =>
  troublesOf({ ...sound, ...over }, now).map(({ level, what }) => `${level} ${what}`)
const ofDaemon = (over: Partial<typeof daemon>): string[] =>
  wrong({ daemons: { problem: null, list: [{ ...daemon, ...over }], left_out: 0 } })
const ofStream = (over: Partial<typeof stream>): string[] =>
  wrong({ streams: { problem: null, list: [{ ...stream, ...over }] } })
const ofProjector = (over: Partial<SystemState['projector']>): string[] =>
  wrong({ projector: { ...sound.projector, ...over } })

describe('what is wrong with a system', () => {
  it('is nothing while everything answers', () => expect(wrong({})).toEqual([]))

  it('is that the server is away, and then nothing else of the server', () =>
    expect(
      wrong({
        nats: { ...sound.nats, connected: false },
        journal: { ...sound.journal, state: 'unknown', problem: 'No journal.' },
      }),
    ).toEqual(['fail The gateway has no connection to the nats-server nats://127.0.0.1:4222.']))

  it('is what a stream lacks', () => {
    expect(ofStream({ state: 'refused' })).toEqual([
      'warn The nats-server does not let the gateway ask about the stream BEAVER_x.',
    ])
    expect(ofStream({ leader: null, survives: false })).toEqual([
      'fail No server leads the stream BEAVER_x now.',
    ])
    const behind = [{ server: 'n3', current: false, offline: true, lag: 9 }]
    expect(ofStream({ survives: false, followers: behind })).toEqual([
      'warn n3 is away or behind: the loss of one server more stops the stream BEAVER_x.',
    ])
    expect(ofStream({ survives: false, replicas: 1, followers: [] })).toEqual([
      'warn One server alone holds the stream BEAVER_x. While it is away, no task goes on.',
    ])
    // A server without a cluster has no others.
    expect(ofStream({ survives: false, replicas: 1, cluster: null, leader: null })).toEqual([])
  })

  it('is that a daemon is gone, hangs, or lost a part', () => {
    expect(ofDaemon({ state: 'gone', problem: 'It has ended.' })).toEqual([
      'warn daemon_1 does not answer any more.',
    ])
    expect(ofDaemon({ state: 'silent', problem: 'It hangs.' })).toEqual([
      'fail daemon_1 does not answer any more.',
    ])
    expect(ofDaemon({ threads: [{ loops: 1, answers: false }] })).toEqual([
      'warn daemon_1 has 1 thread that did not answer within half a second.',
    ])
    expect(ofDaemon({ thread_restarts: 2, refused: 1, version: '0.9.0', journal_silent_ms: 5_000 })).toEqual([
      'warn daemon_1 has no answer of the journal for 5.0 s.',
      'warn daemon_1 lost 2 threads a while ago of 1.',
      'warn daemon_1 refused 1 message that nobody can use.',
      'warn daemon_1 runs version 0.9.0, and the gateway 1.0.0.',
    ])
    expect(ofDaemon({ journal_changed: 'It is another one.' })).toEqual([
      'fail daemon_1 writes nothing: It is another one.',
    ])
    expect(wrong({ daemons: { problem: 'No daemon answers.', list: [], left_out: 0 } })).toEqual([
      'fail No daemon answers, so no task goes on.',
    ])
  })

  it('is not that a daemon is gone for which another one has begun', () => {
    const gone: Daemon = { ...daemon, daemon: 'daemon_0', state: 'gone', seen_at: at(50) }
    const of = (...list: readonly Daemon[]): string[] =>
      wrong({ daemons: { problem: null, list: [...list], left_out: 0 } })
    const other = { ...daemon, started_at: at(40) }
    expect(of(gone, other)).toEqual([])
    expect(of(gone, daemon)).toEqual(['warn daemon_0 does not answer any more.'])
    expect(of(gone, { ...gone, daemon: 'daemon_2', seen_at: at(30) }, other)).toEqual([
      'warn daemon_2 does not answer any more.',
    ])
  })

  it('is that all slots are taken, only while tasks wait for one', () => {
    const full = { daemons: { problem: null, list: [{ ...daemon, tasks: 4 }], left_out: 0 } }
    expect(wrong(full)).toEqual([])
    expect(wrong({ ...full, tasks: { ...sound.tasks, by_status: { submitted: 3 } } })).toEqual([
      'warn All 4 slots are taken, and 3 tasks wait.',
    ])
  })

  it('is that an endpoint is not asked, with its reason, once for all daemons', () => {
    const open = { ...endpoint, circuit_open_ms: 9_000, last_failure: 'It answers with HTTP 503.' }
    const list = ['daemon_1', 'daemon_2'].map((id) => ({ ...daemon, daemon: id, endpoints: [open] }))
    expect(wrong({ daemons: { problem: null, list, left_out: 0 } })).toEqual([
      'warn model: gpt at api.example is not asked now, because its last answers were failures: It answers with HTTP 503.',
    ])
  })

  it('is that the projector is away, stands still, or lags', () => {
    expect(ofProjector({ problem: 'No projector answers.', behind: 12 })).toEqual([
      'fail The projector does not answer, so lists and figures are missing or old. It is 12 messages behind the journal.',
    ])
    expect(ofProjector({ behind: 12 })).toEqual([])
    expect(ofProjector({ behind: 12, behind_since: at(20) })).toEqual([
      'fail The projector has applied nothing for 20 s. It is 12 messages behind the journal.',
    ])
    expect(ofProjector({ behind: 2_000, quarantined: 1 })).toEqual([
      'fail 1 message of the journal in quarantine, which nobody can read as a record.',
      'warn The projector catches up. It is 2,000 messages behind the journal.',
    ])
    expect(ofProjector({ fault: { code: 'x', message: 'It is full.', since: at(1) } })).toEqual([
      'fail The projector does not go on: It is full.',
    ])
  })

  it('is that tasks wait for a budget', () =>
    expect(wrong({ budgets: { problem: null, list: [{ ...budget, waiting_tasks: 2 }], total: 1 } })).toEqual([
      'warn 2 tasks wait, because a budget that tasks share is used up.',
    ]))
})

it('the slots are those of the daemons that answer', () =>
  expect(slotsOf([daemon, { ...daemon, state: 'gone', tasks: null }])).toEqual({ used: 2, all: 4 }))

it('an endpoint that has several names is one', () => {
  const list = [{ ...daemon, endpoints: [endpoint, { ...endpoint, name: 'auxiliary', wait_ms: 20 }] }]
  expect(endpointsOf({ daemons: { problem: null, list, left_out: 0 } })).toMatchObject([
    { names: ['model', 'auxiliary'], daemons: 1, waitMs: 20, requestsMax: 60, tokensMax: null, open: [] },
  ])
})

describe('a rate', () => {
  const state = (secondsAgo: number, events: number, completed: number): SystemState => ({
    ...sound,
    asked_at: at(secondsAgo),
    projector: { ...sound.projector, events },
    tasks: { ...sound.tasks, by_status: { completed, running: 1 } },
  })

  it('is the difference of two answers, over at most a minute', () => {
    const one = withSample([], state(90, 0, 0))
    expect(ratesOf(one)).toBeNull()
    const three = withSample(withSample(one, state(30, 100, 1)), state(10, 300, 3))
    expect(ratesOf(three)).toMatchObject({ tasksAMinute: 6, eventsASecond: 10, overMs: 20_000 })
    // The same answer again changes nothing.
    expect(withSample(three, state(10, 300, 3))).toBe(three)
  })

  it('begins anew after the projector was away, and if the figures fall', () => {
    const one = withSample([], state(20, 100, 1))
    expect(withSample(one, { ...sound, projector: { ...sound.projector, problem: 'away' } })).toEqual([])
    expect(withSample(one, state(10, 50, 1))).toHaveLength(1)
  })

  it.each([
    [0, '0'],
    [0.04, '< 0.1'],
    [4.24, '4.2'],
    [120.4, '120'],
  ])('of %s is shown as "%s"', (value, text) => expect(rateText(value)).toBe(text))
})

it.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_500, '1.5 kB'],
  [12_345_678, '12 MB'],
])('%s bytes are "%s"', (bytes, text) => expect(bytesText(bytes)).toBe(text))

it('tasks that wait are below one sum, and open tasks come first', () => {
  const rows = rowsOfTasks({ completed: 4, running: 1, waiting_for_limit: 1, waiting_for_person: 2 })
  expect(rows.map(({ status, n, of }) => [status, n, of])).toEqual([
    ['running', 1, undefined],
    ['waits', 3, undefined],
    ['waiting_for_limit', 1, 'waits'],
    ['waiting_for_person', 2, 'waits'],
    ['completed', 4, undefined],
  ])
  expect(rowsOfTasks({ completed: 1 })).toEqual([{ status: 'completed', n: 1 }])
})
