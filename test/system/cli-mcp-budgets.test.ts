// `beaver mcp` as an MCP client starts it, and calls whose task comes to a limit of its budget.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { cliEntry, cliEnvironment, placeIn } from '../support/cli.ts'
import { say } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { budgetedScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { testSystem, type TestSystem } from '../support/system.ts'

let scene: ProtocolScene
let folder: string
beforeAll(async () => {
  scene = await budgetedScene()
  folder = mkdtempSync(join(tmpdir(), 'beaver-cli-mcp-budgets-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const team = {
  name: 'SequentialWorkflow',
  arguments: {
    task: 'Compare the offers.',
    agents: ['reader', 'writer'].map((name) => ({ name, instruction: `You are the ${name}.` })),
  },
}

async function clientAt(server: TestServer, system: TestSystem, mode: 'auto' | 'legacy'): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } },
  )
  // A model may control the client, so this one is never asked to give more.
  client.setRequestHandler('elicitation/create', () => expect.fail('The client was asked.'))
  const env = cliEnvironment({ BEAVER_HOME: join(folder, 'home'), ...placeIn(server, system).env })
  await client.connect(
    new StdioClientTransport({
      ...{ command: process.execPath, args: [cliEntry, 'mcp'] },
      ...{ env, cwd: folder, stderr: 'inherit' },
    }),
  )
  onTestFinished(() => client.close())
  return client
}

it.each(['auto', 'legacy'] as const)(
  'a call whose task waits for more in a budget says how a person gives it, and goes on then (%s)',
  async (mode) => {
    scene.system.provider.answerBy(({ text }) => say(text.includes('writer') ? 'The report.' : 'The notes.'))
    const client = await clientAt(scene.server, scene.system, mode)
    const told: string[] = []
    const calling = client.callTool(team, { onprogress: ({ message = '' }) => told.push(message) })
    const line = await until('it says what it waits for', () =>
      told.find((each) => each.includes('budget raise')),
    )
    const [, taskId = ''] = /beaver budget raise (\S+) /.exec(line) ?? []
    expect(line).toBe(
      `The task waits: the budget of the task has no place for the next call (used 1 of 1 model call, needed up to 1 model call). Most was used by reader (1 model call). A person gives more with: beaver budget raise ${taskId} --model-calls 1, or stops the task with: beaver cancel ${taskId}`,
    )
    await scene.system.client.raise(taskId, { model_calls: 5 })
    expect(await calling).toMatchObject({
      content: [{ text: 'The report.' }],
      structuredContent: { task_id: taskId, status: 'completed' },
    })
  },
)

it('a call whose task ended at a budget is an error that says so', async () => {
  await using server = await testServer()
  await using system = await testSystem(server, {
    budgets: [{ of: 'task', model_calls: 0, exceeded: 'end' }],
  })
  await system.daemon()
  const result = await (await clientAt(server, system, 'auto')).callTool(team)
  expect(result).toMatchObject({
    isError: true,
    structuredContent: {
      error: { message: expect.stringContaining('used 0 of 0 model calls') as string },
    },
  })
})
