import type { QueryName } from '@beaver/contracts'
import { type DataOf, event } from '@beaver/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answer as said, runStarted, submitted, userMessage } from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import { answer } from '../../test/checked-answer.ts'
import type { ReadModel } from '../read-model.ts'

let model: ReadModel

/** A task of Ada and one of nobody. Each waits for a person. */
beforeAll(async () => {
  model = await modelOf((stream) => {
    for (const user_id of ['ada', undefined]) {
      const name = `of-${user_id ?? 'nobody'}`
      const log = stream.log(name, { session: name })
      const given = submitted(log.log).data as DataOf<'task_submitted'>
      log.write(
        event('task_submitted', {
          ...given,
          request: { ...given.request, ...(user_id === undefined ? {} : { user_id }) },
        }),
        runStarted('r'),
      )
      log.write(
        userMessage('r', 'a secret'),
        said('r', null, [{ id: 'c', name: 'run_command', arguments: '{}' }]),
      )
      log.write(
        event(
          'approval_requested',
          { call_id: 'c', tool_name: 'run_command', subject: 'ls', rule: null },
          'r',
        ),
      )
    }
  })
})
afterAll(() => model.close())

const idsIn = (found: unknown): string[] => [...new Set(JSON.stringify(found).match(/of-\w+/g))]
const ask = (name: QueryName, input: object): string[] => {
  try {
    return idsIn(answer(model.sql, name, input))
  } catch (error) {
    return [(error as { code: string }).code]
  }
}

test.each(['tasks', 'sessions', 'approvals'] as const)(
  '%s lists what belongs to a user, to nobody, or everything',
  (name) => {
    const found = [{ user_id: 'ada' }, { user_id: null }, { user_id: 'bob' }, {}].map((input) =>
      ask(name, input),
    )
    expect(found.map((ids) => ids.toSorted())).toEqual([
      ['of-ada'],
      ['of-nobody'],
      [],
      ['of-ada', 'of-nobody'],
    ])
  },
)

test.each([
  ['secret', 'decided by the index'],
  ['a', 'read one by one'],
])('search for %j, which is %s, finds texts of the user alone', (query) => {
  const found = [{ user_id: 'ada' }, { user_id: null }, { user_id: 'bob' }, {}].map((of) =>
    ask('search', { query, ...of }),
  )
  expect(found.map((ids) => ids.toSorted())).toEqual([['of-ada'], ['of-nobody'], [], ['of-ada', 'of-nobody']])
})

test.each(['task', 'graph', 'timeline', 'events', 'approvals', 'session', 'spans', 'run', 'prompt'] as const)(
  '%s finds by an id, or by its beginning, for its user alone',
  (name) => {
    const named = (id: string, of: object): string[] =>
      ask(name, {
        [name === 'session' ? 'session_id' : 'task_id']: id,
        ...(name === 'run' || name === 'prompt' ? { run_id: 'r' } : {}),
        ...of,
      })
    expect([
      named('of-ada', { user_id: 'ada' }),
      named('of', { user_id: 'ada' }),
      named('of', { user_id: null }),
    ]).toEqual([['of-ada'], ['of-ada'], ['of-nobody']])
    for (const [id, of] of [
      ['of-ada', { user_id: 'bob' }],
      ['of-ada', { user_id: null }],
      ['of-nobody', { user_id: 'ada' }],
      ['of', { user_id: 'bob' }],
    ] as const)
      expect(named(id, of)).toEqual(['not_found'])
    expect(named('of', {})).toEqual(['invalid_arguments'])
  },
)

test('search says nothing about texts of others, however often they have a word that is looked for', async () => {
  const textsOf =
    (user_id: string, name: string, texts: readonly string[]) =>
    (stream: Parameters<Parameters<typeof modelOf>[0]>[0]) => {
      const log = stream.log(name, { session: name })
      const given = submitted(log.log).data as DataOf<'task_submitted'>
      log.write(
        event('task_submitted', { ...given, request: { ...given.request, user_id } }),
        runStarted('r'),
        ...texts.map((text) => userMessage('r', text)),
      )
    }
  const planted = textsOf(
    'ben',
    'bait',
    Array.from({ length: 999 }, (_, i) => `the merger ${i}`),
  )
  const before = textsOf('carl', 'before', ['hello'])
  const asked = async (...written: ReturnType<typeof textsOf>[]) => {
    using read = await modelOf((stream) => [before, ...written].forEach((write) => write(stream)))
    while (read.indexTexts());
    // Ben's own texts have the long word, and none has the short one.
    return ['merger zq', 'merger'].map((query) =>
      answer(read.sql, 'search', { query, user_id: 'ben', limit: 1 }),
    )
  }
  const without = await asked(planted, textsOf('ann', 'diary', ['the weather']))
  const withIt = await asked(planted, textsOf('ann', 'diary', ['the merger']))
  expect(withIt).toEqual(without)
  expect(withIt[0]).toEqual({ hits: [], more: false, next: null })
  expect(withIt[1]?.hits[0]?.task_id).toBe('bait')
})

test('search finds an old text of a user among very many of others at once', async () => {
  using read = await modelOf((stream) => {
    for (const [name, user_id, count] of [
      ['old', 'ann', 1],
      ['new', 'joann', 3_000],
    ] as const) {
      const log = stream.log(name, { session: name })
      const given = submitted(log.log).data as DataOf<'task_submitted'>
      const texts = Array.from({ length: count }, (_, i) => userMessage('r', `the merger ${i}`))
      log.write(
        event('task_submitted', { ...given, request: { ...given.request, user_id } }),
        runStarted('r'),
        ...texts,
      )
    }
  })
  while (read.indexTexts());
  const found = answer(read.sql, 'search', { query: 'merger', user_id: 'ann' })
  expect([found.hits.map((hit) => hit.task_id), found.more]).toEqual([['old'], false])
  expect(answer(read.sql, 'search', { query: 'merger', user_id: 'an' })).toEqual({
    hits: [],
    more: false,
    next: null,
  })
  // The index has the owner of each text, too. That is no text.
  for (const query of ['<1>', '<0>', '1>'])
    expect(answer(read.sql, 'search', { query })).toMatchObject({ hits: [] })
})

test('audit says nothing about tasks of others, also in what is wrong with the journal', () => {
  const journal = ['rows_differ', 'entries_missing'].map((kind) => ({
    kind,
    message: 'of-nobody is not as it was',
    harmful: false,
  }))
  const state = { streamSequence: 0, movedAt: null, behindSince: null, fault: null }
  const around = { following: { ...state, journal } }
  const asked = (input: object) => answer(model.sql, 'audit', { ...input }, around)
  const [whole, ofAda, ofBob] = [{}, { user_id: 'ada' }, { user_id: 'bob' }].map(asked)
  expect(whole?.heads.map(({ task_id }) => task_id)).toEqual(['of-nobody', 'of-ada'])
  expect(whole?.journal).toEqual(journal)
  expect(ofAda?.heads.map(({ task_id }) => task_id)).toEqual(['of-ada'])
  expect(ofAda?.journal.map(({ kind }) => kind)).toEqual(['entries_missing'])
  expect(ofBob?.heads).toEqual([])
  expect(() => asked({ task_id: 'of-nobody', user_id: 'ada' })).toThrow('There is no task')
})
