import { describe, expect, it } from 'vitest'
import { fullHeapListener, isFullHeap } from './full-heap.ts'

describe('a full heap', () => {
  it('of a thread is known by the code of its error, whatever the message says', () => {
    expect(isFullHeap(Object.assign(new Error('x'), { code: 'ERR_WORKER_OUT_OF_MEMORY' }))).toBe(true)
    expect(isFullHeap(new Error('reaching memory limit: ERR_WORKER_OUT_OF_MEMORY'))).toBe(false)
    expect(isFullHeap('ERR_WORKER_OUT_OF_MEMORY')).toBe(false)
  })

  it('of a process is known by the last words of V8, also where a chunk ends in the middle of them', () => {
    const hears = fullHeapListener()
    const words = [
      'FATAL ERROR: Reached heap limit Allocation failed - JavaScr',
      'ipt heap out of',
      ' memory\n',
      'later',
    ]
    expect(words.map((text) => hears(Buffer.from(text)))).toEqual([false, false, true, true])
  })

  it('of a process is not known by anything else', () => {
    const hears = fullHeapListener()
    expect(['out of memory', 'JavaScript heap'].map((text) => hears(Buffer.from(text)))).toEqual([
      false,
      false,
    ])
  })
})
