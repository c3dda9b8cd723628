// The parts of an answer on the wire, as servers of many makers send them. Different forms of the same
// meaning are read as the same: a text that is a number, arguments that are an object, content in parts.
import { z } from 'zod'

/** A text, or a number that some servers send for an id. */
const text = z.union([z.string(), z.number()]).transform(String)
export const wireId = text.nullish()

const part = z.union([z.string(), z.looseObject({ type: z.string().nullish(), text: z.string().nullish() })])
const textTypes: ReadonlySet<string | null | undefined> = new Set([
  undefined,
  null,
  '',
  'text',
  'output_text',
])

/** The text of a message, or its parts joined, without thoughts and other parts. */
export const wireContent = z
  .union([z.string(), z.array(part).transform(joined)])
  .nullish()
  .transform((content) => content ?? null)

function joined(parts: readonly z.output<typeof part>[]): string | null {
  const texts = parts.flatMap((each) =>
    typeof each === 'string' ? [each] : textTypes.has(each.type) ? [each.text ?? ''] : [],
  )
  return texts.length === 0 ? null : texts.join('')
}

/** The arguments of a call: a text, or the object that the text would have been. */
export const wireArguments = z
  .union([z.string(), z.looseObject({}).transform((value) => JSON.stringify(value))])
  .nullish()
  .transform((value) => value ?? '')

/**
 * Arguments that were written as a text twice: a JSON text whose value is the text of an object, as vLLM does
 * for Granite 4 (github.com/vllm-project/vllm/pull/54964). Others stay as they are.
 */
export function unquoted(args: string): string {
  if (!/^\s*"/.test(args)) return args
  try {
    const inner: unknown = JSON.parse(args)
    const value: unknown = typeof inner === 'string' ? JSON.parse(inner) : null
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? String(inner) : args
  } catch {
    return args
  }
}

/** A call in the form before `tool_calls`: at most one in an answer, without an id. */
export const wireOldCall = z
  .looseObject({ name: z.string().nullish(), arguments: wireArguments })
  .nullish()
  .catch(null)

const json = z.record(z.string(), z.json())

/** State that a provider wants back with its call or message, such as a thought's signature. */
export const wireExtra = json.nullish().catch(null)
const wireDetails = z.array(json).nullish().catch(null)
const wireThought = z.string().nullish().catch(null)

/** No call uses more, so a larger count makes no sense. */
const tokensMax = 100_000_000

/** A count, also as a text. An unreadable one counts as absent: a paid answer is not discarded for it. */
export const wireTokens = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^\d+(\.\d+)?$/)
      .transform(Number),
  ])
  .pipe(z.number().nonnegative().max(tokensMax))
  .transform(Math.round)
  .nullish()
  .catch(null)

const inputDetails = z
  .looseObject({
    cached_tokens: wireTokens,
    cache_write_tokens: wireTokens,
    cache_creation_tokens: wireTokens,
    cache_creation_input_tokens: wireTokens,
    audio_tokens: wireTokens,
  })
  .nullish()
  .catch(null)
const outputDetails = z
  .looseObject({ reasoning_tokens: wireTokens, audio_tokens: wireTokens })
  .nullish()
  .catch(null)

/** The tokens of an answer. wire-usage.ts lists which servers send which fields, and their meaning. */
export const wireUsage = z
  .looseObject({
    prompt_tokens: wireTokens,
    completion_tokens: wireTokens,
    input_tokens: wireTokens,
    output_tokens: wireTokens,
    total_tokens: wireTokens,
    prompt_tokens_details: inputDetails,
    input_tokens_details: inputDetails,
    completion_tokens_details: outputDetails,
    output_tokens_details: outputDetails,
    prompt_cache_hit_tokens: wireTokens,
    cache_read_input_tokens: wireTokens,
    cache_creation_input_tokens: wireTokens,
    cached_tokens: wireTokens,
    reasoning_tokens: wireTokens,
  })
  .nullish()
  .catch(null)
export type WireUsage = z.output<typeof wireUsage>

/** The fields of a message that may have to go back to the server. */
export const wireState = {
  reasoning_content: wireThought,
  reasoning: wireThought,
  reasoning_details: wireDetails,
  extra_content: wireExtra,
}
