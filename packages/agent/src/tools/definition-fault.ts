// Finds what is wrong with a tool's definition. Its author learns it when the module is loaded.
import { BeaverError } from '@beaver/core'
import { sinks } from '@beaver/core/taint'
import { z } from 'zod'
import { effectKinds, readKinds } from '../taint/tool-kind.ts'
import { subjectKinds } from './judge-subject.ts'
import { thrownText } from './tool-failure.ts'

interface Definition {
  readonly name: string
  readonly description: string
  readonly input: z.ZodType
  readonly run: unknown
  readonly idempotent?: boolean
  readonly pure?: boolean
  readonly isolation?: string
  readonly permission?: string
  readonly effects?: string
  readonly sink?: string
  readonly reads?: unknown
  readonly subjectKind?: string
  readonly timeoutMs?: number
}

const timeoutMsMax = 3_600_000
const isolations: readonly unknown[] = [undefined, 'inline', 'thread', 'process']
const booleans: readonly unknown[] = [undefined, true, false]
const quotedList = (words: readonly string[]): string => words.map((word) => JSON.stringify(word)).join(', ')
/**
 * What is wrong with what the tool says about its texts and its effects. A word that nobody knows must not
 * count as harmless.
 */
function kindFault({ pure, effects, sink, reads, subjectKind }: Definition): string | null {
  if (subjectKind !== undefined && !(subjectKinds as readonly string[]).includes(subjectKind))
    return `"subjectKind" is ${JSON.stringify(subjectKind)}, but must be one of ${quotedList(subjectKinds)}.`
  if (effects !== undefined && !(effectKinds as readonly string[]).includes(effects))
    return `"effects" is ${JSON.stringify(effects)}, but must be one of ${quotedList(effectKinds)}.`
  if (sink !== undefined && !(sinks as readonly string[]).includes(sink))
    return `"sink" is ${JSON.stringify(sink)}, but must be one of ${quotedList(sinks)}.`
  if (
    reads !== undefined &&
    typeof reads !== 'function' &&
    !(readKinds as readonly unknown[]).includes(reads)
  )
    return `"reads" is ${JSON.stringify(reads)}, but must be a function or one of ${quotedList(readKinds)}.`
  if (pure === true && ((effects ?? 'none') !== 'none' || sink !== undefined))
    return 'it is "pure" and has effects. Leave out one of the two.'
  return null
}
const permissions: readonly unknown[] = [undefined, 'allow', 'ask', 'deny']

export const toolNamePattern = /^[a-zA-Z0-9_-]{1,64}$/

export function definitionFault(definition: Definition): BeaverError | null {
  const { name, description, run, idempotent, pure, isolation, permission, timeoutMs } = definition
  const fault = (what: string): BeaverError =>
    new BeaverError(
      'invalid_configuration',
      `The tool ${JSON.stringify(name) ?? typeof name} cannot be defined: ${what}`,
    )
  if (typeof name !== 'string' || !toolNamePattern.test(name))
    return fault('its name must be 1 to 64 of a-z A-Z 0-9 _ -.')
  if (typeof description !== 'string' || description.trim() === '')
    return fault(
      'its description is empty. Say what it does, when to use it, and what it returns. A model reads nothing else.',
    )
  if (typeof run !== 'function') return fault('"run" must be a function.')
  if (!isolations.includes(isolation))
    return fault(`"isolation" is ${JSON.stringify(isolation)}, but must be "inline", "thread" or "process".`)
  if (!booleans.includes(pure)) return fault(`"pure" is ${JSON.stringify(pure)}, but must be true or false.`)
  if (pure === true && idempotent === false)
    return fault(
      'it is "pure" and not "idempotent". A pure tool can always run again. Leave out "idempotent".',
    )
  if (pure === true && (isolation ?? 'inline') !== 'inline')
    return fault(
      `it is "pure" and runs in a ${isolation} of its own. A pure tool takes little time and runs inline. Leave out one of the two.`,
    )
  if (!permissions.includes(permission))
    return fault(`"permission" is ${JSON.stringify(permission)}, but must be "allow", "ask" or "deny".`)
  const kind = kindFault(definition)
  if (kind !== null) return fault(kind)
  if (
    timeoutMs !== undefined &&
    !(Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= timeoutMsMax)
  )
    return fault(`"timeoutMs" is ${String(timeoutMs)}, but must be a whole number from 1 to ${timeoutMsMax}.`)
  try {
    if (schemaOf(definition)['type'] === 'object') return null
  } catch (error) {
    return fault(`its input has no JSON schema (${thrownText(error)}).`)
  }
  return fault('its input must be an object at the top, such as z.strictObject({ … }).')
}

/**
 * The JSON Schema of the arguments, made once for each input.
 *
 * @throws what zod throws
 */
export function schemaOf({ input }: Pick<Definition, 'input'>): Record<string, unknown> {
  const known = schemas.get(input)
  if (known !== undefined) return known
  const { $schema: _, ...parameters } = z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>
  schemas.set(input, parameters)
  return parameters
}

const schemas = new WeakMap<z.ZodType, Record<string, unknown>>()
