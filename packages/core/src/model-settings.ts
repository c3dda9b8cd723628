// How a model is asked to answer: what an endpoint, a profile and an agent may set. The more special setting
// replaces the more general one.
import { z } from 'zod'
import { jsonObject, type JsonObject } from './json.ts'

/** What Beaver itself writes into a request. */
const ownFields: readonly string[] = [
  'model',
  'messages',
  'tools',
  'stream',
  'stream_options',
  'n',
  'input',
  'previous_response_id',
  'conversation',
  'background',
]

/**
 * The settings of a request to a model. Absent: the server decides. Servers differ in which of them they
 * take.
 */
export const modelSettings = z.strictObject({
  temperature: z
    .number()
    .min(0)
    .max(2)
    .optional()
    .describe('From 0, the same each time, to 2. Absent: the server decides.'),
  top_p: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      'Only the most probable tokens, up to this sum of their probabilities. Absent: the server decides.',
    ),
  /** With the thoughts of the model. An answer that reaches it fails (`output_truncated`). */
  output_tokens_max: z
    .int()
    .min(1)
    .max(100_000_000)
    .optional()
    .describe('The most tokens of one answer. Absent: the server decides.'),
  reasoning_effort: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe(
      "How much the model thinks before it answers, in the server's word. Absent: the server decides.",
    ),
  extra_body: jsonObject
    .refine(
      (fields) => !ownFields.some((name) => name in fields),
      `must not have ${ownFields.map((name) => JSON.stringify(name)).join(', ')}: Beaver writes these itself`,
    )
    .optional()
    .describe('Further fields of the request. Absent: none.'),
})
export type ModelSettings = z.infer<typeof modelSettings>

/**
 * The settings that follow from several, the most general first. Each member of `extra_body` is replaced as a
 * whole.
 *
 * @example
 * settingsFrom({ temperature: 0, top_p: 1 }, undefined, { temperature: 0.7 }) // => { temperature: 0.7, top_p: 1 }
 */
export function settingsFrom(...settings: readonly (ModelSettings | undefined)[]): ModelSettings {
  const all: ModelSettings = {}
  const extra: Record<string, JsonObject[string]> = {}
  for (const each of settings) {
    if (each === undefined) continue
    Object.assign(extra, each.extra_body)
    for (const [name, value] of Object.entries(each))
      if (value !== undefined) Object.assign(all, { [name]: value })
  }
  return Object.keys(extra).length === 0 ? all : { ...all, extra_body: extra }
}
