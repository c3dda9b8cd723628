// Each fault that a running system may have, as its report shows it, and what the doctor and `beaver status`
// say about it.
import type { EndpointState, ProjectorStatus, TaskSummary } from '@beaver/contracts'
import { describe, expect, it } from 'vitest'
import type { PlacedStream } from '@beaver/nats'
import type { SystemReport } from '../system/examine-system.ts'
import { systemFindings } from './system-findings.ts'

const now = Date.parse('2027-01-09T12:00:00.000Z')
const at = (secondsAgo: number): string => new Date(now - secondsAgo * 1_000).toISOString()

const projection: ProjectorStatus = {
  stream: 'BEAVER_x@1',
  sequence: 40,
  events: 90,
  tasks: 7,
  tasks_broken: 0,
  by_status: { completed: 7 },
  waiting: 0,
  findings: 0,
  quarantined: 0,
  texts_behind: 0,
  schema_version: 1,
  checkpoints: { last: null, faults: [], targets: [] },
  stream_sequence: 40,
  behind: 0,
  moved_at: null,
  behind_since: null,
  fault: null,
  journal: [],
}
/** The look at a journal with this last message. */
const there = (identity: string, lastSequence: number) =>
  ({ kind: 'there', identity, lastSequence, messages: lastSequence, lost: null, config: {} }) as const
const endpoint: EndpointState = {
  ...{
    name: 'model',
    provider: 'openai',
    model: 'gpt',
    host: 'api.example',
    key_name: 'OPENAI_API_KEY',
    key_set: true,
  },
  ...{ protocol: 'chat_completions', circuit_open_ms: 0, answer: { status: 200, reason: null } },
}
const daemonStatus = {
  daemon: 'daemon_1',
  provider: 'openai',
  model: 'gpt',
  tasks: 2,
  skills: [],
  profiles: [],
  workflows: [],
  endpoints: [endpoint],
}

const sound: SystemReport = {
  server: 'nats://127.0.0.1:4222',
  version: '2.15.1',
  messageBytesMax: 1_048_576,
  stream: 'BEAVER_x',
  pid: 7,
  serverLog: '/srv/beaver/nats/nats-server.log',
  look: there('BEAVER_x@1', 40),
  streams: [],
  daemons: [{ daemon: 'daemon_1', tasks: 2 }],
  daemon: { kind: 'answered', value: daemonStatus },
  projector: { kind: 'answered', value: projection },
  audit: { kind: 'unanswered', reason: 'Nobody was asked.' },
  waiting: [],
  failed: [],
}
const away = {
  kind: 'unanswered',
  reason: 'No projector answers. Start the system with "beaver up".',
} as const
const projector = (changes: Partial<ProjectorStatus>): SystemReport['projector'] => ({
  kind: 'answered',
  value: { ...projection, ...changes },
})

/** The findings that are not ok, each in one line. */
const wrong = (changes: Partial<SystemReport>): string[] =>
  systemFindings({ ...sound, ...changes }, now).flatMap(({ status, name, says }) =>
    status === 'ok' ? [] : [`${status} ${name}: ${says}`],
  )

describe('what is wrong with a system', () => {
  it('is nothing when all answer', () => expect(wrong({})).toEqual([]))

  it('is a nats-server that is older than the tested one; it works', () => {
    expect(wrong({ version: '2.14.3' })).toEqual([
      'warn nats version: nats-server 2.14.3 is older than 2.15.1, on which Beaver is tested',
    ])
    expect(wrong({ version: '2.16.0-dev' })).toEqual([])
    expect(wrong({ messageBytesMax: 16_384 })).toEqual([
      'warn message size: The server takes messages of at most 16.4 kB. Tasks with larger events wait, and larger requests are refused',
    ])
  })

  describe('of the servers of a cluster', () => {
    const follower = (server: string, over: object = {}) => ({
      server,
      current: true,
      offline: false,
      lag: 0,
      ...over,
    })
    const stream = (over: Partial<PlacedStream> = {}): PlacedStream => ({
      ...{
        name: 'BEAVER_x',
        what: 'journal',
        num_replicas: 3,
        cluster: 'c',
        leader: 'n1',
        followers: [follower('n2'), follower('n3')],
        moving: false,
        messages: 40,
        bytes: 9_000,
      },
      ...over,
    })

    it.each<[string, Partial<PlacedStream>, string[]]>([
      ['nothing while three servers hold each stream', {}, []],
      [
        'nothing while one of five is away',
        {
          num_replicas: 5,
          followers: ['n2', 'n3', 'n4']
            .map((name) => follower(name))
            .concat(follower('n5', { current: false, offline: true })),
        },
        [],
      ],
      [
        'nothing of a server that is alone',
        { num_replicas: 1, cluster: null, leader: null, followers: [] },
        [],
      ],
      [
        'that one server alone holds a stream',
        { num_replicas: 1, followers: [] },
        ['warn replicas: BEAVER_x: held by one server only. While it is away, no task goes on.'],
      ],
      [
        'that a server is away',
        { followers: [follower('n2'), follower('n3', { current: false, offline: true })] },
        ['warn replicas: n3 is away or behind: the loss of one server more stops BEAVER_x'],
      ],
      [
        'that a stream has no leader',
        {
          leader: null,
          followers: [
            follower('n1', { current: false }),
            follower('n2', { current: false, lag: 9 }),
            follower('n3', { current: false }),
          ],
        },
        ['warn replicas: BEAVER_x: no server leads it now'],
      ],
    ])('is %s', (_, over, said) => expect(wrong({ streams: [stream(over)] })).toEqual(said))
  })

  describe('of the endpoints of a daemon', () => {
    const with_ = (...endpoints: Partial<EndpointState>[]) =>
      wrong({
        daemon: {
          kind: 'answered',
          value: { ...daemonStatus, endpoints: endpoints.map((each) => ({ ...endpoint, ...each })) },
        },
      })
    const refused = { status: null, reason: 'ECONNREFUSED' }

    it('is that the main one cannot be reached; another one is missed less', () => {
      expect(with_({ answer: refused }, { name: 'fallback', answer: refused })).toEqual([
        'fail model: gpt at api.example, key set: it cannot be reached (ECONNREFUSED)',
        'warn fallback: gpt at api.example, key set: it cannot be reached (ECONNREFUSED)',
      ])
    })

    it('is that one is not asked, because its last answers were failures', () => {
      expect(with_({ answer: null, circuit_open_ms: 12_000 })).toEqual([
        'warn model: gpt at api.example, key set: its last answers were failures, so it is not asked for 12.0 s',
      ])
    })

    it('is that nobody looked at those of an older daemon', () => {
      const { endpoints: _, ...older } = daemonStatus
      expect(wrong({ daemon: { kind: 'answered', value: older } })).toEqual([
        'warn model: nobody looked at the endpoints of daemon_1, because it is of an older version',
      ])
    })

    it('tells of one daemon if only one has answered', () => {
      const two = { daemons: [{ daemon: 'daemon_1' }, { daemon: 'daemon_2' }] }
      const found = systemFindings({ ...sound, ...two }, now).find(({ name }) => name === 'model')
      expect(found).toMatchObject({
        status: 'ok',
        says: 'gpt at api.example, key set, answers (of daemon_1; nobody looked at those of 1 other daemon)',
      })
    })
  })

  it('is that tasks wait for a model, and not that they wait for a person', () => {
    const task = (status: string, reason: string) =>
      ({ status, wait: { since: at(5), until: null, reason } }) as unknown as TaskSummary
    expect(wrong({ waiting: [task('waiting_for_person', 'One call waits for a person.')] })).toEqual([])
    expect(
      wrong({
        waiting: [
          task('waiting_for_provider', 'The server is down. More.'),
          task('waiting_for_provider', 'x'),
        ],
      }),
    ).toEqual(['warn tasks: 2 tasks wait for a model: The server is down.'])
  })

  it('is the journal alone when somebody deleted it', () => {
    const fault = { code: 'stream_missing', message: 'The journal stream does not exist.', since: at(3) }
    expect(
      wrong({
        look: { kind: 'missing' },
        projector: projector({ fault, stream_sequence: null, behind: null }),
        daemon: away,
      }),
    ).toEqual([
      'fail journal: The journal stream BEAVER_x does not exist, because somebody deleted it. Beaver accepts no tasks.',
      'warn daemon: 1 daemon waits for the journal.',
      'warn projector: answers: 7 tasks, 90 events, up to date; it waits for the journal',
    ])
  })

  it('is a change of a file that a daemon cannot use', () => {
    const value = {
      ...daemonStatus,
      changes_not_used: [{ file: '/w/clerk.json', message: 'It is not JSON.' }],
    }
    expect(wrong({ daemon: { kind: 'answered', value } })).toEqual([
      'warn changes: not used: /w/clerk.json: It is not JSON.',
    ])
  })

  it('is a journal that was created again', () => {
    expect(wrong({ look: there('BEAVER_x@2', 3) })[0]).toMatch(
      /^fail journal: The journal stream BEAVER_x was created again/,
    )
  })

  it('is not a journal that nobody has made yet', () => {
    expect(
      wrong({ look: { kind: 'missing' }, daemons: [], daemon: away, projector: away }).map(
        (line) => line.split(':')[0],
      ),
    ).toEqual(['fail daemon', 'fail projector'])
  })

  it('is no daemon', () =>
    expect(wrong({ daemons: [], daemon: { ...away, reason: 'No daemon answers. Start it.' } })).toEqual([
      'fail daemon: No daemon answers.',
    ]))

  it('is daemons that are there and take no requests', () => {
    expect(wrong({ daemon: away })).toEqual([
      'fail daemon: 1 daemon is there and takes no requests: the journal does not answer.',
    ])
  })

  it('is one daemon of several whose journal does not answer', () => {
    const daemons = [
      { daemon: 'daemon_1', tasks: 2 },
      { daemon: 'daemon_2', tasks: 3, journal_silent_ms: 12_000 },
    ]
    expect(wrong({ daemons })).toEqual([
      'warn daemon: 2 daemons answer: gpt, 5 tasks at work, 0 skills; the journal has not answered daemon_2 for 12.0 s',
    ])
  })

  it('is a projector that is away', () =>
    expect(wrong({ projector: away })).toEqual(['fail projector: No projector answers.']))

  it('is a projector that does not go on, with why and since when', () => {
    const fault = { code: 'internal', message: 'The disk is full. More.', since: at(60) }
    expect(wrong({ projector: projector({ fault, behind: 12 }) })[0]).toMatch(
      /12 messages behind; it has not continued since .*: The disk is full\.$/,
    )
  })

  it('is a projector that applies nothing, and none that is a moment behind', () => {
    expect(wrong({ projector: projector({ behind: 5, behind_since: at(30) }) })).toEqual([
      'fail projector: answers: 7 tasks, 90 events, 5 messages behind; it has applied nothing for 30.0 s',
    ])
    expect(wrong({ projector: projector({ behind: 5, behind_since: at(2) }) })).toEqual([])
    expect(wrong({ projector: projector({ behind: 5_000, behind_since: at(2) }) })).toEqual([
      'warn projector: answers: 7 tasks, 90 events, 5,000 messages behind',
    ])
  })

  it('is a checkpoint that does not fit, and a place that gets none', () => {
    const faults = [{ from: 'message 9 of the journal', message: 'It belongs to another journal.' }]
    const targets = [
      { name: 'the journal', message: null, since: null },
      { name: 'the folder x', message: 'It is full', since: at(9) },
    ]
    expect(wrong({ projector: projector({ checkpoints: { last: null, faults, targets } }) })).toEqual([
      'fail checkpoints: 1 checkpoint does not fit the journal: message 9 of the journal. It belongs to another journal.',
      'warn checkpoints: The last checkpoint did not get everywhere: the folder x: It is full',
    ])
  })

  it('is a collector of traces that takes nothing, or that refused spans lately', () => {
    const fine = { sent: 9, refused: 0, waiting: 0, problem: null, refusal: null }
    const problem = { message: 'connect ECONNREFUSED', at: at(300) }
    const refusal = { message: 'it says: quota', at: at(60) }
    const says = (traces: ProjectorStatus['traces']) => wrong({ projector: projector({ traces }) })
    expect([says(fine), says(null)]).toEqual([[], []])
    expect(says({ ...fine, problem, refusal })).toEqual([
      'warn traces: The collector of traces has taken no spans for 5 min 00 s: connect ECONNREFUSED',
    ])
    expect(says({ ...fine, refused: 3, refusal })).toEqual([
      'warn traces: The collector of traces refused 3 spans: it says: quota',
    ])
    expect(says({ ...fine, refused: 3, refusal: { ...refusal, at: at(7_200) } })).toEqual([])
  })

  it('is seen of a projector that does not say where the journal ends', () => {
    const silent = projector({ stream_sequence: null, behind: null })
    expect(wrong({ projector: silent, look: there('BEAVER_x@1', 2_000) })).toEqual([
      'warn projector: answers: 7 tasks, 90 events, 1,960 messages behind',
    ])
  })

  it('is a record that somebody changed', () =>
    expect(wrong({ projector: projector({ tasks_broken: 1 }) })[0]).toContain('1 task with a broken record'))

  it('is tasks that fail, by their failure class, within the last hour', () => {
    const failed = (
      secondsAgo: number,
      name: 'provider_refused' | 'tool_crash',
      message: string,
    ): TaskSummary => ({ ended_at: at(secondsAgo), failure: { class: name, message } }) as TaskSummary
    const tasks = [
      failed(1, 'provider_refused', 'The key is refused. Set it.'),
      failed(2, 'tool_crash', 'It broke.'),
      failed(3, 'provider_refused', 'As before.'),
      failed(9_000, 'tool_crash', 'Old.'),
    ]
    expect(wrong({ failed: tasks })).toEqual([
      'warn tasks: 3 tasks failed within the last hour: 2 provider_refused (The key is refused.), 1 tool_crash (It broke.)',
    ])
  })
})
