// Requests by a client that is not ours: any NATS client, any bytes. Every request is answered, with code,
// message and problems.
import { createRequire } from 'node:module'
import { connect as connectTcp } from 'node:net'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { keptSystem } from '../support/kept-system.ts'
import type { TestServer } from '../support/nats.ts'
import { type TestSystem, told } from '../support/system.ts'

interface PlainClient {
  request(
    subject: string,
    payload: string | Uint8Array,
    options: { timeout: number },
  ): Promise<{ string(): string }>
  publish(subject: string, payload: string): void
  close(): Promise<void>
}
/** The public client, as anybody would use it. */
const { connect } = createRequire(new URL('../../packages/nats/package.json', import.meta.url))(
  '@nats-io/transport-node',
) as {
  connect(options: { servers: string }): Promise<PlainClient>
}

let server: TestServer
let system: TestSystem
let client: PlainClient
beforeAll(async () => {
  const kept = await keptSystem()
  system = kept.system
  server = kept.server
  client = await connect({ servers: server.url })
})
afterAll(() => client.close())

interface Answer {
  readonly ok: boolean
  readonly result?: { readonly task_id: string; readonly session_id: string }
  readonly error?: {
    readonly code: string
    readonly message: string
    readonly problems: readonly { readonly path: string; readonly message: string }[]
  }
}

async function ask(name: string, payload: unknown): Promise<Answer> {
  const body =
    typeof payload === 'string' || payload instanceof Uint8Array ? payload : JSON.stringify(payload)
  return JSON.parse(
    (await client.request(system.subjects.service(name), body, { timeout: 5_000 })).string(),
  ) as Answer
}

describe('task.submit', () => {
  it('takes a request that holds only the task', async () => {
    system.provider.answerBy(({ text }) => say(`saw ${text}`))
    const { ok, result } = await ask('task.submit', { task: '你好' })
    expect(ok).toBe(true)
    expect((await system.ended(result?.task_id ?? '')).at(-1)).toMatchObject({
      type: 'task_completed',
      data: { final_output: 'saw 你好' },
    })
  })

  test.each<[string, unknown, string, string[]]>([
    ['bytes that are not JSON', '{"task": ', 'invalid_arguments', ['']],
    ['bytes that are not text', Uint8Array.from([0xff, 0xfe, 0x00, 0x80]), 'invalid_arguments', ['']],
    ['nothing', '', 'invalid_arguments', ['task']],
    ['an empty object', {}, 'invalid_arguments', ['task']],
    ['a list', [], 'invalid_arguments', ['']],
    ['null', 'null', 'invalid_arguments', ['']],
    ['a number', '5', 'invalid_arguments', ['']],
    ['a task that is a number', { task: 5 }, 'invalid_arguments', ['task']],
    ['a task that is null', { task: null }, 'invalid_arguments', ['task']],
    [
      'several wrong fields at once',
      { task: [], task_id: 5, session_id: {}, workspace: 1, skill: false },
      'invalid_arguments',
      ['task', 'task_id', 'session_id', 'workspace', 'skill'],
    ],
    ['a field nobody knows', { task: 'x', priority: 1 }, 'invalid_arguments', ['']],
    ['a prototype for a field', '{"task":"x","__proto__":{"a":1}}', 'invalid_arguments', ['']],
    ['an id with a line break', { task: 'x', task_id: 'a\nb' }, 'invalid_arguments', ['task_id']],
    ['half a character in an id', '{"task":"x","session_id":"\\ud800"}', 'invalid_arguments', ['session_id']],
    ['an empty task', { task: '  ' }, 'invalid_arguments', ['task']],
    [
      'a folder that does not exist',
      { task: 'x', workspace: '/nowhere' },
      'workspace_missing',
      ['workspace'],
    ],
    ['an unknown skill', { task: 'x', skill: 'nope' }, 'unknown_skill', ['skill']],
    [
      'a check for a tool that is not there',
      {
        workflow: {
          name: 'SequentialWorkflow',
          arguments: {
            task: 'x',
            agents: [
              {
                name: 'a',
                instruction: 'i',
                required_evidence: [{ kind: 'tool_succeeded', tool: 'raed_file' }],
              },
            ],
          },
        },
      },
      'invalid_arguments',
      ['workflow.arguments.agents.0.required_evidence.0.tool'],
    ],
    ['one character more than a million', { task: 'x'.repeat(1_000_001) }, 'invalid_arguments', ['task']],
  ])('answers %s with what is wrong and where', async (_, payload, code, paths) => {
    const { ok, error } = await ask('task.submit', payload)
    expect([ok, error?.code, error?.problems.map((problem) => problem.path)]).toEqual([false, code, paths])
    expect(error?.message.length).toBeGreaterThan(10)
    expect(error?.message.length).toBeLessThan(1_000)
  })

  it('a text of a million characters is a task like any other', async () => {
    const text = 'x'.repeat(1_000_000)
    const { result } = await ask('task.submit', { task: text })
    await system.ended(result?.task_id ?? '')
    expect(system.provider.requests.some((request) => request.text === text)).toBe(true)
  })

  it('odd names come back as they were given', async () => {
    const request = { task: 'x', task_id: '会话.*>/ \u{1F9AB}', session_id: 'web:test' }
    expect((await ask('task.submit', request)).result).toEqual({
      task_id: request.task_id,
      session_id: request.session_id,
    })
    expect(told(await system.ended(request.task_id)).at(-1)).toBe('task_completed')
  })

  it('the same request again has the same answer and is not done twice; another one under its id is a conflict', async () => {
    const request = { task: 'once', task_id: 'the same' }
    const answers = await Promise.all([
      ask('task.submit', request),
      ask('task.submit', request),
      ask('task.submit', request),
    ])
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    await system.ended('the same')
    expect((await ask('task.submit', request)).result).toEqual(answers[0]?.result)
    expect((await ask('task.submit', { ...request, task: 'something else' })).error?.code).toBe('conflict')
    expect((await ask('task.submit', { ...request, session_id: 'another' })).error?.code).toBe('conflict')
    expect(system.provider.about('once')).toHaveLength(1)
  })

  it('a request without a reply address is harmless', async () => {
    client.publish(system.subjects.service('task.submit'), '{"task":"nobody waits","task_id":"unasked"}')
    client.publish(system.subjects.service('task.submit'), 'garbage')
    expect((await system.ended('unasked')).at(-1)?.type).toBe('task_completed')
  })
})

describe('task.run', () => {
  type Ran = Answer & { readonly result?: Record<string, unknown> }
  /** A daemon whose journal is slow takes no requests for a moment. */
  const run = (payload: object, timeout = 10_000): Promise<Ran> =>
    until('a daemon is there', async () => {
      try {
        return JSON.parse(
          (
            await client.request(system.subjects.service('task.run'), JSON.stringify(payload), { timeout })
          ).string(),
        ) as Ran
      } catch (error) {
        if ((error as { isNoResponders?: () => boolean }).isNoResponders?.() === true) return null
        throw error
      }
    })

  it('answers with the result when the task has ended', async () => {
    system.provider.answerBy(({ text }) =>
      text === 'fail' ? { status: 401, body: '{}' } : say(`saw ${text}`),
    )
    expect((await run({ task: 'x', task_id: 'run x' })).result).toMatchObject({
      task_id: 'run x',
      session_id: 'run x',
      status: 'completed',
      final_output: 'saw x',
      failure: null,
    })
    expect((await run({ task: 'fail' })).result).toMatchObject({
      status: 'failed',
      failure: { class: 'provider_refused' },
    })
  })

  it('asked again for a task that has ended answers with the same result', async () => {
    const first = await run({ task: 'again', task_id: 'run again' })
    expect(await run({ task: 'again', task_id: 'run again' })).toEqual(first)
    expect(system.provider.about('again')).toHaveLength(1)
  })

  it('whose result is larger than a message is told so; the task has ended, and its events hold the result', async () => {
    const long = 'x'.repeat(1_100_000)
    system.provider.answerBy(() => say(long))
    const { error } = await run({ task: 'long', task_id: 'run long' })
    expect(error).toMatchObject({
      code: 'too_large',
      message: expect.stringContaining('The request was carried out'),
    })
    expect((await system.events('run long')).at(-1)).toMatchObject({
      type: 'task_completed',
      data: { final_output: long },
    })
    system.provider.answerBy(({ text }) => say(`saw ${text}`))
  })

  it('that is larger than a message itself is refused before it is sent', async () => {
    await expect(system.client.submit({ task: 'x'.repeat(1_100_000) })).rejects.toMatchObject({
      code: 'too_large',
    })
  })

  it('is refused like a submit', async () => {
    expect((await run({ task: '' })).error).toMatchObject({
      code: 'invalid_arguments',
      problems: [{ path: 'task' }],
    })
  })
})

describe('task.cancel', () => {
  test.each<[unknown, string, string[]]>([
    [{}, 'invalid_arguments', ['task_id']],
    [{ task_id: 5 }, 'invalid_arguments', ['task_id']],
    [{ task_id: 'x', reason: '' }, 'invalid_arguments', ['reason']],
    [{ task_id: 'x', force: true }, 'invalid_arguments', ['']],
    [{ task_id: 'nobody knows it' }, 'not_found', []],
  ])('%j is %s', async (payload, code, paths) => {
    const { error } = await ask('task.cancel', payload)
    expect([error?.code, error?.problems.map((problem) => problem.path)]).toEqual([code, paths])
  })
})

it('a message larger than the server takes is refused by the server; the daemon goes on', async () => {
  expect(await overTcp(server.port, system.subjects.service('task.submit'), 2 * 1024 * 1024)).toContain(
    'Maximum Payload Violation',
  )
  expect((await ask('task.submit', { task: 'after it' })).ok).toBe(true)
})

it('a thousand requests at once are all answered', async () => {
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, (_, i) => ask('task.submit', i % 2 === 0 ? 'garbage' : {})),
  )
  expect(answers.filter((answer) => answer.error?.code === 'invalid_arguments')).toHaveLength(1_000)
})

/** What a server says to a client that does not keep to its limit. */
async function overTcp(port: number, subject: string, bytes: number): Promise<string> {
  const socket = connectTcp(port, '127.0.0.1')
  let said = ''
  socket.on('data', (data) => (said += data.toString()))
  socket.on('error', () => {})
  socket.write('CONNECT {"verbose":false,"pedantic":false}\r\n')
  // The announcement is enough: a payload still on its way would reset the line, and take the answer with it.
  socket.write(`PUB ${subject} ${bytes}\r\n`)
  await until('the server has answered', () => said.includes('-ERR') || socket.closed, { everyMs: 5 })
  socket.destroy()
  return said
}
