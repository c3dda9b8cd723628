// An MCP server asks a person in the middle of a call, in both versions of the protocol: on real daemons that are killed, with the command line.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { placeIn, startBeaver } from './support/cli.ts'
import { say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { projectorProcess } from './support/projector.ts'
import { only, type TestSystem, testSystem } from './support/system.ts'

const program = new URL('../packages/mcp/test/asking-server.ts', import.meta.url).pathname
let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

async function asking(era: '2025' | '2026', tool: string, permission = 'allow') {
  const folder = await mkdtemp(join(tmpdir(), 'beaver-ask-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const shop = { command: process.execPath, args: [program, era], env: { FIXTURE_DIR: folder }, permission }
  const system = await testSystem(server, { sandbox: 'off', mcp: { shop } })
  onTestFinished(() => system[Symbol.asyncDispose]())
  system.provider.answerBy(({ messages, text }) => {
    if (text.includes('look')) return say('Nothing is to do.')
    const result = messages.findLast((message) => message.role === 'tool')
    return result === undefined ? use([`shop_${tool}`, {}]) : say(`It said: ${String(result.content)}`)
  })
  /** A daemon that has the tools of the server. */
  const ready = async () => {
    const daemon = await system.daemon()
    await until('the tools are offered', async () => {
      const { task_id } = await system.client.submit({ task: 'look' })
      return only(await system.ended(task_id), 'run_started')[0]?.data.tools.includes(`shop_${tool}`)
    })
    return daemon
  }
  const calls = async (): Promise<string[]> => (await readFile(join(folder, 'calls'), 'utf8')).trim().split('\n')
  return { system, folder, calls, ready }
}

const reached = (system: TestSystem, taskId: string, type: string) => system.reached(taskId, type, (events) => events.some((event) => event.type === type))

describe.each(['2025', '2026'] as const)('a server with the protocol of %s', (era) => {
  it('asks a person, who answers on the command line after the daemon was killed', async () => {
    const { system, ready } = await asking(era, 'book')
    await using _projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
    const first = await ready()
    const { task_id } = await system.client.submit({ task: 'book it' })
    await reached(system, task_id, 'question_asked')
    await system.kill(first)
    await system.daemon()
    const question = 'The MCP server shop asks: "Which room, and for how many?"'
    await using wrong = startBeaver(['answer', task_id, 'room=green', 'guests=2'], placeIn(server, system))
    expect(await wrong.ended).toMatchObject({ exit: 2, err: expect.stringContaining('The question still waits.') as string })
    await using answered = startBeaver(['answer', task_id, 'room=blue', 'guests=2'], placeIn(server, system))
    expect(await answered.ended).toMatchObject({ exit: 0 })
    const events = await system.ended(task_id)
    expect(only(events, 'question_asked')).toMatchObject([
      { data: { tool_name: 'shop_book', question: { message: expect.stringContaining(question) as string } } },
    ])
    expect(only(events, 'question_answered')).toHaveLength(1)
    const content = '{"action":"accept","content":{"room":"blue","guests":2,"note":"none"}}'
    expect(JSON.parse(only(events, 'tool_result_recorded')[0]?.data.content ?? '')).toEqual(JSON.parse(content))
    expect(events.at(-1)?.type).toBe('task_completed')
  })

  it('holds no daemon while it waits, if its tool can be called again', async () => {
    const { system, ready } = await asking(era, 'greet')
    await ready()
    const { task_id } = await system.client.submit({ task: 'greet' })
    await reached(system, task_id, 'task_suspended')
    await system.client.answer(task_id, { callId: 'call_0', answer: { action: 'decline' } })
    expect(only(await system.ended(task_id), 'tool_result_recorded')).toMatchObject([{ data: { success: true, content: '{"action":"decline"}' } }])
  })

  it('leaves the outcome in doubt if the daemon dies while a call waits that cannot be made again', async () => {
    const { system, calls, ready } = await asking(era, 'send')
    const first = await ready()
    const { task_id } = await system.client.submit({ task: 'send it' })
    await reached(system, task_id, 'question_asked')
    await system.kill(first)
    await system.daemon()
    const events = await system.ended(task_id)
    expect(only(events, 'tool_result_recorded')).toMatchObject([{ data: { success: false, error: 'in_doubt' } }])
    expect(await calls()).toEqual(['send'])
  })

  it('is answered with cancel where nobody can answer', async () => {
    const { system, ready } = await asking(era, 'greet')
    await ready()
    const { task_id } = await system.client.submit({ task: 'greet', approvals: 'refuse' })
    expect(only(await system.ended(task_id), 'tool_result_recorded')).toMatchObject([{ data: { success: true, content: '{"action":"cancel"}' } }])
  })
})

it('a call that was approved has its tool after a restart, although its server starts slowly', async () => {
  const { system, folder, ready } = await asking('2026', 'greet', 'ask')
  const first = await ready()
  const { task_id } = await system.client.submit({ task: 'greet' })
  await reached(system, task_id, 'task_suspended')
  await system.kill(first)
  await writeFile(join(folder, 'wait'), '')
  await system.daemon()
  await system.client.decide(task_id, { callId: 'call_0', approved: true })
  await system.reached(task_id, 'it is driven again', (events) => only(events, 'task_claimed').length === 2)
  await rm(join(folder, 'wait'))
  await reached(system, task_id, 'question_asked')
  await system.client.answer(task_id, { callId: 'call_0', answer: { action: 'accept', answers: ['Ada'] } })
  expect(only(await system.ended(task_id), 'tool_result_recorded')).toMatchObject([{ data: { success: true } }])
})
