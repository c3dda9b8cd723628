// MCP servers ask a person in the middle of a call, in both versions of the protocol: on real daemons of
// which one is killed, with the command line.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandHost, placeIn, type Ran } from '../support/cli.ts'
import { say, use } from '../support/fake-provider.ts'
import { testServer, type TestServer } from '../support/nats.ts'
import { projectorProcess, type ProjectorProcess } from '../support/projector.ts'
import { only, type TestSystem, testSystem } from '../support/system.ts'

const program = new URL('../../packages/mcp/test/asking-server.ts', import.meta.url).pathname
/**
 * The servers: `old` speaks the protocol of 2025, the others that of 2026. The calls of `careful` need an
 * approval.
 */
const eras = { old: '2025', new: '2026', careful: '2026' } as const

let server: TestServer
let system: TestSystem
let projector: ProjectorProcess
let folder: string
const host = commandHost()
beforeAll(async () => {
  server = await testServer()
  folder = await mkdtemp(join(tmpdir(), 'beaver-ask-'))
  const specs = Object.entries(eras).map(([name, era]) => [
    name,
    {
      command: process.execPath,
      args: [program, era],
      env: { FIXTURE_DIR: join(folder, name) },
      permission: name === 'careful' ? 'ask' : 'allow',
    },
  ])
  for (const name of Object.keys(eras)) await mkdir(join(folder, name))
  // The servers keep a list of their calls in a folder that a sandbox would hide.
  system = await testSystem(server, { sandbox: 'off', mcp: Object.fromEntries(specs) })
  // "call old_book" names the tool that the agent calls.
  system.provider.answerBy(({ messages, text }) => {
    const [, tool] = /^call (\w+)$/.exec(text) ?? []
    if (tool === undefined) return say('Nothing is to do.')
    const result = messages.findLast((message) => message.role === 'tool')
    return result === undefined ? use([tool, {}]) : say(`It said: ${String(result.content)}`)
  })
  projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await projector[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
  await server[Symbol.asyncDispose]()
})

const submitted = async (tool: string, over: object = {}): Promise<string> =>
  (await system.client.submit({ task: `call ${tool}`, ...over })).task_id
const reached = (taskId: string, type: string) =>
  system.reached(taskId, type, (events) => events.some((event) => event.type === type))
const results = async (taskId: string) =>
  only(await system.ended(taskId), 'tool_result_recorded').map(({ data }) => data)
const callsOf = async (name: string): Promise<string[]> =>
  (await readFile(join(folder, name, 'calls'), 'utf8')).trim().split('\n')
const beaver = (...args: string[]): Promise<Ran> => host.run(args, placeIn(server, system))

/**
 * Tasks that wait for a person when the first daemon is killed. In the second one, the server `careful`
 * starts only after its task is driven again.
 */
const killed = { old_book: '', new_book: '', old_send: '', new_send: '', careful_greet: '' }
beforeAll(async () => {
  const first = await system.daemon()
  await until('the tools are offered', async () => {
    const { task_id } = await system.client.submit({ task: 'look' })
    const tools = only(await system.ended(task_id), 'run_started')[0]?.data.tools ?? []
    return Object.keys(eras).every((name) => tools.includes(`${name}_greet`))
  })
  for (const tool of Object.keys(killed) as (keyof typeof killed)[]) killed[tool] = await submitted(tool)
  for (const tool of ['old_book', 'new_book', 'old_send', 'new_send'] as const)
    await reached(killed[tool], 'question_asked')
  await reached(killed.careful_greet, 'task_suspended')
  await system.kill(first)
  const slowly = join(folder, 'careful', 'wait')
  await writeFile(slowly, '')
  await system.daemon()
  await system.client.decide(killed.careful_greet, { callId: 'call_0', approved: true })
  await system.reached(
    killed.careful_greet,
    'it is driven again',
    (events) => only(events, 'task_claimed').length === 2,
  )
  await rm(slowly)
})

describe.each(['old', 'new'] as const)('a server with the protocol of the %s era', (era) => {
  it('asks a person, who answers on the command line after the daemon was killed', async () => {
    const task = killed[`${era}_book`]
    const question = `The MCP server ${era} asks: "Which room, and for how many?"`
    expect(await beaver('answer', task, 'room=green', 'guests=2')).toMatchObject({
      exit: 2,
      err: expect.stringContaining('The question still waits.') as string,
    })
    expect(await beaver('answer', task, 'room=blue', 'guests=2')).toMatchObject({ exit: 0 })
    const events = await system.ended(task)
    expect(only(events, 'question_asked')).toMatchObject([
      {
        data: {
          tool_name: `${era}_book`,
          question: { message: expect.stringContaining(question) as string },
        },
      },
    ])
    expect(only(events, 'question_answered')).toHaveLength(1)
    const [told] = await results(task)
    expect(JSON.parse(told?.content ?? '')).toEqual({
      action: 'accept',
      content: { room: 'blue', guests: 2, note: 'none' },
    })
    expect(events.at(-1)?.type).toBe('task_completed')
  })

  it('leaves the outcome in doubt if the daemon dies while a call waits that cannot be made again', async () => {
    expect(await results(killed[`${era}_send`])).toMatchObject([{ success: false, error: 'in_doubt' }])
    expect((await callsOf(era)).filter((call) => call === 'send')).toHaveLength(1)
  })

  it('holds no daemon while it waits, if its tool can be called again', async () => {
    const task = await submitted(`${era}_greet`)
    await reached(task, 'task_suspended')
    await system.client.answer(task, { callId: 'call_0', answer: { action: 'decline' } })
    expect(await results(task)).toMatchObject([{ success: true, content: '{"action":"decline"}' }])
  })

  it('is answered with cancel where nobody can answer', async () => {
    expect(await results(await submitted(`${era}_greet`, { approvals: 'refuse' }))).toMatchObject([
      { success: true, content: '{"action":"cancel"}' },
    ])
  })
})

it('a call that was approved has its tool after a restart, although its server starts slowly', async () => {
  const task = killed.careful_greet
  await reached(task, 'question_asked')
  await system.client.answer(task, { callId: 'call_0', answer: { action: 'accept', answers: ['Ada'] } })
  expect(await results(task)).toMatchObject([{ success: true }])
})
