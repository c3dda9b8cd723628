// A child process that does not end when it is told to, in the way its argument names.
import { readSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { runAsChild } from '../src/process/lifeline.ts'

const way = process.argv[2]
const never = new Promise<never>(() => {})

/** Says that it is blocked, and is so until there is something to read. */
function block(): void {
  process.send?.('blocked')
  readSync(0, Buffer.alloc(1))
}

await runAsChild('child', async () => {
  // What keeps a process alive.
  setInterval(() => undefined, 1_000)
  if (way === 'a start that hangs') {
    process.send?.('starting')
    await never
  }
  if (way === 'a stuck thread') {
    const stuck = `require('node:worker_threads').parentPort.postMessage('stuck'); require('node:child_process').execFileSync('sleep', ['60'])`
    const worker = new Worker(stuck, { eval: true })
    await new Promise((resolve) => worker.once('message', resolve))
  }
  if (way === 'a blocked main thread')
    setTimeout(() => {
      for (;;);
    }, 50)
  if (way === 'a loop among many') {
    const others = Array.from({ length: 8 }, () => new Worker('for (;;);', { eval: true }))
    await Promise.all(others.map((other) => new Promise((resolve) => other.once('online', resolve))))
    process.once('message', () => {
      for (;;);
    })
  }
  if (way === 'a main thread that reads') {
    process.once('message', block)
    setInterval(() => void process.send?.('beat'), 100)
  }
  return {
    info: {},
    failed: never,
    stopMsMax: way === 'a stop that blocks' || way === 'a stop that reads' ? 100 : 500,
    blockedMsMax: way === 'a main thread that reads' ? 6_000 : 1_500,
    async stop(at) {
      if (way === 'a stop that blocks') for (;;);
      if (way === 'a stop that reads') block()
      if (way !== 'a stop that hangs') return
      at('the queue')
      at('the journal')
      await never
    },
  }
})
