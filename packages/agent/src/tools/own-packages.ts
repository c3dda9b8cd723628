// What a user's tool module may import without installing it: `@beaver/agent` and `zod`, as Beaver itself has them.
// O1. Only where the module's own folder has no such package: one that is installed there is used. O2. Only these two names, so that
//     everything else stays as Node.js has it. O3. Once a thread; cells are threads and processes of their own.
import { registerHooks } from 'node:module'

const lent: ReadonlySet<string> = new Set(['@beaver/agent', 'zod'])
let lending = false

/** From now on modules anywhere find them. */
export function lendOwnPackages(): void {
  if (lending) return
  lending = true
  registerHooks({
    resolve(specifier, context, next) {
      if (!lent.has(specifier)) return next(specifier, context)
      try {
        return next(specifier, context)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
        return next(specifier, { ...context, parentURL: import.meta.url })
      }
    },
  })
}
