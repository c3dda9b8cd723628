// MCP in both directions: an agent calls a tool of an MCP server, and a client of MCP calls a workflow of
// Beaver.
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { cliEntry, cliEnvironment, placeIn } from '../support/cli.ts'
import { say, use } from '../support/fake-provider.ts'
import { type SmokeScene, smokeScene } from '../support/smoke-scene.ts'
import { only } from '../support/system.ts'

let scene: SmokeScene
beforeAll(async () => void (scene = await smokeScene()))

it('an agent calls a tool of an MCP server that the configuration names', async () => {
  scene.script('Add two and three.', ({ tools, results }) => {
    if (!tools.includes('stub_add')) return say('The server is not there yet.')
    return results.length === 0 ? use(['stub_add', { a: 2, b: 3 }]) : say(`It is ${results.at(-1)}.`)
  })
  const taskId = await until('the server is connected', async () => {
    const { final_output, task_id } = await scene.system.client.run({ task: 'Add two and three.' })
    return final_output === 'The server is not there yet.' ? false : task_id
  })
  const events = await scene.system.events(taskId)
  expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { success: true, content: '5' } }])
  expect(only(events, 'task_completed')[0]?.data.final_output).toBe('It is 5.')
})

it('a client of MCP finds the workflows of Beaver, and has a team do its task', async () => {
  const { env, cwd } = placeIn(scene.server, scene.system, {
    BEAVER_HOME: join(scene.system.workspace, 'home'),
    BEAVER_CALLER: 'ben',
  })
  const client = new Client({ name: 'smoke', version: '1' }, { versionNegotiation: { mode: 'legacy' } })
  const args = [cliEntry, 'mcp']
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args,
      env: cliEnvironment(env),
      cwd,
      stderr: 'ignore',
    }),
  )
  onTestFinished(() => client.close())
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('SequentialWorkflow')
  scene.script('Report on the mill.', ({ messages }) =>
    say(`The ${/^- agent: (.+)$/m.exec(messages[0]?.content ?? '')?.[1]} has reported.`),
  )
  const agents = ['reader', 'writer'].map((name) => ({ name, instruction: `You are the ${name}.` }))
  const result = await client.callTool({
    name: 'SequentialWorkflow',
    arguments: { task: 'Report on the mill.', agents },
  })
  expect(result).toMatchObject({
    content: [{ text: 'The writer has reported.' }],
    structuredContent: { status: 'completed' },
  })
  const { task_id: taskId } = result.structuredContent as { task_id: string }
  expect((await scene.system.events(taskId)).at(-1)?.type).toBe('task_completed')
})
