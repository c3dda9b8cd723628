import { getHeapStatistics } from 'node:v8'
import { afterEach, expect, test, vi } from 'vitest'
import { collectGarbageOfStart } from './v8-flags.ts'

afterEach(() => void vi.useRealTimers())

const heapMb = (): number => getHeapStatistics().used_heap_size / 1024 / 1024

test('what a start leaves behind is collected after five seconds', () => {
  vi.useFakeTimers()
  let held: unknown[] = Array.from({ length: 1_000_000 }, (_, i) => ({ i }))
  collectGarbageOfStart()
  vi.advanceTimersByTime(4_999)
  const before = heapMb()
  expect(held).toHaveLength(1_000_000)
  held = []
  vi.advanceTimersByTime(1)
  expect(before - heapMb()).toBeGreaterThan(20)
  expect('gc' in globalThis).toBe(false)
})
