// An agent asks a person, and a person changes the arguments of a call: on real daemons, over NATS and with the command line.
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { placeIn, startBeaver } from './support/cli.ts'
import { say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { projectorProcess } from './support/projector.ts'
import { only, type TestSystem, testSystem, told } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

const asksForEcho = { permissions: { rules: [{ tool: 'echo', pattern: '*secret plan*', decision: 'deny' }, { tool: 'echo', decision: 'ask' }] } } // prettier-ignore

/** A root that calls a tool once and then says what came of it. */
function calling(system: TestSystem, name: string, args: object): void {
  system.provider.answerBy(({ messages }) => {
    const result = messages.findLast((message) => message.role === 'tool')
    return result === undefined ? use([name, args]) : say(`It said: ${String(result.content)}`)
  })
}

const question = { question: 'Which branch?', options: ['main', 'next'] }
const refusal = (promise: Promise<unknown>): Promise<{ code: string; message: string }> =>
  promise.then(
    () => ({ code: 'done', message: '' }),
    (error: { code: string; message: string }) => error,
  )
const asked = (system: TestSystem, taskId: string) => system.reached(taskId, 'a call asks', (events) => events.some((event) => event.type === 'question_asked'))

describe('a question of an agent', () => {
  it('waits while no daemon lives, and its answer completes the task on another one', async () => {
    await using system = await testSystem(server)
    await using _projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
    calling(system, 'ask_user', question)
    const first = await system.daemon()
    const { task_id } = await system.client.submit({ task: 'ask me' })
    await asked(system, task_id)
    await system.kill(first)
    await system.daemon()
    await until('the projector knows', async () => (await system.client.query('questions')).questions.length === 1)
    await using listed = startBeaver(['answer'], placeIn(server, system))
    expect((await listed.ended).out).toContain('Which branch? 1) main 2) next')
    await using wrong = startBeaver(['answer', task_id, 'old'], placeIn(server, system))
    expect(await wrong.ended).toMatchObject({ exit: 2, err: expect.stringContaining('Answer with one of: "main", "next".') as string })
    await using answered = startBeaver(['answer', task_id, '2'], placeIn(server, system))
    expect(await answered.ended).toMatchObject({ exit: 0, out: `Answered: next (${task_id})\n` })
    const events = await system.ended(task_id)
    expect(only(events, 'question_answered')).toMatchObject([{ data: { question_index: 0, answer: { action: 'accept', answers: ['next'] } } }])
    expect(only(events, 'question_asked')).toHaveLength(1)
    expect(events.at(-1)).toMatchObject({ type: 'task_completed', data: { final_output: 'It said: next' } })
    expect(system.provider.requests).toHaveLength(2)
  })

  it('suspends its task, which then holds no daemon, and is answered once', async () => {
    await using system = await testSystem(server)
    calling(system, 'ask_user', question)
    await system.daemon()
    const { task_id } = await system.client.submit({ task: 'ask me' })
    await system.reached(task_id, 'it is suspended', (events) => events.some((event) => event.type === 'task_suspended'))
    const answer = { callId: 'call_0', answer: { action: 'accept' as const, answers: ['main'] } }
    const both = await Promise.all([
      refusal(system.client.answer(task_id, answer)),
      refusal(system.client.answer(task_id, { ...answer, answer: { action: 'decline' } })),
    ])
    // The later one finds an answer, or no question that waits.
    expect(both.map(({ code }) => (code === 'not_found' ? 'conflict' : code)).toSorted()).toEqual(['conflict', 'done'])
    const events = await system.ended(task_id)
    expect(only(events, 'question_answered')).toHaveLength(1)
    expect(only(events, 'task_claimed')).toHaveLength(2)
  })

  it('is not offered where nobody can answer, and a call of it all the same is told so', async () => {
    await using system = await testSystem(server)
    calling(system, 'ask_user', question)
    await system.daemon()
    const { task_id } = await system.client.submit({ task: 'ask me', approvals: 'refuse' })
    const events = await system.ended(task_id)
    expect(only(events, 'run_started')[0]?.data.tools).not.toContain('ask_user')
    expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { error: 'tool_not_available' } }])
  })
})

describe('a call that a person changes', () => {
  it('is made with the arguments of the person, and the model and the journal have both versions', async () => {
    await using system = await testSystem(server, asksForEcho)
    calling(system, 'echo', { text: 'rm everything' })
    await system.daemon()
    const { task_id } = await system.client.submit({ task: 'say it' })
    await system.reached(task_id, 'it is suspended', (events) => events.some((event) => event.type === 'task_suspended'))
    const decide = (text: string) => system.client.decide(task_id, { callId: 'call_0', approved: true, arguments: text })
    expect(await refusal(decide('{"txt": 1}'))).toMatchObject({ code: 'invalid_arguments', message: expect.stringContaining('still waits') as string })
    expect(await refusal(decide('{"text": "the secret plan"}'))).toMatchObject({ code: 'invalid_arguments', message: expect.stringContaining('rule forbids it') as string }) // prettier-ignore
    expect(await refusal(decide('["text"]'))).toMatchObject({ code: 'invalid_arguments' })
    expect(told(await system.events(task_id))).not.toContain('approval_granted')
    await decide('{"text":"list everything"}')
    const events = await system.ended(task_id)
    expect(only(events, 'assistant_message_added')[0]?.data.tool_calls[0]?.arguments).toContain('rm everything')
    expect(only(events, 'approval_granted')).toMatchObject([{ data: { arguments: '{"text":"list everything"}' } }])
    expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { success: true, content: '{"text":"list everything"}' } }])
    const last = system.provider.requests.at(-1)
    expect(JSON.stringify(last)).toContain('changed the arguments before the call was made')
    expect(JSON.stringify(last)).toContain('rm everything')
  })
})
