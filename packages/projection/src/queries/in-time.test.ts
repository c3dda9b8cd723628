// `since` and `until` of the queries that may be narrowed to a time.
import { event } from '@beaver/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answer } from '../../test/checked-answer.ts'
import { result, runStarted, submitted, userMessage } from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import type { ReadModel } from '../read-model.ts'

let model: ReadModel
beforeAll(async () => {
  // One task of each of three sessions, an hour after the other; the last text of each half an hour later.
  model = await modelOf((stream) => {
    for (const id of ['one', 'two', 'three']) {
      const log = stream.log(id, { session: `of ${id}` })
      log.write(submitted(log.log), runStarted('r'))
      stream.pass(1_800_000)
      log.write(userMessage('r', 'a word'), event('task_completed', result()))
      stream.pass(1_800_000)
    }
  })
})
afterAll(() => model.close())

const [first, half, second, third] = ['00:00:00Z', '00:30:00Z', '01:00:00Z', '02:00:00Z'].map(
  (time) => `2026-01-01T${time}`,
)

test.each([
  [{}, 3],
  [{ since: second }, 2],
  [{ until: second }, 1],
  [{ since: second, until: third }, 1],
  [{ since: '2026-01-01T01:00:00.000Z' }, 2],
  [{ since: third, until: second }, 0],
])('sessions and texts of %j', (time, n) => {
  expect(answer(model.sql, 'sessions', time).sessions).toHaveLength(n)
  expect(answer(model.sql, 'search', { query: 'word', ...time }).hits).toHaveLength(n)
  expect(answer(model.sql, 'search', { query: 'wo', ...time }).hits).toHaveLength(n)
})

test.each(['events', 'timeline'] as const)('%s of a time have the rest on no page', (name) => {
  const all = answer(model.sql, name, { task_id: 'one' }).events.length
  const of = (time: object): number => answer(model.sql, name, { task_id: 'one', ...time }).events.length
  const [begin, end] = [of({ until: half }), of({ since: half })]
  expect([begin > 0, end > 0, begin + end]).toEqual([true, true, all])
  expect([of({ since: first, until: half }), of({ since: second })]).toEqual([begin, 0])
  const page = answer(model.sql, name, { task_id: 'one', since: half, limit: 1 })
  expect([page.more, page.events.length]).toEqual([true, 1])
})

test('a time that is none is refused', () => {
  expect(() => answer(model.sql, 'sessions', { since: 'yesterday' })).toThrow('since')
  expect(() => answer(model.sql, 'search', { query: 'word', until: '7d' })).toThrow('until')
})
