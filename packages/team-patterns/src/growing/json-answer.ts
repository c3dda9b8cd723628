// Finds the JSON in an answer of a model, in prose, in a fence, or alone. The JSON itself is read strictly:
// nothing is repaired. Of several values that fit, the last one counts, because models correct themselves
// later in the text. The work is bounded for any text.
import type { z } from 'zod'

const charsMax = 200_000
const startsMax = 64

/** The value in an answer that fits the schema, or what is wrong with it, as a sentence for the model. */
export function readJsonAnswer<Schema extends z.ZodType>(
  answer: string,
  schema: Schema,
): { readonly ok: true; readonly value: z.output<Schema> } | { readonly ok: false; readonly fault: string } {
  let fault: string | null = null
  for (const candidate of jsonIn(answer).toReversed()) {
    const read = schema.safeParse(candidate)
    if (read.success) return { ok: true, value: read.data }
    fault = faultOf(read.error)
  }
  return { ok: false, fault: fault ?? 'The answer holds no JSON object.' }
}

/** The objects and arrays in a text, in their order. */
export function jsonIn(text: string): readonly unknown[] {
  const whole = structureOf(text)
  if (whole !== undefined) return [whole]
  const bounded = text.replaceAll(/<think>[\s\S]*?<\/think>/g, '').slice(0, charsMax)
  const found: unknown[] = []
  let starts = 0
  for (let at = 0; at < bounded.length && starts < startsMax; at++) {
    const char = bounded[at]
    if (char !== '{' && char !== '[') continue
    starts++
    const end = endOf(bounded, at)
    const value = end === null ? undefined : structureOf(bounded.slice(at, end))
    if (value === undefined || end === null) continue
    found.push(value)
    at = end - 1
  }
  return found
}

function structureOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text.trim())
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** The end of the object or array that begins at `start`. `null` if it does not end. */
function endOf(text: string, start: number): number | null {
  let depth = 0
  let quoted = false
  for (let at = start; at < text.length; at++) {
    const char = text[at]
    if (quoted) {
      if (char === '\\') at++
      else if (char === '"') quoted = false
    } else if (char === '"') quoted = true
    else if (char === '{' || char === '[') depth++
    else if ((char === '}' || char === ']') && --depth === 0) return at + 1
  }
  return null
}

/** For example "delegations.0.worker: …". Only the first fault. */
function faultOf(error: z.ZodError): string {
  const [issue] = error.issues
  const path = issue?.path.join('.') ?? ''
  return `${path === '' ? 'The JSON' : JSON.stringify(path)}: ${issue?.message ?? error.message}.`
}
