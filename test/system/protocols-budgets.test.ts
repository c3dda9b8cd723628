// The clients of A2A and AG-UI, and a task that waits for more in a budget.
import { TaskState } from '@a2a-js/sdk'
import { until } from '@beaver/testing'
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { a2aClient, answerIn, freshId, message, sent, textOf } from '../support/a2a-agent.ts'
import { agUiAgent, interruptsOf, lastOf, ran, taskOf, textIn } from '../support/ag-ui-agent.ts'
import { say, use } from '../support/fake-provider.ts'
import { budgetedScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only } from '../support/system.ts'

let scene: ProtocolScene
beforeAll(async () => {
  // The client of AG-UI writes every failure to the console.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  scene = await budgetedScene()
})
beforeEach(() => {
  scene.again()
  // The first call uses a tool, and the second one answers.
  scene.system.provider.answerBy(({ results }) =>
    results.length === 0 ? use(['echo', { text: 'apples' }]) : say('Compared.'),
  )
})
const reason =
  'the budget of the task has no place for the next call (used 1 of 1 model call, needed up to 1 model call)'

it('the inbox of a user has the budget until it was given more, and that of others never', async () => {
  const send = async (as: keyof ProtocolScene['tokens'], path: string, body?: object) => {
    const answer = await fetch(new URL(path, scene.gateway.info.url), {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${scene.tokens[as]}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return (await answer.json()) as { task_id: string; entries: { kind: string; task_id: string }[] }
  }
  const { task_id } = await send('ann', '/api/v1/tasks', { task: 'Compare the figs', title: 'Figs' })
  const entryFor = async (as: keyof ProtocolScene['tokens']) => {
    const { entries } = await send(as, '/api/v1/inbox?limit=200')
    return entries.find((each) => each.task_id === task_id) ?? null
  }
  expect(await until('it is in the inbox', () => entryFor('ann'))).toMatchObject({
    ...{ kind: 'budget', title: 'Figs', task_user_id: 'ann' },
    budget: { ...{ measure: 'model_calls', limit: 1, used: 1, needed: 1, shared: false }, reason },
  })
  expect(await entryFor('bob')).toBeNull()
  const ofTask = (as: keyof ProtocolScene['tokens']) => send(as, `/api/v1/inbox?task_id=${task_id}`)
  expect((await ofTask('ann')).entries).toMatchObject([
    { kind: 'budget', budget: { run_ids: [expect.any(String)] } },
  ])
  expect(await ofTask('bob')).toMatchObject({ code: 'not_found' })
  expect((await entryFor('admin'))?.kind).toBe('budget')
  await send('ann', `/api/v1/tasks/${task_id}/raise`, { more: { model_calls: 5 } })
  await scene.system.ended(task_id)
  await until('it is gone', async () => (await entryFor('ann')) === null)
})

describe('a client of A2A whose task waits for more in a budget', () => {
  it('is told why, and gives more by a text', async () => {
    const client = await a2aClient(scene, 'ann')
    const task = await sent(client, message('Compare the apples'))
    expect(task.status?.state).toBe(TaskState.TASK_STATE_AUTH_REQUIRED)
    const [words, data] = task.status?.message?.parts ?? []
    expect(textOf(words === undefined ? [] : [words])).toBe(
      `The task waits: ${reason}. Answer "more 1 model call" to give more.`,
    )
    expect(data?.content).toMatchObject({
      value: { budgets: [{ budget: { of: 'task' }, measure: 'model_calls', limit: 1, used: 1, needed: 1 }] },
    })
    const more = message('More 5.', { taskId: task.id, messageId: freshId() })
    const ended = await sent(client, more)
    expect([ended.status?.state, answerIn(ended)]).toEqual([TaskState.TASK_STATE_COMPLETED, 'Compared.'])
    expect(only(await scene.system.events(task.id), 'budget_raised')).toMatchObject([
      { data: { more: { model_calls: 5 }, user_id: 'ann' } },
    ])
  })

  it('gives nothing without the role that decides, and by a text that is no amount', async () => {
    const writer = await a2aClient(scene, 'writer')
    const task = await sent(writer, message('Compare the pears'))
    expect(textOf(task.status?.message?.parts ?? [])).toBe('The task waits for more in a budget.')
    const admin = await a2aClient(scene)
    const steered = await sent(admin, message('more details', { taskId: task.id }))
    expect(steered.status?.state).toBe(TaskState.TASK_STATE_AUTH_REQUIRED)
    await expect(sent(writer, message('more 5', { taskId: task.id }))).rejects.toThrow()
    expect(only(await scene.system.events(task.id), 'budget_raised')).toEqual([])
    await admin.cancelTask({ id: task.id, tenant: '', metadata: undefined })
  })

  it('is told who gives more to a budget that tasks share', async () => {
    const client = await a2aClient(scene, 'ann', { agent: 'clerk' })
    const task = await sent(client, message('Compare the nuts'))
    expect(textOf(task.status?.message?.parts.slice(0, 1) ?? [])).toContain(
      'Only an operator can give more to the budget of the profile clerk for a day',
    )
    await client.cancelTask({ id: task.id, tenant: '', metadata: undefined })
  })
})

describe('a run of AG-UI whose task waits for more in a budget', () => {
  it('is interrupted with the reason, and the next run gives more and tells the rest', async () => {
    const agent = agUiAgent(scene)
    const first = await ran(agent, 'Compare the plums')
    const [interrupt] = interruptsOf(lastOf(first))
    const taskId = taskOf(first.events)
    expect(interrupt).toMatchObject({
      reason: 'input_required',
      message: `The task waits: ${reason}.`,
      metadata: {
        beaver: { task_id: taskId, measure: 'model_calls', limit: 1, used: 1, offers: [{ model_calls: 1 }] },
      },
    })
    const answer = (payload: unknown) => ({
      resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved' as const, payload }],
    })
    for (const payload of [true, {}, { usd: 0 }, { eur: 1 }, 'a lot']) {
      const again = agUiAgent(scene, { threadId: agent.threadId })
      await expect(ran(again, null, answer(payload))).rejects.toThrow(/HTTP 400: .*resume.0.payload/)
    }
    const writer = agUiAgent(scene, { who: 'writer', threadId: agent.threadId })
    await expect(ran(writer, null, answer({ model_calls: 5 }))).rejects.toThrow('HTTP 403')
    const second = await ran(agent, null, answer({ model_calls: 5 }))
    expect(lastOf(second)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
    expect(textIn(second.events)).toBe('Compared.')
    const repeated = agUiAgent(scene, { threadId: agent.threadId })
    await ran(repeated, null, answer({ model_calls: 5 }))
    expect(only(await scene.system.events(taskId), 'budget_raised')).toMatchObject([
      { data: { more: { model_calls: 5 }, user_id: 'ann' } },
    ])
  })

  it('is cancelled by an interrupt that is cancelled, and says who raises a budget that tasks share', async () => {
    const agent = agUiAgent(scene, { agent: 'clerk' })
    const [interrupt] = interruptsOf(lastOf(await ran(agent, 'Compare the nuts')))
    expect(interrupt?.message).toContain(
      'Only an operator can give more to the budget of the profile clerk for a day',
    )
    const run = await ran(agent, null, {
      resume: [{ interruptId: interrupt?.id ?? '', status: 'cancelled' }],
    })
    expect(lastOf(run)).toMatchObject({ outcome: { type: 'cancelled' } })
  })
})
