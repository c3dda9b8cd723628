// What a program does when its service closes, such as closing its own connections or writing its own files.
// Hooks run in the reverse order of their registration, each once. Each hook has `hookMsMax`. A hook that
// fails or takes too long is reported, and the other hooks run.
import { messageOf } from '@beaver/core'

/** A hook. Its promise is awaited for at most 5 s. */
export type ShutdownHook = () => unknown

export interface ShutdownHooks {
  /** Returns a function that removes the hook. */
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
        const timer = setTimeout(
          () => late.reject(new Error(`it did not finish within ${msMax / 1000} s`)),
          msMax,
        )
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
