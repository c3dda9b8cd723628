// What a program wants done when its service goes away: its own connections closed, its own files written.
// H1. In the reverse order of their registration, each once. H2. Each has `hookMsMax`. H3. One that fails or takes too long is
//     told, and the others run.
import { messageOf } from '@beaver/core'

export type ShutdownHook = () => unknown

export interface ShutdownHooks {
  /** Returns what takes it back. */
  add(hook: ShutdownHook): () => void
  run(): Promise<void>
}

const hookMsMax = 5_000

export function shutdownHooks(tell: (message: string) => void, msMax = hookMsMax): ShutdownHooks {
  const hooks: { readonly run: ShutdownHook }[] = []
  return {
    add(hook) {
      const added = { run: hook }
      hooks.push(added)
      return () => {
        const at = hooks.indexOf(added)
        if (at >= 0) hooks.splice(at, 1)
      }
    },
    async run() {
      for (let hook = hooks.pop(); hook !== undefined; hook = hooks.pop()) {
        const late = Promise.withResolvers<never>()
        const timer = setTimeout(() => late.reject(new Error(`it did not finish within ${msMax / 1000} s`)), msMax)
        try {
          await Promise.race([hook.run(), late.promise])
        } catch (error) {
          tell(`A shutdown hook failed: ${messageOf(error)}`)
        } finally {
          clearTimeout(timer)
        }
      }
    },
  }
}
