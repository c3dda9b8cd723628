// Loads a user's own tools: modules that the operator named, because loading runs them. A broken module is a
// diagnostic and does not stop the others. A user's tool replaces a built-in one of the same name, with a
// diagnostic; one with a reserved name is left out. A module that was accepted by its content is loaded only
// while it has this content.
import { existsSync } from 'node:fs'
import { messageOf } from '@beaver/core'
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import { changedFile, type Tool } from './tool.ts'
import { type CellOptions, inCell } from './cell/in-cell.ts'
import { toolNamePattern } from './definition-fault.ts'
import { exportedTools, moduleUrl } from './exported-tools.ts'

/** How tools are loaded. */
export interface LoadToolsOptions extends CellOptions {
  /** Why a tool may not have a name; `null` if it may. Default: it may have any. */
  readonly reserved?: (name: string) => string | null
}

/** The tools, and what was wrong with modules. */
export interface LoadedTools {
  readonly tools: readonly Tool[]
  readonly diagnostics: readonly LoadDiagnostic[]
}

/**
 * Returns `builtin` and then the tools of the modules. The tools of a module are its exports by name,
 * including lists of tools.
 *
 * @param options the sandbox of tools that ask for a process, the content of the modules and of their files
 * that was accepted, and the names that are
 *   reserved. Default: no sandbox, any content, and no names
 * @example
 * const { tools, diagnostics } = await loadTools([], ['./tools.ts'])
 * tools.map(({ name }) => name) // => ['days_between']
 * diagnostics // => []
 */
export async function loadTools(
  builtin: readonly Tool[],
  files: readonly string[],
  options: LoadToolsOptions = {},
): Promise<LoadedTools> {
  const { accepted = {}, reserved = () => null } = options
  const tools = new Map(builtin.map((tool) => [tool.name, tool]))
  const own = new Map<string, string>()
  const diagnostics: LoadDiagnostic[] = []
  for (const file of files) {
    const tell = (severity: LoadDiagnostic['severity'], message: string): void =>
      void diagnostics.push({ file, severity, message })
    const changed = changedFile(accepted)
    if (changed !== null) {
      tell('error', changed)
      continue
    }
    let found: readonly Tool[]
    try {
      found = await exportedTools(moduleUrl(file))
    } catch (error) {
      tell('error', existsSync(file) ? `It cannot be loaded: ${messageOf(error)}` : 'There is no such file.')
      continue
    }
    if (found.length === 0)
      tell(
        'error',
        'It does not export a tool. Export what defineTool({ name, description, input, run }) returns.',
      )
    for (const tool of found) {
      const before = own.get(tool.name)
      if (!toolNamePattern.test(tool.name)) {
        tell(
          'error',
          `The tool name ${JSON.stringify(tool.name)} is not valid: use 1 to 64 of a-z A-Z 0-9 _ -.`,
        )
        continue
      }
      const why = reserved(tool.name)
      if (why !== null) {
        tell('error', `The tool ${tool.name} ${why}. It is not used. Give it another name.`)
        continue
      }
      if (before !== undefined) {
        tell('error', `The tool ${tool.name} is already defined by ${before}. This one is not used.`)
        continue
      }
      if (tools.has(tool.name)) tell('warning', `The tool ${tool.name} replaces the built-in tool.`)
      tools.set(tool.name, inCell(tool, moduleUrl(file), options))
      own.set(tool.name, file)
    }
  }
  return { tools: [...tools.values()], diagnostics }
}
