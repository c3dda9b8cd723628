// Finds the tools that a module exports, one by one and in lists. The daemon and cells use the same function.
import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import type { Tool } from './tool.ts'

/** The URL of a module, in the form that cells get. */
export const moduleUrl = (file: string): string => pathToFileURL(file).href

/**
 * The tools by the names of their exports, each once. Loading a module runs it.
 *
 * @throws what the module throws
 */
export async function exportedTools(url: string): Promise<readonly Tool[]> {
  lendOwnPackages()
  const exports = Object.entries((await import(url)) as Record<string, unknown>)
  const found = exports.toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, value]) => value)
  return [...new Set(found.filter(isTool))]
}

function isTool(value: unknown): value is Tool {
  const tool = value as Partial<Tool> | null
  return (
    typeof tool === 'object' &&
    tool !== null &&
    typeof tool.name === 'string' &&
    typeof tool.description === 'string' &&
    typeof tool.invoke === 'function'
  )
}

// Lets a user's tool module import `@beaver/agent` and `zod` without installing them. It gets the packages
// that Beaver itself has. A package that is installed for the module is used instead. Only these two names
// are resolved here; all others are left to Node.js. This happens once per thread. Cells are threads and
// processes of their own.

const lent: ReadonlySet<string> = new Set(['@beaver/agent', 'zod'])
let lending = false

/** After this call, modules everywhere find these packages. */
function lendOwnPackages(): void {
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
