import { event } from '@beaver/core'
import { priceTable } from '@beaver/core/cost'
import { expect, test } from 'vitest'
import { approvalTask } from '../../test/approval-fixture.ts'
import { answer as said, runStarted, submitted, teamTask } from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import { answer } from '../../test/checked-answer.ts'
import { countFaults } from '../verify.ts'

const byModel = [
  { provider: 'openai', model: 'cheap', input_tokens: 400, output_tokens: 2, calls: 2 },
  { provider: 'openai', model: 'small', input_tokens: 20, output_tokens: 10, calls: 2 },
]

test('the choice of a skill and summaries count, each by the model that was asked', async () => {
  using model = await modelOf((stream) => approvalTask(stream.log('t')))
  const given = answer(model.sql, 'task', { task_id: 't' })
  expect(given.task).toMatchObject({
    input_tokens: 420,
    output_tokens: 12,
    calls: 4,
    usage_by_model: byModel,
  })
  expect(given.runs[0]).toMatchObject({ input_tokens: 420, usage_by_model: byModel, model: 'small' })
  expect(
    model.sql.all('select purpose, success, provider, model from provider_calls order by taskseq'),
  ).toEqual([
    { purpose: 'skill_selection', success: 1, provider: 'openai', model: 'cheap' },
    { purpose: 'answer', success: 0, provider: 'main', model: null },
    { purpose: 'answer', success: 1, provider: 'openai', model: 'small' },
    { purpose: 'summary', success: 1, provider: 'openai', model: 'cheap' },
    { purpose: 'answer', success: 1, provider: 'openai', model: 'small' },
  ])
})

test('an answer that was no summary counts, by the model that gave it', async () => {
  const usage = { input_tokens: 300, output_tokens: 7, calls: 1 }
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(
      submitted(log.log),
      runStarted('r'),
      event(
        'summary_refused',
        { reason: 'The answer is empty', usage, provider_name: 'openai', model: 'cheap' },
        'r',
      ),
    )
  })
  const { task, runs } = answer(model.sql, 'task', { task_id: 't' })
  expect([task, runs[0]]).toMatchObject([
    { ...usage, usage_by_model: [{ model: 'cheap', ...usage }] },
    { ...usage, summaries: 0 },
  ])
  expect(model.sql.all('select purpose, model from provider_calls')).toEqual([
    { purpose: 'summary', model: 'cheap' },
  ])
})

test('a run tells what its first prompt was made of, beside what the provider counted, and what was left out later', async () => {
  using model = await modelOf((stream) => approvalTask(stream.log('t')))
  const { runs } = answer(model.sql, 'task', { task_id: 't' })
  expect(runs[0]).toMatchObject({
    context: [
      { part: 'base', tokens_estimated: 400 },
      { part: 'tools', tokens_estimated: 1000 },
    ],
    first_input_tokens: 10,
    skill_selection: { recall: 'lexical', candidates: 2, chosen: ['report'], failure: null },
    results_compacted: 1,
    history_dropped: 0,
    summaries: 1,
  })
})

test('what the runs of a team used adds up to what the task used', async () => {
  using model = await modelOf((stream) => teamTask(stream.log('t')))
  const sum = model.sql.one(
    'select sum(input_tokens) as input, sum(output_tokens) as output, sum(calls) as calls from model_usage',
  )
  expect(model.sql.one('select input_tokens as input, output_tokens as output, calls from tasks')).toEqual(
    sum,
  )
})

test('of very many models some are named, and the sum stays whole', async () => {
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(submitted(log.log), runStarted('r'))
    for (let n = 0; n < 40; n++) {
      const answered = said('r', 'x')
      if (answered.type === 'assistant_message_added')
        log.write(event(answered.type, { ...answered.data, model: `m${n}` }, 'r'))
    }
  })
  const { task } = answer(model.sql, 'task', { task_id: 't' })
  expect(task.usage_by_model).toHaveLength(13)
  expect(task.usage_by_model.at(-1)).toMatchObject({ model: null, input_tokens: 280 })
  expect(task.usage_by_model.reduce((total, used) => total + used.input_tokens, 0)).toBe(task.input_tokens)
})

test('usage that only a forged journal can hold stays a number', async () => {
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(submitted(log.log), runStarted('r'))
    const answered = said('r', 'x')
    if (answered.type !== 'assistant_message_added') return
    const usage = { input_tokens: Number.MAX_SAFE_INTEGER, output_tokens: 1, calls: 1 }
    for (let n = 0; n < 3; n++) log.write(event(answered.type, { ...answered.data, usage }, 'r'))
  })
  expect(answer(model.sql, 'tasks', {})).toMatchObject({
    tasks: [
      { input_tokens: Number.MAX_SAFE_INTEGER, usage_by_model: [{ input_tokens: Number.MAX_SAFE_INTEGER }] },
    ],
  })
})

/** Three tasks: two of Ada on 1 January, one of nobody on 2 January. */
const threeTasks = (stream: Parameters<Parameters<typeof modelOf>[0]>[0]): void => {
  for (const [name, user_id, model] of [
    ['one', 'ada', 'small'],
    ['two', 'ada', 'large'],
    ['three', undefined, 'small'],
  ] as const) {
    const log = stream.log(name)
    const given = submitted(log.log)
    if (given.type !== 'task_submitted') return
    if (name === 'three') stream.pass(86_400_000)
    log.write(
      event('task_submitted', {
        ...given.data,
        request: { ...given.data.request, ...(user_id === undefined ? {} : { user_id }) },
      }),
      runStarted('r'),
    )
    const answered = said('r', 'x')
    if (answered.type === 'assistant_message_added')
      log.write(event(answered.type, { ...answered.data, model }, 'r'))
  }
}
const onSecond = { now: () => Date.parse('2026-01-02T12:00:00Z') }

test('usage is summed by day, newest first, by user and by model, and what is left out is in the total', async () => {
  using model = await modelOf(threeTasks)
  const byDay = answer(model.sql, 'usage', {}, onSecond)
  expect([byDay.since, byDay.until, byDay.total.calls]).toEqual(['2025-12-03', '2026-01-02', 3])
  expect(
    byDay.groups.map(({ key, calls, usage_by_model: models }) => [
      key,
      calls,
      models.map((each) => each.model),
    ]),
  ).toEqual([
    ['2026-01-02', 1, ['small']],
    ['2026-01-01', 2, ['large', 'small']],
  ])
  const byUser = answer(model.sql, 'usage', { by: 'user', limit: 1 }, onSecond)
  expect([byUser.groups.map(({ key, calls }) => [key, calls]), byUser.more, byUser.total.calls]).toEqual([
    [['ada', 2]],
    true,
    3,
  ])
  const byModel = answer(model.sql, 'usage', { by: 'model' }, onSecond)
  expect(byModel.groups.map(({ key, calls }) => [key, calls])).toEqual([
    ['small', 2],
    ['large', 1],
  ])
  expect(
    answer(model.sql, 'usage', { by: 'user', user_id: null }, onSecond).groups.map(({ key, calls }) => [
      key,
      calls,
    ]),
  ).toEqual([[null, 1]])
})

test('usage counts the days that are asked for, both ends among them, and none is no fault', async () => {
  using model = await modelOf(threeTasks)
  const calls = (input: object): number => answer(model.sql, 'usage', input, onSecond).total.calls
  expect([
    calls({ until: '2026-01-01' }),
    calls({ since: '2026-01-02' }),
    calls({ since: '2026-01-03' }),
    calls({ tenant: 'other' }),
  ]).toEqual([2, 1, 0, 0])
  expect(() => calls({ since: 'yesterday' })).toThrow('since')
  // An empty name is no user. It must not be taken for "without a user".
  expect(() => calls({ user_id: '' })).toThrow('user_id')
})

test('the sums by day are held against the tasks', async () => {
  using model = await modelOf(threeTasks)
  expect(countFaults(model.sql)).toEqual([])
  model.sql.run('update usage_by_day set calls = calls + 1')
  expect(countFaults(model.sql)).toEqual([
    'The sums of usage by day have 6 calls, and the tasks of the read model have 3.',
  ])
})

test('usage is answered for the first year that has a name', async () => {
  using model = await modelOf(threeTasks)
  expect(answer(model.sql, 'usage', { until: '0000-01-05' }, onSecond)).toMatchObject({
    since: '0000-01-01',
    until: '0000-01-05',
    groups: [],
  })
})

test('sums that only a forged journal can hold stay numbers, of several runs and of many models', async () => {
  using model = await modelOf((stream) => {
    const log = stream.log('forged')
    log.write(submitted(log.log))
    for (const run of ['r1', 'r2']) {
      log.write(runStarted(run))
      for (let i = 0; i < 15; i++) {
        const forged = said(run, 'x')
        if (forged.type !== 'assistant_message_added') return
        const usage = { ...forged.data.usage, input_tokens: Number.MAX_SAFE_INTEGER }
        log.write(event(forged.type, { ...forged.data, model: `m${i}`, usage }, run))
      }
    }
  })
  const most = { input_tokens: Number.MAX_SAFE_INTEGER }
  const all = Array.from({ length: 13 }, () => most)
  expect(answer(model.sql, 'tasks', {})).toMatchObject({ tasks: [{ ...most, usage_by_model: all }] })
  expect(answer(model.sql, 'usage', {}, onSecond)).toMatchObject({
    total: { ...most, usage_by_model: all },
    groups: [{ ...most, usage_by_model: all }],
  })
  expect(countFaults(model.sql)).toEqual([])
})

test('usage of many users is summed for one model over all of them, whatever their number', async () => {
  using model = await modelOf((stream) => {
    for (let i = 0; i < 300; i++) {
      const log = stream.log(`t${i}`)
      const given = submitted(log.log)
      if (given.type !== 'task_submitted') return
      log.write(
        event('task_submitted', { ...given.data, request: { ...given.data.request, user_id: `user-${i}` } }),
        runStarted('r'),
        said('r', 'x'),
      )
    }
  })
  const answered = answer(model.sql, 'usage', { by: 'user', limit: 2 }, onSecond)
  expect(answered.groups.map(({ key, calls }) => [key, calls])).toEqual([
    ['user-0', 1],
    ['user-1', 1],
  ])
  expect([answered.more, answered.total]).toMatchObject([
    true,
    { calls: 300, usage_by_model: [{ model: 'small', calls: 300 }] },
  ])
  for (const by of ['day', 'tenant'])
    expect(answer(model.sql, 'usage', { by }, onSecond)).toMatchObject({ total: answered.total, more: false })
})

test('usage is summed by the workflow of the team and by the skills that the run had', async () => {
  using model = await modelOf((stream) => {
    teamTask(stream.log('t'))
    const log = stream.log('other')
    log.write(submitted(log.log), runStarted('r'), said('r', 'before it has a skill'))
    log.write(
      event(
        'skill_activation_snapshotted',
        { skills: ['report', 'table'].map((name) => ({ name, sha256: 'x', content: 'x' })) },
        'r',
      ),
      said('r', 'with both'),
    )
  })
  const all = { since: '0001-01-01', until: '9999-12-31' }
  const calls = (by: 'workflow' | 'skill') =>
    new Map(answer(model.sql, 'usage', { ...all, by }).groups.map((each) => [each.key, each.calls]))
  expect(calls('workflow')).toEqual(
    new Map([
      ['GraphWorkflow', 3],
      [null, 4],
    ]),
  )
  expect(calls('skill')).toEqual(
    new Map([
      ['report', 2],
      ['report, table', 1],
      [null, 4],
    ]),
  )
})

test('usage is summed by the profile that the request names, for each of the keys the same total', async () => {
  using model = await modelOf((stream) => {
    for (const [name, profile] of [
      ['one', 'clerk'],
      ['two', 'clerk'],
      ['three', 'auditor'],
      ['four', undefined],
    ] as const) {
      const log = stream.log(name)
      const given = submitted(log.log)
      if (given.type !== 'task_submitted') return
      const request = { ...given.data.request, ...(profile === undefined ? {} : { profile }) }
      log.write(event('task_submitted', { ...given.data, request }), runStarted('r'), said('r', 'x'))
    }
  })
  const asked = (by: string) => answer(model.sql, 'usage', { by }, onSecond)
  expect(asked('profile').groups.map(({ key, calls }) => [key, calls])).toEqual([
    ['clerk', 2],
    [null, 1],
    ['auditor', 1],
  ])
  for (const by of ['day', 'user', 'tenant', 'model', 'workflow', 'skill'])
    expect([by, asked(by).total]).toEqual([by, asked('profile').total])
  expect(countFaults(model.sql)).toEqual([])
})

test('a sum over days has for each day the price of that day', async () => {
  using model = await modelOf((stream) => {
    for (const day of [1, 2, 3]) {
      const log = stream.log(`t${day}`)
      log.write(submitted(log.log), runStarted('r'), said('r', 'x'))
      stream.pass(86_400_000)
    }
  })
  const prices = priceTable({
    imported: {
      small: [
        { from: '2026-01-02', input: 1_000, output: 0 },
        { from: '2026-01-03', input: 5_000, output: 0 },
      ],
    },
  })
  const asked = (input: object) =>
    answer(model.sql, 'usage', { since: '2026-01-01', until: '2026-01-31', ...input }, { prices })
  const part = { cost_usd: null, cost_usd_known: 0.06 }
  expect(asked({ by: 'tenant' }).total).toMatchObject({
    ...part,
    usage_by_model: [{ model: 'small', ...part }],
  })
  expect(asked({ by: 'tenant' }).total.usage_by_model).toHaveLength(1)
  expect(asked({}).groups.map(({ key, cost_usd }) => [key, cost_usd])).toEqual([
    ['2026-01-03', 0.05],
    ['2026-01-02', 0.01],
    ['2026-01-01', null],
  ])
  const split = asked({ by: 'model', since: '2026-01-02', split_at: ['2026-01-03'] }).total
  expect(split.cost_usd).toBe(0.06)
  expect(split.usage_by_model.map(({ since, cost_usd }) => [since, cost_usd])).toEqual([
    [undefined, 0.01],
    ['2026-01-03', 0.05],
  ])
})
