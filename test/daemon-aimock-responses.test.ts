// Whole runs over the Responses API against a fake provider that others wrote (@copilotkit/aimock), with faults switched on.
import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { testServer, type TestServer } from './support/nats.ts'
import { only, type TestSystem, testSystem } from './support/system.ts'

let server: TestServer
let system: TestSystem
const mock = new LLMock({ port: 0, logLevel: 'silent' })

beforeAll(async () => {
  server = await testServer()
  mock.on({ userMessage: 'count', hasToolResult: false }, { reasoning: 'Both can be called.', toolCalls: [{ name: 'list_files', arguments: '{}' }] })
  mock.on({ userMessage: 'count', hasToolResult: true }, { content: 'Counted.' })
  await mock.start()
  const soon = { pause_ms_min: 20, pause_ms_max: 200 }
  system = await testSystem(server, {
    model: { circuit_failures_max: 100, protocol: 'responses' },
    retries: { provider_unavailable: soon, provider_timeout: soon, rate_limited: soon },
  })
  await system.daemon({ OPENAI_BASE_URL: `${mock.url}/v1`, BEAVER_MODEL: 'gpt-5-mini' })
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await mock.stop()
  await server[Symbol.asyncDispose]()
})

it.each([false, true])('tasks complete although the endpoint hangs up on some requests, streamed: %j', async (stream) => {
  mock.clearRequests()
  mock.setChaos({ disconnectRate: 0.3 })
  const tasks = await Promise.all(Array.from({ length: 4 }, (_, i) => system.client.submit({ task: `count ${i}`, stream })))
  const logs = await Promise.all(tasks.map(({ task_id }) => system.ended(task_id, 60_000)))
  expect(logs.map((events) => events.at(-1)?.type)).toEqual(logs.map(() => 'task_completed'))
  const answers = logs.flatMap((events) => only(events, 'assistant_message_added'))
  expect(answers).toHaveLength(8)
  // What the model thought is in the journal with its call, and goes back from there.
  expect(answers.filter(({ data }) => data.provider_state !== undefined)).toHaveLength(4)
  expect(mock.getRequests().length).toBe(answers.length + logs.flatMap((events) => only(events, 'provider_call_failed')).length)
})
