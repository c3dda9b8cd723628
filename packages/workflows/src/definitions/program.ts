// definitionProgram: what a compiled definition does while it runs. It needs only the graph, so a daemon
// without the file can continue it. A fault of an expression fails its node and names the expression. A node
// is skipped if its `when` is false, or if it reads a skipped node.
import type { JsonObject, JsonValue } from '@beaver/core'
import type { CodeNode, ExecutionNode, Growth, NodeEntry, TeamProgram, TeamView } from '@beaver/core/graph'
import type { z } from 'zod'
import { quote } from '../arguments/wording.ts'
import { bodySize, compileBody, type Size } from './compile.ts'
import { ExpressionFault } from './cost.ts'
import { asDeclared } from './data-types.ts'
import { mapItemsMax } from './definition-file.ts'
import type { NodeField, Scope } from './expression.ts'
import { defaultOf, valueFault } from './interface-schema.ts'
import { nodesRead } from './references.ts'
import {
  type Binding,
  binding,
  type GraphSettings,
  graphSettings,
  inputsId,
  type ItemReading,
  type mapping,
  type Operation,
  operations,
  outputsId,
} from './settings.ts'
import { evaluateText, onlyExpression, renderedCharsMax, renderParts, renderValue } from './template.ts'
import { jsonOf, valueText } from './text.ts'

export const definitionProgram: TeamProgram = {
  enter(team, node) {
    try {
      const bound = binding.parse(node.settings)
      return gate(team, bound) ?? begin(team, node, bound)
    } catch (error) {
      if (error instanceof ExpressionFault) return fail(error.message)
      throw error
    }
  },
  result(team) {
    return { final_output: team.outputOf(outputsId) ?? outputsOfSkipped(team) }
  },
}

function begin(team: TeamView, node: ExecutionNode, bound: Binding): NodeEntry {
  const scope = scopeOf(team, bound)
  switch (node.kind) {
    case 'agent':
      // Its instruction contains what it needs of other nodes.
      return {
        kind: 'run',
        input: { instruction: instructionOf(node.instruction, bound, scope), dependency_outputs: [] },
      }
    case 'tool':
      return { kind: 'run', input: { arguments: renderValue(node.arguments, scope) } }
    case 'code':
      return compute(team, node, bound, scope)
    default:
      return node satisfies never
  }
}

/** The inputs of a called workflow may have come from nodes of its caller. */
function instructionOf(template: string, bound: Binding, scope: Scope): JsonValue {
  const parts = renderParts(template, scope, bound.scope !== '')
  const [only = '', ...more] = parts
  return more.length === 0 && typeof only === 'string' ? only : parts
}

function compute(team: TeamView, node: CodeNode, bound: Binding, scope: Scope): NodeEntry {
  const operation = node.operation as Operation
  switch (operation) {
    case 'template':
      return output(renderValue(operations.template.parse(node.settings).template, scope))
    case 'condition':
      return output(truth(operations.condition.parse(node.settings).if, scope))
    case 'map_template': {
      const { template, ...over } = operations.map_template.parse(node.settings)
      return output(
        itemsOf(node, over, scope).map((value, index) =>
          renderValue(template, { ...scope, item: { value, index } }),
        ),
      )
    }
    case 'spread':
      return spread(team, node, bound, scope)
    case 'join': {
      const { spread: before, read } = operations.join.parse(node.settings)
      return output(
        node.depends_on.filter((id) => id !== before).map((id) => itemValue(team.outputOf(id), read)),
      )
    }
    case 'inputs':
      return output(inputsOf(operations.inputs.parse(node.settings), scope))
    case 'outputs':
      return output(outputsOf(operations.outputs.parse(node.settings), scope))
    default:
      operation satisfies never
      return fail(`${quote(node.operation)} is not an operation of a workflow definition.`)
  }
}

/** Returns `null` if the node continues. */
function gate(team: TeamView, bound: Binding): NodeEntry | null {
  const { when } = bound
  if (when === undefined) return null
  const scope = scopeOf(team, bound)
  for (const [id, fields] of onlyExpression(when, { inMap: false }).references.nodes) {
    // An expression that reads `skipped` asks about the skip itself, so it does not skip its node.
    if (scope.nodeField(id, 'skipped') === true && !fields.has('skipped'))
      return { kind: 'skip', reason: `Its condition reads ${quote(id)}, which was skipped.` }
  }
  return truth(when, scope) ? null : { kind: 'skip', reason: `Its condition is false: ${when}` }
}

function truth(text: string, scope: Scope): boolean {
  const value = evaluateText(text, scope)
  if (typeof value !== 'boolean')
    throw new ExpressionFault(`${text} gives ${quote(value)}, but must give true or false`)
  return value
}

function scopeOf(team: TeamView, { scope, item }: Binding): Scope {
  return {
    get inputs() {
      if (scope === '') return settingsOf(team).inputs
      return JSON.parse(team.outputOf(`${scope}${inputsId}`) ?? '{}') as JsonObject
    },
    nodeField: (nodeId, field) => fieldOf(team, `${scope}${nodeId}`, field),
    ...(item === undefined ? {} : { item }),
  }
}

function fieldOf(team: TeamView, id: string, field: NodeField): JsonValue {
  if (field === 'skipped') return team.statusOf(id) === 'skipped'
  const text = team.outputOf(id)
  return field === 'output' || text === null ? text : (jsonOf(text) ?? null)
}

const settingsOf = (team: TeamView): GraphSettings => graphSettings.parse(team.graph.settings)

function itemsOf(node: CodeNode, over: z.infer<typeof mapping>, scope: Scope): readonly JsonValue[] {
  const items = evaluateText(over.items, scope)
  if (!Array.isArray(items))
    throw new ExpressionFault(`${over.items} gives ${quote(items)}, but must give a list`)
  const limit = over.max_items ?? mapItemsMax
  if (items.length > limit)
    throw new ExpressionFault(
      `${quote(node.node_id)} has ${items.length} items; its limit maxItems is ${limit}`,
    )
  return items as readonly JsonValue[]
}

function spread(team: TeamView, node: CodeNode, bound: Binding, scope: Scope): NodeEntry {
  const { join, body, ...over } = operations.spread.parse(node.settings)
  const items = itemsOf(node, over, scope)
  const ids = items.map((_, index) => `${join}[${index}]`)
  const { definitions, limits } = settingsOf(team)
  const compiling = { workflow: team.graph.workflow, library: new Map(Object.entries(definitions)) }
  const each = bodySize(body, compiling.library)
  const before = team.graph.nodes
  const tooLarge = sizeFault(
    {
      nodes: before.length + items.length * each.nodes,
      runs: before.filter((other) => other.kind !== 'code').length + items.length * each.runs,
    },
    limits,
  )
  if (tooLarge !== null) return fail(`With ${items.length} items of ${quote(join)} ${tooLarge.message}`)
  const nodes = items.flatMap((value, index) =>
    compileBody(
      body,
      `${join}[${index}]`,
      [node.node_id],
      { scope: bound.scope, item: { value, index } },
      compiling,
    ),
  )
  const tooWide = edgesFault([...before, ...nodes], items.length, limits)
  if (tooWide !== null) return fail(`With ${items.length} items of ${quote(join)} ${tooWide.message}`)
  const growth: Growth = { nodes, edges: ids.map((id) => [id, join] as const) }
  return { kind: 'output', output: String(items.length), ...(items.length === 0 ? {} : { growth }) }
}

interface SizeFault {
  readonly code: 'too_many_agents' | 'too_many_edges'
  readonly message: string
}

/** Whether a graph is larger than a team may be (D-39). It is checked before the graph is built. */
export function sizeFault({ nodes, runs }: Size, limits: GraphSettings['limits']): SizeFault | null {
  if (runs > limits.agents_max)
    return {
      code: 'too_many_agents',
      message: `the graph has ${runs} agents and tools; the limit agentsMax is ${limits.agents_max}.`,
    }
  // Nearly every node has an edge.
  return nodes > limits.edges_max ? tooManyEdges(`${nodes} nodes and nearly as many`, limits) : null
}

/** @param more edges that are not in the nodes yet */
export function edgesFault(
  nodes: readonly ExecutionNode[],
  more: number,
  limits: GraphSettings['limits'],
): SizeFault | null {
  const edges = nodes.reduce((sum, node) => sum + node.depends_on.length, more)
  return edges > limits.edges_max ? tooManyEdges(String(edges), limits) : null
}

const tooManyEdges = (edges: string, limits: GraphSettings['limits']): SizeFault => ({
  code: 'too_many_edges',
  message: `the graph has ${edges} edges; the limit edgesMax is ${limits.edges_max}.`,
})

function itemValue(text: string | null, reading: ItemReading): JsonValue {
  if (text === null || reading === 'text') return text
  const value = jsonOf(text)
  // A number or a word that a model wrote is kept as written: 1.10 is not 1.1.
  return reading === 'json' || (typeof value === 'object' && value !== null) ? (value ?? text) : text
}

/**
 * The inputs of a called workflow: the given values, converted to the types of the inputs, and the defaults
 * for the others.
 */
function inputsOf({ given, inputs }: z.infer<typeof operations.inputs>, scope: Scope): JsonObject {
  const values = Object.entries(inputs).map(([name, input]): [string, JsonValue] => {
    const rendered = Object.hasOwn(given, name) ? renderValue(given[name] ?? null, scope) : null
    if (rendered === null && input.required !== true) return [name, defaultOf(input)]
    const read = asDeclared(input, rendered)
    const fault = 'fault' in read ? read.fault : valueFault(input, read.value)
    if (fault !== null)
      throw new ExpressionFault(`The input ${quote(name)} is ${quote(rendered)}, but ${fault}`)
    return [name, 'value' in read ? read.value : null]
  })
  return Object.fromEntries(values)
}

/** The bare value of a single output, or an object of several (CT-15). */
function outputsOf({ outputs }: z.infer<typeof operations.outputs>, scope: Scope): JsonValue {
  const values = outputs.map(({ name, declared, value }): [string, JsonValue] => {
    const rendered = outputValue(value, scope)
    const read = asDeclared(declared, rendered)
    if ('fault' in read)
      throw new ExpressionFault(`The output ${quote(name)} is ${quote(rendered)}, but ${read.fault}`)
    return [name, read.value]
  })
  const [only] = values
  return values.length === 1 && only !== undefined ? only[1] : Object.fromEntries(values)
}

/** Returns `null` if the value cannot be computed because everything that it reads was skipped. */
function outputValue(template: JsonValue, scope: Scope): JsonValue {
  try {
    return renderValue(template, scope)
  } catch (error) {
    const read = nodesRead(template, false)
    if (read.length > 0 && read.every((id) => scope.nodeField(id, 'skipped') === true)) return null
    throw error
  }
}

/** The outputs are skipped too, because everything that they rest on was skipped. */
function outputsOfSkipped(team: TeamView): string {
  const settings = team.graph.nodes.find((each) => each.node_id === outputsId)?.settings
  try {
    return valueText(outputsOf(operations.outputs.parse(settings), scopeOf(team, binding.parse(settings))))
  } catch {
    return 'null'
  }
}

function output(value: JsonValue): NodeEntry {
  const text = valueText(value)
  return text.length <= renderedCharsMax
    ? { kind: 'output', output: text }
    : fail(`Its output would have ${text.length} characters; the limit is ${renderedCharsMax}.`)
}

const fail = (message: string): NodeEntry => ({
  kind: 'fail',
  failure: { class: 'malformed_output', message: /[.!?]$/.test(message) ? message : `${message}.` },
})
