// Tasks that are accepted one behind the other in a session.
import type { SessionId, TaskId } from '@beaver/core'
import type { Entry } from '@beaver/core/journal'
import { held, memoryJournal, type MemoryJournal, virtualClock } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { acceptanceLines } from './accept-task.ts'
import { intakeIn, logOf, refusal } from '../test/intake.ts'
import { type IntakePorts, submitTask } from './task-intake.ts'

const intake = (over: Partial<IntakePorts> = {}) => intakeIn(process.cwd(), over)

/** The task before the one that an entry accepts. */
const before = (entry: Entry | null): TaskId | null =>
  (
    JSON.parse(Buffer.from(entry?.payload ?? []).toString()) as {
      data: { previous_task_id: TaskId | null }
    }[]
  )[0]?.data.previous_task_id ?? null
describe('a session is a chain (I2)', () => {
  it('each task names the one accepted before it; another session has its own', async () => {
    const { submit, stateOf } = intake()
    const previous = []
    for (const session_id of ['s', 's', 'other', 's'])
      previous.push(
        (await stateOf(await submit({ task: 'x', session_id }))).submitted?.previous_task_id ?? null,
      )
    expect(previous).toEqual([null, 'task_1', null, 'task_2'])
  })

  it('of tasks submitted at once is one chain in the order of the requests, however long each is looked at, with few writes', async () => {
    let writes = 0
    let looks = 0
    const folders: IntakePorts['folders'] = {
      at: async (path) => {
        // The first requests are looked at longest.
        for (let i = 50 - looks++; i > 0; i--) await Promise.resolve()
        return { kind: 'folder', real: path }
      },
    }
    const journal = memoryJournal()
    const { submit, stateOf } = intake({
      folders,
      journal: { ...journal, accept: (of) => (writes++, journal.accept(of)) },
    })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => submit({ task: 'x', task_id: `t${i}`, session_id: 's' })),
    )
    const previous = await Promise.all(
      answers.map(async (answer) => (await stateOf(answer)).submitted?.previous_task_id ?? null),
    )
    expect(previous).toEqual(Array.from({ length: 50 }, (_, i) => (i === 0 ? null : `t${i - 1}`)))
    expect(writes).toBe(2)
  })

  it('of tasks submitted at once to several daemons has every one of them', async () => {
    const journal = memoryJournal()
    const daemons = Array.from({ length: 3 }, () =>
      intake({ journal, lines: acceptanceLines(virtualClock()) }),
    )
    await Promise.all(
      Array.from({ length: 150 }, (_, i) =>
        (daemons[i % 3] as ReturnType<typeof intake>).submit({
          task: 'x',
          task_id: `t${i}`,
          session_id: 's',
        }),
      ),
    )
    const chain = []
    for (
      let { task } = await journal.sessionTail('local', 's' as SessionId);
      task !== null;
      chain.push(task), task = before(await journal.first(logOf({ task_id: task, session_id: 's' })))
    );
    expect(new Set(chain).size).toBe(150)
  })

  it('is tried again as a whole when another daemon was faster, with one write more', async () => {
    const journal = memoryJournal()
    const other = intake({ journal, lines: acceptanceLines(virtualClock()) })
    await other.submit({ task: 'x', task_id: 'first', session_id: 's' })
    const together: number[] = []
    let alone = 0
    const looked = held<void>()
    const one = intake({
      lines: acceptanceLines(virtualClock()),
      folders: { at: async (path) => (await looked.promise, { kind: 'folder', real: path }) },
      journal: {
        ...journal,
        accept: async (of) => {
          if (of.followers === undefined) alone++
          else together.push(1 + of.followers.length)
          if (together.length === 1) await other.submit({ task: 'x', task_id: 'faster', session_id: 's' })
          return journal.accept(of)
        },
      },
    })
    const all = Array.from({ length: 40 }, (_, i) =>
      one.submit({ task: 'x', task_id: `t${i}`, session_id: 's' }),
    )
    looked.settle()
    await Promise.all(all)
    expect(together).toEqual([40 - alone, 40 - alone])
    expect(before(await journal.first(logOf({ task_id: `t${alone}`, session_id: 's' })))).toBe('faster')
  })

  it('passes over a request that is looked at for seconds, which comes in when it is ready', async () => {
    const clock = virtualClock()
    const slow = held<void>()
    let looks = 0
    const folders: IntakePorts['folders'] = {
      at: async (path) => (looks++ === 0 && (await slow.promise), { kind: 'folder', real: path }),
    }
    const { submit } = intake({ folders, clock, lines: acceptanceLines(clock) })
    const [late, other] = ['late', 'other'].map((task_id) => submit({ task: 'x', task_id, session_id: 's' }))
    let done = false
    void other?.then(() => (done = true))
    for (let i = 0; i < 50; i++) await Promise.resolve()
    expect(done).toBe(false)
    clock.advance(2_000)
    await other
    slow.settle()
    expect(await late).toEqual({ task_id: 'late', session_id: 's' })
  })

  it('takes what can be taken if one of the ids is taken, and answers each request', async () => {
    const { submit, stateOf, ports } = intake()
    await submit({ task: 'x', task_id: 'taken', session_id: 'another' })
    await submit({ task: 'x', task_id: 'first', session_id: 's' })
    const asked = [
      ['t1', 'x'],
      ['taken', 'x'],
      ['t2', 'x'],
      ['t2', 'x'],
      ['t2', 'other'],
      ['t3', 'x'],
    ].map(([task_id, task]) =>
      submitTask({ task: task ?? '', task_id, session_id: 's', fresh: 'task' } as never, ports),
    )
    const ends = await Promise.all(asked.map((each) => refusal(each)))
    expect(ends.map((end) => (typeof end === 'string' ? 'accepted' : (end as string[])[0]))).toEqual([
      'accepted',
      'conflict',
      'accepted',
      'accepted',
      'conflict',
      'accepted',
    ])
    expect((await stateOf({ task_id: 't3', session_id: 's' })).submitted?.previous_task_id).toBe('t2')
  })

  it('in which others are accepted without end refuses after half a minute, and says to ask again', async () => {
    const clock = virtualClock()
    const since = clock.now()
    const { ports } = intake({ clock, lines: acceptanceLines(clock) })
    const restless: MemoryJournal = {
      ...(ports.journal as MemoryJournal),
      accept: async () => (clock.advance(1_000), { kind: 'tail_moved' }),
    }
    await expect(
      submitTask({ task: 'x', session_id: 's' }, { ...ports, journal: restless }),
    ).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('Ask again') as string,
    })
    expect(clock.now() - since).toBe(30_000)
  })
})

describe('a session', () => {
  it('belongs to the user of its first task: nobody else continues it (D-67)', async () => {
    const { submit } = intake()
    const refused = ['not_allowed', ['session_id']]
    await submit({ task: 'x', session_id: 'of Ada', user_id: 'Ada' })
    await submit({ task: 'x', session_id: "the tenant's" })
    expect(await submit({ task: 'y', session_id: 'of Ada', user_id: 'Ada' })).toMatchObject({
      session_id: 'of Ada',
    })
    expect(await submit({ task: 'y', session_id: "the tenant's" })).toMatchObject({
      session_id: "the tenant's",
    })
    for (const other of [{ user_id: 'Bob' }, { user_id: 'ada' }, {}])
      expect(await refusal(submit({ task: 'y', session_id: 'of Ada', ...other }))).toEqual(refused)
    expect(await refusal(submit({ task: 'y', session_id: "the tenant's", user_id: 'Ada' }))).toEqual(refused)
    expect(
      await refusal(
        submit({ task: 'y', task_id: 't', session_id: 'of Ada', fresh: 'session', user_id: 'Bob' }),
      ),
    ).toEqual(refused)
  })

  it('that two users begin at the same moment belongs to one of them', async () => {
    const { submit } = intake()
    const users = Array.from({ length: 8 }, (_, i) => `user ${i}`)
    const ends = await Promise.all(
      users.map((user_id) => refusal(submit({ task: 'x', session_id: 's', user_id }))),
    )
    expect(ends.filter((end) => typeof end === 'string')).toHaveLength(1)
    expect(new Set(ends.filter((end) => typeof end !== 'string').map((end) => (end as string[])[0]))).toEqual(
      new Set(['not_allowed']),
    )
  })

  it('is never named to whom it does not belong', async () => {
    const { submit } = intake()
    await submit({ task: 'x', session_id: 's', user_id: 'Ada Lovelace' })
    await expect(submit({ task: 'y', session_id: 's', user_id: 'Bob' })).rejects.toThrow(
      'The session s belongs to a user, and only that user continues it.',
    )
  })
})

it('a request with another picture of the same name is another request', async () => {
  const { submit } = intake()
  const picture = (width: number) => ({
    data: Buffer.from(`GIF89a${String.fromCharCode(width)}\0\u0002\0`, 'latin1').toString('base64'),
    name: 'pasted.gif',
  })
  const first = await submit({ task: 'x', task_id: 't', images: [picture(3)] })
  expect(await submit({ task: 'x', task_id: 't', images: [picture(3)] })).toEqual(first)
  for (const images of [[picture(4)], [picture(3), picture(3)], []])
    expect(await refusal(submit({ task: 'x', task_id: 't', images }))).toEqual([
      'conflict',
      expect.anything(),
    ])
})
