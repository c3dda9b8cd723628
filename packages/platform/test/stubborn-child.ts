// A child process that does not end when it is told to, in the way its argument names.
import { Worker } from 'node:worker_threads'
import { runAsChild } from '../src/process/lifeline.ts'

const way = process.argv[2]
const never = new Promise<never>(() => {})

await runAsChild('child', async () => {
  // What keeps a process alive.
  setInterval(() => undefined, 1_000)
  if (way === 'a stuck thread') {
    const worker = new Worker(`require('node:child_process').execFileSync('sleep', ['60'])`, { eval: true })
    await new Promise((resolve) => worker.once('online', resolve))
  }
  if (way === 'a blocked main thread')
    setTimeout(() => {
      for (;;);
    }, 50)
  return {
    info: {},
    failed: never,
    stopMsMax: 500,
    blockedMsMax: 1_500,
    async stop(at) {
      if (way === 'a stop that blocks') for (;;);
      if (way !== 'a stop that hangs') return
      at('the queue')
      at('the journal')
      await never
    },
  }
})
