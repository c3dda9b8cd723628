// The gateway as its clients meet it: plain HTTP, and the official clients of OpenAI, A2A and AG-UI, one
// scenario each.
import { TaskState } from '@a2a-js/sdk'
import OpenAI from 'openai'
import { beforeAll, expect, it } from 'vitest'
import { a2aClient, all, answerIn, held as heldText, message, sent } from '../support/a2a-agent.ts'
import { agUiAgent, contents, lastOf, ran, types } from '../support/ag-ui-agent.ts'
import { type SmokeScene, smokeScene } from '../support/smoke-scene.ts'

let scene: SmokeScene
beforeAll(async () => void (scene = await smokeScene()))

const openai = (): OpenAI =>
  new OpenAI({ baseURL: `${scene.gateway.info.url}/v1`, apiKey: scene.tokens.ann, maxRetries: 0 })

it('HTTP: a task is submitted, followed to its end by server-sent events, and read with its result', async () => {
  const headers = { authorization: `Bearer ${scene.tokens.ann}`, 'content-type': 'application/json' }
  const tasks = `${scene.gateway.info.url}/api/v1/tasks`
  const submitted = await fetch(tasks, {
    method: 'POST',
    headers,
    body: JSON.stringify({ task: 'Hello over HTTP.' }),
  })
  const { task_id: taskId } = (await submitted.json()) as { task_id: string }
  expect(submitted.status).toBe(202)
  const events = await fetch(`${tasks}/${taskId}/events`, {
    headers: { ...headers, accept: 'text/event-stream' },
  })
  const told = [...(await events.text()).matchAll(/^event: (.+)$/gm)].map(([, type]) => type)
  expect([told[0], told.at(-1)]).toEqual(['task_submitted', 'task_completed'])
  await scene.known(taskId)
  const read = await fetch(`${tasks}/${taskId}`, { headers })
  expect(await read.json()).toMatchObject({
    task: { task_id: taskId, status: 'completed' },
    final_output: 'You said: Hello over HTTP.',
  })
  expect((await fetch(tasks, { method: 'POST', body: '{"task":"x"}' })).status).toBe(401)
})

it('OpenAI, chat completions: an answer is streamed as the model writes it', async () => {
  const stream = await openai().chat.completions.create({
    model: 'beaver',
    messages: [{ role: 'user', content: 'pieces' }],
    stream: true,
  })
  const said: string[] = []
  let end: string | null = null
  for await (const { choices } of stream) {
    said.push(choices[0]?.delta.content ?? '')
    end = choices[0]?.finish_reason ?? end
  }
  expect([said.join(''), end]).toEqual(['Word by word.', 'stop'])
})

it('OpenAI, responses: a response goes on from the one before it', async () => {
  const first = await openai().responses.create({ model: 'beaver', input: 'My name is Bo.' })
  const second = await openai().responses.create({
    model: 'beaver',
    input: 'all',
    previous_response_id: first.id,
  })
  expect([second.status, second.output_text]).toEqual([
    'completed',
    'user: My name is Bo. | assistant: You said: My name is Bo. | user: all',
  ])
  expect(await openai().responses.retrieve(first.id)).toMatchObject({
    status: 'completed',
    output_text: 'You said: My name is Bo.',
  })
})

it('A2A: another agent finds Beaver by its card, and gets its answer at once or as a stream', async () => {
  const client = await a2aClient(scene, 'ann')
  const task = await sent(client, message('Hello from an agent.'))
  expect([task.status?.state, answerIn(task)]).toEqual([
    TaskState.TASK_STATE_COMPLETED,
    'You said: Hello from an agent.',
  ])
  const updates = await all(client.sendMessageStream(message('pieces')))
  expect(heldText(updates)).toBe('Word by word.')
})

it('AG-UI: a run tells its text and its calls of tools in order, and ends with the result', async () => {
  const agent = agUiAgent(scene, { who: 'ann', threadId: 'thread of the smoke test' })
  const run = await ran(agent, 'look')
  expect(types(run.events).filter((type) => !type.startsWith('TEXT'))).toEqual([
    'RUN_STARTED',
    'TOOL_CALL_START',
    'TOOL_CALL_ARGS',
    'TOOL_CALL_END',
    'TOOL_CALL_RESULT',
    'RUN_FINISHED',
  ])
  expect(lastOf(run)).toMatchObject({ outcome: { type: 'success' }, result: 'There are files.' })
  expect(contents(agent.messages).at(-1)).toBe('assistant: There are files.')
})
