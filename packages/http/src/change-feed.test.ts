import { type Change, type ChangedTask, changedTasksMax } from '@beaver/contracts'
import { until } from '@beaver/testing'
import { expect, it } from 'vitest'
import { ChangeFeed, type ChangeReader } from './change-feed.ts'

const task = (id: string, user_id: string | null = null): ChangedTask => ({
  ...{ task_id: id, session_id: id, user_id, taskseq: 1 },
  status: 'running',
})
const all = (): boolean => true
const ofAnn = ({ user_id: user }: ChangedTask): boolean => user === 'ann'

/** Changes that a test tells while they are followed. */
function source() {
  const told: Change[] = []
  let [more, isOver, failure] = [Promise.withResolvers<void>(), false, null as Error | null]
  const seen = { begun: 0, open: 0 }
  const ring = (): void => {
    more.resolve()
    more = Promise.withResolvers()
  }
  async function* follow({ signal }: { signal: AbortSignal }): AsyncGenerator<Change> {
    seen.begun++
    seen.open++
    signal.addEventListener('abort', ring)
    try {
      while (!signal.aborted) {
        const next = told.shift()
        if (next !== undefined) yield next
        else if (failure !== null) throw failure
        else if (isOver) return
        else await more.promise
      }
    } finally {
      seen.open--
    }
  }
  const tell = (...changes: readonly Change[]): void => {
    told.push(...changes)
    ring()
  }
  const end = (error: Error | null = null): void => {
    ;[isOver, failure] = [true, error]
    ring()
  }
  const allTold = (): Promise<unknown> => until('it has told everything', () => told.length === 0)
  return { follow, tell, end, seen, allTold }
}

const changed = (sequence: number, ...tasks: readonly ChangedTask[]): Change => ({
  ...{ kind: 'changed', sequence, tasks: [...tasks] },
})
const nextOf = async (reader: ChangeReader): Promise<unknown> => (await reader.next()).value

it('readers share one following, which ends with the last of them and begins again with the next', async () => {
  const { follow, tell, seen } = source()
  const feed = new ChangeFeed(follow)
  const [one, two] = [feed.join(all), feed.join(all)]
  tell({ kind: 'hello', sequence: 3 }, changed(4, task('a')))
  for (const reader of [one, two])
    expect([await nextOf(reader), await nextOf(reader)]).toEqual([
      { id: '3', event: 'hello', data: { sequence: 3 } },
      { id: '4', event: 'changed', data: { sequence: 4, tasks: [task('a')] } },
    ])
  const late = feed.join(all)
  expect(await nextOf(late)).toEqual({ id: '4', event: 'hello', data: { sequence: 4 } })
  for (const reader of [one, two]) await reader.return()
  expect(seen).toEqual({ begun: 1, open: 1 })
  late.close()
  await until('it is over', () => seen.open === 0)
  const again = feed.join(all)
  tell({ kind: 'hello', sequence: null })
  expect(await nextOf(again)).toEqual({ event: 'hello', data: { sequence: null } })
  expect(seen.begun).toBe(2)
})

it('a reader hears of the tasks that it reaches alone', async () => {
  const { follow, tell } = source()
  const reader = new ChangeFeed(follow).join(ofAnn)
  tell({ kind: 'hello', sequence: 1 }, changed(2, task('b', 'ben')), changed(3, task('n')))
  tell(changed(4, task('a', 'ann'), task('b', 'ben')), { kind: 'reset', sequence: 5 })
  expect(await nextOf(reader)).toMatchObject({ event: 'hello' })
  expect(await nextOf(reader)).toEqual({
    id: '4',
    event: 'changed',
    data: { sequence: 4, tasks: [task('a', 'ann')] },
  })
  expect(await nextOf(reader)).toEqual({ id: '5', event: 'reset', data: { sequence: 5 } })
})

it('a slow reader gets each task once, and a reset for too many of them, and slows down nobody', async () => {
  const { follow, tell, allTold } = source()
  const feed = new ChangeFeed(follow)
  const [slow, slower] = [feed.join(all), feed.join(all)]
  tell({ kind: 'hello', sequence: 1 })
  for (const reader of [slow, slower]) await nextOf(reader)
  for (let i = 2; i < 100; i++) tell(changed(i, task('a')))
  await allTold()
  expect(await nextOf(slow)).toMatchObject({ id: '99', data: { tasks: [task('a')] } })
  for (let i = 0; i < 2 * changedTasksMax; i++) tell(changed(100 + i, task(`t${i}`)))
  await allTold()
  expect(await nextOf(slower)).toMatchObject({ event: 'reset' })
})

it('a following that fails ends its readers with the error, and the next reader begins another one', async () => {
  const { follow, tell, end } = source()
  const feed = new ChangeFeed(follow)
  const [begun, early] = [feed.join(all), feed.join(all)]
  tell({ kind: 'hello', sequence: 1 })
  await begun.begun
  end(new Error('away'))
  await nextOf(begun).catch(() => {})
  for (const reader of [begun, early]) await expect(reader.next()).rejects.toThrow('away')
  await expect(feed.join(all).begun).rejects.toThrow('away')
})

it('a feed that is closed ends its readers', async () => {
  const { follow, seen } = source()
  const feed = new ChangeFeed(follow)
  const reader = feed.join(all)
  feed.close()
  await reader.begun
  expect(await reader.next()).toEqual({ done: true, value: undefined })
  await until('it is over', () => seen.open === 0)
})
