// Questions of calls for the clients of A2A and AG-UI: the official clients against the gateway on a real
// port, in front of a real daemon.
import { type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import type { Interrupt, ResumeEntry } from '@ag-ui/core'
import { until } from '@beaver/testing'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import {
  a2aClient,
  all,
  answerIn,
  message,
  ofTask,
  reasonOf,
  sent,
  textOf,
  words,
} from '../support/a2a-agent.ts'
import { agUiAgent, interruptsOf, lastOf, ran, taskOf } from '../support/ag-ui-agent.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only } from '../support/system.ts'

let scene: ProtocolScene
beforeAll(async () => {
  // The client of AG-UI writes every failure to the console.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  scene = await keptScene()
})

const branch = 'ask_user {"question":"Which branch?","options":["main","next"]}'
const answersOf = async (taskId: string) =>
  only(await scene.system.events(taskId), 'question_answered').map(({ data }) => data)

describe('a client of A2A', () => {
  const required = TaskState.TASK_STATE_INPUT_REQUIRED
  const clientOf = (who: keyof ProtocolScene['tokens']): Promise<Client> => a2aClient(scene, who)
  const dataOf = ({ status }: Pick<Task, 'status'>): Record<string, unknown>[] => {
    const data = (status?.message?.parts ?? []).flatMap(({ content }) =>
      content?.$case === 'data' ? [content.value as { questions?: Record<string, unknown>[] }] : [],
    )
    return data[0]?.questions ?? []
  }

  it('is asked by the state and its message, and its next text to the task is the answer', async () => {
    const ann = await clientOf('ann')
    const task = await sent(ann, message(branch))
    expect(task.status?.state).toBe(required)
    expect(textOf(task.status?.message?.parts)).toBe(
      'Which branch?\n  1) main\n  2) next\nAnswer with the number or the text of an option.',
    )
    expect(dataOf(task)).toMatchObject([
      { question_index: 0, tool: 'ask_user', message: 'Which branch?', options: ['main', 'next'] },
    ])
    expect(await reasonOf(ann.sendMessage(message('old', { taskId: task.id })))).toContain(
      'Answer with one of: "main", "next".',
    )
    expect(await reasonOf(ann.sendMessage(message('x'.repeat(10_001), { taskId: task.id })))).toContain(
      'The limit is 10000.',
    )
    expect(await answersOf(task.id)).toEqual([])
    const done = await sent(ann, message('2', { taskId: task.id }))
    expect([done.status?.state, answerIn(done)]).toEqual([TaskState.TASK_STATE_COMPLETED, 'So: next'])
    expect(await answersOf(task.id)).toMatchObject([{ answer: { answers: ['next'] }, user_id: 'ann' }])
    expect(done.history.map(({ parts }) => textOf(parts)).slice(1)).toEqual([
      expect.stringContaining('Which branch?') as string,
      'next',
    ])
    expect(await reasonOf(ann.sendMessage(message('main', { taskId: task.id })))).toMatch(
      /^UnsupportedOperationError: .* has ended/,
    )
  })

  it('has its stream ended by the question, and gets another one with the answer', async () => {
    const ann = await clientOf('ann')
    const request = message(branch)
    const first = await all(ann.sendMessageStream(request))
    expect(words(first).at(-1)).toMatch(/^INPUT_REQUIRED: Which branch\?/)
    const [begun] = first
    const id = begun?.payload?.$case === 'task' ? begun.payload.value.id : ''
    const second = await all(ann.sendMessageStream(message('main', { taskId: id })))
    // A stream begins with the task as it is, which may have ended already.
    expect(words(second).at(-1)).toMatch(/^(task )?COMPLETED$/)
    // The first message again tells the whole task: its question was answered.
    expect(words(await all(ann.sendMessageStream(request))).at(-1)).toMatch(/^(task )?COMPLETED$/)
  })

  it('may answer by data, exactly once, and only what waits', async () => {
    const ann = await clientOf('ann')
    const task = await sent(ann, message(branch))
    const [{ call_id = '' } = {}] = dataOf(task)
    const saying = (answer: object, over: object = {}) =>
      message({ call_id, question_index: 0, answer, ...over }, { taskId: task.id })
    expect(await reasonOf(ann.sendMessage(saying({ action: 'accept', answers: ['old'] })))).toContain(
      'is not one of the options',
    )
    expect(
      await reasonOf(ann.sendMessage(saying({ action: 'accept', answers: ['main'] }, { question_index: 1 }))),
    ).toContain('asks its question 0, not 1')
    expect(
      await reasonOf(ann.sendMessage(saying({ action: 'accept', answers: ['main'] }, { call_id: 'nope' }))),
    ).toContain('No call nope')
    const both = await Promise.all(
      ['main', 'next'].map((answer) =>
        reasonOf(ann.sendMessage(saying({ action: 'accept', answers: [answer] }))),
      ),
    )
    expect(both.toSorted()).toEqual([
      expect.stringMatching(/^(RequestMalformed|UnsupportedOperation)Error/),
      'done',
    ])
    expect(await answersOf(task.id)).toHaveLength(1)
  })

  it('of another user finds no such task, and one that may not decide about calls answers only what the agent asks', async () => {
    const [ann, bob, writer, admin] = await Promise.all([
      clientOf('ann'),
      clientOf('bob'),
      clientOf('writer'),
      clientOf('admin'),
    ])
    const task = await sent(ann, message(branch))
    expect(await reasonOf(bob.sendMessage(message('main', { taskId: task.id })))).toMatch(
      /^TaskNotFoundError/,
    )
    expect((await sent(ann, message('main', { taskId: task.id }))).status?.state).toBe(
      TaskState.TASK_STATE_COMPLETED,
    )
    const own = await sent(writer, message(branch))
    expect(textOf(own.status?.message?.parts)).toContain('Which branch?')
    expect((await sent(writer, message('main', { taskId: own.id }))).status?.state).toBe(
      TaskState.TASK_STATE_COMPLETED,
    )
    const deploys = await sent(writer, message('deploy {"to":"prod"}'))
    expect(deploys.status?.state).toBe(required)
    expect(await reasonOf(writer.sendMessage(message('Yes', { taskId: deploys.id })))).toContain(
      'does not have the role approve',
    )
    expect(await answersOf(deploys.id)).toEqual([])
    expect(answerIn(await sent(admin, message('yes', { taskId: deploys.id })))).toBe('So: accept Yes')
  })

  it('finds the question in another gateway after the first one is gone', async () => {
    const gateway = await scene.start()
    const task = await sent(
      await a2aClient(scene, 'ann', { at: gateway }),
      message('ask_user {"question":"Why?"}'),
    )
    await gateway.stop()
    const ann = await clientOf('ann')
    expect((await ann.getTask({ tenant: '', id: task.id })).status?.state).toBe(required)
    const following: StreamResponse[] = []
    const followed = (async () => {
      for await (const each of ann.resubscribeTask(ofTask(task.id))) following.push(each)
    })()
    await until('it is followed', () => following.length > 0)
    expect(answerIn(await sent(ann, message('because', { taskId: task.id })))).toBe('So: because')
    await followed
    expect(words(following).at(-1)).toBe('COMPLETED')
  })
})

describe('a client of AG-UI', () => {
  const resume = (interruptId: string, payload: unknown, status: ResumeEntry['status'] = 'resolved') => ({
    resume: [{ interruptId, status, payload }],
  })
  const onlyOne = (all: readonly Interrupt[]): Interrupt => {
    expect(all).toHaveLength(1)
    return all[0] as Interrupt
  }

  it('is interrupted by the question, with the form of the answer, and its answer goes on', async () => {
    const agent = agUiAgent(scene)
    const first = await ran(agent, branch)
    const interrupt = onlyOne(interruptsOf(lastOf(first)))
    expect(interrupt).toMatchObject({
      reason: 'input_required',
      message: expect.stringContaining('Which branch?') as string,
      toolCallId: expect.any(String) as string,
      responseSchema: { properties: { answer: { enum: ['main', 'next'] } } },
    })
    for (const payload of [{ answer: 'old' }, { answer: 'x'.repeat(10_001) }, {}, 7, { approved: true }]) {
      const refused = await ran(agent, null, resume(interrupt.id, payload)).catch(
        (error: Error) => error.message,
      )
      expect(JSON.stringify(refused)).toMatch(/resume\.0\.payload/)
    }
    expect(await answersOf(taskOf(first.events))).toEqual([])
    const second = await ran(agent, null, resume(interrupt.id, { answer: 'next' }))
    expect(lastOf(second)).toMatchObject({ outcome: { type: 'success' }, result: 'So: next' })
    // The same answer again changes nothing, and tells the same end. Another one conflicts, and who withdraws
    // it goes on.
    expect(lastOf(await ran(agent, null, resume(interrupt.id, { answer: 'next' })))).toMatchObject({
      result: 'So: next',
    })
    const another = await ran(agent, null, resume(interrupt.id, { answer: 'main' })).catch(
      (error: Error) => error.message,
    )
    expect(JSON.stringify(another)).toMatch(/409.*was already answered by ann .*Your answer does not count/)
    expect(lastOf(await ran(agent, null, resume(interrupt.id, undefined, 'cancelled')))).toMatchObject({
      result: 'So: next',
    })
    expect(await answersOf(taskOf(first.events))).toMatchObject([
      { answer: { answers: ['next'] }, user_id: 'ann' },
    ])
  })

  it('may answer in a text, or by the fields of a form, and a cancelled interrupt is no answer', async () => {
    const one = agUiAgent(scene)
    const signUp = onlyOne(interruptsOf(lastOf(await ran(one, 'sign_up {}'))))
    expect(signUp.responseSchema).toMatchObject({
      required: ['name'],
      properties: { age: { type: 'integer' } },
    })
    expect(lastOf(await ran(one, null, resume(signUp.id, { name: 'Ada', age: 36 })))).toMatchObject({
      result: 'So: accept Ada 36',
    })
    const two = agUiAgent(scene)
    const why = onlyOne(interruptsOf(lastOf(await ran(two, 'ask_user {"question":"Why?"}'))))
    expect(lastOf(await ran(two, null, resume(why.id, 'because')))).toMatchObject({ result: 'So: because' })
    const three = agUiAgent(scene)
    const left = onlyOne(interruptsOf(lastOf(await ran(three, branch))))
    const end = lastOf(await ran(three, null, resume(left.id, undefined, 'cancelled')))
    expect(end).toMatchObject({ result: expect.stringContaining('not_answered') as string })
  })

  it('needs the right to decide about calls for what a tool asks, and is not kept waiting by a tool that holds its task', async () => {
    const writer = agUiAgent(scene, { who: 'writer' })
    const interrupt = onlyOne(interruptsOf(lastOf(await ran(writer, 'deploy {"to":"prod"}'))))
    const refused = await ran(writer, null, resume(interrupt.id, { answer: 'Yes' })).catch(
      (error: Error) => error.message,
    )
    expect(JSON.stringify(refused)).toContain('does not have the role approve')
    const admin = agUiAgent(scene, { who: 'admin', threadId: writer.threadId })
    expect(lastOf(await ran(admin, null, resume(interrupt.id, { answer: 'No' })))).toMatchObject({
      result: 'So: accept No',
    })
  })
})

describe('a request of HTTP', () => {
  it('answers what the agent asks with the role submit, and what a tool asks with the role approve', async () => {
    const post = async (who: keyof ProtocolScene['tokens'], path: string, body: object) => {
      const headers = { authorization: `Bearer ${scene.tokens[who]}`, 'content-type': 'application/json' }
      const answer = await fetch(`${scene.gateway.info.url}/api/v1/tasks${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      return { status: answer.status, body: (await answer.json()) as { task_id?: string; detail?: string } }
    }
    const asking = async (task: string): Promise<string> => {
      const { body } = await post('writer', '', { task })
      await scene.system.reached(body.task_id ?? '', 'a call asks', (events) =>
        events.some(({ type }) => type === 'question_asked'),
      )
      return body.task_id ?? ''
    }
    const saying = (...answers: string[]) => ({
      call_id: 'call_0',
      question_index: 0,
      answer: { action: 'accept', answers },
    })
    const agent = await asking(branch)
    expect((await post('reader', `/${agent}/answer`, saying('main'))).status).toBe(403)
    expect((await post('ann', `/${agent}/answer`, saying('main'))).status).toBe(404)
    expect(await post('writer', `/${agent}/answer`, saying('old'))).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('not one of the options') as string },
    })
    expect((await post('writer', `/${agent}/answer`, { ...saying('main'), call_id: 'call_1' })).status).toBe(
      404,
    )
    expect((await post('writer', `/${agent}/answer`, saying('main'))).status).toBe(200)
    for (const who of ['writer', 'admin'] as const)
      expect(await post(who, `/${agent}/answer`, saying('next'))).toMatchObject({
        status: 409,
        body: {
          detail: expect.stringContaining(
            'The question of the call call_0 was already answered by',
          ) as string,
        },
      })
    expect(await answersOf(agent)).toHaveLength(1)
    const tool = await asking('deploy {"to":"prod"}')
    expect(await post('writer', `/${tool}/answer`, saying('Yes'))).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('role approve') as string },
    })
    expect((await post('admin', `/${tool}/answer`, saying('Yes'))).status).toBe(200)
  })
})
