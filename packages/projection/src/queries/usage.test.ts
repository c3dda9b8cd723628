import { event } from '@beaver/core'
import { expect, test } from 'vitest'
import { approvalTask } from '../../test/approval-fixture.ts'
import { answer as said, runStarted, submitted, teamTask } from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import { answer } from '../../test/checked-answer.ts'

const byModel = [
  { provider: 'openai', model: 'cheap', input_tokens: 400, output_tokens: 2, calls: 2 },
  { provider: 'openai', model: 'small', input_tokens: 20, output_tokens: 10, calls: 2 },
]

test('the choice of a skill and summaries count, each by the model that was asked', async () => {
  using model = await modelOf((stream) => approvalTask(stream.log('t')))
  const given = answer(model.sql, 'task', { task_id: 't' })
  expect(given.task).toMatchObject({ input_tokens: 420, output_tokens: 12, calls: 4, usage_by_model: byModel })
  expect(given.runs[0]).toMatchObject({ input_tokens: 420, usage_by_model: byModel, model: 'small' })
  expect(model.sql.all('select purpose, success, provider, model from provider_calls order by taskseq')).toEqual([
    { purpose: 'skill_selection', success: 1, provider: 'openai', model: 'cheap' },
    { purpose: 'answer', success: 0, provider: 'main', model: null },
    { purpose: 'answer', success: 1, provider: 'openai', model: 'small' },
    { purpose: 'summary', success: 1, provider: 'openai', model: 'cheap' },
    { purpose: 'answer', success: 1, provider: 'openai', model: 'small' },
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
  const sum = model.sql.one('select sum(input_tokens) as input, sum(output_tokens) as output, sum(calls) as calls from model_usage')
  expect(model.sql.one('select input_tokens as input, output_tokens as output, calls from tasks')).toEqual(sum)
})

test('of very many models some are named, and the sum stays whole', async () => {
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(submitted(log.log), runStarted('r'))
    for (let n = 0; n < 40; n++) {
      const answered = said('r', 'x')
      if (answered.type === 'assistant_message_added') log.write(event(answered.type, { ...answered.data, model: `m${n}` }, 'r'))
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
    tasks: [{ input_tokens: Number.MAX_SAFE_INTEGER, usage_by_model: [{ input_tokens: Number.MAX_SAFE_INTEGER }] }],
  })
})
