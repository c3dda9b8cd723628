import { expect, it } from 'vitest'
import { EventLog, type LogPlace, type ReadLog } from './event-log.ts'

/** A log that grows, and the parts that were asked for. */
function logOf(count: number) {
  const asked: string[] = []
  const log = { count, isDown: false, asked, read: (() => {}) as unknown as ReadLog }
  log.read = ({ order, after = 0, before = Infinity, limit }) => {
    asked.push(`${order} ${after}..${before}`)
    if (log.isDown) return Promise.reject(new Error('down'))
    const all = Array.from({ length: log.count }, (_, at) => at + 1).filter((at) => after < at && at < before)
    const taken = (order === 'desc' ? all.toReversed() : all).slice(0, limit)
    const events = taken.map((taskseq) => ({
      taskseq,
      text: `event ${taskseq}`,
      offset_ms: 0,
      status: 'done',
    }))
    return Promise.resolve({ events, more: taken.length < all.length } as Awaited<ReturnType<ReadLog>>)
  }
  return log
}

/** The first and the last event, and whether more come before and after. */
const shown = ({ part: { events, hasBefore, hasAfter } }: EventLog) => {
  const places = events?.map(({ taskseq }) => taskseq) ?? []
  const first = places[0] ?? 0
  expect(places).toEqual(places.map((_, at) => first + at))
  return [first, places.at(-1), hasBefore, hasAfter]
}

it.each<[LogPlace, unknown[]]>([
  ['first', [1, 500, false, true]],
  [40_000, [39_751, 40_250, true, true]],
  [3, [1, 500, false, true]],
  [99_999, [99_750, 100_000, true, false]],
  [200_000, [99_501, 100_000, true, false]],
  ['newest', [99_501, 100_000, true, false]],
])('begins at %s', async (place, expected) => {
  const list = new EventLog(logOf(100_000).read)
  await list.open(place)
  expect(shown(list)).toEqual(expected)
  expect(typeof place !== 'number' || place > 100_000 || list.has(place)).toBe(true)
})

it('grows at both ends, up to the ends of the log', async () => {
  const log = logOf(1_300)
  const list = new EventLog(log.read)
  await list.open(600)
  await Promise.all([list.more('before'), list.more('after')])
  expect(shown(list)).toEqual([1, 1_300, false, false])
  await Promise.all([list.more('before'), list.more('after')])
  expect(log.asked).toEqual(['asc 350..Infinity', 'desc 0..351', 'asc 850..Infinity'])
})

it('takes new events behind the last one, and reads nothing twice', async () => {
  const log = logOf(3)
  const list = new EventLog(log.read)
  await list.open('first')
  log.count = 5
  // The second notice comes while the answer to the first one is under way.
  const first = list.heard(4)
  log.count = 6
  await Promise.all([first, list.heard(6)])
  await list.heard(6)
  expect(shown(list)).toEqual([1, 6, false, false])
  expect(log.asked).toEqual(['asc 0..Infinity', 'asc 3..Infinity', 'asc 5..Infinity'])
})

it('does not read new events while others come before them', async () => {
  const log = logOf(2_000)
  const list = new EventLog(log.read)
  await list.open('first')
  await list.heard(2_001)
  expect(shown(list)).toEqual([1, 500, false, true])
})

it('keeps what it has when a reading fails, and goes on after it', async () => {
  const log = logOf(3)
  const list = new EventLog(log.read)
  log.isDown = true
  await list.open('first')
  expect(list.part.error).toBeInstanceOf(Error)
  log.isDown = false
  await list.heard(null)
  expect(shown(list)).toEqual([1, 3, false, false])
  log.isDown = true
  log.count = 4
  await list.heard(4)
  expect([shown(list), list.part.error instanceof Error]).toEqual([[1, 3, false, false], true])
  log.isDown = false
  await list.again()
  expect([shown(list), list.part.error]).toEqual([[1, 4, false, false], null])
})

it('drops the answer for a place that nobody wants any more', async () => {
  const list = new EventLog(logOf(100_000).read)
  await Promise.all([list.open('first'), list.open(50_000)])
  expect(shown(list)).toEqual([49_751, 50_250, true, true])
})
