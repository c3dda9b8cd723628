import { Worker } from 'node:worker_threads'
import { getHeapStatistics } from 'node:v8'
import { afterEach, expect, test, vi } from 'vitest'
import { collectGarbageOfStart } from './v8-flags.ts'

afterEach(() => void vi.useRealTimers())

const heapMb = (): number => getHeapStatistics().used_heap_size / 1024 / 1024

test('what a start leaves behind is collected after half a minute', () => {
  vi.useFakeTimers()
  let held: unknown[] = Array.from({ length: 1_000_000 }, (_, i) => ({ i }))
  collectGarbageOfStart()
  vi.advanceTimersByTime(29_999)
  const before = heapMb()
  expect(held).toHaveLength(1_000_000)
  held = []
  vi.advanceTimersByTime(1)
  expect(before - heapMb()).toBeGreaterThan(20)
})

test('threads that collect at the same time do not disturb each other', async () => {
  const code = `
    import { collectGarbageOfStart } from ${JSON.stringify(new URL('./v8-flags.ts', import.meta.url).href)}
    globalThis.setTimeout = (act) => {
      for (let i = 0; i < 40; i++) act()
      return { unref() {} }
    }
    collectGarbageOfStart()`
  const ends = [1, 2, 3].map(async () => {
    const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`))
    return new Promise((resolve) => thread.once('error', resolve).once('exit', resolve))
  })
  expect(await Promise.all(ends)).toEqual([0, 0, 0])
})
