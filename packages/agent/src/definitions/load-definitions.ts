// Loads workflow definitions from disk: `<folder>/*.json`, one level. The file name without its extension is
// the definition's id (S1 §2.2). A broken definition does not keep another from loading. What is wrong with
// it is a diagnostic. If two folders have the same id, the folder that is given first wins. What a definition
// says about tools is checked against the tools that are loaded. A definition that calls something missing is
// not offered, and neither is a definition that calls such a definition.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '@beaver/core'
import {
  checkLibrary,
  definitionWorkflow,
  readDefinition,
  type Workflow,
  type WorkflowDefinitionFile,
} from '@beaver/workflows'
import { toolUseFaults } from './check-tools.ts'
import type { Tool } from '../tools/tool.ts'
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import { readJsonFile } from '../read-json-file.ts'

export interface LoadedDefinitions {
  /** Sorted by id. */
  readonly definitions: readonly Workflow[]
  /** Their content, from which `definitionsOf` makes them elsewhere. */
  readonly files: readonly WorkflowDefinitionFile[]
  readonly diagnostics: readonly LoadDiagnostic[]
}

const extension = '.json'

/**
 * Loads the workflow definitions of several folders. A faulty definition gives diagnostics and is left out.
 *
 * @param tools what tool nodes may call. Default: this is not checked
 * @example
 * const { definitions, diagnostics } = await loadDefinitions(['./workflows'])
 * definitions.map(({ name }) => name) // => ['workflow:sum_up']
 * diagnostics // => []
 */
export async function loadDefinitions(
  folders: readonly string[],
  tools: readonly Tool[] | null = null,
): Promise<LoadedDefinitions> {
  const library = new Map<string, WorkflowDefinitionFile>()
  const fileOf = new Map<string, string>()
  const broken = new Map<string, string>()
  const diagnostics: LoadDiagnostic[] = []
  for (const folder of folders) {
    for (const name of await jsonFiles(folder, diagnostics)) {
      const file = join(folder, name)
      const tell = (severity: LoadDiagnostic['severity'], message: string): void =>
        void diagnostics.push({ file, severity, message })
      const json = await readJsonFile(file, diagnostics)
      // File systems spell the same name in different ways, and a profile uses one spelling.
      const id = name.slice(0, -extension.length).normalize('NFC')
      if (json === undefined) {
        broken.set(id, file)
        continue
      }
      const { definition, diagnostics: told } = readDefinition(id, json)
      for (const { severity, path, message } of told)
        tell(severity, path === '' ? message : `${path}: ${message}`)
      const misuses = definition === null || tools === null ? [] : toolUseFaults(definition, tools)
      for (const { severity, path, message } of misuses) tell(severity, `${path}: ${message}`)
      if (definition === null || misuses.some(({ severity }) => severity === 'error')) {
        broken.set(id, file)
        continue
      }
      const other = fileOf.get(id)
      if (other !== undefined)
        tell(
          'warning',
          `The workflow ${JSON.stringify(id)} is already loaded from ${other}. This one is left out.`,
        )
      else {
        library.set(id, definition)
        fileOf.set(id, file)
      }
    }
  }
  const tellOf = (
    id: string,
    severity: LoadDiagnostic['severity'],
    message: string,
    called?: string,
  ): void => {
    const cause = called === undefined || library.has(called) ? undefined : broken.get(called)
    diagnostics.push({
      file: fileOf.get(id) ?? '',
      severity,
      message: cause === undefined ? message : `${message} Its file is broken: ${cause}.`,
    })
  }
  const files = [...soundOf(library, tellOf).values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return { definitions: definitionsOf(files), files, diagnostics }
}

/**
 * The workflows of definitions that were loaded together.
 *
 * @param files from `loadDefinitions`
 * @example
 * const { files } = await loadDefinitions(['./workflows'])
 * definitionsOf(files).map(({ name }) => name) // => ['workflow:sum_up']
 */
export function definitionsOf(files: readonly WorkflowDefinitionFile[]): readonly Workflow[] {
  const library = new Map(files.map((each) => [each.id, each]))
  return files.map((definition) => definitionWorkflow(definition, library))
}

/**
 * The definitions that remain when those that call something missing are removed, and then those that call
 * the removed ones.
 */
function soundOf(
  library: ReadonlyMap<string, WorkflowDefinitionFile>,
  tell: (id: string, severity: LoadDiagnostic['severity'], message: string, called?: string) => void,
): ReadonlyMap<string, WorkflowDefinitionFile> {
  let sound = library
  for (let first = true; ; first = false) {
    const found = checkLibrary(sound)
    const faults = found.filter(({ severity }) => severity === 'error')
    for (const { workflow, severity, code, path, message, called } of first ? found : faults) {
      const leftOut =
        !first && code === 'unknown_workflow' ? ' (It was left out for what is wrong with it.)' : ''
      tell(workflow, severity, (path === '' ? message : `${path}: ${message}`) + leftOut, called)
    }
    if (faults.length === 0) return sound
    const broken = new Set(faults.map(({ workflow }) => workflow))
    const left = new Map([...sound].filter(([id]) => !broken.has(id)))
    if (left.size === sound.size) return sound
    sound = left
  }
}

async function jsonFiles(folder: string, diagnostics: LoadDiagnostic[]): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    const files = entries.filter(
      (entry) => entry.name.endsWith(extension) && entry.name !== extension && !entry.isDirectory(),
    )
    return files.map(({ name }) => name).toSorted()
  } catch (error) {
    diagnostics.push({
      file: folder,
      severity: 'error',
      message: `The folder cannot be read: ${messageOf(error)}.`,
    })
    return []
  }
}
