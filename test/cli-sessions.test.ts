// `beaver sessions`, `session` and `memory`: what a person sees of the conversations of users, and of what agents remember.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { SessionAnswer, SessionsAnswer } from '@beaver/contracts'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileCache } from './support/compile-cache.ts'
import { say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { type ProjectorProcess, projectorProcess } from './support/projector.ts'
import { type TestSystem, testSystem } from './support/system.ts'

const entry = fileURLToPath(new URL('../apps/cli/src/main.ts', import.meta.url))

let server: TestServer
let system: TestSystem
let projector: ProjectorProcess
beforeAll(async () => {
  server = await testServer()
  system = await testSystem(server)
  projector = await projectorProcess({ url: server.url, namespace: system.subjects.namespace })
  await system.daemon()
  system.provider.answerBy(({ text, results }) => {
    if (text !== 'Remember me' || results.length > 0) return say(`answer to ${text.slice(0, 20)}`)
    return use(['memory', { action: 'add', target: 'user', content: 'Ada likes\ntea' }], ['memory', { action: 'add', target: 'memory', content: 'due in May' }])
  })
  const { client } = system
  await client.run({ task: 'Remember me', task_id: 'a1', session_id: 'talk', user_id: 'Ada', title: 'Tea' })
  await client.run({ task: 'And now?', task_id: 'a2', session_id: 'talk', user_id: 'Ada' })
  const args = { task: 'Write', agents: [{ name: 'a', instruction: 'write it' }] }
  await client.run({ workflow: { name: 'SequentialWorkflow', arguments: args }, task_id: 'w', session_id: 'flows' })
  await until('the projector knows', async () => (await client.query('tasks')).tasks.filter(({ ended_at }) => ended_at !== null).length === 3)
}, 120_000)
afterAll(async () => {
  await projector[Symbol.asyncDispose]()
  await system[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

function beaver(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'] ?? '', ...compileCache, NATS_URL: server.url, BEAVER_NAMESPACE: system.subjects.namespace }
  return new Promise((resolve) => {
    execFile(process.execPath, [entry, ...args], { cwd: system.workspace, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
}

/** The words of the command for the next page. */
const further = (printed: string): string[] => /beaver\S* (session.*)/.exec(printed)?.[1]?.split(' ') ?? []

describe('beaver sessions', () => {
  it('lists them with their users and titles', async () => {
    const { stdout } = await beaver('sessions')
    expect(stdout).toMatch(/SESSION +TASKS .*USER +ABOUT\nflows +1 .*Write\ntalk +2 .*Ada +Tea\n/)
  })

  it('lists them page by page, with the command for the next page', async () => {
    const { stdout } = await beaver('sessions', '--limit', '1')
    expect(stdout).toMatch(/^SESSION.*\nflows .*\nThere are more sessions\. Show the next: .*beaver.* sessions --limit 1 --before \d+\n$/)
    expect((await beaver(...further(stdout))).stdout).toMatch(/^SESSION.*\ntalk .*\n$/)
    expect((await beaver('sessions', '--limit', '5000', '--json')).code).toBe(0)
    expect([(await beaver('sessions', '--before', '1')).stdout, (await beaver('tasks', '--before', '1')).stdout]).toEqual([
      'No such sessions.\n',
      'No such tasks.\n',
    ])
  })

  it('lists those of one user, also as JSON', async () => {
    const { sessions } = JSON.parse((await beaver('sessions', '--user', 'Ada', '--json')).stdout) as SessionsAnswer
    expect(sessions.map(({ session_id, title, tasks, open }) => [session_id, title, tasks, open])).toEqual([['talk', 'Tea', 2, 0]])
    expect((await beaver('sessions', '--user', 'Bob')).stdout).toBe('No such sessions.\n')
  })
})

describe('beaver session', () => {
  it('reads as a conversation, the oldest task first', async () => {
    const { stdout } = await beaver('session', 'tal')
    expect(stdout).toMatch(/^Session +talk\nTitle +Tea\nUser +Ada\nTasks +2, since /)
    const told = ['You     Remember me', 'Beaver  answer to Remember me', 'You     And now?', 'Beaver  answer to And now?'].map((line) => stdout.indexOf(line))
    expect(told.every((place) => place > 0)).toBe(true)
    expect(told).toEqual(told.toSorted((a, b) => a - b))
  })

  it('shows the newest tasks if there are more than wanted, and says what is left out', async () => {
    const { stdout } = await beaver('session', 'talk', '--limit', '1')
    expect(stdout).toMatch(/1 earlier task left out\. Show the next: .*beaver.* session talk --limit 1 --before \d+\n/)
    expect([stdout.includes('And now?'), stdout.includes('Remember me')]).toEqual([true, false])
    const earlier = (await beaver(...further(stdout))).stdout
    expect([earlier.includes('And now?'), earlier.includes('Remember me'), earlier.includes('left out')]).toEqual([false, true, false])
  })

  it('shows a workflow with its result', async () => {
    const { stdout } = await beaver('session', 'flows')
    expect(stdout).toMatch(/SequentialWorkflow\nYou +Write\nBeaver +answer to/)
  })

  it('is the whole answer with --json', async () => {
    const { session, tasks } = JSON.parse((await beaver('session', 'talk', '--json')).stdout) as SessionAnswer
    expect([session.user_id, tasks.map(({ task_id }) => task_id)]).toEqual(['Ada', ['a2', 'a1']])
  })

  it('says that there is none', async () => {
    expect(await beaver('session', 'nobody')).toMatchObject({
      code: 1,
      stderr: 'There is no session "nobody". "beaver sessions" lists the sessions. A new session appears after a moment.\n',
    })
  })
})

describe('beaver memory', () => {
  it('shows what is remembered of the work, and of one user', async () => {
    const { stdout } = await beaver('memory', '--user', 'Ada')
    expect(stdout).toMatch(
      /^About the work \(10 of [\d,]+ characters\)\n {2}- due in May\n\nAbout Ada \(\d+ of 2,000 characters\)\n {2}- Ada likes\n {4}tea\n$/,
    )
  })

  it('shows nothing of Ada to others', async () => {
    for (const args of [[], ['--user', 'Bob']]) {
      const { stdout } = await beaver('memory', ...args)
      expect([stdout.includes('due in May'), stdout.includes('Ada')]).toEqual([true, false])
    }
    const report = JSON.parse((await beaver('memory', '--json')).stdout) as object
    expect(report).toEqual({ memory: { entries: ['due in May'], chars: 10, chars_max: 4_000 }, user: { entries: [], chars: 0, chars_max: 2_000 } })
  })
})

describe('title and user', () => {
  it('are on the screens of tasks', async () => {
    const { stdout } = await beaver('tasks', '--user', 'Ada')
    expect(stdout).toMatch(/ USER +REQUEST\n.* And now\?\n.* Tea\n$/)
    expect((await beaver('show', 'a1')).stdout).toMatch(/\nTitle +Tea\nRequest +Remember me\n[^]* for Ada,/)
  })
})
