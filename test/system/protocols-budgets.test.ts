// The clients of A2A and AG-UI, and a task that waits for more in a budget.
import { TaskState } from '@a2a-js/sdk'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { a2aClient, answerIn, freshId, message, sent, textOf } from '../support/a2a-agent.ts'
import { say, use } from '../support/fake-provider.ts'
import { budgetedScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only } from '../support/system.ts'

let scene: ProtocolScene
beforeAll(async () => void (scene = await budgetedScene()))
beforeEach(() => {
  scene.again()
  // The first call uses a tool, and the second one answers.
  scene.system.provider.answerBy(({ results }) =>
    results.length === 0 ? use(['echo', { text: 'apples' }]) : say('Compared.'),
  )
})
const reason =
  'the budget of the task has no place for the next call (used 1 of 1 model calls, needed up to 1 model calls)'

describe('a client of A2A whose task waits for more in a budget', () => {
  it('is told why, and gives more by a text', async () => {
    const client = await a2aClient(scene, 'ann')
    const task = await sent(client, message('Compare the apples'))
    expect(task.status?.state).toBe(TaskState.TASK_STATE_AUTH_REQUIRED)
    const [words, data] = task.status?.message?.parts ?? []
    expect(textOf(words === undefined ? [] : [words])).toBe(
      `The task waits: ${reason}. Answer "more 1 model calls" to give more.`,
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
