// Beaver's own MCP server among the servers of a daemon, as a child and behind a program that passes its
// tools on: through neither a worker nests a team, nor a root passes the mode lock (D-05, D-09, D-12). The
// managed entry local_team_workflow_mcp is on the screens.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RecordedEvent } from '@beaver/core/journal'
import { until } from '@beaver/testing'
import { createTeamWorkflowTools } from '@beaver/workflows'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cliEntry, placeIn, type Ran } from '../support/cli.ts'
import { say, use } from '../support/fake-provider.ts'
import { keptCommands } from '../support/kept-system.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { only, type TestSystem, testSystem } from '../support/system.ts'

const rawServer = new URL('../../packages/mcp/test/raw-server.ts', import.meta.url).pathname
const team = (task: string) => ({ task, agents: [{ name: 'writer', instruction: 'Write.' }] })
const skill = `---
name: routed
description: Decides between a team and one agent.
---

\`\`\`beaver-team-workflow
{ "version": 1, "preferred_tool": "SequentialWorkflow", "agents": [{ "name": "writer", "instruction": "Write." }] }
\`\`\`
`

let server: TestServer
let system: TestSystem
let folder: string
beforeAll(async () => {
  server = await testServer()
  folder = await mkdtemp(join(tmpdir(), 'beaver-own-'))
  await mkdir(join(folder, 'skills', 'routed'), { recursive: true })
  await writeFile(join(folder, 'skills', 'routed', 'SKILL.md'), skill)
  const namespace = server.newNamespace()
  const passed = createTeamWorkflowTools().map(({ name, description, parameters }) => ({
    name: `beaver__${name}`,
    description,
    inputSchema: parameters,
  }))
  const env = { NATS_URL: server.url, BEAVER_NAMESPACE: namespace, BEAVER_HOME: join(folder, 'home') }
  const mcp = {
    mine: { command: process.execPath, args: [cliEntry, 'mcp'], env, cwd: folder, permission: 'allow' },
    hub: {
      command: process.execPath,
      args: [rawServer],
      env: { FIXTURE_DIR: folder, RAW_LIST: JSON.stringify([...passed, weather]) },
      permission: 'allow',
    },
  }
  system = await testSystem(server, { sandbox: 'off', skills: [join(folder, 'skills')], mcp }, { namespace })
  await system.daemon()
  await until('both servers are connected', async () => {
    const { out, err } = await beaver('tools', 'list')
    return ['mine', 'hub'].every((name) => `${out}${err}`.includes(`The MCP server ${name}: It`))
  })
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
  await server[Symbol.asyncDispose]()
})

const weather = {
  name: 'weather',
  description: 'Tells the weather.',
  inputSchema: { type: 'object', properties: {} },
}
const beaver = async (...args: readonly string[]): Promise<Ran> =>
  (await keptCommands()).run(args, placeIn(server, system, { BEAVER_TRUST: '1' }))
const resultsOf = (events: readonly RecordedEvent[]) =>
  only(events, 'tool_result_recorded').map(({ data }) => [data.tool_name, data.error])
const others = ['mine_SequentialWorkflow', 'hub_beaver__SequentialWorkflow']

it('a worker nests no team through it', async () => {
  system.provider.answerBy(({ text, tools, results }) => {
    if (tools.includes('SequentialWorkflow'))
      return results.length === 0 ? use(['SequentialWorkflow', team('inner')]) : say('done')
    if (text.includes('inner') && results.length === 0)
      return use(...others.map((name) => [name, team('nested')] as const))
    return say(results.join('\n') || 'nothing')
  })
  const { task_id } = await system.client.submit({ task: 'go' })
  const events = await system.ended(task_id)
  expect(resultsOf(events)).toEqual([
    ...others.map((name) => [name, 'tool_not_available']),
    ['SequentialWorkflow', null],
  ])
  expect(
    system.provider.requests
      .flatMap(({ tools }) => tools)
      .filter((name) => /^(mine|hub)_/.test(name) && name !== 'hub_weather'),
  ).toEqual([])
  expect(system.provider.requests.flatMap(({ tools }) => tools)).toContain('hub_weather')
  expect(system.provider.about('nested')).toEqual([])
})

it('a root that decided against a team does not get one through it', async () => {
  const steps = [
    use(['list_files', { path: '.' }]),
    use(...others.map((name) => [name, team('later')] as const), ['GraphWorkflow', {}]),
    say('done'),
  ]
  system.provider.answerBy(() => steps.shift() ?? say('too often'))
  const { task_id } = await system.client.submit({ task: 'alone', skill: 'routed' })
  const events = await system.ended(task_id)
  expect(only(events, 'execution_mode_selected')).toMatchObject([{ data: { execution_mode: 'single' } }])
  expect(resultsOf(events)).toEqual([
    ['list_files', null],
    ['GraphWorkflow', 'execution_mode_locked_single'],
    ...others.map((name) => [name, 'tool_not_available']),
  ])
  expect(only(events, 'task_team_run_started')).toEqual([])
})

it('the screens say that a server is our own, and which one Beaver manages', async () => {
  const { out, err } = await beaver('tools', 'list')
  expect(err).toContain(
    "The MCP server mine: It is Beaver's own server. Root agents have its workflow tools from Beaver itself",
  )
  expect(err).toContain("The MCP server hub: It passes on tools of Beaver's own server.")
  expect(out).toMatch(
    /^local_team_workflow_mcp +by Beaver +each daemon +team_workflow +本地 Agent Team Workflow 工具: SequentialWorkflow, /m,
  )
  const { tools } = JSON.parse((await beaver('tools', 'list', '--json')).out) as {
    tools: { id: string; server?: object }[]
  }
  const managed = tools.filter((row) => row.server !== undefined)
  expect(managed.map(({ id }) => id)).toEqual(createTeamWorkflowTools().map(({ name }) => `system:${name}`))
  expect(managed[0]?.server).toMatchObject({
    name: 'local_team_workflow_mcp',
    category: 'team_workflow',
    managed: true,
  })
  const doctor = await beaver('doctor')
  expect(doctor.out).toContain("It is Beaver's own server.")
  const status = await beaver('status', '--json')
  expect(JSON.parse(status.out)).toMatchObject({
    mcp: [
      { name: 'local_team_workflow_mcp', category: 'team_workflow', managed: true, runs_in: 'daemon' },
      { name: 'mine', managed: false, state: 'connected' },
      { name: 'hub', managed: false, state: 'connected' },
    ],
  })
  expect((await beaver('status')).out).toMatch(
    /^mcp +local_team_workflow_mcp +本地 Agent Team Workflow 工具, managed by Beaver, in each daemon\n +mine +connected, \d+ tools?\n +hub +connected, \d+ tools?$/m,
  )
  expect(out).toMatch(/^mine +connected, \d+ tools?$/m)
})
