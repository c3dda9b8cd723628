// Finds the templates of a definition, and derives the order of its nodes from what they read. A node depends
// on every node that its templates read, and on the nodes from which an edge leads to it.
import type { JsonValue } from '@beaver/core'
import { type Edge, type Topology, topologyOf } from '@beaver/core/graph'
import type { Body, DefinitionNode, WorkflowDefinitionFile } from './definition-file.ts'
import { expressionsOf } from './template.ts'

/** A template, and its place in its node. */
export type Site = { readonly path: string; readonly inMap: boolean } & (
  | { readonly wanted: null; readonly template: JsonValue }
  /** The template must be one expression of this type. */
  | { readonly wanted: 'bool' | 'list'; readonly template: string }
)

export function sitesOf(node: DefinitionNode): Site[] {
  const sites: Site[] =
    node.when === undefined ? [] : [{ path: 'when', template: node.when, inMap: false, wanted: 'bool' }]
  if (node.kind === 'condition')
    return [...sites, { path: 'if', template: node.if, inMap: false, wanted: 'bool' }]
  if (node.kind !== 'map') return [...sites, ...bodySites(node, '', false)]
  return [
    ...sites,
    { path: 'items', template: node.items, inMap: false, wanted: 'list' },
    ...bodySites(node.body, 'body.', true),
  ]
}

function bodySites(body: Body, prefix: string, inMap: boolean): Site[] {
  const site = (name: string, template: JsonValue): Site => ({
    path: `${prefix}${name}`,
    template,
    inMap,
    wanted: null,
  })
  switch (body.kind) {
    case 'agent':
      return [site('instruction', body.instruction)]
    case 'tool':
      return [site('arguments', body.arguments ?? {})]
    case 'template':
      return [site('template', body.template)]
    case 'workflow':
      return Object.entries(body.inputs ?? {}).map(([name, value]) => site(`inputs.${name}`, value))
    default:
      return body satisfies never
  }
}

/** The nodes that a template reads. */
export function nodesRead(template: JsonValue, inMap: boolean): string[] {
  return expressionsOf(template, { inMap }).flatMap((expression) => [...expression.references.nodes.keys()])
}

/** What each node of a valid definition waits for. */
export function definitionTopology({
  nodes,
  edges,
}: Pick<WorkflowDefinitionFile, 'nodes' | 'edges'>): Topology {
  const read = nodes.flatMap((node) =>
    sitesOf(node).flatMap((site) => nodesRead(site.template, site.inMap).map((id): Edge => [id, node.id])),
  )
  return topologyOf(
    nodes.map((node) => node.id),
    [...edges, ...read],
  )
}

/** The template of an output. Default: the output of the node of the same name. */
export const outputTemplate = (name: string, value: JsonValue | undefined): JsonValue =>
  value ?? `{{ nodes[${JSON.stringify(name)}].output }}`

/** The workflow that a node calls, if it calls one. */
export function callOf(node: DefinitionNode): {
  readonly workflow: string
  readonly inputs: Readonly<Record<string, JsonValue>>
  readonly path: string
} | null {
  if (node.kind === 'workflow') return { workflow: node.workflow, inputs: node.inputs ?? {}, path: '' }
  if (node.kind !== 'map' || node.body.kind !== 'workflow') return null
  return { workflow: node.body.workflow, inputs: node.body.inputs ?? {}, path: 'body.' }
}
