// Loads workflow definitions from disk: `<folder>/*.json`, one level, with the file name as the id (CT-03). A
// broken definition is a diagnostic and does not stop the others. Of two equal ids, the folder that is given
// first wins. A definition that calls something missing is not offered, nor are its callers.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject, messageOf } from '@beaver/core'
import { type EvidenceRequirement, schemaFault, schemaMismatch } from '@beaver/core/evidence'
import {
  checkLibrary,
  definitionWorkflow,
  readDefinition,
  type Workflow,
  type WorkflowDefinitionFile,
} from '@beaver/workflows'
import type { LoadDiagnostic } from '../load-diagnostic.ts'
import { readJsonFile } from '../read-json-file.ts'
import type { Tool } from '../tools/tool.ts'

export interface LoadedDefinitions {
  /** Sorted by id. */
  readonly definitions: readonly Workflow[]
  /** Their content, from which `definitionsOf` makes them elsewhere. */
  readonly files: readonly WorkflowDefinitionFile[]
  /** The path of each file, by its id. */
  readonly fileOf: ReadonlyMap<string, string>
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
  return { definitions: definitionsOf(files), files, fileOf, diagnostics }
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

// Checks what a definition file says about tools against the loaded ones. An unknown tool is a warning,
// because tools of MCP servers and worker threads come later; anything else is an error. Of an argument with
// a template, only its name is checked.

interface ToolUseFault {
  readonly severity: 'error' | 'warning'
  /** The dotted path in the file. */
  readonly path: string
  readonly message: string
}

type Step = Readonly<Record<string, unknown>> & { readonly kind: string }

function toolUseFaults({ nodes }: WorkflowDefinitionFile, tools: readonly Tool[]): ToolUseFault[] {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return nodes.flatMap((node, index) => {
    const path = `nodes.${index}`
    return node.kind === 'map'
      ? stepFaults(node.body, `${path}.body`, byName)
      : stepFaults(node, path, byName)
  })
}

function stepFaults(step: Step, path: string, tools: ReadonlyMap<string, Tool>): ToolUseFault[] {
  if (step.kind === 'agent') return scopeFaults(step, path)
  if (step.kind !== 'tool') return []
  const name = String(step['tool'])
  const tool = tools.get(name)
  if (tool === undefined) {
    const message = `There is no tool ${JSON.stringify(name)} now. The node fails unless an MCP server or a program brings it.`
    return [{ severity: 'warning', path: `${path}.tool`, message }]
  }
  const message = argumentsFault(tool, (step['arguments'] ?? {}) as JsonObject)
  return message === null ? [] : [{ severity: 'error', path: `${path}.arguments`, message }]
}

function argumentsFault(tool: Tool, args: JsonObject): string | null {
  const misfit = (what: string): string => `The arguments of ${tool.name} do not fit: ${what}.`
  if (!hasTemplate(args)) {
    const fault = faultOf(tool, args)
    if (fault !== null) return fault
  }
  const {
    properties = {},
    required = [],
    additionalProperties,
  } = tool.parameters as {
    properties?: Readonly<Record<string, JsonObject>>
    required?: readonly string[]
    additionalProperties?: unknown
  }
  const missing = required.find((key) => !Object.hasOwn(args, key))
  if (missing !== undefined) return misfit(`${JSON.stringify(missing)} is missing`)
  for (const [key, value] of Object.entries(args)) {
    const schema = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (schema === undefined) {
      if (additionalProperties === false)
        return misfit(
          `${JSON.stringify(key)} is not one of ${Object.keys(properties).join(', ') || 'them; it takes none'}`,
        )
    } else if (!hasTemplate(value) && schemaFault(schema) === null) {
      const mismatch = schemaMismatch(schema, JSON.stringify(value))
      if (mismatch !== null) return misfit(`${JSON.stringify(key)} ${mismatch}`)
    }
  }
  return null
}

/** A tool that throws proves nothing. */
function faultOf(tool: Tool, args: JsonObject): string | null {
  try {
    return tool.inputFault?.(args) ?? null
  } catch {
    return null
  }
}

const hasTemplate = (value: unknown): boolean => JSON.stringify(value)?.includes('{{') === true

/** A check that only a call of a tool can pass, of a tool that the agent cannot have. */
function scopeFaults(step: Step, path: string): ToolUseFault[] {
  const allowed = step['allowedToolNames'] as readonly string[] | null | undefined
  if (allowed === undefined || allowed === null) return []
  return ['requiredEvidence', 'validationRules'].flatMap((field) =>
    ((step[field] ?? []) as readonly EvidenceRequirement[]).flatMap((requirement, i): ToolUseFault[] => {
      const needed = toolsNeeded(requirement)
      if (needed.length === 0 || needed.some((tool) => allowed.includes(tool))) return []
      const message = `It needs a call of ${needed.join(' or ')}, but the node may only call ${allowed.join(', ') || 'no tool'}. Add the tool to "allowedToolNames", or remove the check.`
      return [{ severity: 'error', path: `${path}.${field}.${i}`, message }]
    }),
  )
}

function toolsNeeded(requirement: EvidenceRequirement): readonly string[] {
  if (typeof requirement === 'string') return []
  if (requirement.kind === 'tool_succeeded') return [requirement.tool]
  return requirement.kind === 'output_cites' && requirement.from_tool !== undefined
    ? [requirement.from_tool]
    : []
}
