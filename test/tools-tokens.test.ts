// The tools that a default root is sent with each request, through a real daemon.
import { estimateTokens } from '@beaver/core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { say } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { testSystem, type TestSystem } from './support/system.ts'

let server: TestServer
let system: TestSystem
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server, {})
  await system.daemon()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

it('the tools of a default root take at most 1,620 tokens, and they come before the messages', async () => {
  system.provider.answerBy(() => say('done'))
  await system.client.run({ task: 'Do it.', task_id: 'default-root' })
  const [request] = system.provider.requests
  const body = JSON.parse(request?.body ?? '{}') as { tools: { function: { name: string } }[] }
  const tools = body.tools.map((tool) => tool.function)
  expect(tools.map(({ name }) => name)).toContain('GraphWorkflow')
  expect(tools.length).toBeGreaterThan(12)
  expect(estimateTokens(JSON.stringify(tools))).toBeLessThanOrEqual(1_620)
  expect(Object.keys(body).at(-1)).toBe('messages')
})
