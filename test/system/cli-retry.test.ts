// `beaver retry` as people and scripts use it: on a real system, against a real endpoint.
import { checkJournal, natsSource } from '@beaver/check'
import { held, until } from '@beaver/testing'
import { beforeAll, expect, it } from 'vitest'
import { type FakeReply, refuse, say, use } from '../support/fake-provider.ts'
import { type OperatedSystem, operatedSystem } from '../support/kept-system.ts'
import { only, type TestSystem } from '../support/system.ts'

let system: TestSystem
let beaver: OperatedSystem['beaver']
let began: string
beforeAll(async () => {
  ;({ system, beaver } = await operatedSystem())
  began = new Date().toISOString()
})

const names = ['a', 'b', 'c', 'd', 'e']
const team = { task: 'compare', agents: names.map((name) => ({ name, instruction: `do ${name}` })) }
let wrongKey: readonly string[] = []

/**
 * A root that calls a team of five and reports; `wrongKey` names the agents, or the tasks, whose requests are
 * refused.
 */
function answerAll(): void {
  system.provider.answerBy(({ text, results }) => {
    if (wrongKey.some((name) => text.includes(name))) return refuse(401, 'Incorrect API key provided')
    const node = names.find((name) => text.includes(`do ${name}`))
    if (node !== undefined) return say(`said ${node}`)
    return text === 'compare them' && results.length === 0
      ? use(['ConcurrentWorkflow', team])
      : say('the report')
  })
}

const known = (taskId: string): Promise<unknown> =>
  until('the projector knows', async () => {
    const { task } = await system.client.query('task', { task_id: taskId }).catch(() => ({ task: null }))
    return task !== null && task.status !== 'running' && task.status !== 'submitted'
  })

it('takes a team of five with one failed node up again over HTTP: only that node is asked for, and the report', async () => {
  answerAll()
  wrongKey = ['do d']
  const { task_id: taskId } = await system.client.submit({ task: 'compare them' })
  expect((await system.ended(taskId)).at(-1)?.type).toBe('task_incomplete')
  await known(taskId)
  wrongKey = []
  system.provider.forget()
  const retried = await beaver('retry', taskId)
  expect(retried).toMatchObject({ exit: 0, out: expect.stringContaining(`Retried as ${taskId}.retry-1\n`) })
  const all = await system.ended(`${taskId}.retry-1`)
  expect(all.at(-1)).toMatchObject({
    type: 'task_completed',
    data: { final_output: 'the report', usage: { calls: 2 } },
  })
  expect(
    system.provider.requests.map(({ text }) => names.find((name) => text.includes(`do ${name}`)) ?? 'root'),
  ).toEqual(['d', 'root'])
  await known(`${taskId}.retry-1`)
  const { task } = await system.client.query('task', { task_id: `${taskId}.retry-1` })
  expect(task).toMatchObject({ status: 'completed', retry_of: taskId, agents: 6, calls: 2, chain_ok: true })
  expect(only(all, 'task_log_copied')).toHaveLength(1)
})

it('shows and retries every task that failed, once; a completed one is refused', async () => {
  wrongKey = ['first', 'second']
  const failed = []
  for (const name of ['first', 'second']) {
    const { task_id: taskId } = await system.client.submit({ task: name })
    await system.ended(taskId)
    await known(taskId)
    failed.push(taskId)
  }
  const dry = await beaver('retry', '--failed', '--since', began, '--dry-run')
  expect(dry.exit).toBe(0)
  for (const taskId of failed) expect(dry.out).toContain(taskId)
  expect(dry.out).toContain('2 would be retried')
  expect(await beaver('retry', '--failed', '--since', '2099-01-01')).toMatchObject({
    exit: 0,
    out: 'No failed task is left to retry.\n',
  })
  wrongKey = ['second']
  const some = await beaver('retry', '--failed', '--since', began, '--json')
  const { tasks } = JSON.parse(some.out) as {
    tasks: { task_id: string; retry_of: string; error: string | null }[]
  }
  expect(tasks.map(({ task_id, retry_of, error }) => [retry_of, task_id, error])).toEqual(
    failed.map((id) => [id, `${id}.retry-1`, null]),
  )
  const [one, two] = await Promise.all(tasks.map(({ task_id: id }) => system.ended(id)))
  expect([one?.at(-1)?.type, two?.at(-1)?.type]).toEqual(['task_completed', 'task_failed'])
  for (const { task_id: taskId } of tasks) await known(taskId)
  // The first tasks have their retries; of those, one failed again.
  expect((await beaver('retry', '--failed', '--since', began)).out).toContain(
    `1 of 1  ${failed[1]}.retry-1 → ${failed[1]}.retry-2\n`,
  )
  expect((await system.ended(`${failed[1]}.retry-2`)).at(-1)?.type).toBe('task_failed')
  expect(await beaver('retry', `${failed[0]}.retry-1`)).toMatchObject({
    exit: 1,
    err: expect.stringContaining('completed, so there is nothing to retry.'),
  })
})

it('keeps votes that are enough, and does not ask the voter that failed: a decided vote does not wait for it', async () => {
  // The others vote after it has failed.
  const others = held<FakeReply>()
  system.provider.answerBy(({ text }) =>
    text.includes('vote c') ? refuse(401, 'Incorrect API key provided') : others.promise,
  )
  const agents = ['a', 'b', 'c'].map((name) => ({ name, instruction: `vote ${name}` }))
  const workflow = {
    name: 'MajorityVote',
    arguments: { task: 'yes or no', agents, options: ['the report', 'no'] },
  }
  const { task_id: taskId } = await system.client.submit({ workflow })
  await system.reached(taskId, 'one voter failed', (events) => only(events, 'node_failed').length === 1)
  others.settle(say('the report'))
  expect((await system.ended(taskId)).at(-1)?.type).toBe('task_incomplete')
  answerAll()
  system.provider.forget()
  const { task_id: retryId } = await system.client.retry(taskId)
  expect((await system.ended(retryId)).at(-1)).toMatchObject({
    type: 'task_completed',
    data: { final_output: 'the report' },
  })
  expect(system.provider.requests).toEqual([])
})

it('leaves a journal that the checker finds sound', async () => {
  const { namespace, stream, blobBucket } = system.subjects
  const { findings } = await checkJournal(await natsSource(system.nc, { namespace, stream, blobBucket }), {
    now: Date.now(),
  })
  expect(findings).toEqual([])
})

it.each([
  [['retry'], 'but not both'],
  [['retry', 'x', '--failed'], 'but not both'],
  [['retry', 'x', '--dry-run'], 'The options --since and --dry-run need --failed.'],
  [['retry', '--failed', '--since', 'yesterday'], 'is not a time'],
])('%j is refused with what to say instead', async (args, words) => {
  expect(await beaver(...args)).toMatchObject({ exit: 2, err: expect.stringContaining(words) })
})
