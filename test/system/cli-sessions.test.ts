// `beaver sessions`, `session` and `memory`: what a person sees of the conversations of users, and of what
// agents remember.
import type { SessionAnswer, SessionsAnswer } from '@beaver/contracts'
import { until } from '@beaver/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { type OperatedSystem, operatedSystem } from '../support/kept-system.ts'

let plain: OperatedSystem
beforeAll(async () => {
  plain = await operatedSystem()
  const { provider, client } = plain.system
  provider.answerBy(({ text, results }) => {
    if (text !== 'Remember me' || results.length > 0) return say(`answer to ${text.slice(0, 20)}`)
    return use(
      ['memory', { action: 'add', target: 'user', content: 'Ada likes\ntea' }],
      ['memory', { action: 'add', target: 'memory', content: 'due in May' }],
    )
  })
  await client.run({ task: 'Nobody asks', session_id: 'of-nobody' })
  await client.run({
    task: 'Remember me',
    task_id: 'a1',
    session_id: 'talk-of-ada',
    user_id: 'Ada',
    title: 'Tea',
  })
  await client.run({ task: 'And now?', task_id: 'a2', session_id: 'talk-of-ada', user_id: 'Ada' })
  const args = { task: 'Write', agents: [{ name: 'a', instruction: 'write it' }] }
  await client.run({
    workflow: { name: 'SequentialWorkflow', arguments: args },
    task_id: 'w',
    session_id: 'flows',
    user_id: 'Ada',
  })
  await until(
    'the projector knows',
    async () =>
      (await client.query('tasks', { user_id: 'Ada' })).tasks.filter(({ ended_at }) => ended_at !== null)
        .length === 3,
  )
})

async function beaver(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { exit, out, err } = await plain.beaver(...args)
  return { code: exit, stdout: out, stderr: err }
}

/** The words of the command for the next page. */
const further = (printed: string): string[] => /beaver\S* (session.*)/.exec(printed)?.[1]?.split(' ') ?? []

describe('beaver sessions', () => {
  it('lists them with their users and titles', async () => {
    const { stdout } = await beaver('sessions')
    expect(stdout).toMatch(
      /SESSION +TASKS .*USER +ABOUT\nflows +1 .*Ada +Write\ntalk-of-ada +2 .*Ada +Tea\nof-nobody +1 .*Nobody asks\n/,
    )
  })

  it('lists them page by page, with the command for the next page', async () => {
    const { stdout } = await beaver('sessions', '--user', 'Ada', '--limit', '1')
    expect(stdout).toMatch(
      /^SESSION.*\nflows .*\nThere are more sessions\. Show the next: .*beaver.* sessions --user Ada --limit 1 --before \d+\n$/,
    )
    expect((await beaver(...further(stdout))).stdout).toMatch(/^SESSION.*\ntalk-of-ada .*\n$/)
    expect((await beaver('sessions', '--limit', '5000', '--json')).code).toBe(0)
    expect([
      (await beaver('sessions', '--before', '1')).stdout,
      (await beaver('tasks', '--before', '1')).stdout,
    ]).toEqual(['No such sessions.\n', 'No such tasks.\n'])
  })

  it('lists those of one user, also as JSON', async () => {
    const { sessions } = JSON.parse(
      (await beaver('sessions', '--user', 'Ada', '--json')).stdout,
    ) as SessionsAnswer
    expect(sessions.map(({ session_id, title, tasks, open }) => [session_id, title, tasks, open])).toEqual([
      ['flows', null, 1, 0],
      ['talk-of-ada', 'Tea', 2, 0],
    ])
    expect((await beaver('sessions', '--user', 'Bob')).stdout).toBe('No such sessions.\n')
  })
})

describe('beaver session', () => {
  it('reads as a conversation, the oldest task first', async () => {
    const { stdout } = await beaver('session', 'talk-of-a')
    expect(stdout).toMatch(/^Session +talk-of-ada\nTitle +Tea\nUser +Ada\nTasks +2, since /)
    const told = [
      'You     Remember me',
      'Beaver  answer to Remember me',
      'You     And now?',
      'Beaver  answer to And now?',
    ].map((line) => stdout.indexOf(line))
    expect(told.every((place) => place > 0)).toBe(true)
    expect(told).toEqual(told.toSorted((a, b) => a - b))
  })

  it('shows the newest tasks if there are more than wanted, and says what is left out', async () => {
    const { stdout } = await beaver('session', 'talk-of-ada', '--limit', '1')
    expect(stdout).toMatch(
      /1 earlier task left out\. Show the next: .*beaver.* session talk-of-ada --limit 1 --before \d+\n/,
    )
    expect([stdout.includes('And now?'), stdout.includes('Remember me')]).toEqual([true, false])
    const earlier = (await beaver(...further(stdout))).stdout
    expect([
      earlier.includes('And now?'),
      earlier.includes('Remember me'),
      earlier.includes('left out'),
    ]).toEqual([false, true, false])
  })

  it('shows a workflow with its result', async () => {
    const { stdout } = await beaver('session', 'flows')
    expect(stdout).toMatch(/SequentialWorkflow\nYou +Write\nBeaver +answer to/)
  })

  it('is the whole answer with --json', async () => {
    const { session, tasks } = JSON.parse(
      (await beaver('session', 'talk-of-ada', '--json')).stdout,
    ) as SessionAnswer
    expect([session.user_id, tasks.map(({ task_id }) => task_id)]).toEqual(['Ada', ['a2', 'a1']])
  })

  it('says that there is none', async () => {
    expect(await beaver('session', 'nobody')).toMatchObject({
      code: 1,
      stderr:
        'There is no session "nobody". "beaver sessions" lists the sessions. A new session appears after a moment.\n',
    })
  })
})

describe('beaver timeline', () => {
  it('tells the tasks of a session one after the other, the oldest first (PP-01)', async () => {
    const { stdout } = await beaver('timeline', 'talk-of-ada')
    expect(stdout).toMatch(
      /^\S.*  a1  Tea\n *# +AT +WHO +WHAT\n *1 .*submitted.*\n(.*\n)+.*answer to Remember me[^]*\n\n\S.*  a2  And now\?\n *# .*\n *1 .*submitted.*\n(.*\n)+.*answer to And now/,
    )
    expect((await beaver('timeline', 'talk-of-ada', '--session')).stdout).toBe(stdout)
  })

  it('prints the same lines of JSON for a session as for its tasks', async () => {
    const ofTasks = await Promise.all(
      ['a1', 'a2'].map(async (id) => (await beaver('timeline', id, '--json')).stdout),
    )
    expect((await beaver('timeline', 'talk-of-ada', '--json')).stdout).toBe(ofTasks.join(''))
    const first = (ofTasks[0] ?? '').split('\n').length - 1
    const some = (await beaver('timeline', 'talk-of-ada', '--json', '--limit', String(first + 1))).stdout
    expect(some.trim().split('\n').at(-1)).toContain('"event_id":"a2.1"')
  })

  it('refuses what is neither a task nor a session, and a node of a session', async () => {
    expect(await beaver('timeline', 'nobody')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^There is no task and no session "nobody"\./) as string,
    })
    expect(await beaver('timeline', 'flows', '--session', '--node', 'a')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--node') as string,
    })
  })
})

describe('--session of tasks and search', () => {
  it.each([['latest'], ['flo'], ['flows']])(
    'finds the same session for %s as the argument of other commands',
    async (typed) => {
      const { tasks } = JSON.parse((await beaver('tasks', '--session', typed, '--json')).stdout) as {
        tasks: { task_id: string }[]
      }
      const { hits } = JSON.parse(
        (await beaver('search', 'answer', '--session', typed, '--json')).stdout,
      ) as { hits: { session_id: string }[] }
      expect([
        tasks.map(({ task_id: id }) => id),
        [...new Set(hits.map(({ session_id: id }) => id))],
      ]).toEqual([['w'], ['flows']])
    },
  )

  it('says that there is no such session', async () => {
    const none = {
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^There is no session "nobody"\./) as string,
    }
    expect(await beaver('search', 'answer', '--session', 'nobody')).toEqual(none)
    expect(await beaver('tasks', '--session', 'nobody')).toEqual(none)
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
    expect(report).toEqual({
      memory: { entries: ['due in May'], chars: 10, chars_max: 4_000 },
      user: { entries: [], chars: 0, chars_max: 2_000 },
    })
  })
})

describe('title and user', () => {
  it('are on the screens of tasks', async () => {
    const { stdout } = await beaver('tasks', '--user', 'Ada')
    expect(stdout).toMatch(/ USER +REQUEST\n.* Write\n.* And now\?\n.* Tea\n$/)
    expect((await beaver('show', 'a1')).stdout).toMatch(
      /\nTitle +Tea\nRequest +Remember me\n[^]* Ada \(over ada\)/,
    )
  })
})
