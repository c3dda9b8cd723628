// Questions of agents for the clients of `beaver mcp`: as forms of a call, in both eras of the protocol, and
// as tasks that need input.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mcpRequest, until as untilOf } from '@beaver/testing'
import { Client, type ElicitResult } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { cliEntry, cliEnvironment, placeIn, startBeaver } from '../support/cli.ts'
import { say, use } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only, type TestSystem } from '../support/system.ts'

const until: typeof untilOf = (what, look, options) => untilOf(what, look, { everyMs: 10, ...options })

let scene: ProtocolScene
let system: TestSystem
let folder: string
beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
  folder = mkdtempSync(join(tmpdir(), 'beaver-cli-mcp-'))
  system.provider.answerBy(({ text, results }) => {
    const [, name = '', args = '{}'] = /You call (\w+) (\{[^}]*\})/.exec(text) ?? []
    if (name === '') return say('The report.')
    return results.length === 0 ? use([name, JSON.parse(args)]) : say(`So: ${results.at(-1) ?? ''}`)
  })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const asking = { tool: 'ask_user', args: '{"question":"Which branch?","options":["main","next"]}' }
const teamOf = ({ tool, args }: typeof asking) => ({
  name: 'SequentialWorkflow',
  arguments: { task: 'Report.', agents: [{ name: 'reader', instruction: `You call ${tool} ${args}`, allowed_tool_names: [tool] }, { name: 'writer', instruction: 'Write.' }] }, // prettier-ignore
})
const environment = (): Record<string, string> => ({
  BEAVER_HOME: join(folder, 'home'),
  ...placeIn(scene.server, system).env,
})
const answersOf = async (taskId: string) =>
  only(await system.events(taskId), 'question_answered').map(({ data }) => data.answer)
const readerSaid = async (taskId: string): Promise<string> =>
  JSON.stringify(only(await system.events(taskId), 'assistant_message_added').map(({ data }) => data.content))

/** @param fill how the person fills in a form. Absent: the client shows none */
async function clientOf(
  mode: 'auto' | 'legacy',
  fill?: (message: string) => ElicitResult | Promise<ElicitResult>,
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode }, capabilities: fill === undefined ? {} : { elicitation: { form: {} } } },
  )
  if (fill !== undefined)
    client.setRequestHandler('elicitation/create', ({ params }) => Promise.resolve(fill(params.message)))
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [cliEntry, 'mcp'], env: cliEnvironment(environment()), cwd: folder, stderr: 'inherit' })) // prettier-ignore
  onTestFinished(() => client.close())
  return client
}
const taskIn = (result: object): string =>
  (result as { structuredContent: { task_id: string } }).structuredContent.task_id

it.each(['auto', 'legacy'] as const)(
  'a call of a client that shows forms asks what its agents ask, until the answer fits or the form is closed (%s)',
  async (mode) => {
    const shown: string[] = []
    const fills: ElicitResult[] = [
      { action: 'accept', content: { answer: 'old' } },
      { action: 'accept', content: { answer: 'next' } },
      { action: 'cancel' },
    ]
    const client = await clientOf(mode, (message) => fills[shown.push(message) - 1] ?? { action: 'decline' })
    const result = await client.callTool(teamOf(asking))
    expect(result).toMatchObject({ structuredContent: { status: 'completed' } })
    expect(shown).toEqual([
      'Which branch?',
      'The question still waits. "old" is not one of the options. Answer with one of: "main", "next".\n\nWhich branch?',
    ])
    expect(await answersOf(taskIn(result))).toEqual([{ action: 'accept', answers: ['next'] }])
    expect(await readerSaid(taskIn(result))).toContain('So: next')
    // A form that is closed is no answer, and the team goes on.
    const closed = await client.callTool(teamOf(asking))
    expect(closed).toMatchObject({ structuredContent: { status: 'completed' } })
    expect(await answersOf(taskIn(closed))).toEqual([{ action: 'cancel' }])
  },
)

it('a call whose question somebody else has answered goes on, and its result says that the answer of the client does not count', async () => {
  const client = await clientOf('auto', async () => {
    const { tasks } = await system.client.query('tasks', { limit: 1 })
    await system.client.answer(tasks[0]?.task_id ?? '', {
      callId: 'call_0',
      answer: { action: 'accept', answers: ['main'] },
    })
    return { action: 'accept', content: { answer: 'next' } }
  })
  const result = await client.callTool(teamOf(asking))
  expect(await answersOf(taskIn(result))).toEqual([{ action: 'accept', answers: ['main'] }])
  expect(result).toMatchObject({
    structuredContent: { status: 'completed' },
    content: [
      { text: 'The report.' },
      {
        text: expect.stringMatching(
          /was already answered by .*The answer of this client does not count\.$/,
        ) as string,
      },
    ],
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
  await system.client.answer(line.split(' ').at(-1) ?? '', {
    callId: 'call_0',
    answer: { action: 'accept', answers: ['main'] },
  })
  expect(await calling).toMatchObject({ structuredContent: { status: 'completed' } })
})

it.each(['auto', 'legacy'] as const)(
  'a client that leaves while it shows a form leaves no task behind (%s)',
  async (mode) => {
    const shown = Promise.withResolvers<string>()
    const told: string[] = []
    const client = await clientOf(mode, async (message) => {
      shown.resolve(message)
      return new Promise(() => {})
    })
    const calling = client.callTool(teamOf(asking), { onprogress: ({ message = '' }) => told.push(message) })
    calling.catch(() => {})
    await shown.promise
    const waits = (): readonly string[] => told.filter((line) => line.includes('beaver answer'))
    // The call of 2025 stays open meanwhile, so it hears that it goes on.
    if (mode === 'legacy') await until('it was told again', () => waits().length > 1)
    const taskId = waits()[0]?.split(' ').at(-1) ?? ''
    await client.close()
    await system.ended(taskId)
    expect((await system.events(taskId)).at(-1)?.type).toBe('task_cancelled')
  },
)

it('a call whose client cannot show the form after all waits until a person answers elsewhere', async () => {
  const told: string[] = []
  const client = await clientOf('legacy', async () => {
    throw new Error('This client has no screen.')
  })
  const calling = client.callTool(teamOf(asking), { onprogress: ({ message = '' }) => told.push(message) })
  const again = await until(
    'it was told again',
    () => told.filter((line) => line.includes('beaver answer'))[1],
  )
  await system.client.answer(again.split(' ').at(-1) ?? '', {
    callId: 'call_0',
    answer: { action: 'accept', answers: ['main'] },
  })
  expect(await calling).toMatchObject({ structuredContent: { status: 'completed' } })
})

it('a call whose client never answers its form goes on when somebody answers elsewhere', async () => {
  const shown = Promise.withResolvers<void>()
  const told: string[] = []
  const client = await clientOf('legacy', async () => {
    shown.resolve()
    return new Promise(() => {})
  })
  const calling = client.callTool(teamOf(asking), { onprogress: ({ message = '' }) => told.push(message) })
  await shown.promise
  const line = await until('it says how to answer', () => told.find((each) => each.includes('beaver answer')))
  await system.client.answer(line.split(' ').at(-1) ?? '', {
    callId: 'call_0',
    answer: { action: 'accept', answers: ['main'] },
  })
  expect(await calling).toMatchObject({ structuredContent: { status: 'completed' } })
})

it('a call whose agent waits for an approval says which call waits and where a person decides', async () => {
  const client = await clientOf('auto')
  const told: string[] = []
  const calling = client.callTool(
    teamOf({ tool: 'write_file', args: '{"path":"by-mcp.txt","content":"x"}' }),
    {
      onprogress: ({ message = '' }) => told.push(message),
    },
  )
  const line = await until('it says where to decide', () =>
    told.find((each) => each.includes('beaver approve')),
  )
  const [, call, taskId = ''] =
    /^An agent asks to call (.+)\. This call waits for an approval\. .* beaver approve (\S+), or: beaver deny \2$/.exec(
      line,
    ) ?? []
  expect(call).toBe('write_file: by-mcp.txt')
  await system.client.decide(taskId, { callId: 'call_0', approved: false, reason: 'no' })
  expect(await calling).toMatchObject({ structuredContent: { task_id: taskId } })
})

describe('a task of MCP', () => {
  const token = 'a-token-of-the-test'
  const forms = { elicitation: {} }

  async function serving() {
    const process = startBeaver(['mcp', '--http'], {
      cwd: folder,
      env: { ...environment(), BEAVER_MCP_TOKEN: token },
    })
    const [, url = ''] = await until('the URL is told', () => /^MCP at (http:\S+)$/m.exec(process.err))
    const ask = (method: string, params: object, capabilities: object = forms): Promise<Answer> =>
      mcpRequest(url, token, { method, params: { ...params }, capabilities }) as Promise<Answer>
    return { process, ask }
  }
  /** The one that is there after the first was killed. */
  let next: ReturnType<typeof serving> | undefined
  const ask: Awaited<ReturnType<typeof serving>>['ask'] = async (...asked) =>
    (await (next ??= serving())).ask(...asked)
  afterAll(async () => (await next)?.process[Symbol.asyncDispose]())

  interface Answer {
    readonly result?: {
      readonly taskId?: string
      readonly status?: string
      readonly statusMessage?: string
      readonly inputRequests?: Record<string, unknown>
    }
    readonly error?: { readonly code: number; readonly message: string }
  }

  it('needs input while an agent asks, also after beaver mcp was killed, takes one answer that fits, and has its result', async () => {
    const first = await serving()
    onTestFinished(() => first.process[Symbol.asyncDispose]())
    const { result } = await first.ask('tools/call', teamOf(asking))
    const taskId = result?.taskId ?? ''
    await until(
      'it needs input',
      async () => (await first.ask('tasks/get', { taskId })).result?.status === 'input_required',
    )
    first.process.kill('SIGKILL')
    await first.process.ended
    const waiting = await ask('tasks/get', { taskId })
    const [key = '', form] = Object.entries(waiting.result?.inputRequests ?? {})[0] ?? []
    expect(form).toMatchObject({
      method: 'elicitation/create',
      params: { mode: 'form', message: 'Which branch?' },
    })
    expect(await ask('tasks/get', { taskId }, {})).toMatchObject({
      result: {
        status: 'working',
        statusMessage: expect.stringContaining(`beaver answer ${taskId}`) as string,
      },
    })
    const answer = (content: object) =>
      ask('tasks/update', { taskId, inputResponses: { [key]: { action: 'accept', content } } })
    for (const content of [{ answer: 'old' }, { answer: 'x'.repeat(10_001) }, {}])
      expect(await answer(content)).toMatchObject({ error: { code: -32_602 } })
    expect(await answersOf(taskId)).toEqual([])
    expect(await answer({ answer: 'main' })).toMatchObject({ result: { resultType: 'complete' } })
    const second = {
      error: {
        code: -32_602,
        message: expect.stringMatching(
          /was already answered by .*The answer of this client does not count/,
        ) as string,
      },
    }
    expect(await answer({ answer: 'next' })).toMatchObject(second)
    await system.ended(taskId)
    expect(await answer({ answer: 'next' })).toMatchObject(second)
    expect(await answer({ answer: 'main' }), 'the same again').toMatchObject({
      result: { resultType: 'complete' },
    })
    expect(await answersOf(taskId)).toEqual([{ action: 'accept', answers: ['main'] }])
    expect(await ask('tasks/get', { taskId })).toMatchObject({
      result: {
        status: 'completed',
        statusMessage: 'The task has completed.',
        result: { structuredContent: { task_id: taskId, status: 'completed' } },
      },
    })
  })

  it('does not ask its client what a tool asks, and no task of others', async () => {
    const { result } = await ask('tools/call', teamOf({ tool: 'deploy', args: '{"to":"prod"}' }))
    const taskId = result?.taskId ?? ''
    await until('it says how to answer', async () =>
      ((await ask('tasks/get', { taskId })).result?.statusMessage ?? '').includes(`beaver answer ${taskId}`),
    )
    const asked = only(await system.events(taskId), 'question_asked')[0]?.taskseq ?? 0
    const inputResponses = { [asked]: { action: 'accept', content: { answer: 'Yes' } } }
    expect((await ask('tasks/get', { taskId })).result?.status).toBe('working')
    expect(await ask('tasks/update', { taskId, inputResponses })).toMatchObject({
      result: { resultType: 'complete' },
    })
    expect(await answersOf(taskId)).toEqual([])
    await system.client.cancel(taskId, 'enough')
    const { task_id: other } = await system.client.submit({ task: `You call ${asking.tool} ${asking.args}` })
    await system.reached(other, 'a call asks', (events) =>
      events.some(({ type }) => type === 'question_asked'),
    )
    expect(await ask('tasks/update', { taskId: other, inputResponses })).toMatchObject({
      error: { code: -32_602 },
    })
    await system.client.cancel(other, 'enough')
  })
})
