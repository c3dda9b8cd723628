import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { until } from '@beaver/testing'
import { expect, it, onTestFinished } from 'vitest'
import { ownThreadId, processorWaitMs } from './processor-wait.ts'

it.runIf(process.platform === 'linux')(
  'rises for a thread that shares the processors with others',
  async () => {
    const workers = Array.from(
      { length: 2 * availableParallelism() + 1 },
      () => new Worker('for (;;);', { eval: true }),
    )
    onTestFinished(() => Promise.all(workers.map((worker) => worker.terminate())).then(() => undefined))
    const thread = ownThreadId()
    expect(thread).toBeGreaterThan(0)
    const before = processorWaitMs(thread)
    await until('this thread has waited for a processor', () => processorWaitMs(thread) > before, {
      everyMs: 1,
    })
  },
)

it('is nothing for a thread that nobody knows', () => {
  expect([processorWaitMs(0), processorWaitMs(2 ** 30)]).toEqual([0, 0])
})
