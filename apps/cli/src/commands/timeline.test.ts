import type { TimelineItem } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import { describe, expect, it } from 'vitest'
import type { Answers } from '../system/answers-from-file.ts'
import { styleOf } from '../text/style.ts'
import { isCut, tasksNamed, timelineTable } from './timeline.ts'

/**
 * Answers for these sessions with their tasks, the oldest task first. Like the projector, it accepts the
 * beginnings of ids.
 */
function knowing(sessions: Readonly<Record<string, readonly string[]>>): Answers {
  const meant = (ids: readonly string[], id: string): string => {
    const [only, ...others] = ids.includes(id) ? [id] : ids.filter((each) => each.startsWith(id))
    if (only === undefined) throw new BeaverError('not_found', `There is no ${JSON.stringify(id)}.`)
    if (others.length > 0)
      throw new BeaverError(
        'invalid_arguments',
        `${JSON.stringify(id)} may mean several tasks: ${only}, ${others.join(', ')}.`,
      )
    return only
  }
  const answers = {
    timeline: ({ task_id: id }: { task_id: string }) => ({
      task_id: meant(Object.values(sessions).flat(), id),
      events: [],
      more: false,
      next: null,
    }),
    session({ session_id: id, limit, before }: { session_id: string; limit: number; before?: number }) {
      const session_id = meant(Object.keys(sessions), id)
      const all = sessions[session_id] ?? []
      const end = before ?? all.length
      // At most two tasks in each answer, so that there are several pages.
      const from = Math.max(0, end - Math.min(limit, 2))
      const turns = all.slice(from, end).map((task_id) => ({
        task_id,
        title: null,
        text: `do ${task_id}`,
        workflow: null,
        retry_of: null,
        submitted_at: null,
      }))
      return { session: { session_id }, tasks: turns.toReversed(), next: from === 0 ? null : from }
    },
  }
  const query = (name: keyof typeof answers, input: never): Promise<unknown> =>
    Promise.try(() => answers[name](input))
  return { client: { query } } as unknown as Answers
}

const known = knowing({ talk: ['a1', 'a2', 'a3'], b1: ['b1', 'b2'], c: ['c-1', 'c-2'], 'd-session': ['d'] })
const idsOf = async (id: string, options: Parameters<typeof tasksNamed>[2] = {}): Promise<string[]> =>
  (await tasksNamed(known, id, options)).map((task) => task.task_id)

describe('the id of a timeline', () => {
  it.each<[string, string, string[], { session?: true; node?: string }]>([
    ['of a task', 'a2', ['a2'], {}],
    ['of a session', 'talk', ['a1', 'a2', 'a3'], {}],
    ['of a task and of its session is the task', 'b1', ['b1'], {}],
    ['of a task and of its session is the session if one says so', 'b1', ['b1', 'b2'], { session: true }],
    ['of a session counts before a beginning of tasks', 'c', ['c-1', 'c-2'], {}],
    ['of a task counts before the beginning of a session', 'd', ['d'], {}],
    ['may be the beginning of that of a session', 'ta', ['a1', 'a2', 'a3'], {}],
    ['may be the beginning of that of a session if one says so', 'd', ['d'], { session: true }],
    ['with a node is that of a task', 'talk', ['talk'], { node: 'n' }],
  ])('%s', async (_, id, tasks, options) => {
    expect(await idsOf(id, options)).toEqual(tasks)
  })

  it('that is no id, or the beginning of several, is refused', async () => {
    await expect(idsOf('nothing')).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('no task and no session "nothing"') as string,
    })
    await expect(idsOf('c-')).rejects.toMatchObject({
      code: 'invalid_arguments',
      message: expect.stringContaining('c-1, c-2') as string,
    })
    await expect(idsOf('a1', { session: true })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('no session "a1"') as string,
    })
  })

  it('of a session has a line for each task, and that of a task has none', async () => {
    expect((await tasksNamed(known, 'b1', { session: true })).map(({ head }) => head)).toEqual([
      'b1  do b1',
      'b2  do b2',
    ])
    expect((await tasksNamed(known, 'b1', {})).map(({ head }) => head)).toEqual([null])
  })
})

describe('the table of a timeline', () => {
  const items = [
    'It is short.',
    'A sentence that is longer than the terminal has columns for it, so that its end is not there.',
  ].map(
    (text, i) =>
      ({ taskseq: i + 1, offset_ms: i, actor_name: 'root', text, status: null }) as unknown as TimelineItem,
  )
  const screenOf = (columns: number) => ({ columns, style: styleOf(false) })

  it('knows whether the terminal had no room for a text', () => {
    for (const [columns, cut] of [
      [80, true],
      [200, false],
      [Infinity, false],
    ] as const)
      expect(isCut(items, timelineTable(items, screenOf(columns)))).toBe(cut)
    expect(isCut(items.slice(0, 1), timelineTable(items.slice(0, 1), screenOf(80)))).toBe(false)
  })
})
