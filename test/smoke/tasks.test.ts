// What a client does with a task: submits it, and cancels, steers, retries, allows and answers what belongs
// to it.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { held, until } from '@beaver/testing'
import { beforeAll, expect, it } from 'vitest'
import { type FakeReply, refuse, say, use } from '../support/fake-provider.ts'
import { type SmokeScene, smokeScene } from '../support/smoke-scene.ts'
import { only, told } from '../support/system.ts'

let scene: SmokeScene
beforeAll(async () => void (scene = await smokeScene()))

const asked = (text: string, times = 1): Promise<unknown> =>
  until(`the model is asked about "${text}"`, () => scene.system.provider.about(text).length >= times, {
    everyMs: 5,
  })

it('runs a task, and gives its result with what it used', async () => {
  const ended = await scene.system.client.run({ task: 'Say how you are.', session_id: 'well-being' })
  expect(ended).toMatchObject({
    status: 'completed',
    session_id: 'well-being',
    final_output: 'You said: Say how you are.',
    model: 'fake-model',
  })
  expect(ended.usage).toMatchObject({ input_tokens: 10, output_tokens: 5, calls: 1 })
})

it('has a team of agents do a task, each with what those before it found', async () => {
  const agents = ['finder', 'teller'].map((name) => ({ name, instruction: `Do the part of the ${name}.` }))
  scene.script('Count the bees.', ({ messages, results }) => {
    const agent = /^- agent: (.+)$/m.exec(messages[0]?.content ?? '')?.[1]
    if (agent === 'finder') return say('There are 40 bees.')
    if (agent === 'teller')
      return say(
        messages.at(-1)?.content?.includes('There are 40 bees.') === true
          ? 'It says 40.'
          : 'It says nothing.',
      )
    return results.length === 0
      ? use(['SequentialWorkflow', { task: 'Count the bees.', agents }])
      : say('The team is done.')
  })
  const { status, final_output, task_id } = await scene.system.client.run({ task: 'Count the bees.' })
  expect([status, final_output]).toEqual(['completed', 'The team is done.'])
  const events = await scene.system.events(task_id)
  expect(only(events, 'run_started').map(({ data }) => data.agent_name)).toEqual(['root', 'finder', 'teller'])
  expect(JSON.parse(only(events, 'tool_result_recorded').at(-1)?.data.content ?? '')).toMatchObject({
    outcome: 'complete',
    final_output: 'It says 40.',
  })
})

it('cancels a task while it runs, and closes the request to the model', async () => {
  const { task_id } = await scene.system.client.submit({ task: 'wait cancelled' })
  await asked('wait cancelled')
  await scene.system.client.cancel(task_id, 'No need any more.')
  const events = await scene.system.ended(task_id)
  expect(events.at(-1)).toMatchObject({
    type: 'task_cancelled',
    data: { failure: { class: 'cancelled', message: 'No need any more.' } },
  })
  await until('the request is closed', () => scene.system.provider.about('wait cancelled')[0]?.abandoned, {
    everyMs: 5,
  })
})

it('steers a task while it runs: the model is told before it answers finally', async () => {
  const first = held<FakeReply>()
  scene.script('Write about tea.', ({ messages }) =>
    messages.at(-1)?.content?.includes('Leave out the milk.') === true ? say('Tea.') : first.promise,
  )
  const { task_id } = await scene.system.client.submit({ task: 'Write about tea.' })
  await asked('Write about tea.')
  await scene.system.client.steer(task_id, 'Leave out the milk.')
  first.settle(say('Tea with milk.'))
  expect((await scene.system.ended(task_id)).at(-1)).toMatchObject({
    type: 'task_completed',
    data: { final_output: 'Tea.' },
  })
})

it('retries a task that failed: what was done is not done again', async () => {
  let key = 'wrong'
  const agents = ['first', 'second'].map((name) => ({ name, instruction: `Do the ${name} part.` }))
  scene.script('Mend the roof.', ({ messages }) => {
    const agent = /^- agent: (.+)$/m.exec(messages[0]?.content ?? '')?.[1] ?? ''
    return agent === 'second' && key === 'wrong'
      ? refuse(401, 'Incorrect API key')
      : say(`The ${agent} part is done.`)
  })
  const failed = await scene.system.client.run({
    workflow: { name: 'SequentialWorkflow', arguments: { task: 'Mend the roof.', agents } },
  })
  expect(failed.status).toBe('incomplete')
  key = 'right'
  const { task_id, retry_of } = await scene.system.client.retry(failed.task_id)
  expect(retry_of).toBe(failed.task_id)
  expect((await scene.system.ended(task_id)).at(-1)).toMatchObject({
    type: 'task_completed',
    data: { final_output: 'The second part is done.' },
  })
  expect(scene.system.provider.about('Do the first part.')).toHaveLength(1)
})

it('asks before it writes a file, and writes it when a person allows the call', async () => {
  const { task_id } = await scene.system.client.submit({ task: 'write allowed' })
  const waiting = await scene.system.reached(
    task_id,
    'the call waits',
    (events) => only(events, 'approval_requested').length === 1,
  )
  const { call_id: callId, tool_name: tool } = only(waiting, 'approval_requested')[0]?.data ?? {
    call_id: '',
    tool_name: '',
  }
  expect([tool, told(waiting).includes('tool_call_started')]).toEqual(['write_file', false])
  await scene.system.client.decide(task_id, { callId, approved: true })
  expect((await scene.system.ended(task_id)).at(-1)?.type).toBe('task_completed')
  expect(await readFile(join(scene.system.workspace, 'allowed.txt'), 'utf8')).toBe('x')
})

it('asks a person a question of an agent, and gives the agent the answer', async () => {
  const { task_id } = await scene.system.client.submit({
    task: 'ask_user {"question": "Which branch?", "options": ["main", "next"]}',
  })
  const waiting = await scene.system.reached(
    task_id,
    'the question waits',
    (events) => only(events, 'question_asked').length === 1,
  )
  const callId = only(waiting, 'question_asked')[0]?.data.call_id ?? ''
  await scene.system.client.answer(task_id, { callId, answer: { action: 'accept', answers: ['next'] } })
  expect((await scene.system.ended(task_id)).at(-1)).toMatchObject({
    type: 'task_completed',
    data: { final_output: 'So: next' },
  })
})
