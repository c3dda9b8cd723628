// Reads the content of a definition file into a definition that compiles for all arguments, or into all of
// its faults, each with its path. library.ts checks the definitions that it calls.
import type { JsonObject, JsonValue } from '@beaver/core'
import { findCycle } from '@beaver/core/graph'
import type { z } from 'zod'
import { agentNameFault } from '../agent-name.ts'
import { isRecord } from '../arguments/json-text.ts'
import { didYouMean, quote, quoteAll } from '../arguments/wording.ts'
import { dataTypes } from './data-types.ts'
import {
  bodyShapes,
  type DefinitionDiagnostic,
  type DefinitionNode,
  fileShape,
  type InterfaceInput,
  nodeShapes,
  type WorkflowDefinitionFile,
} from './definition-file.ts'
import type { Expression } from './expression.ts'
import { allowedValues, parameterInputs, valueFault } from './interface-schema.ts'
import { definitionTopology, outputTemplate, type Site, sitesOf } from './references.ts'
import { expressionsOf, onlyExpression } from './template.ts'
import { isJson } from './text.ts'

/** Why a definition is not offered as a tool, or what its author may want to know. */
export const definitionCodes = {
  invalid_definition: 'A field of the file is missing, unknown, or of another shape',
  unknown_kind: 'A node is of a kind that does not exist',
  invalid_node_id: 'A node has an id that is not allowed',
  duplicate_node: 'Two nodes have the same id',
  unknown_node: 'An edge or an expression names a node that does not exist',
  unknown_input: 'An expression names an input that does not exist',
  invalid_expression: 'A template or an expression cannot be used',
  cycle: 'The nodes wait for each other in a circle',
  unreachable_output: 'An output comes from nowhere',
  unknown_data_type: 'A dataFlowType is not known (D-15)',
  required_stream: 'A stream is a required input: no call could give it (D-15)',
  invalid_input_name: 'An input has a name that is not allowed',
  invalid_default: 'A default is not of the type of its input',
  invalid_suggestion: 'A suggestion is not of the type of its input',
  no_description: 'The workflow says nowhere when to choose it (CT-16)',
  workflow_recursion: 'A workflow calls itself, directly or through others (D-12)',
  workflow_too_deep: 'Workflows are nested deeper than 4 (D-12)',
  unknown_workflow: 'A node calls a workflow that does not exist',
  unknown_workflow_input: 'A node gives a workflow an input it does not have',
  missing_workflow_input: 'A node does not give a workflow an input it needs',
} as const satisfies Record<string, string>

export type DefinitionCode = keyof typeof definitionCodes

/**
 * Reads a workflow definition in a JSON value. `definition` is `null` if it cannot be used; warnings leave it
 * usable.
 *
 * @param id the name of the file, without its extension
 * @example
 * const { definition, diagnostics } = readDefinition('sum_up', {
 *   description: 'Sums up a text. Choose it when someone asks what a text says.',
 *   interfaceInputs: { text: { dataFlowType: 'STRING', required: true } },
 *   interfaceOutputs: { summary: { dataFlowType: 'STRING' } },
 *   nodes: [{ id: 'summary', kind: 'agent', instruction: 'Sum up in one sentence: {{ inputs.text }}' }],
 * })
 * definition?.id // => 'sum_up'
 * diagnostics // => []
 * readDefinition('sum_up', { nodes: [] }).definition // => null
 */
export function readDefinition(
  id: string,
  json: unknown,
): { definition: WorkflowDefinitionFile | null; diagnostics: DefinitionDiagnostic[] } {
  const reading = new Reading(id)
  const definition = reading.read(json)
  const sound = reading.diagnostics.every((each) => each.severity === 'warning')
  return { definition: sound ? definition : null, diagnostics: reading.diagnostics }
}

class Reading {
  readonly diagnostics: DefinitionDiagnostic[] = []
  readonly #id: string

  constructor(id: string) {
    this.#id = id
  }

  read(json: unknown): WorkflowDefinitionFile | null {
    if (!isRecord(json) || !isJson(json)) {
      this.#add(
        'invalid_definition',
        '',
        'The file must contain one JSON object, with interfaceInputs, interfaceOutputs and nodes.',
      )
      return null
    }
    const file = this.#parse(fileShape, structuredClone(json), '', json)
    const nodes = (Array.isArray(json['nodes']) ? (json['nodes'] as JsonValue[]) : []).map((node, index) =>
      this.#node(node, `nodes.${index}`),
    )
    if (file === null || nodes.includes(null)) return null
    const definition: WorkflowDefinitionFile = {
      ...file,
      id: this.#id,
      nodes: nodes.filter((node) => node !== null),
    }
    this.#inputs(definition.interfaceInputs, json)
    this.#ids(definition)
    definition.nodes.forEach((node, index) =>
      sitesOf(node).forEach((site) =>
        this.#site(definition, site, `nodes.${index}.${site.path}`, quote(node.id)),
      ),
    )
    this.#edges(definition)
    this.#outputs(definition)
    if (definition.description === undefined || definition.description.trim() === '') {
      this.#add(
        'no_description',
        'description',
        'There is no description: say what the workflow does and when to choose it.',
        'warning',
      )
    }
    if (this.diagnostics.some((each) => each.severity === 'error')) return null
    const cycle = findCycle(definitionTopology(definition))
    if (cycle !== null)
      this.#add(
        'cycle',
        'nodes',
        `The nodes ${[...cycle, cycle[0]].map((node) => quote(node)).join(' -> ')} wait for each other: no one could start.`,
      )
    return definition
  }

  #node(json: JsonValue, path: string): DefinitionNode | null {
    if (!isRecord(json))
      return this.#add(
        'invalid_definition',
        path,
        `${path} is ${quote(json)}, but must be an object with an id and a kind.`,
      )
    const shape = this.#shape(nodeShapes, json as JsonObject, path)
    const node = shape === null ? null : this.#parse(shape, structuredClone(json), path, json)
    if (node === null || node.kind !== 'map') return node as DefinitionNode | null
    const bodyShape = this.#shape(bodyShapes, node.body as JsonObject, `${path}.body`)
    const body =
      bodyShape === null ? null : this.#parse(bodyShape, node.body, `${path}.body`, node.body as JsonValue)
    return body === null ? null : { ...node, body }
  }

  #shape<Shapes extends Readonly<Record<string, z.ZodType>>>(
    shapes: Shapes,
    json: JsonObject,
    path: string,
  ): Shapes[keyof Shapes] | null {
    const { kind } = json
    if (typeof kind === 'string' && Object.hasOwn(shapes, kind)) return shapes[kind as keyof Shapes] ?? null
    const whose = typeof json['id'] === 'string' ? ` of ${quote(json['id'])}` : ''
    const near = typeof kind === 'string' ? didYouMean(kind, Object.keys(shapes)) : ''
    return this.#add(
      'unknown_kind',
      `${path}.kind`,
      `The kind${whose} is ${quote(kind)}, but must be one of ${quoteAll(Object.keys(shapes))}.${near}`,
    )
  }

  #parse<Shape extends z.ZodType>(
    shape: Shape,
    value: unknown,
    at: string,
    json: JsonValue,
  ): z.output<Shape> | null {
    const parsed = shape.safeParse(value)
    if (parsed.success) return parsed.data
    for (const issue of parsed.error.issues) {
      const path = [at, ...issue.path].filter((part) => part !== '').join('.')
      if (issue.code === 'unrecognized_keys')
        for (const key of issue.keys)
          this.#unknownField(shape, [path, key].filter((part) => part !== '').join('.'), key)
      else this.#add('invalid_definition', path, faultOf(issue, path, valueAt(json, issue.path)))
    }
    return null
  }

  #unknownField(shape: z.ZodType, path: string, key: string): void {
    const known = 'shape' in shape && isRecord(shape.shape) ? Object.keys(shape.shape) : []
    this.#add(
      'invalid_definition',
      path,
      `The field ${quote(path)} is not known. Remove it.${didYouMean(key, known)}`,
    )
  }

  #inputs(inputs: WorkflowDefinitionFile['interfaceInputs'], json: JsonObject): void {
    for (const name of Object.keys((json['interfaceInputs'] ?? {}) as JsonObject)) {
      if (name === '' || name === '__proto__')
        this.#add(
          'invalid_input_name',
          `interfaceInputs.${name}`,
          `An input cannot be called ${quote(name)}: choose another name.`,
        )
    }
    for (const [name, input] of Object.entries(inputs)) {
      const path = `interfaceInputs.${name}`
      this.#dataType(input.dataFlowType, path)
      if (input.isStream === true && input.required === true) {
        this.#add(
          'required_stream',
          path,
          `The input ${quote(name)} is a stream and required, but a call cannot give a stream: make it optional.`,
        )
      }
    }
    for (const [name, input] of parameterInputs(inputs))
      if (dataTypes.has(input.dataFlowType)) this.#input(name, input)
  }

  #input(name: string, input: InterfaceInput): void {
    const path = `interfaceInputs.${name}.config`
    const unfit = allowedValues(input).findIndex(
      (value) => valueFault({ dataFlowType: input.dataFlowType }, value) !== null,
    )
    if (unfit !== -1) {
      const value = allowedValues(input)[unfit] ?? null
      return void this.#add(
        'invalid_suggestion',
        `${path}.suggestions`,
        `A suggestion of ${quote(name)} is ${quote(value)}, but ${valueFault({ dataFlowType: input.dataFlowType }, value)}.`,
      )
    }
    const fallback = input.config?.default
    const fault = fallback === undefined || fallback === null ? null : valueFault(input, fallback)
    if (fault !== null)
      this.#add(
        'invalid_default',
        `${path}.default`,
        `The default of ${quote(name)} is ${quote(fallback)}, but ${fault}.`,
      )
  }

  #dataType(type: string, path: string): void {
    if (dataTypes.has(type)) return
    this.#add(
      'unknown_data_type',
      `${path}.dataFlowType`,
      `The dataFlowType of ${quote(path.split('.')[1])} is ${quote(type)}, but must be one of ${quoteAll([...dataTypes.keys()])}.${didYouMean(type, dataTypes.keys())}`,
    )
  }

  #ids({ nodes }: WorkflowDefinitionFile): void {
    const places = new Map<string, string>()
    nodes.forEach(({ id }, index) => {
      const path = `nodes.${index}.id`
      const fault = agentNameFault(id)
      if (fault !== null) return void this.#add('invalid_node_id', path, `The node id ${quote(id)} ${fault}.`)
      const taken = places.get(id)
      if (taken !== undefined)
        return void this.#add(
          'duplicate_node',
          path,
          `The node id ${quote(id)} is taken by ${taken} already: give each node an id of its own.`,
        )
      places.set(id, `nodes.${index}`)
    })
  }

  #edges({ nodes, edges }: WorkflowDefinitionFile): void {
    const ids = nodes.map((node) => node.id)
    edges.forEach((edge, index) =>
      edge.forEach((id, end) => {
        if (!ids.includes(id))
          this.#add(
            'unknown_node',
            `edges.${index}.${end}`,
            `The edge ${edge.map((each) => quote(each)).join(' -> ')} names ${quote(id)}, which is not a node.${didYouMean(id, ids)}`,
          )
      }),
    )
  }

  #outputs(definition: WorkflowDefinitionFile): void {
    const outputs = Object.entries(definition.interfaceOutputs)
    if (outputs.length === 0)
      this.#add(
        'unreachable_output',
        'interfaceOutputs',
        'There is no output: name what a call gives back, such as {"result": {"dataFlowType": "STRING", "value": "{{ nodes.x.output }}"}}.',
      )
    for (const [name, output] of outputs) {
      const path = `interfaceOutputs.${name}`
      this.#dataType(output.dataFlowType, path)
      if (output.value === undefined && !definition.nodes.some((node) => node.id === name)) {
        this.#add(
          'unreachable_output',
          path,
          `The output ${quote(name)} has no value, and no node has that name: add "value": "{{ nodes.….output }}".`,
        )
        continue
      }
      this.#site(
        definition,
        { path: '', template: outputTemplate(name, output.value), inMap: false, wanted: null },
        `${path}.value`,
        `the output ${quote(name)}`,
      )
    }
  }

  #site(definition: WorkflowDefinitionFile, site: Site, path: string, whose: string): void {
    let expressions: readonly Expression[]
    try {
      expressions =
        site.wanted === null ? expressionsOf(site.template, site) : [onlyExpression(site.template, site)]
    } catch (error) {
      return void this.#add('invalid_expression', path, `In ${whose}: ${(error as Error).message}.`)
    }
    const ids = definition.nodes.map((node) => node.id)
    const names = Object.keys(definition.interfaceInputs)
    for (const { source, type, references } of expressions) {
      const where = `In ${whose}, {{ ${source.trim()} }}`
      if (site.wanted !== null && type !== 'dyn' && !type.startsWith(site.wanted)) {
        this.#add(
          'invalid_expression',
          path,
          `${where} gives ${quote(type)}, but must give ${site.wanted === 'bool' ? 'true or false' : 'a list'}.`,
        )
      }
      for (const id of references.nodes.keys())
        if (!ids.includes(id))
          this.#add(
            'unknown_node',
            path,
            `${where} reads the node ${quote(id)}, which does not exist.${didYouMean(id, ids)}`,
          )
      for (const name of references.inputs) {
        if (!names.includes(name))
          this.#add(
            'unknown_input',
            path,
            `${where} reads the input ${quote(name)}, which does not exist.${didYouMean(name, names)}`,
          )
      }
    }
  }

  #add(
    code: DefinitionCode,
    path: string,
    message: string,
    severity: DefinitionDiagnostic['severity'] = 'error',
  ): null {
    this.diagnostics.push({ severity, code, workflow: this.#id, path, message })
    return null
  }
}

function faultOf(issue: z.core.$ZodIssue, path: string, value: unknown): string {
  if (value === undefined) return `${quote(path)} is missing.`
  if (issue.code === 'invalid_type')
    return `${quote(path)} is ${quote(value)}, but must be of type ${issue.expected}.`
  return `${quote(path)} ${issue.code === 'custom' ? issue.message : `is ${quote(value)}: ${issue.message}`}.`
}

function valueAt(json: JsonValue, path: readonly PropertyKey[]): unknown {
  let at: unknown = json
  for (const key of path)
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, key)
        ? (at as Record<PropertyKey, unknown>)[key]
        : undefined
  return at
}
