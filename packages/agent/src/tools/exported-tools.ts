// Finds the tools that a module exports, one by one and in lists. The daemon and cells use the same function.
import { pathToFileURL } from 'node:url'
import { lendOwnPackages } from './own-packages.ts'
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
