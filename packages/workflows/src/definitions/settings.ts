// What a compiled graph carries for `program.ts`: written by `compile.ts` and `definition-workflow.ts`, read by the program of
// whichever daemon drives the team.
import type { JsonObject, JsonValue } from '@beaver/core'
import { z } from 'zod'
import { bodyShapes, interfaceInput, type WorkflowDefinitionFile } from './definition-file.ts'

// It was JSON when it was written; what it means is checked where it is used.
const value = z.custom<JsonValue>()
const object = z.custom<JsonObject>()

/** Computes the values a called workflow works on. */
export const inputsId = '(inputs)'
/** Computes what the whole graph gives back. */
export const outputsId = '(outputs)'

export const binding = z.object({
  /** What stands before the ids of the nodes and inputs its templates name: `''`, `sub/`. */
  scope: z.string(),
  /** In the body of a map. */
  item: z.object({ value, index: z.number() }).optional(),
  when: z.string().optional(),
})
export type Binding = z.infer<typeof binding>

export const mapping = z.object({ items: z.string(), max_items: z.number().optional() })

/** How the text of an item becomes its value in the list: what a model or a tool wrote is taken for a structure or for a text. */
const itemReading = z.enum(['structure', 'text', 'json'])
export type ItemReading = z.infer<typeof itemReading>

/** By operation, beside the binding. */
export const operations = {
  template: z.object({ template: value }),
  condition: z.object({ if: z.string() }),
  map_template: z.object({ ...mapping.shape, template: value }),
  spread: z.object({
    ...mapping.shape,
    join: z.string(),
    body: z.discriminatedUnion('kind', [bodyShapes.agent, bodyShapes.tool, bodyShapes.template, bodyShapes.workflow]),
  }),
  join: z.object({ spread: z.string(), read: itemReading }),
  inputs: z.object({ given: object, inputs: z.record(z.string(), interfaceInput) }),
  outputs: z.object({
    outputs: z.array(
      z.object({ name: z.string(), declared: z.object({ dataFlowType: z.string(), multi: z.boolean().optional(), isStream: z.boolean().optional() }), value }),
    ),
  }),
}
export type Operation = keyof typeof operations

export const graphSettings = z.object({
  inputs: object,
  /** Those that a map may call. */
  definitions: z.record(z.string(), z.custom<WorkflowDefinitionFile>()),
  /** The agents the graph may grow that are pinned to a skill, as `skillsOf` looks for them. */
  skills: z.array(z.object({ name: z.string(), use_skill: z.string() })),
  limits: z.object({ agents_max: z.number(), edges_max: z.number() }),
})
export type GraphSettings = z.infer<typeof graphSettings>

/** A copy, without what JSON does not say. */
export const copied = (settings: object): JsonObject => JSON.parse(JSON.stringify(settings)) as JsonObject
