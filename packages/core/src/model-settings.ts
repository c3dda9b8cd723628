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
  /** From 0, the same each time, to 2. */
  temperature: z.number().min(0).max(2).optional(),
  /** Only the most probable tokens, up to this sum of their probabilities. */
  top_p: z.number().min(0).max(1).optional(),
  /**
   * The most tokens of one answer, including the thoughts of the model. An answer that reaches it fails
   * (`output_truncated`).
   */
  output_tokens_max: z.int().min(1).max(100_000_000).optional(),
  /** How much the model thinks before it answers, in the server's word: `low`, `medium`, `high`, … */
  reasoning_effort: z.string().min(1).max(64).optional(),
  /** Further fields of the request, as the server knows them. */
  extra_body: jsonObject
    .refine(
      (fields) => !ownFields.some((name) => name in fields),
      `must not have ${ownFields.map((name) => JSON.stringify(name)).join(', ')}: Beaver writes these itself`,
    )
    .optional(),
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
