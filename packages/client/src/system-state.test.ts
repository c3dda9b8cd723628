import type { ProjectorStatus } from '@beaver/contracts'
import { describe, expect, it } from 'vitest'
import { daemonOf, projectorOf, shownDaemons, streamOf } from './system-state.ts'

const actors: Parameters<typeof daemonOf>[1]['actors'] = {
  kind: 'answered',
  value: {
    ...{ daemon: 'd', version: '1.0.0', started_at: '2026-11-29T00:00:00Z', pid: 7 },
    ...{ tasks_driven: 2, tasks_max: 4, policies: [], threads_max: 1, thread_restarts: 0 },
    threads: [{ thread: 1, loops: 2, answers: true }],
    ...{ tasks: [], tasks_left_out: 2 },
  },
}
const gone = { kind: 'gone', reason: 'Nobody is there.' } as const
const silent = { kind: 'silent', reason: 'No answer.' } as const
const now = '2026-11-29T00:01:00Z'
const present = { daemon: 'd', tasks: 3, journal_silent_ms: 5 }

it('daemons that are there come before those that went away, of which the last ones stay', () => {
  const seenAt = new Map(
    Array.from({ length: 60 }, (_, at) => [`d${at}`, `2026-11-29T00:00:${String(at).padStart(2, '0')}Z`]),
  )
  const { shown, leftOut } = shownDaemons(['z', 'd59'], seenAt, now)
  expect([shown.slice(0, 4), shown.length, leftOut]).toEqual([['d59', 'z', 'd58', 'd57'], 12, 49])
  expect(shownDaemons([], seenAt, '2026-11-29T00:15:58Z')).toEqual({ shown: ['d59', 'd58'], leftOut: 0 })
})

describe('a daemon', () => {
  const seen = daemonOf('d', { present, actors, status: silent, before: undefined, now })

  it('has its figures, and no endpoints if it does not say them', () =>
    expect(seen).toMatchObject({
      ...{ state: 'answers', seen_at: now, tasks: 2, tasks_max: 4, version: '1.0.0', endpoints: null },
      ...{ threads: [{ loops: 2, answers: true }], journal_silent_ms: 5, problem: null },
    }))

  it('that went away or hangs keeps what is known of it, and has no figures of now', () => {
    const later = { present: undefined, status: gone, before: seen, now: '2026-11-29T00:05:00Z' }
    for (const [told, state] of [
      [gone, 'gone'],
      [silent, 'silent'],
    ] as const)
      expect(daemonOf('d', { ...later, actors: told })).toMatchObject({
        ...{ state, seen_at: now, version: '1.0.0', tasks: null, threads: [], endpoints: null },
        problem: expect.stringContaining('logs/daemon.log') as string,
      })
  })

  it('that is older says its tasks by its presence alone, and is no fault', () =>
    expect(daemonOf('d', { present, actors: gone, status: gone, before: undefined, now })).toMatchObject({
      ...{ state: 'answers', tasks: 3, tasks_max: null, version: null, problem: null },
    }))

  it('that is too busy to say what it holds says so', () =>
    expect(daemonOf('d', { present, actors: silent, status: silent, before: seen, now })).toMatchObject({
      ...{
        state: 'answers',
        tasks: 3,
        tasks_max: 4,
        problem: expect.stringContaining('No answer.') as string,
      },
    }))
})

describe('the projector', () => {
  const status = { sequence: 40, behind: 2, behind_since: null, events: 90, fault: null } as ProjectorStatus
  const last = { status, at: now }
  const look = {
    kind: 'there',
    identity: 'x',
    lastSequence: 50,
    messages: 50,
    lost: null,
    config: {},
  } as const
  const away = { kind: 'unanswered', reason: 'No projector answers.' } as const

  it('says itself how far behind it is', () =>
    expect(projectorOf({ kind: 'answered', value: status }, last, look)).toMatchObject({
      ...{ problem: null, behind: 2, events: 90 },
    }))

  it('that does not answer is as far behind as it was when it did, or not known', () => {
    expect(projectorOf(away, last, look)).toMatchObject({
      ...{ problem: away.reason, seen_at: now, behind: 10, events: 90, fault: null },
    })
    expect(projectorOf(away, null, look)).toMatchObject({ seen_at: null, behind: null, events: null })
    expect(projectorOf(away, last, { kind: 'missing' })).toMatchObject({ behind: null })
  })
})

it('a stream for which no server answers is silent, and one that the login may not see is refused', () => {
  const none = { name: 'S', what: 'wakes', messages: 0, bytes: 0, num_replicas: 0 } as const
  const stream = { ...none, cluster: 'not known', leader: null, followers: [], moving: false }
  expect(streamOf(stream).state).toBe('silent')
  expect(streamOf({ ...stream, refused: true }).state).toBe('refused')
  expect(streamOf({ ...stream, num_replicas: 1 }).state).toBe('answers')
})
