import type { RecordedEvent } from '@beaver/core/journal'
import { until } from '@beaver/testing'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { TaskFeeds, type TaskReader, type TaskSource } from './task-feeds.ts'

/** A journal of one task that can be written while it is read. */
function journal() {
  const events: RecordedEvent[] = []
  let [more, isOver, failure] = [Promise.withResolvers<void>(), false, null as Error | null]
  const read = { begun: 0, open: 0, upTo: 0, from: [] as number[] }
  const ring = (): void => {
    more.resolve()
    more = Promise.withResolvers()
  }
  async function* watch(
    _: string,
    { after = 0, signal = new AbortController().signal }: { after?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<RecordedEvent> {
    read.begun++
    read.open++
    read.from.push(after)
    signal.addEventListener('abort', ring)
    try {
      for (let at = 0; !signal.aborted;) {
        const event = events[at]
        if (event !== undefined) {
          at++
          if (event.taskseq <= after) continue
          read.upTo = Math.max(read.upTo, at)
          yield event
        } else if (failure !== null) throw failure
        else if (isOver) return
        else await more.promise
      }
    } finally {
      read.open--
    }
  }
  const write = (count: number, text = ''): void => {
    for (let i = 0; i < count; i++)
      events.push({ taskseq: events.length + 1, type: 'x', data: { text } } as unknown as RecordedEvent)
    ring()
  }
  const end = (error: Error | null = null): void => {
    ;[isOver, failure] = [true, error]
    ring()
  }
  const remove = (from: number, count: number): void => void events.splice(from, count)
  const event = async (_: string, taskseq: number): Promise<RecordedEvent | null> =>
    events[taskseq - 1] ?? null
  const source = (): ReturnType<TaskSource> => ({ watch, event })
  return { source, watch, write, end, read, remove }
}

const placesIn = (bytes: Uint8Array): number[] =>
  [
    ...Buffer.from(bytes)
      .toString()
      .matchAll(/^id: (\d+)$/gm),
  ].map(([, id]) => Number(id))
const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)

async function takeAll(reader: TaskReader): Promise<number[]> {
  const places: number[] = []
  for (let next = await reader.next(); next.done !== true; next = await reader.next())
    places.push(...placesIn(next.value))
  return places
}

it('many readers of a task share one reading of the journal, and the bytes', async () => {
  const { write, end, read, source } = journal()
  const feeds = new TaskFeeds(source)
  const readers = [1, 2, 3].map(() => feeds.follow('t', 0))
  write(3)
  const firsts = await Promise.all(readers.map((reader) => reader.next()))
  expect(new Set(firsts.map(({ value }) => value)).size).toBe(1)
  expect(firsts.map(({ value }) => placesIn(value ?? new Uint8Array()))).toEqual([
    numbers(1, 3),
    numbers(1, 3),
    numbers(1, 3),
  ])
  write(1)
  end()
  expect([await Promise.all(readers.map(takeAll)), read]).toEqual([
    [[4], [4], [4]],
    { begun: 1, open: 0, upTo: 4, from: [0] },
  ])
})

it('a reader that takes nothing lets the journal be read a little ahead, and no further', async () => {
  const { write, read, source } = journal()
  const reader = new TaskFeeds(source).follow('t', 0)
  write(10_000)
  await reader.first
  await until('it is read ahead', () => read.upTo >= 64)
  expect(read.upTo).toBe(64)
  expect(placesIn((await reader.next()).value ?? new Uint8Array())[0]).toBe(1)
  reader.close()
  expect(read.open).toBe(1)
  await until('nobody reads any more', () => read.open === 0)
})

it('a reader that was left far behind gets every event once, and costs the others nothing', async () => {
  const { write, end, read, source } = journal()
  const feeds = new TaskFeeds(source)
  const [slow, fast] = [feeds.follow('t', 0), feeds.follow('t', 0)]
  write(1, 'first')
  expect(placesIn((await slow.next()).value ?? new Uint8Array())).toEqual([1])
  write(5_000)
  end()
  expect(await takeAll(fast)).toEqual(numbers(1, 5_001))
  expect(read.begun).toBe(1)
  expect(await takeAll(slow)).toEqual(numbers(2, 5_001))
  expect(read).toEqual({ begun: 2, open: 0, upTo: 5_001, from: [0, 1] })
})

it('events of any size are kept within a bound, and none is left out', async () => {
  const { write, end, source } = journal()
  const feeds = new TaskFeeds(source)
  const [slow, fast] = [feeds.follow('t', 0), feeds.follow('t', 0)]
  write(40, 'x'.repeat(300_000))
  end()
  expect([await takeAll(fast), await takeAll(slow)]).toEqual([numbers(1, 40), numbers(1, 40)])
})

it('a reader goes on behind the event that it has, also if the journal does not have it yet', async () => {
  const { write, end, source } = journal()
  const feeds = new TaskFeeds(source)
  write(1_000)
  const [middle, end_, beyond] = [feeds.follow('t', 700), feeds.follow('t', 1_000), feeds.follow('t', 1_001)]
  const all = [middle, end_, beyond].map(takeAll)
  await middle.first
  write(2)
  end()
  expect(await Promise.all(all)).toEqual([numbers(701, 1_002), [1_001, 1_002], [1_002]])
})

it('the journal is read from where the first reader is, and from its beginning for a later reader alone', async () => {
  const { write, end, read, source } = journal()
  const feeds = new TaskFeeds(source)
  write(1_000)
  const [near, same, far] = [feeds.follow('t', 990), feeds.follow('t', 990), feeds.follow('t', 0)]
  expect((await near.first)?.taskseq).toBe(1)
  expect((await far.first)?.taskseq).toBe(1)
  const all = [near, same, far].map(takeAll)
  await until('all has been read', () => read.upTo === 1_000 && read.begun === 2)
  write(1)
  end()
  expect(await Promise.all(all)).toEqual([numbers(991, 1_001), numbers(991, 1_001), numbers(1, 1_001)])
  expect(read.from).toEqual([990, 0])
})

it('frees a waiting reader at once when the reader is closed, also if others read on', async () => {
  const { write, source } = journal()
  const feeds = new TaskFeeds(source)
  write(1)
  const [one, other] = [feeds.follow('t', 1), feeds.follow('t', 1)]
  const waiting = one.next()
  await one.first
  one.close()
  expect((await waiting).done).toBe(true)
  other.close()
})

it('a journal that cannot be read is told to each reader, and is tried again for the next one', async () => {
  const { write, end, read, source } = journal()
  const feeds = new TaskFeeds(source)
  const readers = [feeds.follow('t', 0), feeds.follow('t', 0)]
  write(1)
  await Promise.all(readers.map((reader) => reader.next()))
  end(new Error('gone'))
  for (const reader of readers) await expect(reader.next()).rejects.toThrow('gone')
  const next = feeds.follow('t', 0)
  await expect(takeAll(next)).rejects.toThrow('gone')
  expect(read.begun).toBe(2)
})

it('all readers are woken when the feeds close', async () => {
  const { write, read, source } = journal()
  const feeds = new TaskFeeds(source)
  const readers = [feeds.follow('t', 0), feeds.follow('t', 0)]
  write(1)
  const all = readers.map(takeAll)
  await readers[0]?.first
  feeds.close()
  expect((await Promise.all(all)).flat().every((place) => place === 1)).toBe(true)
  await until('nobody reads any more', () => read.open === 0)
})

it('whatever the readers do, each that stays gets what is behind its place, in order and once', async () => {
  const act = fc.oneof(
    fc.record({ kind: fc.constant('write' as const), count: fc.integer({ min: 1, max: 900 }) }),
    fc.record({ kind: fc.constant('join' as const), after: fc.integer({ min: 0, max: 1_500 }) }),
    fc.record({ kind: fc.constant('take' as const), who: fc.nat(5) }),
    fc.record({ kind: fc.constant('leave' as const), who: fc.nat(5) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 40 }), async (acts) => {
      const { write, end, read, source } = journal()
      const feeds = new TaskFeeds(source)
      const readers: {
        reader: TaskReader
        after: number
        got: number[]
        left: boolean
        taking: Promise<unknown>
      }[] = []
      let written = 0
      for (const each of acts) {
        if (each.kind === 'write') {
          write(each.count)
          written += each.count
        } else if (each.kind === 'join')
          readers.push({
            reader: feeds.follow('t', each.after),
            after: each.after,
            got: [],
            left: false,
            taking: Promise.resolve(),
          })
        else {
          const one = readers[each.who]
          if (one === undefined || one.left) continue
          if (each.kind === 'leave') {
            one.left = true
            one.reader.close()
          } else
            one.taking = one.taking
              .then(() => one.reader.next())
              .then((next) => void one.got.push(...placesIn(next.value ?? new Uint8Array())))
        }
        await new Promise((resolve) => setImmediate(resolve))
      }
      end()
      await Promise.all(
        readers.map(async (one) => {
          await one.taking
          if (!one.left) one.got.push(...(await takeAll(one.reader)))
        }),
      )
      for (const { got, after, left } of readers) {
        const wanted = numbers(after + 1, written)
        expect(got).toEqual(left ? wanted.slice(0, got.length) : wanted)
      }
      expect(read.open).toBe(0)
    }),
    { numRuns: 60 },
  )
})

it('a journal that refuses to be read at once is told to its reader, and is tried again for the next one', async () => {
  const { write, end, source } = journal()
  let isThere = false
  const feeds = new TaskFeeds(() => {
    if (!isThere) throw new Error('not running')
    return source()
  })
  const [first, second] = [feeds.follow('t', 0), feeds.follow('t', 0)]
  await expect(first.first).rejects.toThrow('not running')
  await expect(second.next()).rejects.toThrow('not running')
  isThere = true
  write(1)
  end()
  expect(await takeAll(feeds.follow('t', 0))).toEqual([1])
})

it('a reader that takes nothing of large events keeps a few of them alone', async () => {
  const { write, read, source } = journal()
  const reader = new TaskFeeds(source).follow('t', 0)
  write(40, 'x'.repeat(100_000))
  await reader.first
  await new Promise((resolve) => setImmediate(resolve))
  expect(read.upTo).toBeLessThanOrEqual(4)
  reader.close()
})

it('a reader that was left behind comes to the end of a log that is archived meanwhile', async () => {
  const [whole, archived] = [journal(), journal()]
  const watches = [whole.watch, archived.watch]
  const feeds = new TaskFeeds(() => ({
    ...whole.source(),
    watch: (taskId, given) => (watches.shift() ?? archived.watch)(taskId, given),
  }))
  const [slow, fast] = [feeds.follow('t', 0), feeds.follow('t', 0)]
  whole.write(1)
  expect(placesIn((await slow.next()).value ?? new Uint8Array())).toEqual([1])
  whole.write(1_999)
  for (let place = 0; place < 1_500;)
    place = placesIn((await fast.next()).value ?? new Uint8Array()).at(-1) ?? place
  fast.close()
  // The archive keeps the first and the last event.
  archived.write(2_000)
  archived.remove(1, 1_998)
  archived.end()
  whole.end()
  expect(await takeAll(slow)).toEqual([2_000])
})
