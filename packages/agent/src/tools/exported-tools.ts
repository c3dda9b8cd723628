// Finds the tools that a module exports, one by one and in lists. The daemon and cells use the same function.
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { importedByUsers, type Installation, installation } from '@beaver/platform/installation'
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

// Lets a user's tool module import Beaver and `zod` without installing them: by the published name, or by that
// of this workspace. It gets what Beaver itself has. A package that is installed for the module is used
// instead. Only these names are resolved here; all others are left to Node.js. This happens once per thread.
// Cells are threads and processes of their own.

let lending = false

/** After this call, modules everywhere find these packages. */
function lendOwnPackages(): void {
  if (lending) return
  lending = true
  const own = installation()
  const parentURL = pathToFileURL(join(own.folder, 'package.json')).href
  registerHooks({
    resolve(specifier, context, next) {
      const lent = lentModule(specifier, own)
      if (lent === null) return next(specifier, context)
      try {
        return next(specifier, context)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
        return next(lent, { ...context, parentURL })
      }
    },
  })
}

/** What a name that a tool module imports is called where Beaver is installed; `null`: it is not lent. */
export function lentModule(
  specifier: string,
  { kind, name }: Pick<Installation, 'kind' | 'name'>,
): string | null {
  if (specifier === 'zod') return specifier
  const found = Object.entries(importedByUsers).find(
    ([module, path]) => specifier === module || specifier === name + path,
  )
  if (found === undefined) return null
  const [module, path] = found
  return kind === 'package' ? name + path : module
}
