// The settings that a compiled graph carries for program.ts. compile.ts and definition-workflow.ts write
// them, and the daemon that drives the team reads them.
import type { JsonObject, JsonValue } from '@beaver/core'
import { z } from 'zod'
import { bodyShapes, interfaceInput, type WorkflowDefinitionFile } from './definition-file.ts'

// It was JSON when it was written. Its meaning is checked where it is used.
const value = z.custom<JsonValue>()
const object = z.custom<JsonObject>()

/** Computes the inputs of a called workflow. */
export const inputsId = '(inputs)'
/** Computes what the whole graph returns. */
export const outputsId = '(outputs)'

export const binding = z.object({
  /** The prefix of the node and input ids that its templates name: `''`, `sub/`. */
  scope: z.string(),
  /** Set in the body of a map. */
  item: z.object({ value, index: z.number() }).optional(),
  when: z.string().optional(),
})
export type Binding = z.infer<typeof binding>

export const mapping = z.object({ items: z.string(), max_items: z.number().optional() })

/**
 * How the text of an item becomes its value in the list: what a model or a tool wrote is read as a structure
 * or as a text.
 */
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
    body: z.discriminatedUnion('kind', [
      bodyShapes.agent,
      bodyShapes.tool,
      bodyShapes.template,
      bodyShapes.workflow,
    ]),
  }),
  join: z.object({ spread: z.string(), read: itemReading }),
  inputs: z.object({ given: object, inputs: z.record(z.string(), interfaceInput) }),
  outputs: z.object({
    outputs: z.array(
      z.object({
        name: z.string(),
        declared: z.object({
          dataFlowType: z.string(),
          multi: z.boolean().optional(),
          isStream: z.boolean().optional(),
        }),
        value,
      }),
    ),
  }),
}
export type Operation = keyof typeof operations

export const graphSettings = z.object({
  inputs: object,
  /** The definitions that a map may call. */
  definitions: z.record(z.string(), z.custom<WorkflowDefinitionFile>()),
  /** The agents with a named skill that the graph may gain. `skillsOf` reads them. */
  skills: z.array(z.object({ name: z.string(), use_skill: z.string() })),
  limits: z.object({ agents_max: z.number(), edges_max: z.number() }),
})
export type GraphSettings = z.infer<typeof graphSettings>

/** A copy without anything that JSON cannot express. */
export const copied = (settings: object): JsonObject => JSON.parse(JSON.stringify(settings)) as JsonObject
