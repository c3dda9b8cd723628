import { type DataOf, type DomainEvent, event, type LogId } from '@beaver/core'
import { describe, expect, test } from 'vitest'
import { result, singleTask, submitted, workflowTask } from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import { answer } from '../../test/checked-answer.ts'
import type { Sql, SqlValue } from '../store/sql.ts'

const asked = (log: LogId, of: { text?: string; title?: string; user_id?: string }): DomainEvent => {
  const given = submitted(log, of.text).data as DataOf<'task_submitted'>
  const { title, user_id } = of
  return event('task_submitted', {
    ...given,
    request: {
      ...given.request,
      ...(title === undefined ? {} : { title }),
      ...(user_id === undefined ? {} : { user_id }),
    },
  })
}

describe('sessions', () => {
  test('come with what began them, their user, and how their newest task stands; the one with the newest task first', async () => {
    using model = await modelOf((stream) => {
      const first = stream.log('one', { session: 'talk' })
      first.write(
        asked(first.log, { text: 'Count the words', title: 'Words', user_id: 'Ada' }),
        event('task_completed', result()),
      )
      workflowTask(stream.log('flow', { session: 'flows' }))
      const second = stream.log('two', { session: 'talk' })
      second.write(asked(second.log, { text: 'And now the lines', user_id: 'Ada' }))
    })
    expect(answer(model.sql, 'sessions', {})).toEqual({
      sessions: [
        {
          session_id: 'talk',
          tenant: 'local',
          user_id: 'Ada',
          title: 'Words',
          text: 'Count the words',
          tasks: 2,
          open: 1,
          began_at: '2026-01-01T00:00:00.000Z',
          last_at: expect.stringMatching(/^2026-01-01T00:00:0\d\.\d00Z$/) as string,
          last_task_id: 'two',
          last_status: 'submitted',
        },
        expect.objectContaining({
          session_id: 'flows',
          user_id: null,
          title: null,
          text: 'Map the list',
          tasks: 1,
          open: 0,
          last_status: 'incomplete',
        }),
      ],
      more: false,
      next: null,
    })
    const only = (input: object): string[] =>
      answer(model.sql, 'sessions', input).sessions.map(({ session_id }) => session_id)
    expect([
      only({ user_id: 'Ada' }),
      only({ user_id: 'Bob' }),
      only({ user_id: null }),
      only({ tenant: 'other' }),
    ]).toEqual([['talk'], [], ['flows'], []])
  })

  test('come page by page, each once, of each tenant its own', async () => {
    using model = await modelOf((stream) => {
      for (let i = 0; i < 40; i++) {
        const writer = stream.log(`t${i}`, { session: `s${i % 10}`, tenant: i % 4 === 0 ? 'other' : 'local' })
        writer.write(submitted(writer.log))
      }
    })
    const seen: string[] = []
    for (let before: number | undefined; ;) {
      const { sessions, more, next } = answer(model.sql, 'sessions', { limit: 3, before })
      seen.push(...sessions.map(({ tenant, session_id, tasks }) => `${tenant}/${session_id} ${tasks}`))
      if (!more || next === null) break
      before = next
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.toSorted()).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
        .flatMap((s) => (s % 2 === 0 ? [`local/s${s} 2`, `other/s${s} 2`] : [`local/s${s} 4`]))
        .toSorted(),
    )
  })

  test('and the tasks of a session or of a user are found without a look at other tasks', async () => {
    using model = await modelOf((stream) => {
      const writer = stream.log('one', { session: 'talk' })
      writer.write(asked(writer.log, { user_id: 'Ada' }))
    })
    const read: { text: string; values: readonly SqlValue[] }[] = []
    const kept =
      <Result>(ask: (text: string, values?: readonly SqlValue[]) => Result) =>
      (text: string, values: readonly SqlValue[] = []): Result => {
        read.push({ text, values })
        return ask(text, values)
      }
    const { sql } = model
    const observed = {
      ...sql,
      get: kept(sql.get),
      one: kept(sql.one),
      all: kept(sql.all),
      each: kept(sql.each),
    } as Sql
    answer(observed, 'sessions', {})
    answer(observed, 'sessions', { before: 10, tenant: 'local' })
    answer(observed, 'sessions', { user_id: 'Ada' })
    answer(observed, 'sessions', { user_id: null })
    answer(observed, 'session', { session_id: 'ta' })
    answer(observed, 'tasks', { user_id: 'Ada' })
    answer(observed, 'tasks', { session_id: 'talk' })
    const plans = read.flatMap(({ text, values }) =>
      sql.all<{ detail: string }>(`explain query plan ${text}`, values).map(({ detail }) => detail),
    )
    expect(plans.length).toBeGreaterThan(10)
    expect(plans.filter((detail) => /^SCAN (tasks|newest|later)/.test(detail))).toEqual([])
  })

  test('are none in an empty read model', async () => {
    using model = await modelOf(() => {})
    expect(answer(model.sql, 'sessions', {})).toEqual({ sessions: [], more: false, next: null })
  })
})

describe('session', () => {
  test('is what its tasks asked and what came out, whatever they were', async () => {
    using model = await modelOf((stream) => {
      singleTask(stream.log('zh', { session: '会话' }), { text: '请统计季度销售额', final: '四十二万元。' })
      workflowTask(stream.log('flow', { session: '会话' }))
      const failed = stream.log('failed', { session: '会话' })
      failed.write(
        asked(failed.log, { title: 'Third' }),
        event(
          'task_failed',
          result({
            final_output: '',
            failure: { class: 'provider_refused', message: 'The key was refused.' },
          }),
        ),
      )
      const open = stream.log('open', { session: '会话' })
      open.write(submitted(open.log, 'x'.repeat(50_000)))
    })
    const { session, tasks } = answer(model.sql, 'session', { session_id: '会' })
    expect(session).toMatchObject({ session_id: '会话', tasks: 4, open: 1 })
    expect(
      tasks.map(({ task_id, title, status, text, answer: said, failure }) => [
        task_id,
        title,
        status,
        text?.slice(0, 12),
        said,
        failure?.message,
      ]),
    ).toEqual([
      ['open', null, 'submitted', 'xxxxxxxxxxxx', null, undefined],
      ['failed', 'Third', 'failed', 'Count the wo', '', 'The key was refused.'],
      ['flow', null, 'incomplete', 'Map the list', '## item-2\n\nitem-2 done', 'end: No code for this.'],
      ['zh', null, 'completed', '请统计季度销售额', '四十二万元。', undefined],
    ])
    expect([tasks[0]?.text_chars, (tasks[0]?.text?.length ?? 0) < 50_000]).toEqual([50_000, true])
    const first = answer(model.sql, 'session', { session_id: '会话', limit: 3 })
    expect(
      answer(model.sql, 'session', { session_id: '会话', limit: 3, before: first.next! }).tasks.map(
        ({ task_id }) => task_id,
      ),
    ).toEqual(['zh'])
  })

  test('is refused if there is none, or if its beginning means several', async () => {
    using model = await modelOf((stream) => {
      for (const session of ['web:1', 'web:2', 'w%']) {
        const writer = stream.log(`t ${session}`, { session })
        writer.write(submitted(writer.log))
      }
    })
    const ask = (session_id: string) => () => answer(model.sql, 'session', { session_id })
    expect(ask('nobody')).toThrow('There is no session "nobody" in the read model.')
    expect(ask('%')).toThrow('There is no session "%"')
    expect(ask('web')).toThrow('"web" may mean several sessions: web:1, web:2. Give more of the id.')
    expect(ask('w%')()).toMatchObject({ session: { session_id: 'w%' } })
  })
})
