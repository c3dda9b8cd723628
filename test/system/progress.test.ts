// How far a call is, while it runs: told by a tool of a module, by one in a cell, by an MCP server and by a
// tool of an embedding program, and heard on the command line, at the gateway by two protocols, in an editor
// and in a program. The journal has none of it.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EventType } from '@ag-ui/core'
import { defineTool } from '@beaver/agent'
import type { LiveUpdate } from '@beaver/core'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { editorOf } from '../support/acp.ts'
import { agUiAgent, ran } from '../support/ag-ui-agent.ts'
import { placeIn, startBeaver } from '../support/cli.ts'
import { say, type SeenRequest, use } from '../support/fake-provider.ts'
import { protocolScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { testServices } from '../support/service.ts'

const rawServer = fileURLToPath(new URL('../../packages/mcp/test/raw-server.ts', import.meta.url))
const tellingTools = fileURLToPath(new URL('../support/telling-tools.ts', import.meta.url))
const answer = ({ text, results }: SeenRequest) => {
  const tool = /^tell by (\w+)/.exec(text)?.[1]
  return tool === undefined ? undefined : results.length === 0 ? use([tool, {}]) : say('told')
}
const ofServer = { tool_name: 'slow_t0', progress: 1, total: 2, message: 'Half way.' }

let scene: ProtocolScene
let workspace: string
beforeAll(async () => {
  // The server works in the folder of the daemon, and so finds the file that ends a call.
  const env = { RAW_PROGRESS: JSON.stringify([{ progress: 1, total: 2, message: 'Half way.' }]) }
  const slow = { command: process.execPath, args: [rawServer], env, permission: 'allow', trusted: true }
  scene = await protocolScene({ config: { sandbox: 'off', mcp: { slow } }, tools: [tellingTools], answer })
  workspace = scene.system.workspace
  scene.system.provider.answerBy(() => say('ready?'))
  await until('the server is connected', async () => {
    await scene.system.client.run({ task: 'look' })
    return scene.system.provider.requests.at(-1)?.tools.includes('slow_t0')
  })
  scene.again()
})
afterAll(() => scene[Symbol.asyncDispose]())
beforeEach(() => rmSync(join(workspace, 'finish'), { force: true }))
const finish = (): void => writeFileSync(join(workspace, 'finish'), '')

describe('the progress of a call', () => {
  it.each([
    ['slow_t0', { progress: 1, total: 2, message: 'Half way.' }],
    ['count_inline', { progress: 3, total: 4, message: 'Counts the sheep.' }],
    ['count_apart', { progress: 3, total: 4, message: 'Counts the sheep.' }],
  ])('of %s is heard while it runs, and the journal has none of it', async (tool, update) => {
    const { client } = scene.system
    const stop = new AbortController()
    const heard: LiveUpdate[] = []
    const task_id = `progress_${tool}`
    const listening = (async () => {
      for await (const each of client.live(task_id, { signal: stop.signal })) heard.push(each)
    })()
    await client.submit({ task: `tell by ${tool}`, task_id })
    await until('it is heard', () => heard.length > 0)
    finish()
    const events = await scene.system.ended(task_id)
    stop.abort()
    await listening
    expect(heard[0]).toEqual({
      run_id: expect.any(String) as string,
      agent_name: 'root',
      node_id: null,
      call_id: 'call_0',
      tool_name: tool,
      ...update,
    })
    expect(events.at(-1)?.type).toBe('task_completed')
    expect(JSON.stringify(events)).not.toContain(update.message)
  })
})

describe('it reaches', () => {
  it('the lines of "beaver run"', async () => {
    await using run = startBeaver(
      ['run', 'tell by slow_t0', '--json', '--deltas'],
      placeIn(scene.server, scene.system),
    )
    await until('it is printed', () => run.out.includes('"progress"'))
    finish()
    const { out, exit } = await run.ended
    expect(exit).toBe(0)
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { progress?: object })
    expect(lines.find(({ progress }) => progress !== undefined)).toMatchObject({ progress: ofServer })
  })

  it('a stream of the web chat', async () => {
    const headers = { authorization: `Bearer ${scene.tokens.ann}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ message: 'tell by slow_t0', stream: true })
    const { body: stream } = await fetch(`${scene.gateway.info.url}/api/chat`, {
      method: 'POST',
      headers,
      body,
    })
    let told = ''
    for await (const text of stream?.pipeThrough(new TextDecoderStream()) ?? []) {
      told += text
      if (told.includes('event: progress')) finish()
    }
    const [, data = '{}'] = /^event: progress\n(?:id: .*\n)?data: (.*)$/m.exec(told) ?? []
    expect(JSON.parse(data)).toMatchObject(ofServer)
    expect(told).toContain('event: result')
  })

  it('no reader without the role read of what a tool says', async () => {
    const headers = { authorization: `Bearer ${scene.tokens.writer}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ message: 'tell by slow_t0', stream: true })
    const { body: stream } = await fetch(`${scene.gateway.info.url}/api/chat`, {
      method: 'POST',
      headers,
      body,
    })
    let told = ''
    for await (const text of stream?.pipeThrough(new TextDecoderStream()) ?? []) {
      told += text
      if (told.includes('event: progress')) finish()
    }
    const [, data = '{}'] = /^event: progress\n(?:id: .*\n)?data: (.*)$/m.exec(told) ?? []
    expect(JSON.parse(data)).toMatchObject({ ...ofServer, message: null })
  })

  it('a client of AG-UI', async () => {
    const agent = agUiAgent(scene)
    agent.subscribe({ onCustomEvent: finish })
    const { events } = await ran(agent, 'tell by slow_t0')
    const called = events.find((event) => event.type === EventType.TOOL_CALL_START)
    expect(events.find(({ type }) => type === EventType.CUSTOM)).toMatchObject({
      name: 'beaver/progress',
      value: {
        toolCallId: called?.type === EventType.TOOL_CALL_START ? called.toolCallId : '',
        progress: 1,
        total: 2,
      },
    })
  })

  it('an editor, in the call that it shows', async () => {
    await using me = await editorOf(scene.server, scene.system)
    const session = await me.session(workspace)
    const prompted = me.prompt(session, 'tell by slow_t0')
    const shown = () => JSON.stringify(me.updates('tool_call_update'))
    await until('it is shown', () => shown().includes('50% · Half way.'))
    finish()
    expect(await prompted).toBe('end_turn')
    expect(me.updates('tool_call_update').at(-1)).toMatchObject({
      status: 'completed',
      content: [{ content: { text: 'called' } }],
    })
  })

  it('a program, from a tool of its own', async () => {
    await using kit = await testServices(scene.server)
    const heard = Promise.withResolvers<unknown>()
    const count = defineTool({
      name: 'count',
      description: 'Counts.',
      input: z.strictObject({}),
      async run(_, { progress }) {
        progress({ progress: 1, message: 'Begins.' })
        await heard.promise
        return 'counted'
      },
    })
    kit.provider.answerBy(({ results }) => (results.length === 0 ? use(['count', {}]) : say('done')))
    const service = kit.service({ tools: [count] })
    await service.start()
    const { status } = await service.submitDirect('count', { onProgress: heard.resolve })
    expect(status).toBe('completed')
    expect(await heard.promise).toMatchObject({
      tool_name: 'count',
      progress: 1,
      total: null,
      message: 'Begins.',
    })
  })
})
