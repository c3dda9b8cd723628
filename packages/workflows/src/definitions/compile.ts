// Compiles a definition into the nodes of an ExecutionGraph; program.ts has what they do. Generated ids
// contain `/`, `[` or `(`, which no author's id can: `sub/x` is node x of the workflow that node sub calls,
// `each[2]` the third item of the map each, `each[]` the node that spreads it. The node with an author's id
// is the one whose output `nodes.<id>.output` reads.
import { BeaverError } from '@beaver/core'
import type { CodeNode, ExecutionNode } from '@beaver/core/graph'
import { nodeOfAgent } from '../graphs/team-graph.ts'
import { isText } from './data-types.ts'
import type { Body, DefinitionNode, NodeOf, WorkflowDefinitionFile } from './definition-file.ts'
import type { DefinitionLibrary } from './library.ts'
import { definitionTopology, nodesRead, outputTemplate } from './references.ts'
import { type Binding, copied, inputsId, type ItemReading, type Operation } from './settings.ts'

export interface Compiling {
  /** The workflow of the graph: `workflow:<id>`. */
  readonly workflow: string
  readonly library: DefinitionLibrary
}

/** @param entry the node that all others come after; `null` in the outermost workflow */
export function compileNodes(
  definition: WorkflowDefinitionFile,
  scope: string,
  entry: string | null,
  compiling: Compiling,
): ExecutionNode[] {
  const { dependenciesOf } = definitionTopology(definition)
  return definition.nodes.flatMap((node) => {
    const dependencies = (dependenciesOf.get(node.id) ?? []).map((id) => `${scope}${id}`)
    return compileNode(
      node,
      scope,
      dependencies.length === 0 && entry !== null ? [entry] : dependencies,
      compiling,
    )
  })
}

/** The node that returns the outputs of a workflow, from the workflow's nodes. */
export function outputsNode(
  definition: WorkflowDefinitionFile,
  id: string,
  scope: string,
  entry: string | null,
): CodeNode {
  const outputs = Object.entries(definition.interfaceOutputs).map(
    ([name, { dataFlowType, multi, isStream, value }]) => ({
      name,
      declared: { dataFlowType, multi, isStream },
      value: outputTemplate(name, value),
    }),
  )
  const read = new Set(outputs.flatMap(({ value }) => nodesRead(value, false)))
  const dependencies = definition.nodes
    .filter((node) => read.has(node.id))
    .map((node) => `${scope}${node.id}`)
  // It is skipped with the whole workflow, but not if everything that it reads was skipped.
  return code(id, entry === null ? dependencies : [entry, ...dependencies], 'outputs', { scope, outputs })
}

function compileNode(
  node: DefinitionNode,
  scope: string,
  dependencies: readonly string[],
  compiling: Compiling,
): ExecutionNode[] {
  const binding: Binding = { scope, when: node.when }
  switch (node.kind) {
    case 'condition':
      return [code(`${scope}${node.id}`, dependencies, 'condition', { ...binding, if: node.if })]
    case 'map':
      return compileMap(node, binding, dependencies, compiling)
    default:
      return compileBody(node, `${scope}${node.id}`, dependencies, binding, compiling)
  }
}

function compileMap(
  node: NodeOf<'map'>,
  binding: Binding,
  dependencies: readonly string[],
  { library }: Compiling,
): ExecutionNode[] {
  const { scope } = binding
  const { body } = node
  const id = `${scope}${node.id}`
  const over = { ...binding, items: node.items, max_items: node.maxItems }
  // Texts need no nodes of their own.
  if (body.kind === 'template')
    return [code(id, dependencies, 'map_template', { ...over, template: body.template })]
  const spread = `${id}[]`
  return [
    code(spread, dependencies, 'spread', { ...over, join: id, body }),
    code(id, [spread], 'join', { scope, spread, read: readingOf(body, library) }),
  ]
}

function readingOf(body: Body, library: DefinitionLibrary): ItemReading {
  if (body.kind !== 'workflow') return 'structure'
  const [only, ...others] = Object.values(library.get(body.workflow)?.interfaceOutputs ?? {})
  if (only === undefined || others.length > 0) return 'json'
  if (only.isStream === true || isText(only)) return 'text'
  return only.dataFlowType === 'WILDCARD' || only.dataFlowType === 'CONVERTIBLE_ANY' ? 'structure' : 'json'
}

/** How many nodes a graph has, and how many of them run. */
export interface Size {
  readonly nodes: number
  readonly runs: number
}

/** The size of a definition's graph before any map knows its items. The graph is not built. */
export function sizeOf(
  definition: WorkflowDefinitionFile,
  library: DefinitionLibrary,
  known = new Map<string, Size>(),
): Size {
  const counted = known.get(definition.id)
  if (counted !== undefined) return counted
  let [nodes, runs] = [1, 0]
  for (const node of definition.nodes) {
    const size = sizeOfNode(node, library, known)
    nodes += size.nodes
    runs += size.runs
  }
  known.set(definition.id, { nodes, runs })
  return { nodes, runs }
}

function sizeOfNode(node: DefinitionNode, library: DefinitionLibrary, known: Map<string, Size>): Size {
  if (node.kind === 'map') return { nodes: node.body.kind === 'template' ? 1 : 2, runs: 0 }
  return node.kind === 'condition' ? { nodes: 1, runs: 0 } : bodySize(node, library, known)
}

/** The size of a step, alone or as one item of a map. */
export function bodySize(body: Body, library: DefinitionLibrary, known?: Map<string, Size>): Size {
  if (body.kind !== 'workflow') return { nodes: 1, runs: body.kind === 'template' ? 0 : 1 }
  const called = library.get(body.workflow)
  const size = called === undefined ? { nodes: 0, runs: 0 } : sizeOf(called, library, known)
  return { nodes: size.nodes + 1, runs: size.runs }
}

/** The nodes of a step, alone or as one item of a map. The last node has the id. */
export function compileBody(
  body: Body,
  id: string,
  dependencies: readonly string[],
  binding: Binding,
  compiling: Compiling,
): ExecutionNode[] {
  switch (body.kind) {
    case 'agent': {
      const {
        instruction,
        useSkill,
        skillQuery,
        allowedToolNames,
        requiredEvidence,
        validationRules,
        evidenceContract,
        model,
        modelSettings,
        outputSchema,
      } = structuredClone(body)
      const spec = {
        name: id,
        instruction,
        use_skill: useSkill,
        skill_query: skillQuery,
        allowed_tool_names: allowedToolNames,
        required_evidence: requiredEvidence,
        validation_rules: validationRules,
        evidence_contract: evidenceContract,
        model,
        model_settings: modelSettings,
        output_schema: outputSchema,
      }
      return [
        {
          ...nodeOfAgent(compiling.workflow, spec, dependencies),
          ...deadline(body),
          settings: copied(binding),
        },
      ]
    }
    case 'tool': {
      const { tool, arguments: given = {} } = body
      return [
        {
          kind: 'tool',
          node_id: id,
          depends_on: [...dependencies],
          ...deadline(body),
          settings: copied(binding),
          tool,
          arguments: structuredClone(given),
        },
      ]
    }
    case 'template':
      return [code(id, dependencies, 'template', { ...binding, template: body.template })]
    case 'workflow': {
      const called = compiling.library.get(body.workflow)
      if (called === undefined)
        throw new BeaverError(
          'unknown_workflow',
          `The workflow ${JSON.stringify(body.workflow)} does not exist.`,
        )
      const scope = `${id}/`
      const entry = `${scope}${inputsId}`
      const bound = { ...binding, given: body.inputs ?? {}, inputs: called.interfaceInputs }
      return [
        code(entry, dependencies, 'inputs', bound),
        ...compileNodes(called, scope, entry, compiling),
        outputsNode(called, id, scope, entry),
      ]
    }
    default:
      return body satisfies never
  }
}

const deadline = ({ deadlineMs }: { readonly deadlineMs?: number | undefined }): { deadline_ms?: number } =>
  deadlineMs === undefined ? {} : { deadline_ms: deadlineMs }

const code = (
  id: string,
  dependencies: readonly string[],
  operation: Operation,
  settings: object,
): CodeNode => ({
  kind: 'code',
  node_id: id,
  depends_on: [...dependencies],
  settings: copied(settings),
  operation,
})
