// Questions of agents for the clients of `beaver mcp`: as forms of a call, in both eras of the protocol, and as tasks that need input.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mcpRequest, until as untilOf } from '@beaver/testing'
import { Client, type ElicitResult } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { cliEntry, cliEnvironment, type CliProcess, placeIn, startBeaver } from './support/cli.ts'
import type { DaemonProcess } from './support/daemon.ts'
import { say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { only, type TestSystem, testSystem } from './support/system.ts'

const until: typeof untilOf = (what, look, options) => untilOf(what, look, { everyMs: 10, ...options })

let server: TestServer
let system: TestSystem
let daemon: DaemonProcess
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'beaver-cli-mcp-'))
  server = await testServer()
  system = await testSystem(server, { tools: [fileURLToPath(new URL('support/asking-tools.ts', import.meta.url))] })
  system.provider.answerBy(({ text, results }) => {
    const [, name = '', args = '{}'] = /You call (\w+) (\{[^}]*\})/.exec(text) ?? []
    if (name === '') return say('The report.')
    return results.length === 0 ? use([name, JSON.parse(args)]) : say(`So: ${results.at(-1) ?? ''}`)
  })
  daemon = await system.daemon()
})
afterAll(async () => {
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const asking = { tool: 'ask_user', args: '{"question":"Which branch?","options":["main","next"]}' }
const teamOf = ({ tool, args }: typeof asking) => ({
  name: 'SequentialWorkflow',
  arguments: { task: 'Report.', agents: [{ name: 'reader', instruction: `You call ${tool} ${args}`, allowed_tool_names: [tool] }, { name: 'writer', instruction: 'Write.' }] }, // prettier-ignore
})
const environment = (): Record<string, string> => ({ BEAVER_HOME: join(folder, 'home'), ...placeIn(server, system).env })
const answersOf = async (taskId: string) => only(await system.events(taskId), 'question_answered').map(({ data }) => data.answer)
const readerSaid = async (taskId: string): Promise<string> =>
  JSON.stringify(only(await system.events(taskId), 'assistant_message_added').map(({ data }) => data.content))

/** @param fill how the person fills in a form. Absent: the client shows none */
async function clientOf(mode: 'auto' | 'legacy', fill?: (message: string) => ElicitResult): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode }, capabilities: fill === undefined ? {} : { elicitation: { form: {} } } },
  )
  if (fill !== undefined) client.setRequestHandler('elicitation/create', async ({ params }) => fill(params.message))
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [cliEntry, 'mcp'], env: cliEnvironment(environment()), cwd: folder, stderr: 'inherit' })) // prettier-ignore
  onTestFinished(() => client.close())
  return client
}
const taskIn = (result: object): string => (result as { structuredContent: { task_id: string } }).structuredContent.task_id

describe.each(['auto', 'legacy'] as const)('a call of a client that shows forms (%s)', (mode) => {
  it('asks what its agents ask, again if the answer does not fit, and goes on with the answer', async () => {
    const shown: string[] = []
    const client = await clientOf(mode, (message) => ({ action: 'accept', content: { answer: shown.push(message) === 1 ? 'old' : 'next' } }))
    const result = await client.callTool(teamOf(asking))
    expect(result).toMatchObject({ structuredContent: { status: 'completed' } })
    expect(shown).toEqual(['Which branch?', 'The question still waits. "old" is not one of the options. Answer with one of: "main", "next".\n\nWhich branch?'])
    expect(await answersOf(taskIn(result))).toEqual([{ action: 'accept', answers: ['next'] }])
    expect(await readerSaid(taskIn(result))).toContain('So: next')
  })

  it('takes a form that was closed for no answer, and the team goes on', async () => {
    const client = await clientOf(mode, () => ({ action: 'cancel' }))
    const result = await client.callTool(teamOf(asking))
    expect(await answersOf(taskIn(result))).toEqual([{ action: 'cancel' }])
  })
})

it('a call of a client without forms says where to answer, and waits', async () => {
  const client = await clientOf('auto')
  const told: string[] = []
  const calling = client.callTool(teamOf(asking), { onprogress: ({ message = '' }) => told.push(message) })
  const line = await until('it says how to answer', () => told.find((each) => each.includes('beaver answer')))
  expect(line).toContain(
    'An agent asks: Which branch?   1) main   2) next Answer with the number or the text of an option. Answer it with: beaver answer task_',
  )
  await system.client.answer(line.split(' ').at(-1) ?? '', { callId: 'call_0', answer: { action: 'accept', answers: ['main'] } })
  expect(await calling).toMatchObject({ structuredContent: { status: 'completed' } })
})

describe('a task of MCP', () => {
  const token = 'a-token-of-the-test'
  const forms = { elicitation: {} }

  async function serving(): Promise<{
    readonly process: CliProcess
    readonly ask: (method: string, params: object, capabilities?: object) => Promise<Answer>
  }> {
    const process = startBeaver(['mcp', '--http'], { cwd: folder, env: { ...environment(), BEAVER_MCP_TOKEN: token } })
    onTestFinished(() => process[Symbol.asyncDispose]())
    const [, url = ''] = await until('the URL is told', () => /^MCP at (http:\S+)$/m.exec(process.err))
    return {
      process,
      ask: (method, params, capabilities = forms) => mcpRequest(url, token, { method, params: { ...params }, capabilities }) as Promise<Answer>,
    }
  }
  interface Answer {
    readonly result?: { readonly taskId?: string; readonly status?: string; readonly statusMessage?: string; readonly inputRequests?: Record<string, unknown> }
    readonly error?: { readonly code: number; readonly message: string }
  }

  it('needs input while an agent asks, also after beaver mcp and the daemon were killed, and takes one answer that fits', async () => {
    const first = await serving()
    const { result } = await first.ask('tools/call', teamOf(asking))
    const taskId = result?.taskId ?? ''
    await until('it needs input', async () => (await first.ask('tasks/get', { taskId })).result?.status === 'input_required')
    first.process.kill('SIGKILL')
    await first.process.ended
    await system.kill(daemon)
    daemon = await system.daemon()
    const { ask } = await serving()
    const waiting = await ask('tasks/get', { taskId })
    const [key = '', form] = Object.entries(waiting.result?.inputRequests ?? {})[0] ?? []
    expect(form).toMatchObject({ method: 'elicitation/create', params: { mode: 'form', message: 'Which branch?' } })
    expect(await ask('tasks/get', { taskId }, {})).toMatchObject({
      result: { status: 'working', statusMessage: expect.stringContaining(`beaver answer ${taskId}`) as string },
    })
    const answer = (content: object) => ask('tasks/update', { taskId, inputResponses: { [key]: { action: 'accept', content } } })
    for (const content of [{ answer: 'old' }, { answer: 'x'.repeat(10_001) }, {}]) expect(await answer(content)).toMatchObject({ error: { code: -32_602 } })
    expect(await answersOf(taskId)).toEqual([])
    expect(await answer({ answer: 'main' })).toMatchObject({ result: { resultType: 'complete' } })
    expect(await answer({ answer: 'next' })).toMatchObject({ result: { resultType: 'complete' } })
    await system.ended(taskId)
    expect(await answer({ answer: 'next' })).toMatchObject({ result: { resultType: 'complete' } })
    expect(await answersOf(taskId)).toEqual([{ action: 'accept', answers: ['main'] }])
    expect(await ask('tasks/get', { taskId })).toMatchObject({ result: { status: 'completed' } })
  })

  it('does not ask its client what a tool asks, and no task of others', async () => {
    const { ask } = await serving()
    const { result } = await ask('tools/call', teamOf({ tool: 'deploy', args: '{"to":"prod"}' }))
    const taskId = result?.taskId ?? ''
    await until('it says how to answer', async () => ((await ask('tasks/get', { taskId })).result?.statusMessage ?? '').includes(`beaver answer ${taskId}`))
    const asked = only(await system.events(taskId), 'question_asked')[0]?.taskseq ?? 0
    const inputResponses = { [asked]: { action: 'accept', content: { answer: 'Yes' } } }
    expect((await ask('tasks/get', { taskId })).result?.status).toBe('working')
    expect(await ask('tasks/update', { taskId, inputResponses })).toMatchObject({ result: { resultType: 'complete' } })
    expect(await answersOf(taskId)).toEqual([])
    await system.client.cancel(taskId, 'enough')
    const { task_id: other } = await system.client.submit({ task: `You call ${asking.tool} ${asking.args}` })
    await system.reached(other, 'a call asks', (events) => events.some(({ type }) => type === 'question_asked'))
    expect(await ask('tasks/update', { taskId: other, inputResponses })).toMatchObject({ error: { code: -32_602 } })
  })
})
