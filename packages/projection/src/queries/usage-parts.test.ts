import { event, type RunId, type TeamRunId } from '@beaver/core'
import { expect, test } from 'vitest'
import { answer as said, graphOf, runStarted, submitted } from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import { answer } from '../../test/checked-answer.ts'

const used = (parts: object) => {
  const answered = said('r', 'x')
  if (answered.type !== 'assistant_message_added') throw new Error('not an answer')
  return event(
    answered.type,
    {
      ...answered.data,
      model: 'm',
      provider_name: 'p',
      usage: { input_tokens: 100, output_tokens: 40, calls: 1, ...parts },
    },
    'r',
  )
}

const parts = { cached_input_tokens: 160, cache_write_tokens: 10, reasoning_tokens: 30, estimated_calls: 1 }

test('parts of a usage are summed for the model, the run, the task and the day, and absent where nobody reported any', async () => {
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(submitted(log.log), runStarted('r'), used({ cached_input_tokens: 80, reasoning_tokens: 30 }))
    log.write(used({ cached_input_tokens: 80, cache_write_tokens: 10, estimated_calls: 1 }))
    const plain = stream.log('u')
    plain.write(submitted(plain.log), runStarted('r'), used({}))
  })
  const { task, runs } = answer(model.sql, 'task', { task_id: 't' })
  expect(task).toMatchObject({
    input_tokens: 200,
    ...parts,
    usage_by_model: [{ model: 'm', input_tokens: 200, ...parts }],
  })
  expect(runs[0]).toMatchObject({ input_tokens: 200, ...parts, usage_by_model: [{ ...parts }] })
  expect(answer(model.sql, 'usage', { since: '0001-01-01', until: '9999-12-31' }).total).toMatchObject({
    input_tokens: 300,
    ...parts,
  })
  expect(answer(model.sql, 'task', { task_id: 'u' }).task).not.toHaveProperty('cached_input_tokens')
})

test('a usage is told apart by the periods that are asked for', async () => {
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(submitted(log.log), runStarted('r'), used({}))
  })
  const day = model.sql.one<{ day: string }>('select day from usage_by_day').day
  const all = { since: '0001-01-01', until: '9999-12-31', by: 'tenant' } as const
  const since = (split_at?: string[]) =>
    answer(model.sql, 'usage', { ...all, ...(split_at === undefined ? {} : { split_at }) }).total
      .usage_by_model
  expect(since()[0]).not.toHaveProperty('since')
  expect(since(['9999-01-01'])[0]).not.toHaveProperty('since')
  expect(since(['0001-01-01', day, '9999-01-01'])).toEqual([
    { provider: 'p', model: 'm', input_tokens: 100, output_tokens: 40, calls: 1, cost_usd: null, since: day },
  ])
})

test('parts of a usage are in the calls of a node and in its run', async () => {
  const at = { team_run_id: 'team' as TeamRunId, node_id: 'a', run_id: 'r' as RunId }
  using model = await modelOf((stream) => {
    const log = stream.log('t')
    log.write(submitted(log.log), runStarted('root'))
    log.write(
      event(
        'task_team_run_started',
        {
          team_run_id: at.team_run_id,
          run_id: 'root' as RunId,
          call_id: null,
          graph: graphOf([{ id: 'a' }]),
          concurrent_nodes_max: 1,
        },
        'root',
      ),
      event('node_started', { ...at, input: null }),
      runStarted('r', { parent: 'root', node: 'a', team: 'team' }),
    )
    log.write(used({ cached_input_tokens: 80, reasoning_tokens: 30 }), used({}))
  })
  const { node, calls } = answer(model.sql, 'node', { task_id: 't', node_id: 'a' })
  expect(node.run).toMatchObject({ input_tokens: 200, cached_input_tokens: 80, reasoning_tokens: 30 })
  expect(calls).toMatchObject([
    { input_tokens: 100, cached_input_tokens: 80, reasoning_tokens: 30 },
    { input_tokens: 100 },
  ])
  expect(calls[1]).not.toHaveProperty('cached_input_tokens')
})
