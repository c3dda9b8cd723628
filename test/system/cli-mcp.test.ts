// `beaver mcp` as an MCP client starts it: a child on stdin and stdout, or a URL; with a real daemon and
// without one. That a task outlives `beaver mcp` is in cli-mcp-questions.test.ts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mcpRequest, until as untilOf } from '@beaver/testing'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  cliEntry,
  cliEnvironment,
  type CliProcess,
  commandHost,
  placeIn,
  type Ran,
  startBeaver,
} from '../support/cli.ts'
import { say } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import type { TestSystem } from '../support/system.ts'

const team = {
  task: 'Report.',
  agents: ['reader', 'writer'].map((name) => ({ name, instruction: `You are the ${name}.` })),
}

const until: typeof untilOf = (what, look, options) => untilOf(what, look, { everyMs: 10, ...options })

let scene: ProtocolScene
let system: TestSystem
let folder: string
beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
  folder = mkdtempSync(join(tmpdir(), 'beaver-cli-mcp-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const environment = (more: Record<string, string> = {}): Record<string, string> => ({
  BEAVER_HOME: join(folder, 'home'),
  ...more,
})
const running = (): Record<string, string> => environment(placeIn(scene.server, system).env)

async function clientOf(env: Record<string, string>, mode: 'auto' | 'legacy' = 'legacy'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [cliEntry, 'mcp'],
      env: cliEnvironment(env),
      cwd: folder,
      stderr: 'inherit',
    }),
  )
  onTestFinished(() => client.close())
  return client
}

let tasks = 0
const host = commandHost()
afterAll(() => host[Symbol.asyncDispose]())
const beaver = (args: readonly string[], env = environment()): Promise<Ran> =>
  host.run(args, { cwd: folder, env })

describe('beaver mcp', () => {
  it('runs a team on the daemon, tells how far it is, passes on what the daemon refuses, and cancels what its client cancels or leaves', async () => {
    system.provider.answerBy(({ text }) => say(text.includes('writer') ? 'The report.' : 'The notes.'))
    const client = await clientOf(running())
    const told: (string | undefined)[] = []
    const result = await client.callTool(
      { name: 'SequentialWorkflow', arguments: team },
      { onprogress: ({ message }) => told.push(message) },
    )
    expect(result).toMatchObject({
      content: [{ type: 'text', text: expect.any(String) as string }],
      structuredContent: { status: 'completed' },
    })
    expect(told).toContain('reader has completed.')
    const { task_id: taskId } = result.structuredContent as { task_id: string }
    expect((await system.events(taskId)).at(-1)).toMatchObject({ type: 'task_completed' })
    const [first, ...rest] = team.agents
    const refused = await client.callTool({
      name: 'SequentialWorkflow',
      arguments: { ...team, agents: [{ ...first, use_skill: 'nope' }, ...rest] },
    })
    expect(refused).toMatchObject({ isError: true, structuredContent: { error: { code: 'unknown_skill' } } })
    await cancelled(client)
    const calling = await started(client, 'Wait until the client is gone.')
    await client.close()
    await expect(calling.ended).rejects.toThrow()
    await until('the model was let go', calling.letGo)
  })

  it.each(['auto', 'legacy'] as const)(
    'says again and again which agent works, while a model is silent (%s)',
    async (mode) => {
      const client = await clientOf(running(), mode)
      system.provider.answerBy(() => null)
      const told: string[] = []
      const stop = new AbortController()
      const calling = client.callTool(
        { name: 'SequentialWorkflow', arguments: team },
        { signal: stop.signal, onprogress: ({ message = '' }) => told.push(message) },
      )
      calling.catch(() => {})
      await until(
        'it was told twice',
        () => told.filter((line) => /^reader has worked for [\d.]+ s\.$/.test(line)).length > 1,
      )
      expect(told.join('\n')).toMatch(/^The task (\S+) was accepted\. Look at it with: beaver show \1$/m)
      stop.abort()
      await expect(calling).rejects.toThrow()
    },
  )

  it('cancels the tasks of open calls on SIGTERM, and says how to find the task of a killed process', async () => {
    system.provider.answerBy(() => null)
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const child = spawn(process.execPath, [cliEntry, 'mcp'], {
        cwd: folder,
        env: cliEnvironment(running()),
        stdio: ['pipe', 'ignore', 'pipe'],
      })
      const ended = once(child, 'close')
      let err = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
      const clientInfo = { name: 'test', version: '1' }
      const asked = [
        {
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
        },
        { method: 'notifications/initialized' },
        {
          id: 2,
          method: 'tools/call',
          params: { name: 'SequentialWorkflow', arguments: { ...team, task: `Wait for ${signal}.` } },
        },
      ]
      for (const each of asked) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...each })}\n`)
      await until('the model was asked', () => system.provider.about(`Wait for ${signal}.`).length > 0)
      // The daemon may be quicker than the answer to the submit.
      const [, taskId = ''] = await until('it says how to find the task', () =>
        /Cancel it then with: beaver cancel (\S+)\n/.exec(err),
      )
      child.kill(signal)
      await ended
      if (signal === 'SIGKILL') {
        expect((await system.events(taskId)).map(({ type }) => type)).not.toContain('task_cancelled')
        await system.client.cancel(taskId, 'The test has ended.')
      }
      await system.ended(taskId)
      expect((await system.events(taskId)).at(-1)?.type).toBe('task_cancelled')
    }
  })

  it('cancels the task when a client of the newer protocol cancels the call', async () => {
    await cancelled(await clientOf(running(), 'auto'))
  })

  it('answers soon with no_daemon when the configured server is not there', async () => {
    const client = await clientOf(environment({ NATS_URL: 'nats://127.0.0.1:1' }))
    expect(await client.callTool({ name: 'SequentialWorkflow', arguments: team })).toMatchObject({
      isError: true,
      structuredContent: {
        error: { code: 'no_daemon', message: expect.stringContaining('beaver up') as string },
      },
    })
  })

  /** A call whose model never answers. */
  async function started(client: Client, task: string) {
    system.provider.answerBy(() => null)
    const stop = new AbortController()
    const ended = client.callTool(
      { name: 'SequentialWorkflow', arguments: { ...team, task } },
      { signal: stop.signal },
    )
    ended.catch(() => {})
    await until('the model was asked', () => system.provider.about(task).length > 0)
    return {
      ended,
      stop: () => stop.abort(),
      letGo: () => system.provider.about(task).at(-1)?.abandoned === true,
    }
  }
  async function cancelled(client: Client): Promise<void> {
    const calling = await started(client, `Wait for ever, ${++tasks}.`)
    calling.stop()
    await expect(calling.ended).rejects.toThrow()
    await until('the model was let go', calling.letGo)
  }

  it('refuses an unknown category', async () => {
    expect(await beaver(['mcp', '--category', 'x'])).toEqual({
      exit: 2,
      out: '',
      err: 'There is no category "x". The categories are: team_workflow.\n',
    })
  })

  it('serves over HTTP until it is told to end, and answers soon with no_daemon while no system runs', async () => {
    await using serving = startBeaver(['mcp', '--http'], { cwd: folder, env: environment() })
    const line = /^MCP at (http:\/\/127\.0\.0\.1:\d+\/mcp)\nAuthorization: (Bearer \S{32})\n$/
    const [, url = '', authorization = ''] = await until('the URL and the token are told', () =>
      line.exec(serving.err),
    )
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    expect((await fetch(url, { method: 'POST' })).status).toBe(401)
    await client.connect(
      new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization } } }),
    )
    expect((await client.listTools()).tools).toHaveLength(5)
    await client.close()
    const ask = (method: string, params: Record<string, unknown>) =>
      mcpRequest(url, authorization.replace('Bearer ', ''), { method, params })
    const asked = { name: 'SequentialWorkflow', arguments: team }
    const advice = { message: expect.stringContaining('beaver up') as string }
    expect(await ask('tools/call', asked)).toMatchObject({
      result: { isError: true, structuredContent: { error: { code: 'no_daemon', ...advice } } },
    })
    expect(await ask('tasks/get', { taskId: 'task_1' })).toMatchObject({
      error: { code: -32_603, ...advice },
    })
    serving.kill('SIGTERM')
    expect((await serving.ended).exit).toBe(0)
  })
})

describe('tasks of MCP', () => {
  const token = 'a-token-of-the-test'
  let serving: CliProcess
  let url = ''
  beforeAll(async () => {
    serving = startBeaver(['mcp', '--http'], { cwd: folder, env: { ...running(), BEAVER_MCP_TOKEN: token } })
    ;[, url = ''] = await until('the URL is told', () => /^MCP at (http:\S+)$/m.exec(serving.err))
  })
  afterAll(() => serving[Symbol.asyncDispose]())
  const ask = (method: string, params: object): Promise<Record<string, unknown>> =>
    mcpRequest(url, token, { method, params: { ...params } })

  it('tell how far the team is, and are cancelled by their client', async () => {
    const notes = Promise.withResolvers<void>()
    system.provider.answerBy(async ({ text }) =>
      text.includes('writer') ? null : (await notes.promise, say('The notes.')),
    )
    const { result } = (await ask('tools/call', { name: 'SequentialWorkflow', arguments: team })) as {
      result: { resultType: string; taskId: string }
    }
    const { taskId } = result
    expect(result.resultType).toBe('task')
    expect(await ask('tasks/get', { taskId })).toMatchObject({ result: { status: 'working', taskId } })
    notes.resolve()
    await until('the reader has ended', async () =>
      JSON.stringify(await ask('tasks/get', { taskId })).includes('1 of 2 nodes have ended'),
    )
    expect(await ask('tasks/cancel', { taskId })).toMatchObject({ result: { resultType: 'complete' } })
    await system.ended(taskId)
    expect(await ask('tasks/get', { taskId })).toMatchObject({ result: { status: 'cancelled' } })
    expect(await ask('tasks/cancel', { taskId })).toMatchObject({ result: { resultType: 'complete' } })
  })

  it('are only those that a client of MCP started', async () => {
    system.provider.answerBy(() => say('Done.'))
    const { task_id: taskId } = await system.client.run({ task: 'Not for MCP.' })
    for (const method of ['tasks/get', 'tasks/cancel'])
      expect(await ask(method, { taskId })).toMatchObject({ error: { code: -32_602 } })
  })
})

describe('beaver mcp pins and approve', () => {
  const home = (): string => join(folder, 'pins')
  const pin = {
    server: 'files',
    tool: 'read',
    hash: 'a'.repeat(64),
    definition: '{"description":"Reads."}',
    pinned_at: '2026-01-01T00:00:00.000Z',
  }
  const changed = {
    ...pin,
    tool: 'write',
    changed: { hash: 'b'.repeat(64), definition: '{"description":"Now it mails."}', seen_at: pin.pinned_at },
  }

  it('show what changed, and accept it', async () => {
    const env = environment({ BEAVER_HOME: home() })
    expect((await beaver(['mcp', 'approve', 'files'], env)).exit).toBe(1)
    rmSync(home(), { recursive: true, force: true })
    mkdirSync(home(), { recursive: true })
    writeFileSync(join(home(), 'mcp-pins.json'), JSON.stringify({ version: 1, pins: [pin, changed] }))
    const listed = await beaver(['mcp', 'pins'], env)
    expect(listed.out).toContain(
      'files write has changed and is withheld.\n  was  {"description":"Reads."}\n  now  {"description":"Now it mails."}',
    )
    expect(await beaver(['mcp', 'approve', 'files', 'write'], env)).toEqual({
      exit: 0,
      out: 'Approved: write\n',
      err: '',
    })
    expect(JSON.parse(readFileSync(join(home(), 'mcp-pins.json'), 'utf8'))).toMatchObject({
      pins: [pin, { tool: 'write', hash: 'b'.repeat(64) }],
    })
    // Nobody looked at the other one yet: it was pinned at first sight.
    expect((await beaver(['mcp', 'approve', 'files'], env)).out).toBe('Approved: read\n')
    expect((await beaver(['mcp', 'pins'], env)).out).toMatch(/files +read +approved/)
    expect((await beaver(['mcp', 'approve', 'files'], env)).out).toBe(
      'No tool of this server waits for an approval.\n',
    )
  })

  it('leave a file alone that they cannot read', async () => {
    const env = environment({ BEAVER_HOME: home() })
    writeFileSync(join(home(), 'mcp-pins.json'), 'not JSON')
    for (const args of [['pins'], ['approve', 'files']])
      expect((await beaver(['mcp', ...args], env)).exit).toBe(2)
    expect(readFileSync(join(home(), 'mcp-pins.json'), 'utf8')).toBe('not JSON')
  })
})
