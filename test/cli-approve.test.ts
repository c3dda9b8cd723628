// `beaver run`, `approve` and `deny` as people and scripts use them: programs, on a real system.
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CliProcess, placeIn, startBeaver } from './support/cli.ts'
import { say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { projectorProcess } from './support/projector.ts'
import { only, type TestSystem, testSystem } from './support/system.ts'

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

const asks = { permissions: { rules: [{ tool: 'echo', decision: 'ask' }] } }

const beaver = (system: TestSystem, ...args: readonly string[]): CliProcess => startBeaver(args, placeIn(server, system, { BEAVER_CALLER: 'ben' }))

/** A root that asks for these calls of echo at once and then says what came of them. */
function echoing(system: TestSystem, ...texts: string[]): void {
  system.provider.answerBy(({ messages }) => {
    const results = messages.filter((message) => message.role === 'tool').map((message) => String(message.content))
    return results.length === 0 ? use(...texts.map((text): [string, object] => ['echo', { text }])) : say(`They said: ${results.join(' | ')}`)
  })
}

const jsonLines = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('a call that waits', () => {
  it('is said with the commands that answer where there is no terminal, and these commands answer', async () => {
    await using system = await testSystem(server, asks)
    await using _projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
    echoing(system, 'careful')
    await system.daemon()
    await using run = beaver(system, 'run', 'say it', '--task-id', 'task_a')
    await until('the question stands there', () => run.out.includes('refuse:'))
    expect(run.out).toContain('waits until somebody allows echo: ')
    const typed = /allow: \S*beaver (approve .*?) +refuse:/.exec(run.out)?.[1]
    expect(typed).toBe('approve task_a')
    await using approve = beaver(system, ...(typed ?? '').split(' '))
    expect(await approve.ended).toMatchObject({
      exit: 0,
      out: expect.stringMatching(/^Allowed: echo: .*careful.* \(task_a\)\n {2}call hash: [0-9a-f]{64}\n$/) as string,
      err: '',
    })
    const ended = await run.ended
    expect(ended).toMatchObject({ exit: 0, out: expect.stringContaining('They said: {"text":"careful"}') as string })
    expect(ended.out).toContain('allowed echo (')
  })

  it('has to be named when several wait, by its id or the beginning of it; the model is told who refused and why', async () => {
    await using system = await testSystem(server, asks)
    await using _projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
    echoing(system, 'one', 'two')
    await system.daemon()
    const { task_id } = await system.client.submit({ task: 'say both' })
    await system.reached(task_id, 'both wait', (events) => only(events, 'approval_requested').length === 2)
    await until('the projector knows', async () => (await system.client.query('approvals')).calls.length === 2)
    const ids = only(await system.events(task_id), 'approval_requested').map((event) => event.data.call_id)
    await using unnamed = beaver(system, 'approve', task_id, '--json')
    const refused = await unnamed.ended
    expect(refused).toMatchObject({ exit: 2, err: expect.stringContaining('2 calls of the task') as string })
    expect(jsonLines(refused.out)).toMatchObject([{ ok: false, error: { code: 'invalid_arguments', problems: ids.map((path) => ({ path })) } }])
    await using deny = beaver(system, 'deny', task_id.slice(0, -1), ids[1] ?? '', '--reason', 'not that one', '--json')
    expect(jsonLines((await deny.ended).out)).toEqual([{ task_id, call_id: ids[1], approved: false, by: 'ben', reason: 'not that one' }])
    await system.client.decide(task_id, { callId: ids[0] ?? '', approved: true })
    const result = only(await system.ended(task_id), 'tool_result_recorded').find((event) => event.data.call_id === ids[1])
    expect(result?.data).toMatchObject({ success: false, error: 'approval_denied' })
    expect(result?.data.content).toMatch(/ben.*not that one/s)
  })

  it('is refused at once with --no-input, also where no projector runs; --json --deltas tells what the model says while it says it', async () => {
    await using system = await testSystem(server, asks)
    echoing(system, 'careful')
    await system.daemon()
    await using run = beaver(system, 'run', 'say it', '--no-input', '--json', '--deltas')
    const { exit, out } = await run.ended
    expect(exit).toBe(0)
    const lines = jsonLines(out)
    const types = lines.flatMap((line) => ('event' in line ? [(line['event'] as { type: string }).type] : []))
    expect(types.filter((type) => type.startsWith('approval_'))).toEqual(['approval_requested', 'approval_denied'])
    const said = lines.flatMap((line) => ('delta' in line ? [(line['delta'] as { text: string }).text] : []))
    expect(said.join('')).toContain('They said:')
    expect(lines.at(-1)).toMatchObject({ status: 'completed' })
  })
})
