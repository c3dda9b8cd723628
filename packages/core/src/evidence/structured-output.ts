// Decides whether the final text of a run is JSON of the required schema, with at most one fence around it
// (output-schema.ts, J1). The journal keeps what the model said; readers get the value in canonical JSON.
import { z } from 'zod'
import { messageOf } from '../errors.ts'
import { canonicalJson } from '../canonical-json.ts'
import { type JsonValue, jsonObject } from '../json.ts'
import { valueFaults } from './check-schema.ts'
import { schemaFault } from './output-schema.ts'
import { withoutFence } from './output-text.ts'

/** What does not fit at one place of an answer. `path`: a JSON Pointer; empty for the whole answer. */
export const outputFault = z.object({
  path: z.string().describe('The place in the answer, a JSON Pointer. Empty: the whole answer.'),
  message: z.string().describe('What is wrong there.'),
})
export type OutputFault = z.infer<typeof outputFault>

/** A JSON Schema from a client. It must be one that Beaver can check. */
export const outputSchema = jsonObject.superRefine((schema, context) => {
  const fault = schemaFault(schema)
  if (fault !== null) context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message })
})

/** A final text that fits its schema, or what is wrong with it. */
export type JudgedOutput =
  | { readonly kind: 'fits'; readonly value: JsonValue; readonly text: string }
  | { readonly kind: 'faulty'; readonly faults: readonly OutputFault[] }

/**
 * Judges a final text. `text` is the value in canonical JSON.
 *
 * @example
 * const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
 * judgeOutput(schema, '```json\n{ "n": 3 }\n```') // => { kind: 'fits', value: { n: 3 }, text: '{"n":3}' }
 * judgeOutput(schema, '{"n": "3"}').kind // => 'faulty'
 */
export function judgeOutput(schema: Readonly<Record<string, unknown>>, said: string): JudgedOutput {
  const faulty = (message: string): JudgedOutput => ({ kind: 'faulty', faults: [{ path: '', message }] })
  let value: JsonValue
  try {
    value = JSON.parse(withoutFence(said)) as JsonValue
  } catch {
    return faulty('The answer is not JSON. Write the JSON value alone, without any text before or after it')
  }
  try {
    const faults = valueFaults(schema, value)
    return faults.length > 0
      ? { kind: 'faulty', faults }
      : { kind: 'fits', value, text: canonicalJson(value) }
  } catch (error) {
    return faulty(`The answer cannot be checked: ${messageOf(error)}`)
  }
}
