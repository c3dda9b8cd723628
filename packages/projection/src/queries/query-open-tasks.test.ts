import { event } from '@beaver/core'
import { foldTask, type TaskState } from '@beaver/core/fold'
import { openRecord, splitBatch } from '@beaver/core/journal'
import { describe, expect, test } from 'vitest'
import { type LogWriter, newStream, result, submitted } from '../../test/journal-fixture.ts'
import { answer } from '../../test/checked-answer.ts'
import type { JournalMessage } from '../fold/intake.ts'
import { openReadModel, type ReadModel } from '../read-model.ts'

interface OpenTask {
  readonly task_id: string
  readonly [field: string]: unknown
}

const suspended = (daemon: string) =>
  event('task_suspended', {
    daemon,
    waits_for: 'provider',
    wait_ms: 60_000,
    until: '2026-01-01T01:00:00.000Z',
    reason: 'The endpoint does not answer.',
  })

/** Four tasks of one tenant, each in another state, and one of another tenant. */
async function scene(): Promise<{ model: ReadModel; messages: readonly JournalMessage[] }> {
  const stream = newStream()
  const begun = (task: string, daemon: string, tenant = 'local'): LogWriter => {
    const log = stream.log(task, { tenant })
    log.write(submitted(log.log))
    log.epoch = 1
    log.write(event('task_claimed', { daemon }))
    return log
  }
  begun('owned', 'd1')
  begun('waits', 'd1').write(suspended('d1'))
  begun('let-go', 'd2').write(event('task_released', { daemon: 'd2', reason: 'drained' }))
  begun('ended', 'd1').write(event('task_completed', result()))
  begun('elsewhere', 'd1', 'other')
  const model = openReadModel(':memory:', { readBlob: stream.readBlob })
  model.begin('S@1')
  await model.apply(stream.messages)
  return { model, messages: stream.messages }
}

const asked = (
  model: ReadModel,
  input: Record<string, unknown> = {},
  now = Date.parse('2026-01-02T00:00:00.000Z'),
) => answer(model.sql, 'open_tasks', { tenant: 'local', ...input }, { now: () => now })
const idsOf = (found: { tasks: OpenTask[] }): string[] => found.tasks.map((task) => task.task_id)

describe('open_tasks', () => {
  test('gives all tasks of the tenant that have not ended, the one that was quiet for longest first', async () => {
    const { model, messages } = await scene()
    using _ = model
    const found = asked(model)
    expect(idsOf(found)).toEqual(['owned', 'waits', 'let-go'])
    expect(found).toMatchObject({ more: false, applied_sequence: messages.at(-1)?.sequence })
    expect(found.tasks[1]).toEqual({
      task_id: 'waits',
      session_id: 'web:test',
      owner: null,
      epoch: 1,
      taskseq: 3,
      last_event_at: '2026-01-01T00:00:00.400Z',
      status: 'running',
      waits_for: 'provider',
      wake_at: '2026-01-01T01:00:00.000Z',
      previous_task_id: null,
    })
  })

  test('has the owner that the fold of the daemons has', async () => {
    const { model, messages } = await scene()
    using _ = model
    const folded = (task: string): TaskState =>
      foldTask(
        messages
          .filter(({ log }) => log?.task === task)
          .flatMap(({ payload }) => splitBatch(payload).map((record) => openRecord(record))),
      )
    for (const { task_id, owner } of asked(model).tasks)
      expect({ task_id, owner }).toEqual({ task_id, owner: folded(task_id).owner })
  })

  test('is narrowed by owner, by how long nothing happened, and by a limit', async () => {
    const { model } = await scene()
    using _ = model
    expect(idsOf(asked(model, { owner: 'd1' }))).toEqual(['owned'])
    expect(asked(model, { limit: 2 })).toMatchObject({
      tasks: [{ task_id: 'owned' }, { task_id: 'waits' }],
      more: true,
    })
    const justNow = Date.parse('2026-01-01T00:00:00.500Z')
    expect(idsOf(asked(model, { idle_ms_min: 100 }, justNow))).toEqual(['owned', 'waits'])
    expect(idsOf(asked(model, { idle_ms_min: 400 }, justNow))).toEqual(['owned'])
  })

  test('that need a daemon are those that have one, and those without one that nothing says to wait', async () => {
    const { model } = await scene()
    using _ = model
    const needy = (now: string, input = {}) =>
      idsOf(asked(model, { needs_daemon: true, idle_ms_min: 10_000, ...input }, Date.parse(now)))
    expect(needy('2026-01-01T00:00:05.000Z')).toEqual(['owned'])
    expect(needy('2026-01-01T00:00:20.000Z')).toEqual(['owned', 'let-go'])
    // Its alarm should have gone off.
    expect(needy('2026-01-01T01:00:20.000Z')).toEqual(['owned', 'waits', 'let-go'])
    // Written by a clock that is a day ahead.
    expect(needy('2025-12-31T00:00:00.000Z')).toEqual(['owned', 'let-go'])
    expect(needy('2026-01-01T00:00:05.000Z', { owner: 'd1' })).toEqual(['owned'])
  })

  test('that follow a task which has not ended need none', async () => {
    const stream = newStream()
    const [first, second] = [stream.log('first'), stream.log('second')]
    using model = openReadModel(':memory:', { readBlob: stream.readBlob })
    model.begin('S@1')
    const follower = {
      ...submitted(second.log),
      data: { ...submitted(second.log).data, previous_task_id: 'first' },
    } as never
    await model.apply([
      first.write(submitted(first.log), event('task_claimed', { daemon: 'd1' })),
      second.write(follower),
    ])
    const needy = () => idsOf(asked(model, { needs_daemon: true, idle_ms_min: 10_000 }))
    expect(needy()).toEqual(['first'])
    await model.apply([first.write(event('task_completed', result()))])
    expect(needy()).toEqual(['second'])
  })

  test('forgets what a task waited for when it is claimed again or ends', async () => {
    const stream = newStream()
    const log = stream.log('t')
    using model = openReadModel(':memory:', { readBlob: stream.readBlob })
    model.begin('S@1')
    await model.apply([
      log.write(submitted(log.log), event('task_claimed', { daemon: 'd1' }), suspended('d1')),
    ])
    expect(answer(model.sql, 'tasks', { status: 'waiting' })).toMatchObject({
      tasks: [
        {
          status: 'waiting_for_provider',
          wait: {
            for: 'provider',
            until: '2026-01-01T01:00:00.000Z',
            reason: 'The endpoint does not answer.',
          },
        },
      ],
    })
    expect(answer(model.sql, 'tasks', { status: 'running' })).toMatchObject({ tasks: [] })
    expect(answer(model.sql, 'status', {})).toMatchObject({ waiting: 1 })
    await model.apply([log.write(event('task_claimed', { daemon: 'd2' }))])
    expect(asked(model).tasks).toMatchObject([{ owner: 'd2', waits_for: null, wake_at: null }])
    expect(answer(model.sql, 'tasks', { status: 'waiting' })).toMatchObject({ tasks: [] })
    await model.apply([log.write(suspended('d2'), event('task_cancelled', result()))])
    expect(answer(model.sql, 'tasks', {})).toMatchObject({ tasks: [{ status: 'cancelled', wait: null }] })
    expect(asked(model).tasks).toEqual([])
  })

  test('is answered from an index, whatever it is narrowed by', async () => {
    const { model } = await scene()
    using _ = model
    for (const [index, condition] of [
      ['tasks_open', ''],
      ['tasks_open_by_owner', "and daemon = 'd1'"],
    ]) {
      const plan = model.sql.all<{ detail: string }>(
        `explain query plan select task_id from tasks indexed by ${index} where tenant = 'local' and ended_at is null ${condition} and last_event_at <= 'x' order by last_event_at limit 5`,
      )
      expect(plan.map(({ detail }) => detail).join('\n')).toMatch(
        new RegExp(`^SEARCH tasks USING INDEX ${index} \\(.*last_event_at<\\?\\)$`),
      )
    }
  })
})
