// Turns the arguments of a call from a provider's text into data that a tool may get. The result is data
// only: an object of bounded size and depth, without a key that means the prototype. Permission rules and the
// tool see the same value. If a key occurs twice, the last one counts. It never throws.
import { thrownText } from './tool-failure.ts'

/** The arguments of a call, or why they cannot be used. */
export type CallArguments =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  /** Says what to change, for the model. */
  | { readonly ok: false; readonly message: string }

const argumentsCharsMax = 4_000_000
const argumentsDepthMax = 100

/**
 * The arguments of a call. An empty text is an object without fields.
 *
 * @example
 * readCallArguments('echo', '{"text":"a"}') // => { ok: true, value: { text: 'a' } }
 */
export function readCallArguments(tool: string, text: string): CallArguments {
  const refused = (what: string): CallArguments => ({
    ok: false,
    message: `The arguments of ${tool} ${what}`,
  })
  if (text.length > argumentsCharsMax)
    return refused(
      `are ${text.length} characters long. The limit is ${argumentsCharsMax}. Send less in each of several calls.`,
    )
  let value: unknown
  try {
    value = text.trim() === '' ? {} : JSON.parse(text)
  } catch (error) {
    return refused(`are not JSON (${thrownText(error)}). Send one JSON object.`)
  }
  if (!isObject(value) || Array.isArray(value))
    return refused(
      `are ${Array.isArray(value) ? 'an array' : JSON.stringify(value).slice(0, 100)}. Send one JSON object.`,
    )
  const fault = faultIn(value)
  return fault === null ? { ok: true, value } : refused(fault)
}

/** Iterative, level by level, because the depth is not known yet. */
function faultIn(value: object): string | null {
  let level: object[] = [value]
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > argumentsDepthMax)
      return `are nested deeper than ${argumentsDepthMax} levels. Send flatter ones.`
    if (level.some((each) => Object.hasOwn(each, '__proto__')))
      return 'have a field "__proto__", which is not allowed. Leave it out.'
    const next: object[] = []
    for (const each of level)
      for (const inner of Object.values(each) as unknown[]) if (isObject(inner)) next.push(inner)
    level = next
  }
  return null
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
