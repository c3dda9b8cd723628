// Whole runs against a fake provider that others wrote (@copilotkit/aimock), with faults switched on: drops,
// nonsense, hang-ups, rate limits. The task completes, every fault stands in the journal, no answer is asked
// for twice. The same over the Responses API.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, type TestSystem, testSystem } from '../support/system.ts'

let server: TestServer
let system: TestSystem
const mock = new LLMock({ port: 0, logLevel: 'silent' })
/** Speaks the Responses API. */
const thinking = new LLMock({ port: 0, logLevel: 'silent' })

beforeAll(async () => {
  server = await testServer()
  mock.on(
    { userMessage: 'count', hasToolResult: false },
    {
      toolCalls: [
        { name: 'echo', arguments: '{"text":"one"}' },
        { name: 'list_files', arguments: '{}' },
      ],
    },
  )
  mock.on({ userMessage: 'count', hasToolResult: true }, { content: 'Counted.' })
  await mock.start()
  thinking.on(
    { userMessage: 'count', hasToolResult: false },
    { reasoning: 'Both can be called.', toolCalls: [{ name: 'list_files', arguments: '{}' }] },
  )
  thinking.on({ userMessage: 'count', hasToolResult: true }, { content: 'Counted.' })
  await thinking.start()
  // Five drops in a row are an outage, which is waited for: with the usual pauses a few unlucky tries more
  // take minutes.
  const soon = { pause_ms_min: 20, pause_ms_max: 200 }
  system = await testSystem(server, {
    model: { circuit_failures_max: 100 },
    models: {
      thinking: {
        base_url: `${thinking.url}/v1`,
        name: 'gpt-5-mini',
        protocol: 'responses',
        circuit_failures_max: 100,
      },
    },
    profiles: ['thinker.json'],
    retries: { provider_unavailable: soon, provider_timeout: soon, rate_limited: soon },
  })
  await writeFile(
    join(system.workspace, 'thinker.json'),
    JSON.stringify({ name: 'thinker', system_prompt: 'You count.', model: 'thinking' }),
  )
  await system.daemon({ OPENAI_BASE_URL: `${mock.url}/v1`, BEAVER_MODEL: 'gpt-5-mini' })
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await mock.stop()
  await thinking.stop()
  await server[Symbol.asyncDispose]()
})

describe.each([
  ['whole', false],
  ['streamed', true],
])('with %s answers', (_, stream) => {
  it.each([
    ['drops', { dropRate: 0.4 }],
    ['answers nonsense to', { malformedRate: 0.4 }],
    ['hangs up on', { disconnectRate: 0.4 }],
  ])('tasks complete although the endpoint %s four requests in ten', async (__, chaos) => {
    mock.clearRequests()
    mock.setChaos(chaos)
    const tasks = await Promise.all(
      Array.from({ length: 6 }, (___, i) => system.client.submit({ task: `count ${i}`, stream })),
    )
    const logs = await Promise.all(tasks.map(({ task_id }) => system.ended(task_id, 60_000)))
    const failures = logs.flatMap((events) => only(events, 'provider_call_failed'))
    for (const events of logs) {
      const end = events.at(-1)
      // Three nonsensical answers in a row may come by chance: then the task says so, and has not hung.
      if (end?.type === 'task_completed') expect(only(events, 'assistant_message_added')).toHaveLength(2)
      else
        expect(end).toMatchObject({
          type: 'task_failed',
          data: {
            failure: { class: expect.stringMatching(/provider_unavailable|malformed_output/) as string },
          },
        })
    }
    expect(logs.filter((events) => events.at(-1)?.type === 'task_completed').length).toBeGreaterThanOrEqual(1)
    const answers = logs.flatMap((events) => only(events, 'assistant_message_added'))
    expect(mock.getRequests().length).toBe(answers.length + failures.length)
  })
})

it.each([false, true])(
  'tasks complete although an endpoint of the Responses API hangs up on some requests, streamed: %j',
  async (stream) => {
    thinking.clearRequests()
    thinking.setChaos({ disconnectRate: 0.3 })
    const tasks = await Promise.all(
      Array.from({ length: 4 }, (_, i) =>
        system.client.submit({ task: `count ${i}`, profile: 'thinker', stream }),
      ),
    )
    const logs = await Promise.all(tasks.map(({ task_id }) => system.ended(task_id, 60_000)))
    expect(logs.map((events) => events.at(-1)?.type)).toEqual(logs.map(() => 'task_completed'))
    const answers = logs.flatMap((events) => only(events, 'assistant_message_added'))
    expect(answers).toHaveLength(8)
    // What the model thought is in the journal with its call, and goes back from there.
    expect(answers.filter(({ data }) => data.provider_state !== undefined)).toHaveLength(4)
    expect(thinking.getRequests().length).toBe(
      answers.length + logs.flatMap((events) => only(events, 'provider_call_failed')).length,
    )
  },
)
