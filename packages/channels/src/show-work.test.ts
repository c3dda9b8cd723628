import { virtualClock } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { dueWork, WorkShown } from './show-work.ts'

const lineAfterMs = 10_000
/** After this, answers that a network gives at once have arrived. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const minutes = (count: number): number => count * 60_000

describe('what is due', () => {
  it.each([
    ['at the beginning', { ms: 0 }, { show: true, line: false, over: false }],
    ['after the time of a line', { ms: 10_000 }, { show: true, line: true, over: false }],
    ['after the line', { ms: 10_000, isTold: true }, { show: true, line: false, over: false }],
    ['while it waits for a person', { ms: 10_000, waits: true }, { show: false, line: false, over: false }],
    ['after ten minutes', { ms: minutes(10), isTold: true }, { show: false, line: false, over: true }],
    [
      'after ten minutes that waited for a person',
      { ms: minutes(10) },
      { show: false, line: true, over: true },
    ],
    [
      'after ten minutes that still wait',
      { ms: minutes(10), waits: true },
      { show: false, line: false, over: true },
    ],
  ])('%s', (_name, given, due) =>
    expect(dueWork({ lineAfterMs, isTold: false, waits: false, ...given })).toEqual(due),
  )
})

describe('work in a chat', () => {
  const scene = (over: { show?: () => Promise<void>; line?: () => Promise<void> } = {}) => {
    const clock = virtualClock()
    const told: string[] = []
    const state = { waits: false }
    const show = over.show ?? (async () => void told.push('shows'))
    const line = over.line ?? (async () => void told.push('line'))
    const begin = (shown: WorkShown) =>
      shown.begin({ chat_id: 'c', shown: { show, lineAfterMs }, clock, waits: () => state.waits, line })
    return { clock, told, state, begin }
  }

  it('is shown again and again, has one line, pauses for a person, and ends with the work', async () => {
    const { clock, told, state, begin } = scene()
    const end = begin(new WorkShown())
    const step = async (ms: number): Promise<string> => (
      clock.advance(ms),
      await turn(),
      told.splice(0).join(' ')
    )
    expect(await step(0)).toBe('shows')
    expect(await step(4_000)).toBe('shows')
    state.waits = true
    // The time during which the work waits for a person does not count.
    for (let i = 0; i < 300; i++) expect(await step(4_000)).toBe('')
    state.waits = false
    expect(await step(4_000)).toBe('shows')
    expect(await step(4_000)).toBe('shows line')
    expect(await step(4_000)).toBe('shows')
    await end()
    await end()
    expect(await step(minutes(20))).toBe('')
  })

  it('is shown for ten minutes, to fifty chats at a time, and not faster than the network takes it', async () => {
    const quiet = scene()
    const shown = new WorkShown()
    const ends = Array.from({ length: 51 }, () => quiet.begin(shown))
    expect(quiet.told).toHaveLength(50)
    for (const end of ends) await end()
    const { clock, told, begin } = scene()
    begin(shown)
    await turn()
    for (let i = 0; i < 300; i++) {
      clock.advance(4_000)
      await turn()
    }
    expect(told.filter((each) => each === 'shows')).toHaveLength(150)
    expect(told.filter((each) => each === 'line')).toHaveLength(1)
    let shows = 0
    const stuck = scene({ show: () => (shows++, new Promise<void>(() => {})) })
    stuck.begin(shown)
    stuck.clock.advance(60_000)
    expect(shows).toBe(1)
  })

  it('costs nothing if the network refuses it, and nothing comes behind its end', async () => {
    const broken = scene({
      show: () => Promise.reject(new Error('no')),
      line: () => Promise.reject(new Error('no')),
    })
    const end = broken.begin(new WorkShown())
    broken.clock.advance(20_000)
    await end()
    const sent = Promise.withResolvers<void>()
    const slow = scene({ line: () => sent.promise })
    let isOver = false
    const ending = slow.begin(new WorkShown())
    slow.clock.advance(12_000)
    const over = ending().then(() => void (isOver = true))
    await turn()
    expect(isOver).toBe(false)
    sent.resolve()
    await over
  })
})
