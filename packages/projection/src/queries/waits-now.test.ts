import { type DataOf, event } from '@beaver/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { result, type Stream, submitted } from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import type { ReadModel } from '../read-model.ts'
import { endedSince, longestWaiting, waitsNow } from './waits-now.ts'

type End = 'task_completed' | 'task_failed' | 'task_cancelled'

function task(
  stream: Stream,
  id: string,
  of: { after?: string; waits?: 'person' | 'limit'; end?: End } = {},
): void {
  stream.pass(60_000)
  const log = stream.log(id, { session: 's1' })
  const given = submitted(log.log).data as DataOf<'task_submitted'>
  log.write(event('task_submitted', { ...given, previous_task_id: (of.after ?? null) as never }))
  if (of.waits === undefined && of.end === undefined) return
  log.epoch = 1
  log.write(event('task_claimed', { daemon: 'd1' }))
  if (of.waits !== undefined)
    log.write(
      event('task_suspended', {
        ...{
          daemon: 'd1',
          waits_for: of.waits,
          wait_ms: 1_000,
          until: '2026-12-01T00:00:00.000Z',
          reason: 'It waits.',
        },
      }),
    )
  const failure = of.end === 'task_failed' ? ({ class: 'no_progress', message: 'x' } as const) : null
  if (of.end !== undefined) log.write(event(of.end, result({ failure })))
}

let model: ReadModel
let empty: ReadModel
beforeAll(async () => {
  empty = await modelOf(() => {})
  model = await modelOf((stream) => {
    task(stream, 'done', { end: 'task_completed' })
    task(stream, 'asks-first', { waits: 'person' })
    task(stream, 'follows', { after: 'asks-first' })
    task(stream, 'asks-later', { waits: 'person' })
    task(stream, 'limited', { waits: 'limit' })
    task(stream, 'broken', { end: 'task_failed' })
    task(stream, 'ended-by-hand', { end: 'task_cancelled' })
    task(stream, 'queued')
    task(stream, 'queued-later')
  })
})
afterAll(() => {
  model.close()
  empty.close()
})

const at = (id: string, column: string): string | null =>
  model.sql.get<{ at: string }>(`select ${column} as at from tasks where task_id = ?`, [id])?.at ?? null

describe('what waits', () => {
  it('is in the queue since the oldest task that follows no open one', () => {
    expect(waitsNow(model.sql).queuedSince).toBe(at('queued', 'submitted_at'))
  })

  it('is counted by what it waits for, with the beginning of the longest wait', () => {
    expect(waitsNow(model.sql).waiting).toEqual({
      person: { tasks: 2, since: at('asks-first', 'last_event_at') },
      provider: { tasks: 0, since: null },
      limit: { tasks: 1, since: at('limited', 'last_event_at') },
      client: { tasks: 0, since: null },
    })
    expect(longestWaiting(model.sql)).toEqual(['asks-first', 'asks-later'])
  })

  it('is nothing in an empty journal', () => {
    expect(waitsNow(empty.sql).queuedSince).toBeNull()
    expect(waitsNow(empty.sql).waiting.person).toEqual({ tasks: 0, since: null })
    expect([longestWaiting(empty.sql), endedSince(empty.sql, '')]).toEqual([
      [],
      { tasks: 0, failed: 0, examples: [] },
    ])
  })
})

it('what ended since a time is counted without what a person cancelled', () => {
  expect(endedSince(model.sql, '2000-01-01')).toEqual({ tasks: 2, failed: 1, examples: ['broken'] })
  expect(endedSince(model.sql, at('broken', 'ended_at') ?? '').tasks).toBe(1)
  expect(endedSince(model.sql, '2999-01-01').tasks).toBe(0)
})
