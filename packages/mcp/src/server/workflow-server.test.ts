// The MCP server as clients see it: on a pair of streams and over HTTP, in both eras of the protocol, with a
// caller of our own.
import { request } from 'node:http'
import { PassThrough } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { until } from '@beaver/testing'
import {
  Client,
  LOG_LEVEL_META_KEY,
  ReadBuffer,
  serializeMessage,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serveMcpHttp, serveMcpStdio } from './serve-mcp.ts'
import type { WorkflowCaller, WorkflowCallResult, WorkflowProgress } from './workflow-caller.ts'
import { workflowServers } from './workflow-server.ts'

const token = 'a token of the test'.replaceAll(' ', '-')
const withToken = { requestInit: { headers: { authorization: `Bearer ${token}` } } }

const team = {
  task: 'Write a report.',
  agents: [
    { name: 'reader', instruction: 'Read.' },
    { name: 'writer', instruction: 'Write.' },
  ],
}

interface Call {
  readonly workflow: string
  readonly args: unknown
  readonly signal: AbortSignal
  readonly progress: (progress: WorkflowProgress) => void
  readonly waits: (message: string) => void
  readonly answer: (result: WorkflowCallResult) => void
}

/** A daemon that does what the test says. */
function heldCaller(): WorkflowCaller & { readonly calls: Call[] } {
  const calls: Call[] = []
  return {
    calls,
    goOn: async () => ({ ok: false, error: { code: 'not_found', message: 'There is none.' } }),
    call: (workflow, args, { signal, onProgress, onWaits }) =>
      new Promise((answer) => {
        calls.push({ workflow, args, signal, progress: onProgress, waits: onWaits, answer })
        signal.addEventListener('abort', () =>
          answer({ ok: false, error: { code: 'cancelled', message: 'Cancelled.' } }),
        )
      }),
  }
}

const done: WorkflowCallResult = {
  ok: true,
  result: {
    taskId: 'task_1',
    sessionId: 's',
    status: 'completed',
    finalOutput: 'A report.',
    outputs: [{ node_id: 'writer', output: 'A report.' }],
    failure: null,
  },
}

/** The client's end of a pair of streams. */
function streamTransport(input: PassThrough, output: PassThrough): Transport {
  const buffer = new ReadBuffer()
  const transport: Transport & { stderr: null; pid: null } = {
    stderr: null,
    pid: null,
    async start() {
      input.on('data', (bytes: Buffer) => {
        buffer.append(bytes)
        for (let message = buffer.readMessage(); message !== null; message = buffer.readMessage())
          transport.onmessage?.(message)
      })
    },
    async send(message) {
      output.write(serializeMessage(message))
    },
    async close() {
      output.end()
      transport.onclose?.()
    },
  }
  return transport
}

/** What a process does by itself during a long call. */
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

type Era = 'auto' | 'legacy'
const clientOf = (mode: Era): Client =>
  new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })

async function onStreams(caller: WorkflowCaller, mode: Era): Promise<Client> {
  const [toServer, toClient] = [new PassThrough(), new PassThrough()]
  const serving = serveMcpStdio(workflowServers({ category: 'team_workflow', version: '1.0.0', caller }), {
    input: toServer,
    output: toClient,
  })
  const client = clientOf(mode)
  onTestFinished(async () => {
    await client.close()
    await serving.close()
  })
  await client.connect(streamTransport(toClient, toServer))
  return client
}

async function onHttp(caller: WorkflowCaller, mode: Era): Promise<Client> {
  const serving = await serveMcpHttp(
    workflowServers({ category: 'team_workflow', version: '1.0.0', caller }),
    { token },
  )
  const client = clientOf(mode)
  onTestFinished(async () => {
    await client.close()
    await serving.close()
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(serving.url), withToken))
  return client
}

describe.each([
  ['streams, the era of 2026', onStreams, 'auto', 'modern'],
  ['streams, the handshake of 2025', onStreams, 'legacy', 'legacy'],
  ['HTTP, the era of 2026', onHttp, 'auto', 'modern'],
  ['HTTP, the handshake of 2025', onHttp, 'legacy', 'legacy'],
] as const)('over %s', (_, connect, mode, era) => {
  it('lists the five workflow tools, each with a schema that needs no other', async () => {
    const client = await connect(heldCaller(), mode)
    expect(client.getProtocolEra()).toBe(era)
    expect(client.getServerVersion()).toMatchObject({
      name: 'local_team_workflow_mcp',
      title: 'Beaver Local Team Workflow Tools',
      description: '本地 Agent Team Workflow 工具',
    })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      'SequentialWorkflow',
      'ConcurrentWorkflow',
      'MixtureOfAgents',
      'AgentRearrange',
      'GraphWorkflow',
    ])
    for (const tool of tools) {
      expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
      expect(tool.inputSchema.properties?.['agents']).toBeDefined()
      for (const other of tools)
        if (other !== tool) expect(JSON.stringify(tool.inputSchema)).not.toContain(other.name)
    }
  })

  it('hands a call on with its arguments, tells progress, and answers with the output and the task', async () => {
    const caller = heldCaller()
    const client = await connect(caller, mode)
    const told: unknown[] = []
    const calling = client.callTool(
      { name: 'SequentialWorkflow', arguments: team },
      { onprogress: (progress) => told.push(progress) },
    )
    const call = await until('it was called', () => caller.calls[0])
    expect(call).toMatchObject({ workflow: 'SequentialWorkflow', args: team })
    call.progress({ done: 1, total: 2, message: 'reader has completed.' })
    await until('the client was told', () => told.length > 0)
    call.answer(done)
    expect(await calling).toMatchObject({
      content: [{ type: 'text', text: 'A report.' }],
      structuredContent: {
        task_id: 'task_1',
        status: 'completed',
        outputs: [{ node_id: 'writer', output: 'A report.' }],
      },
    })
    expect(told).toMatchObject([{ progress: 1, total: 2, message: 'reader has completed.' }])
  })

  it('tells more progress with each notification while nothing ends, and less than the next node will be', async () => {
    const caller = heldCaller()
    const client = await connect(caller, mode)
    const told: number[] = []
    const calling = client.callTool(
      { name: 'SequentialWorkflow', arguments: team },
      { onprogress: ({ progress }) => told.push(progress) },
    )
    const call = await until('it was called', () => caller.calls[0])
    for (const done of [0, 0, 0, 1, 1, 2]) {
      const before = told.length
      call.progress({ done, total: 2, message: 'reader has worked for 3.0 s.' })
      await until('the client was told', () => told.length > before)
    }
    call.answer(done)
    await calling
    expect(told).toEqual(told.toSorted((a, b) => a - b))
    expect(new Set(told).size).toBe(told.length)
    expect(told.map(Math.floor)).toEqual([0, 0, 0, 1, 1, 2])
  })

  it('says in the log what a person has to do, also to a client that wants no progress', async () => {
    const caller = heldCaller()
    const client = await connect(caller, mode)
    const logged: unknown[] = []
    client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params))
    // A client of 2026 asks for the log in each request.
    const calling = client.callTool({
      name: 'SequentialWorkflow',
      arguments: team,
      _meta: { [LOG_LEVEL_META_KEY]: 'info' },
    })
    const call = await until('it was called', () => caller.calls[0])
    call.waits('This call waits for an approval.')
    await until('it was logged', () => logged.length > 0)
    call.answer(done)
    await calling
    expect(logged).toEqual([{ level: 'warning', logger: 'beaver', data: 'This call waits for an approval.' }])
  })

  it('refuses wrong arguments with the code of the workflow, before any daemon is asked', async () => {
    const caller = heldCaller()
    const client = await connect(caller, mode)
    const twice = await client.callTool({
      name: 'SequentialWorkflow',
      arguments: { ...team, agents: [...team.agents, ...team.agents] },
    })
    expect(twice).toMatchObject({
      isError: true,
      structuredContent: {
        error: { code: 'duplicate_agent', message: expect.stringContaining('reader') as string },
      },
    })
    const nothing = await client.callTool({ name: 'SequentialWorkflow' })
    expect(nothing).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'invalid_arguments' } },
    })
    expect(caller.calls).toEqual([])
  })

  it('answers with what the caller could not do, and with a task that did not complete, as errors a client can read', async () => {
    const caller = heldCaller()
    const client = await connect(caller, mode)
    const first = client.callTool({ name: 'SequentialWorkflow', arguments: team })
    const call = await until('it was called', () => caller.calls[0])
    call.answer({ ok: false, error: { code: 'no_daemon', message: 'Start one with "beaver up".' } })
    expect(await first).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'Start one with "beaver up".' }],
      structuredContent: { error: { code: 'no_daemon', message: 'Start one with "beaver up".' } },
    })
    const second = client.callTool({ name: 'SequentialWorkflow', arguments: team })
    const again = await until('it was called again', () => caller.calls[1])
    if (done.ok)
      again.answer({
        ok: true,
        result: { ...done.result, status: 'incomplete', failure: 'The writer failed.' },
      })
    expect(await second).toMatchObject({
      isError: true,
      content: [{ text: 'The task task_1 ended as incomplete: The writer failed.' }, { text: 'A report.' }],
      structuredContent: { status: 'incomplete', error: { code: 'task_incomplete' } },
    })
  })

  // The SDK serves 2025 over HTTP without sessions: a notification cannot find its call, and only leaving
  // cancels.
  it('cancels the call when the client does, or when it leaves', async () => {
    const caller = heldCaller()
    const client = await connect(caller, mode)
    const stop = new AbortController()
    const calling = client.callTool({ name: 'SequentialWorkflow', arguments: team }, { signal: stop.signal })
    const call = await until('it was called', () => caller.calls[0])
    calling.catch(() => {})
    collectGarbage()
    if (connect === onHttp && mode === 'legacy') await client.close()
    else stop.abort()
    await expect(calling).rejects.toThrow()
    await until('it was cancelled', () => call.signal.aborted)
  })
})

describe('the streams', () => {
  it('end the serving and abort the open calls when the client is gone', async () => {
    const caller = heldCaller()
    const [toServer, toClient] = [new PassThrough(), new PassThrough()]
    const serving = serveMcpStdio(workflowServers({ category: 'team_workflow', version: '1.0.0', caller }), {
      input: toServer,
      output: toClient,
    })
    const client = clientOf('legacy')
    await client.connect(streamTransport(toClient, toServer))
    const calling = client.callTool({ name: 'SequentialWorkflow', arguments: team })
    calling.catch(() => {})
    const call = await until('it was called', () => caller.calls[0])
    toServer.end()
    await serving.closed
    await until('it was aborted', () => call.signal.aborted)
    await serving.close()
    await client.close()
  })
})

describe('HTTP', () => {
  const statusOf = (url: string, headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const asked = request(
        url,
        { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
        (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        },
      )
      asked.once('error', reject)
      asked.end('{}')
    })

  it('refuses foreign hosts and origins, and other paths', async () => {
    const serving = await serveMcpHttp(
      workflowServers({ category: 'team_workflow', version: '1.0.0', caller: heldCaller() }),
      { token },
    )
    onTestFinished(() => serving.close())
    expect(await statusOf(serving.url, { host: 'evil.example' })).toBe(403)
    expect(await statusOf(serving.url, { origin: 'https://evil.example' })).toBe(403)
    expect(await statusOf(serving.url.replace('/mcp', '/'), {})).toBe(404)
  })

  it('refuses who has no token, or another one', async () => {
    const serving = await serveMcpHttp(
      workflowServers({ category: 'team_workflow', version: '1.0.0', caller: heldCaller() }),
      { token },
    )
    onTestFinished(() => serving.close())
    const of = (authorization?: string) =>
      statusOf(serving.url, authorization === undefined ? {} : { authorization })
    expect([await of(), await of('Bearer other'), await of(`Basic ${token}`), await of('Bearer')]).toEqual([
      401, 401, 401, 401,
    ])
    expect(await of(`bearer ${token}`)).not.toBe(401)
  })

  it('says which port is taken', async () => {
    const servers = workflowServers({ category: 'team_workflow', version: '1.0.0', caller: heldCaller() })
    const serving = await serveMcpHttp(servers, { token })
    onTestFinished(() => serving.close())
    const port = Number(new URL(serving.url).port)
    await expect(serveMcpHttp(servers, { token, port })).rejects.toThrow(
      `The port ${port} of 127.0.0.1 cannot be used (EADDRINUSE). Name another with --port.`,
    )
  })

  it.each(['auto', 'legacy'] as const)('closes while a call is open, and aborts it (%s)', async (mode) => {
    const caller = heldCaller()
    const serving = await serveMcpHttp(
      workflowServers({ category: 'team_workflow', version: '1.0.0', caller }),
      { token },
    )
    const client = clientOf(mode)
    await client.connect(new StreamableHTTPClientTransport(new URL(serving.url), withToken))
    client.callTool({ name: 'SequentialWorkflow', arguments: team }).catch(() => {})
    const call = await until('it was called', () => caller.calls[0])
    await serving.close()
    await until('it was aborted', () => call.signal.aborted)
    await client.close()
  })
})
