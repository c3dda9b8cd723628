// Checks the definitions of a library against each other: which calls which, and with what. No workflow calls
// itself, directly or not, or is nested deeper than `nestingMax` (D-12). A call is refused for the fault that
// was reported at load.
import type { JsonValue } from '@beaver/core'
import { type Edge, findCycle, topologyOf } from '@beaver/core/graph'
import { didYouMean, quote, quoteAll } from '../arguments/wording.ts'
import type { DefinitionDiagnostic, WorkflowDefinitionFile } from './definition-file.ts'
import { parameterInputs } from './interface-schema.ts'
import type { DefinitionCode } from './read-definition.ts'
import { callOf } from './references.ts'

/** The definitions that may call each other, by id. */
export type DefinitionLibrary = ReadonlyMap<string, WorkflowDefinitionFile>

/** How many workflows may be nested, including the called one (D-12). */
export const nestingMax = 4

/**
 * What is wrong between the definitions, in their order. A definition with a fault must not be offered.
 *
 * @example
 * const { definition } = readDefinition('twice', {
 *   interfaceInputs: {},
 *   interfaceOutputs: { again: { dataFlowType: 'STRING' } },
 *   nodes: [{ id: 'again', kind: 'workflow', workflow: 'twice' }],
 * })
 * if (definition !== null) checkLibrary(new Map([['twice', definition]])).map(({ code }) => code) // => ['workflow_recursion']
 */
export function checkLibrary(library: DefinitionLibrary): DefinitionDiagnostic[] {
  return [...library.values()].flatMap((definition) => {
    const faults = [...callFaults(definition, library), ...nestingFaults(definition, library)]
    return faults.map((fault) => ({ severity: 'error' as const, workflow: definition.id, ...fault }))
  })
}

interface Fault {
  readonly code: DefinitionCode &
    (
      | 'workflow_recursion'
      | 'workflow_too_deep'
      | 'unknown_workflow'
      | 'unknown_workflow_input'
      | 'missing_workflow_input'
    )
  readonly path: string
  readonly message: string
  readonly called?: string
}

/** The first fault of a definition, or of one that it calls directly or indirectly. `null` if it can run. */
export function libraryFault(definition: WorkflowDefinitionFile, library: DefinitionLibrary): Fault | null {
  const nesting = nestingFaults(definition, library)[0]
  if (nesting !== undefined) return nesting
  for (const each of reachableFrom(definition, library)) {
    const fault = callFaults(each, library)[0]
    if (fault !== undefined)
      return each === definition
        ? fault
        : { ...fault, message: `${fault.message} (in the workflow ${quote(each.id)})` }
  }
  return null
}

function callFaults(definition: WorkflowDefinitionFile, library: DefinitionLibrary): Fault[] {
  return definition.nodes.flatMap((node, index) => {
    const call = callOf(node)
    if (call === null) return []
    const path = `nodes.${index}.${call.path}`
    const called = library.get(call.workflow)
    if (called !== undefined) return inputFaults(node.id, call.inputs, called, path)
    const message = `The node ${quote(node.id)} calls the workflow ${quote(call.workflow)}, which does not exist.${didYouMean(call.workflow, library.keys())}`
    return [{ code: 'unknown_workflow' as const, path: `${path}workflow`, message, called: call.workflow }]
  })
}

function inputFaults(
  nodeId: string,
  boundInputs: Readonly<Record<string, JsonValue>>,
  called: WorkflowDefinitionFile,
  path: string,
): Fault[] {
  const inputs = new Map(parameterInputs(called.interfaceInputs))
  const whose = `The node ${quote(nodeId)} calls the workflow ${quote(called.id)}`
  const unknown = Object.keys(boundInputs).filter((name) => !inputs.has(name))
  const missing = [...inputs]
    .filter(([name, input]) => input.required === true && !Object.hasOwn(boundInputs, name))
    .map(([name]) => name)
  return [
    ...unknown.map((name): Fault => {
      const known = inputs.size === 0 ? 'it has none' : `it has ${quoteAll([...inputs.keys()])}`
      return {
        code: 'unknown_workflow_input',
        path: `${path}inputs.${name}`,
        message: `${whose}, which has no input ${quote(name)}: ${known}.`,
      }
    }),
    ...missing.map((name): Fault => ({
      code: 'missing_workflow_input',
      path: `${path}inputs`,
      message: `${whose} without its input ${quote(name)}, which is required.`,
    })),
  ]
}

/** At most one fault: deeper or other circles are found after this one is removed. */
function nestingFaults(definition: WorkflowDefinitionFile, library: DefinitionLibrary): Fault[] {
  const all = reachableFrom(definition, library)
  const ids = new Set(all.map((each) => each.id))
  const edges = all.flatMap((each) =>
    callsOf(each).flatMap((id): Edge[] => (ids.has(id) ? [[each.id, id]] : [])),
  )
  const cycle = findCycle(topologyOf([...ids], edges))
  if (cycle !== null) {
    const path = [...cycle, cycle[0]].map((id) => quote(id)).join(' -> ')
    const whose = cycle.includes(definition.id)
      ? `The workflow ${quote(definition.id)} calls itself`
      : `The workflow ${quote(definition.id)} calls one that calls itself`
    return [
      { code: 'workflow_recursion', path: 'nodes', message: `${whose}: ${path}. Remove one of these calls.` },
    ]
  }
  const chain = chainLongerThan(nestingMax, definition, library)
  if (chain === null) return []
  const message = `The workflow ${quote(definition.id)} is nested deeper than ${nestingMax} workflows: ${chain.map((id) => quote(id)).join(' -> ')}. Remove a level.`
  return [{ code: 'workflow_too_deep', path: 'nodes', message }]
}

/**
 * Without circles, there are no more levels than definitions. Each level is kept once, however many paths
 * lead to it.
 */
function chainLongerThan(
  levelsMax: number,
  definition: WorkflowDefinitionFile,
  library: DefinitionLibrary,
): readonly string[] | null {
  let level = new Map<string, readonly string[]>([[definition.id, [definition.id]]])
  for (let depth = 1; depth <= levelsMax; depth++) {
    const next = new Map<string, readonly string[]>()
    for (const [id, chain] of level) {
      const at = id === definition.id ? definition : library.get(id)
      for (const called of at === undefined ? [] : callsOf(at))
        if (library.has(called)) next.set(called, [...chain, called])
    }
    level = next
  }
  return [...level.values()][0] ?? null
}

/** The definition and all that it calls, directly or indirectly, in the order in which they are found. */
export function reachableFrom(
  definition: WorkflowDefinitionFile,
  library: DefinitionLibrary,
): readonly WorkflowDefinitionFile[] {
  const met = new Map([[definition.id, definition]])
  for (const each of met.values()) {
    for (const id of callsOf(each)) {
      const called = library.get(id)
      if (called !== undefined && !met.has(id)) met.set(id, called)
    }
  }
  return [...met.values()]
}

const callsOf = ({ nodes }: WorkflowDefinitionFile): string[] =>
  nodes.flatMap((node) => callOf(node)?.workflow ?? [])
