// What an output has at a place (a JSON Pointer, RFC 6901), for checks of a part of JSON. A missing place has
// no value, so no check of it passes. Only what the JSON has counts: no length of a list, no inherited name.
// Nothing is thrown, whatever a model wrote.
import { type JsonValue, messageOf } from '@beaver/core'
import { isPointer, type MachineRequirement, type RunFacts, withoutFence } from '@beaver/core/evidence'
import { quoted, shownValue, type Verdict } from './verdict.ts'

const index = /^(0|[1-9]\d*)$/

/**
 * The value at a JSON Pointer; `undefined` if there is none.
 */
export function valueAt(value: JsonValue, pointer: string): JsonValue | undefined {
  const steps = pointer === '' ? [] : pointer.slice(1).split('/')
  return steps
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<JsonValue | undefined>(inside, value)
}

function inside(value: JsonValue | undefined, step: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
  if (Array.isArray(value) && !index.test(step)) return undefined
  return (value as Readonly<Record<string, JsonValue>>)[step]
}

/** The value of an output, or why it has none. Several checks read one output. */
const read = new WeakMap<RunFacts, ReturnType<typeof parsed>>()

function parsed(output: string): { readonly value: JsonValue } | { readonly why: string } {
  try {
    return { value: JSON.parse(withoutFence(output)) as JsonValue }
  } catch (error) {
    return { why: `is not JSON (${messageOf(error)})` }
  }
}

/** What the output has at a place. `why` continues the sentence "The output …". */
function partAt(facts: RunFacts, pointer: string): { readonly value: JsonValue } | { readonly why: string } {
  const known = read.get(facts) ?? parsed(facts.outputText)
  read.set(facts, known)
  if ('why' in known) return known
  const value = isPointer(pointer) ? valueAt(known.value, pointer) : undefined
  return value === undefined ? { why: `has no value at ${quoted(pointer)}` } : { value }
}

/** A requirement that looks at a place of the output. */
type AtPlace = MachineRequirement & { readonly path: string }

export const looksInside = (requirement: MachineRequirement): requirement is AtPlace =>
  'path' in requirement && requirement.path !== undefined

/**
 * Judges a requirement by what the output has at its place.
 *
 * @param judge judges a requirement that reads a whole output
 */
export function verdictAt(
  requirement: AtPlace,
  facts: RunFacts,
  judge: (facts: RunFacts) => Verdict,
): Verdict {
  const { path } = requirement
  const restsOn = [facts.outputSeq]
  const failed = (why: string): Verdict => ({ passed: false, detail: `The output ${why}.`, restsOn })
  const part = partAt(facts, path)
  if ('why' in part) return failed(part.why)
  try {
    if (requirement.kind === 'output_value') return { ...valueVerdict(requirement, part.value), restsOn }
    // A text is read as it is, by all checks but the one that reads JSON.
    const text =
      typeof part.value === 'string' && requirement.kind !== 'output_schema'
        ? part.value
        : JSON.stringify(part.value)
    const { detail, ...verdict } = judge({ ...facts, outputText: text })
    return { ...verdict, detail: `At ${quoted(path)}: ${detail}` }
  } catch (error) {
    return failed(`cannot be checked at ${quoted(path)}: ${messageOf(error)}`)
  }
}

function valueVerdict(
  { path, equals, min, max }: MachineRequirement & { kind: 'output_value' },
  value: JsonValue,
): Omit<Verdict, 'restsOn'> {
  const has = `The output has ${shownValue(value)} at ${quoted(path)}`
  if (equals !== undefined) {
    const passed = isEqual(value, equals)
    return { passed, detail: passed ? `${has}.` : `${has}; ${shownValue(equals)} is required.` }
  }
  if (min === undefined && max === undefined) return { passed: true, detail: `${has}.` }
  const bounds = [
    ...(min === undefined ? [] : [`at least ${min}`]),
    ...(max === undefined ? [] : [`at most ${max}`]),
  ].join(' and ')
  const passed =
    typeof value === 'number' && (min === undefined || value >= min) && (max === undefined || value <= max)
  return { passed, detail: passed ? `${has}.` : `${has}; a number of ${bounds} is required.` }
}

/** Whether two values are the same JSON, whatever the order of the fields of objects. */
function isEqual(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isEqual(fieldOf(one, name), fieldOf(other, name)))
  )
}

const fieldOf = (value: object, name: string): unknown => (value as Readonly<Record<string, unknown>>)[name]
