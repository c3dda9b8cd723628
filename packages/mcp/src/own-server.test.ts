// Given Beaver's own MCP server among the servers of a configuration, as a child, over HTTP or behind a
// program that passes its tools on, when its tools are listed and called, then none of its workflow tools is
// a tool of an agent.
import { fileURLToPath } from 'node:url'
import { createTeamWorkflowTools } from '@beaver/workflows'
import { describe, expect, it } from 'vitest'
import { bench, call } from '../test/kit.ts'
import { calledFor } from '../test/unanswered-caller.ts'
import { isOwnWorkflow, workflowMeta } from './own-server.ts'
import { serveMcpHttp } from './server/serve-mcp.ts'
import { workflowServers } from './server/workflow-server.ts'

const ownProgram = fileURLToPath(new URL('../test/own-server.ts', import.meta.url))
const names = createTeamWorkflowTools().map(({ name }) => name)
const team = { task: {}, agents: {}, deliver: {} }

describe('a tool is one of the workflow tools of Beaver', () => {
  const schema = (properties: object) => ({ type: 'object', properties })

  it.each([
    [
      'that is marked, whatever its name is',
      { name: 'start_team', inputSchema: schema({}), _meta: workflowMeta('GraphWorkflow') },
      false,
      true,
    ],
    [
      'with the mark of a newer version',
      { name: 'x', inputSchema: schema({}), _meta: workflowMeta('LaterWorkflow') },
      false,
      true,
    ],
    ['that our server lists without a mark', { name: 'GraphWorkflow', inputSchema: schema({}) }, true, true],
    [
      'whose mark was dropped, with the name and the arguments',
      { name: 'SequentialWorkflow', inputSchema: schema(team) },
      false,
      true,
    ],
    [
      'that was renamed, with the arguments',
      { name: 'beaver__SequentialWorkflow', inputSchema: schema(team) },
      false,
      true,
    ],
    [
      'never by its name alone',
      { name: 'SequentialWorkflow', inputSchema: schema({ steps: {} }) },
      false,
      false,
    ],
    ['never by its arguments alone', { name: 'start_team', inputSchema: schema(team) }, false, false],
    ['never only because our server lists it', { name: 'read_file', inputSchema: schema({}) }, true, false],
  ])('%s', (_, tool, isBeaver, own) => expect(isOwnWorkflow(tool, isBeaver)).toBe(own))

  it('also if its properties are no object', () => {
    expect(
      isOwnWorkflow({ name: 'GraphWorkflow', inputSchema: { type: 'object', properties: null } }, false),
    ).toBe(false)
  })
})

describe("Beaver's own server", () => {
  it('as a child has no tool for agents, and a call does not reach it', async (test) => {
    const { start, program, lines } = bench(test)
    const connections = await start({ mine: program('', { args: [ownProgram], tools: ['GraphWorkflow'] }) })
    await connections.settled
    expect(connections.tools).toEqual([])
    expect(connections.status).toMatchObject([
      { state: 'connected', isBeaver: true, workflows: names, leftOut: [], pinned: 0 },
    ])
    expect(await call(connections, 'mine_GraphWorkflow')).toMatchObject({
      success: false,
      error: 'tool_not_available',
    })
    expect(lines('calls')).toEqual([])
  })

  it('over HTTP is recognised too', async (test) => {
    const { start } = bench(test)
    const called: string[] = []
    const token = 'a-token-of-this-test'
    const servers = workflowServers({
      category: 'team_workflow',
      version: '1.0.0',
      caller: calledFor((workflow) => called.push(workflow)),
    })
    const serving = await serveMcpHttp(servers, { token })
    test.onTestFinished(() => serving.close())
    const mine = {
      url: serving.url,
      headers: { authorization: `Bearer ${token}` },
      permission: 'allow' as const,
      timeout_ms: 30_000,
      restarts_max: 0,
    }
    const connections = await start({ mine })
    await connections.settled
    expect(connections.tools).toEqual([])
    expect(connections.status).toMatchObject([{ isBeaver: true, workflows: names }])
    expect(await call(connections, 'mine_GraphWorkflow')).toMatchObject({ error: 'tool_not_available' })
    expect(called).toEqual([])
  })
})

describe('a program that passes its tools on', () => {
  const passed = createTeamWorkflowTools().map(({ name, description, parameters }) => ({
    name: `beaver__${name}`,
    description,
    inputSchema: parameters,
  }))
  const other = { name: 'weather', description: 'Tells the weather.', inputSchema: { type: 'object' } }

  it('keeps its own tools, and no workflow tool', async (test) => {
    const { start, raw } = bench(test)
    const connections = await start({ hub: raw({ RAW_LIST: JSON.stringify([...passed, other]) }) })
    await connections.settled
    expect(connections.tools.map(({ name }) => name)).toEqual(['hub_weather'])
    expect(connections.status).toMatchObject([
      { isBeaver: false, workflows: passed.map(({ name }) => name), leftOut: [], pinned: 1 },
    ])
    expect(await call(connections, 'hub_beaver__GraphWorkflow')).toMatchObject({
      error: 'tool_not_available',
    })
    expect(await call(connections, 'hub_weather')).toMatchObject({ success: true, content: 'called' })
  })
})
