// What `beaver acp` refuses, and what it says without a system. The editor is the client of the official SDK.
import { join } from 'node:path'
import { type McpServer, methods } from '@agentclientprotocol/sdk'
import { until as untilOf } from '@beaver/testing'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { editor, editorOf, type EditorProcess, keptEditor, refusal, tasksOf } from '../support/acp.ts'
import { say } from '../support/fake-provider.ts'
import { testServer } from '../support/nats.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { type TestSystem, testSystem } from '../support/system.ts'

let scene: ProtocolScene
let system: TestSystem
beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
})

const until: typeof untilOf = (what, look, options) => untilOf(what, look, { everyMs: 10, ...options })

describe('what beaver acp refuses', () => {
  let me: EditorProcess
  beforeEach(async () => void (me = await keptEditor(scene)))

  it('a second prompt of a session that works on one', async () => {
    system.provider.answerBy(() => null)
    const session = await me.session(system.workspace)
    const asked = system.provider.requests.length
    const first = me.prompt(session, 'Wait for ever.')
    expect(await refusal(me.prompt(session, 'Be quick.'))).toBe(
      '-32600 The session works on a prompt already. Wait for its end, or cancel it.',
    )
    await until('the model was asked', () => system.provider.requests.length > asked)
    await me.agent.notify(methods.agent.session.cancel, { sessionId: session })
    expect(await first).toBe('cancelled')
    expect(await tasksOf(system, session)).toHaveLength(1)
  })

  it('a prompt while 100 others are under way, in as many sessions', async () => {
    const asked = system.provider.requests.length
    const answer = Promise.withResolvers<void>()
    system.provider.answerBy(async () => (await answer.promise, say('Done.')))
    const sessions = await Promise.all(Array.from({ length: 101 }, () => me.session(system.workspace)))
    const prompted = sessions.slice(1).map((session) => me.prompt(session, 'Work.'))
    await until('some work', () => system.provider.requests.length > asked)
    expect(await refusal(me.prompt(sessions[0] ?? '', 'Work, too.'))).toBe(
      '-32603 100 tasks are followed here. Wait until one of them has ended.',
    )
    answer.resolve()
    expect(new Set(await Promise.all(prompted))).toEqual(new Set(['end_turn']))
    expect(await me.prompt(sessions[0] ?? '', 'Work now.')).toBe('end_turn')
  })

  it('folders that are none, and those of the operating system', async () => {
    expect(await refusal(me.session('relative'))).toBe('-32602 The folder relative must be an absolute path.')
    expect(await refusal(me.session('/does/not/exist'))).toBe(
      '-32602 The folder /does/not/exist does not exist.',
    )
    expect(await refusal(me.prompt(await me.session('/etc'), 'Read.'))).toMatch(/^-32602 .*\/etc/)
  })

  it('sessions that it does not know, and prompts that are no text', async () => {
    expect(await refusal(me.prompt('nobody', 'Hello.'))).toMatch(/^-32002 /)
    const at = { cwd: system.workspace, mcpServers: [] }
    expect(
      await refusal(me.agent.request(methods.agent.session.load, { ...at, sessionId: 'nobody' })),
    ).toMatch(/^-32002 /)
    expect(await refusal(me.agent.request(methods.agent.session.load, { ...at, sessionId: 'a\nb' }))).toMatch(
      /^-32602 /,
    )
    const session = await me.session(system.workspace)
    expect(await refusal(me.prompt(session, '  \n'))).toMatch(/^-32602 /)
    const image = [{ type: 'image' as const, data: '', mimeType: 'image/png' }]
    expect(
      await refusal(me.agent.request(methods.agent.session.prompt, { sessionId: session, prompt: image })),
    ).toMatch(/^-32602 .*image/)
    expect(await refusal(me.prompt(session, 'x'.repeat(1_000_001)))).toMatch(/^-32602 /)
  })

  it('the session of another user, before anything of it is told', async () => {
    system.provider.answerBy(() => say('Yours alone.'))
    const { session_id } = await system.client.run({ task: 'A secret.', user_id: 'ada' })
    const told = me.told.length
    for (const method of [methods.agent.session.load, methods.agent.session.resume])
      expect(
        await refusal(
          me.agent.request(method, { sessionId: session_id, cwd: system.workspace, mcpServers: [] }),
        ),
      ).toMatch(/^-32602 .*another user/)
    expect(me.told).toHaveLength(told)
  })

  it('lines that are no JSON and messages that are no requests, thousands of them, and works on', async () => {
    const lines = Array.from(
      { length: 10_000 },
      (_, i) =>
        ['{broken', '[]', '42', '{"jsonrpc":"2.0","method":"nonsense"}', '{"id":{}}', '\u0000'][i % 6],
    )
    me.child.stdin.write(`${lines.join('\n')}\n`)
    system.provider.answerBy(() => say('Still here.'))
    expect(await me.prompt(await me.session(system.workspace), 'Are you there?')).toBe('end_turn')
    for (const line of me.out.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
    expect(me.err).not.toContain('    at ')
  })

  it('a message of more than 32 MiB, by its end and with a reason', async () => {
    await using other = await editorOf(scene.server, system)
    const piece = 'x'.repeat(1_048_576)
    for (let i = 0; i < 33; i++) other.child.stdin.write(piece)
    expect(await other.exited).toBe(0)
    expect(other.err).toContain(
      'The editor sent a message of more than 32 MiB, so the connection was closed.',
    )
  })

  it('a profile that nobody loaded, and says which MCP servers it leaves out', async () => {
    await using other = await editorOf(scene.server, system, ['--profile', 'nope'])
    const files: McpServer = { name: 'files', command: 'npx', args: [], env: [] }
    const { sessionId } = await other.agent.request(methods.agent.session.new, {
      cwd: system.workspace,
      mcpServers: [files],
    })
    await until('it was told', () => other.updates('notice').some(({ title }) => title.includes('(files)')))
    expect(await refusal(other.prompt(sessionId, 'Hello.'))).toMatch(/^-32602 .*nope/)
  })
})

describe('without a system', () => {
  it.each([
    ['no system runs', undefined, /^-32603 No Beaver system is running .*beaver up/],
    ['the server is not there', 'nats://127.0.0.1:1', /^-32603 /],
    ['no daemon runs', 'here', /^-32603 /],
  ])('the editor is told soon when %s', async (_, url, told) => {
    await using server = await testServer()
    await using empty = await testSystem(server)
    const env: Record<string, string> =
      url === undefined
        ? {}
        : { NATS_URL: url === 'here' ? scene.server.url : url, BEAVER_NAMESPACE: empty.subjects.namespace }
    await using me = await editor({
      cwd: empty.workspace,
      env: { BEAVER_HOME: join(empty.workspace, 'home'), ...env },
    })
    expect(await refusal(me.session(empty.workspace))).toMatch(told)
  })
})
