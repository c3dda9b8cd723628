// What the tests of definition files share.
import { readFileSync } from 'node:fs'
import { canonicalJson, type JsonObject, type JsonValue } from '@beaver/core'
import type { ExecutionGraph } from '@beaver/core/graph'
import { expect } from 'vitest'
import {
  type DefinitionLibrary,
  definitionWorkflow,
  readDefinition,
  type WorkflowDefinitionFile,
} from '../src/index.ts'
import { type Answers, graphOf, play, type Played, scripted, statusOf } from '@beaver/testing'

/** A file of `test/definitions`, by its id. */
export const file = (id: string): JsonObject =>
  JSON.parse(readFileSync(new URL(`definitions/${id}.json`, import.meta.url), 'utf8')) as JsonObject

/** The definition of a content that is sound. Frozen: whoever changes it throws. */
export function accepted(id: string, json: unknown): WorkflowDefinitionFile {
  const { definition, diagnostics } = readDefinition(id, json)
  if (definition === null) expect.fail(JSON.stringify(diagnostics, null, 2))
  return deepFrozen(definition)
}

export const libraryOf = (contents: Readonly<Record<string, unknown>>): DefinitionLibrary =>
  new Map(Object.entries(contents).map(([id, json]) => [id, accepted(id, json)]))

/** A content with these nodes; its output is the last of them, whatever it is, but for what `rest` says. */
export const content = (nodes: readonly JsonObject[], rest: JsonObject = {}): JsonObject => ({
  description: 'For tests.',
  interfaceInputs: {
    text: { dataFlowType: 'STRING' },
    list: { dataFlowType: 'ARRAY' },
    n: { dataFlowType: 'INTEGER' },
  },
  interfaceOutputs: {
    result: {
      dataFlowType: 'WILDCARD',
      value: `{{ nodes[${JSON.stringify(nodes.at(-1)?.['id'])}].output }}`,
    },
  },
  nodes,
  ...rest,
})

export const template = (id: string, text: JsonValue, rest: JsonObject = {}): JsonObject => ({
  id,
  kind: 'template',
  template: text,
  ...rest,
})
export const agent = (id: string, instruction: string, rest: JsonObject = {}): JsonObject => ({
  id,
  kind: 'agent',
  instruction,
  ...rest,
})

/** The graph of a call, as a daemon reads it that takes the team over: the keys of its objects sorted. */
export function planned(library: DefinitionLibrary, id: string, args: unknown): ExecutionGraph {
  const definition = library.get(id)
  if (definition === undefined) expect.fail(`no ${id}`)
  return JSON.parse(
    canonicalJson(graphOf(definitionWorkflow(definition, library).plan(args))),
  ) as ExecutionGraph
}

/** Runs the workflow `w`, and what else there is, with these arguments. */
export function run(
  json: JsonObject,
  { args = {}, answers = scripted({}), more = {}, order }: Run = {},
): Played {
  return play(planned(libraryOf({ w: json, ...more }), 'w', args), answers, order)
}

export interface Run {
  readonly args?: unknown
  readonly answers?: Answers
  readonly more?: Readonly<Record<string, JsonObject>>
  readonly order?: (running: number) => number
}

export const final = (played: Played): string => played.result.final_output
export const failureOf = (played: Played, nodeId: string): string =>
  played.team.nodes.get(nodeId)?.failure?.message ?? `${nodeId} is ${statusOf(played, nodeId)}`
export const map = (id: string, items: string, body: JsonObject, rest: JsonObject = {}): JsonObject => ({
  id,
  kind: 'map',
  items,
  body,
  ...rest,
})
export const condition = (id: string, text: string, rest: JsonObject = {}): JsonObject => ({
  id,
  kind: 'condition',
  if: text,
  ...rest,
})
export const tool = (id: string, name: string, args: JsonObject, rest: JsonObject = {}): JsonObject => ({
  id,
  kind: 'tool',
  tool: name,
  arguments: args,
  ...rest,
})
export const output = (value: JsonValue, rest: JsonObject = {}): JsonObject => ({
  interfaceOutputs: { result: { dataFlowType: 'WILDCARD', value, ...rest } },
})

/** What a node's run was given. */
export function inputOf(played: Played, nodeId: string): JsonObject | null | undefined {
  for (const event of played.events)
    if (event.type === 'node_started' && event.data.node_id === nodeId) return event.data.input
  return undefined
}

export function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFrozen)
  return value
}
