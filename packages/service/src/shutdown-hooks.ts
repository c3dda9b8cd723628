// The shutdown hooks of a program: for example, they close its connections or write its files when its
// service closes. Hooks run once each, in the reverse order of their registration. A hook that fails, or that
// takes longer than `hookMsMax`, is reported, and the next hook runs.
import { messageOf } from '@beaver/core'

/** A function that runs when the service closes. The service awaits its promise for at most 5 s. */
export type ShutdownHook = () => unknown

/** The registered hooks of one service. */
export interface ShutdownHooks {
  /** Adds a hook, and returns a function that removes it. */
  add(hook: ShutdownHook): () => void
  /** Runs and removes all hooks. Never rejects. */
  run(): Promise<void>
}

const hookMsMax = 5_000

/**
 * Makes an empty list of hooks. `tell` receives the errors of hooks. `msMax` is the time of each hook in
 * milliseconds. Default: 5,000.
 */
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
