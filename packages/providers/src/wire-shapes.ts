// The parts of an answer on the wire, as servers of many makers send them. What means the same is read as the same.
// W1. Only a value that means something else is refused: a text that is a number, arguments that are an object and content in parts are read.
import { z } from 'zod'

/** A text, or a number that some servers send for an id. */
const text = z.union([z.string(), z.number()]).transform(String)
export const wireId = text.nullish()

const part = z.union([z.string(), z.looseObject({ type: z.string().nullish(), text: z.string().nullish() })])
const textTypes: ReadonlySet<string | null | undefined> = new Set([undefined, null, '', 'text', 'output_text'])

/** The text of a message, or its parts joined. Parts that are no text, such as the thoughts of a model, are left out. */
export const wireContent = z
  .union([z.string(), z.array(part).transform(joined)])
  .nullish()
  .transform((content) => content ?? null)

function joined(parts: readonly z.output<typeof part>[]): string | null {
  const texts = parts.flatMap((each) => (typeof each === 'string' ? [each] : textTypes.has(each.type) ? [each.text ?? ''] : []))
  return texts.length === 0 ? null : texts.join('')
}

/** The arguments of a call: a text, or the object that the text would have been. */
export const wireArguments = z
  .union([z.string(), z.looseObject({}).transform((value) => JSON.stringify(value))])
  .nullish()
  .transform((value) => value ?? '')

const json = z.record(z.string(), z.json())

/** What a provider wants to have back with the call or the message in which it came, such as the signature of a thought. */
export const wireExtra = json.nullish().catch(null)
const wireDetails = z.array(json).nullish().catch(null)
const wireThought = z.string().nullish().catch(null)

const tokens = z
  .number()
  .nonnegative()
  .transform((count) => Math.min(Math.round(count), Number.MAX_SAFE_INTEGER))
  .nullish()

export const wireUsage = z.looseObject({ prompt_tokens: tokens, completion_tokens: tokens }).nullish()
export type WireUsage = z.output<typeof wireUsage>

/** The fields of a message that may have to go back. */
export const wireState = { reasoning_content: wireThought, reasoning: wireThought, reasoning_details: wireDetails, extra_content: wireExtra }
