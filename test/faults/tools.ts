// The tools of a fault campaign, which each daemon loads: some leave a line in a ledger, some are bad
// neighbours. A line of the ledger is one `write` at the end of the file: what a killed process began is
// there whole, or not at all.
import { appendFileSync } from 'node:fs'
import { defineTool } from '@beaver/agent'
import { z } from 'zod'

const ledgerFile = process.env['BEAVER_FAULTS_LEDGER'] ?? ''
const keyed = z.strictObject({ key: z.string(), chars: z.number().int().optional() })

const record = (tool: string, key: string): void =>
  appendFileSync(ledgerFile, `${JSON.stringify({ tool, key, pid: process.pid, at: Date.now() })}\n`, {
    flush: false,
  })

export const ledgerWrite = defineTool({
  name: 'ledger_write',
  description: 'Writes one line to the ledger. Not idempotent.',
  input: keyed,
  async run({ key, chars = 0 }) {
    record('ledger_write', key)
    await new Promise((resolve) => setTimeout(resolve, 5))
    return { key, filler: 'x'.repeat(chars) }
  },
})

export const ledgerTouch = defineTool({
  name: 'ledger_touch',
  description: 'Writes one line to the ledger. May be repeated.',
  input: keyed,
  idempotent: true,
  run({ key }) {
    record('ledger_touch', key)
    return Promise.resolve({ key })
  },
})

export const careful = defineTool({
  name: 'careful',
  description: 'Writes one line to the ledger after a person has approved it.',
  input: keyed,
  permission: 'ask',
  run({ key }) {
    record('careful', key)
    return Promise.resolve({ key })
  },
})

const none = z.strictObject({})

export const toolExit = defineTool({
  name: 'tool_exit',
  description: 'Ends the thread.',
  input: none,
  run: () => process.exit(1),
})

export const toolThrow = defineTool({
  name: 'tool_throw',
  description: 'Returns, and throws later.',
  input: none,
  run() {
    setTimeout(() => {
      throw new Error('thrown later')
    }, 20)
    return Promise.resolve('fine')
  },
})

export const toolReject = defineTool({
  name: 'tool_reject',
  description: 'Returns, and leaves a rejection that nobody hears.',
  input: none,
  run() {
    void new Promise((_, reject) => setTimeout(() => reject(new Error('rejected unheard')), 20))
    return Promise.resolve('fine')
  },
})

export const toolHeap = defineTool({
  name: 'tool_heap',
  description: 'Fills the heap.',
  input: none,
  async run() {
    const kept: unknown[] = []
    for (let i = 0; ; i++) {
      kept.push(Array.from({ length: 100_000 }, (_, at) => ({ at, i })))
      await new Promise((resolve) => setImmediate(resolve))
    }
  },
})

export const toolLoop = defineTool({
  name: 'tool_loop',
  description: 'Computes without end.',
  input: none,
  run() {
    for (let i = 0; ; i++) if (i < 0) return Promise.resolve(i)
  },
})

export const toolWait = defineTool({
  name: 'tool_wait',
  description: 'Blocks its thread without end.',
  input: none,
  run: () => Promise.resolve(Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)),
})

export const toolKill = defineTool({
  name: 'tool_kill',
  description: 'Kills the daemon.',
  input: none,
  run: () => Promise.resolve(process.kill(process.pid, 'SIGKILL')),
})
