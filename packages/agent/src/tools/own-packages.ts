// Lets a user's tool module import `@beaver/agent` and `zod` without installing them. It gets the packages
// that Beaver itself has. A package that is installed for the module is used instead. Only these two names
// are resolved here; all others are left to Node.js. This happens once per thread. Cells are threads and
// processes of their own.
import { registerHooks } from 'node:module'

const lent: ReadonlySet<string> = new Set(['@beaver/agent', 'zod'])
let lending = false

/** After this call, modules everywhere find these packages. */
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
