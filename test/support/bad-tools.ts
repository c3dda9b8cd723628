// A module of tools that misbehave in every way a tool can, for the tests of a daemon. What each does is in
// its name or its "what".
import { execFileSync } from 'node:child_process'
import { setImmediate as turn } from 'node:timers/promises'
import { defineTool, type ToolContext } from '@beaver/agent'
import { z } from 'zod'

const input = z.strictObject({ what: z.string() })

async function misbehave({ what }: z.output<typeof input>, { signal }: ToolContext): Promise<string> {
  switch (what) {
    case 'exit':
      return process.exit(7)
    case 'exit later':
      setTimeout(() => process.exit(7), 20)
      return new Promise(() => {})
    case 'throw later':
      setTimeout(() => {
        throw new Error('thrown later')
      }, 20)
      return new Promise(() => {})
    case 'throw after its end':
      setTimeout(() => {
        throw new Error('thrown after the end')
      }, 20)
      return 'done already'
    case 'reject unheard':
      void Promise.reject(new Error('rejected unheard'))
      return new Promise(() => {})
    case 'kill itself':
      process.kill(process.pid, 'SIGKILL')
      return 'still there'
    case 'end the thread':
      // What a crash in native code is to the thread: nothing of JavaScript can stop it.
      ;(process as unknown as { reallyExit(code: number): void }).reallyExit(9)
      return 'still there'
    case 'fill the heap': {
      // Large pieces, which are copied: the limit is reached soon, and after few collections of garbage.
      const piece = Array.from<number>({ length: 1_000_000 }).fill(0.5)
      const kept: unknown[] = []
      for (;;) kept.push([...piece])
    }
    case 'kill the daemon':
      execFileSync('kill', ['-9', String(process.pid)])
      return 'still there'
    case 'loop':
      for (;;);
    case 'backtrack':
      return String(/^(a+)+$/.test(`${'a'.repeat(60)}b`))
    case 'wait':
      return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    case 'thrash':
      return thrash(() => undefined)
    case 'thrash and turn':
      return thrash(turn)
    case 'system call':
      execFileSync('sleep', ['120'])
      return 'awake'
    case 'microtasks': {
      for (;;) await Promise.resolve()
    }
    case 'hold the thread':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000)
      return 'held it'
    case 'wait for a while':
      await new Promise((resolve, reject) => {
        const timer = setTimeout(resolve, 60_000)
        signal.addEventListener('abort', () => (clearTimeout(timer), reject(signal.reason as Error)))
      })
      return 'waited'
    default:
      return what
  }
}

/** Keeps the heap just below a limit of 64 MB, so that nearly all time goes into collecting it. */
async function thrash(pause: () => unknown): Promise<string> {
  const kept: unknown[] = []
  const more = (): unknown => Array.from({ length: 1_000 }, (_, i) => ({ i }))
  while (process.memoryUsage().heapUsed < 56 * 1024 * 1024) kept.push(more())
  for (let n = 0; ; n++) {
    kept[n % kept.length] = more()
    if (n % 50 === 0) await pause()
  }
}

const common = { description: 'Misbehaves.', input, run: misbehave }

export const bad = defineTool({ ...common, name: 'bad', idempotent: true, timeoutMs: 30_000 })
/** The same, as a tool whose calls must not be made twice. */
export const once = defineTool({ ...common, name: 'once', timeoutMs: 30_000 })
/** The same, run before its record. */
export const pure = defineTool({ ...common, name: 'pure', pure: true, timeoutMs: 30_000 })
/**
 * The same, with little time. A tool that cost three threads runs in cells at once, so there are more of
 * them.
 */
export const brief = ['brief', 'brief_wait', 'brief_thrash', 'brief_system'].map((name) =>
  defineTool({ ...common, name, idempotent: true, timeoutMs: 1_000 }),
)
/** The same, with much. */
export const patient = defineTool({ ...common, name: 'patient', idempotent: true, timeoutMs: 600_000 })
