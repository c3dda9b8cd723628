// Checks a JSON value against a JSON Schema that `schemaFault` accepted. The number of steps is bounded,
// because alternatives that refer to each other would otherwise take exponential time. A fault names a place
// by a JSON Pointer (RFC 6901) and never repeats the value.
import { z } from 'zod'
import { canonicalJson } from '../canonical-json.ts'
import { compilePattern } from './pattern.ts'

/** What does not fit at one place of a value. `path`: a JSON Pointer; empty for the whole value. */
export interface ValueFault {
  readonly path: string
  readonly message: string
}

/**
 * What of a value does not fit its schema: at most 20 faults. Empty: the value fits.
 *
 * @throws {RangeError} if the check would take too many steps or goes too deep
 * For example, `{ n: '3' }` has a fault at `/n` if `n` must be a number.
 */
export function valueFaults(schema: Schema, value: unknown): readonly ValueFault[] {
  return new Check(schema).faults(schema, value, { path: '', depth: 0 }).slice(0, faultsMax)
}

const faultsMax = 20
const stepsMax = 200_000
const depthMax = 200
const formatCharsMax = 2_000

type Schema = Readonly<Record<string, unknown>>
interface Place {
  readonly path: string
  readonly depth: number
}

class Check {
  readonly #root: Schema
  readonly #patterns = new Map<string, (text: string) => boolean>()
  #steps = 0

  constructor(root: Schema) {
    this.#root = root
  }

  faults(schema: unknown, value: unknown, at: Place): ValueFault[] {
    if (++this.#steps > stepsMax) throw new RangeError(`the check would take more than ${stepsMax} steps`)
    if (at.depth > depthMax) throw new RangeError(`the check goes deeper than ${depthMax} levels`)
    if (schema === true) return []
    if (!isObject(schema)) return [{ path: at.path, message: 'No value is allowed here' }]
    const deeper = { ...at, depth: at.depth + 1 }
    if (typeof schema['$ref'] === 'string') return this.faults(this.#referred(schema['$ref']), value, deeper)
    const wrong = typeFault(schema, value)
    if (wrong !== null) return [{ path: at.path, message: wrong }]
    return [...this.#ofType(schema, value, deeper), ...this.#combined(schema, value, deeper)]
  }

  #referred(ref: string): unknown {
    const steps = ref.replace(/^#\/?/, '').split('/').filter(Boolean)
    return steps.reduce<unknown>(
      (in_, step) =>
        isObject(in_) ? in_[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')] : undefined,
      this.#root,
    )
  }

  #combined(schema: Schema, value: unknown, at: Place): ValueFault[] {
    const tried = (name: string): ValueFault[][] =>
      Array.isArray(schema[name]) ? schema[name].map((each) => this.faults(each, value, at)) : []
    const faults = tried('allOf').flat()
    const any = tried('anyOf')
    if (any.length > 0 && any.every((each) => each.length > 0)) faults.push(closest(any, at))
    const one = tried('oneOf')
    const fit = one.filter((each) => each.length === 0).length
    if (one.length > 0 && fit !== 1)
      faults.push(
        fit === 0
          ? closest(one, at)
          : { path: at.path, message: `Invalid input: fits ${fit} alternatives, not one` },
      )
    return faults
  }

  #ofType(schema: Schema, value: unknown, at: Place): ValueFault[] {
    const say = (fits: boolean, message: string): ValueFault[] =>
      fits ? [] : [{ path: at.path, message: `Invalid input: ${message}` }]
    const bounds = (size: number, names: readonly [string, string], unit: string): ValueFault[] =>
      bounded(schema, size, names).flatMap((message) => say(false, `${message} ${unit}`))
    if (typeof value === 'string')
      return [
        ...bounds([...value].length, ['minLength', 'maxLength'], 'characters'),
        ...this.#ofText(schema, value, say),
      ]
    if (typeof value === 'number')
      return numberFaults(schema, value).flatMap((message) => say(false, message))
    if (Array.isArray(value)) {
      const contains = schema['contains']
      const found =
        contains === undefined
          ? 0
          : value.filter((each) => this.faults(contains, each, at).length === 0).length
      const { minContains = 1, maxContains = Infinity } = schema as {
        minContains?: number
        maxContains?: number
      }
      return [
        ...bounds(value.length, ['minItems', 'maxItems'], 'items'),
        ...say(
          schema['uniqueItems'] !== true || new Set(value.map(canonicalJson)).size === value.length,
          'expected different items',
        ),
        ...say(
          contains === undefined || (found >= minContains && found <= maxContains),
          `${found} items fit "contains"`,
        ),
        ...this.#ofItems(schema, value, at),
      ]
    }
    return isObject(value)
      ? [
          ...bounds(Object.keys(value).length, ['minProperties', 'maxProperties'], 'properties'),
          ...this.#ofProperties(schema, value, at),
        ]
      : []
  }

  #ofText(
    { format, pattern }: Schema,
    value: string,
    say: (fits: boolean, message: string) => ValueFault[],
  ): ValueFault[] {
    const formed =
      typeof format !== 'string' ||
      (value.length <= formatCharsMax && formatOf(format).safeParse(value).success)
    return [
      ...say(formed, `expected the format ${String(format)}`),
      ...say(
        typeof pattern !== 'string' || this.#matches(pattern, value),
        `expected a match of /${String(pattern)}/`,
      ),
    ]
  }

  #matches(pattern: string, text: string): boolean {
    const known = this.#patterns.get(pattern)
    if (known !== undefined) return known(text)
    const compiled = compilePattern(pattern)
    const test = 'test' in compiled ? compiled.test : () => false
    this.#patterns.set(pattern, test)
    return test(text)
  }

  #ofItems({ prefixItems, items }: Schema, value: readonly unknown[], at: Place): ValueFault[] {
    const first = Array.isArray(prefixItems) ? prefixItems : []
    return value.flatMap((each, i) => {
      const itemSchema: unknown = i < first.length ? first[i] : (items ?? true)
      return itemSchema === true
        ? []
        : this.faults(itemSchema, each, { path: `${at.path}/${i}`, depth: at.depth })
    })
  }

  #ofProperties(schema: Schema, value: Schema, at: Place): ValueFault[] {
    const properties = isObject(schema['properties']) ? schema['properties'] : {}
    const { required, propertyNames, additionalProperties = true } = schema
    const missing = (Array.isArray(required) ? required : []).filter(
      (name) => !Object.hasOwn(value, String(name)),
    )
    const faults: ValueFault[] = missing.map((name) => ({
      path: pathIn(at, String(name)),
      message: 'Invalid input: is missing',
    }))
    for (const [name, each] of Object.entries(value)) {
      const inside = { path: pathIn(at, name), depth: at.depth }
      const known = Object.hasOwn(properties, name)
      if (!known && additionalProperties === false)
        faults.push({ path: inside.path, message: 'Invalid input: no such property is allowed' })
      else faults.push(...this.faults(known ? properties[name] : additionalProperties, each, inside))
      if (propertyNames !== undefined) faults.push(...this.faults(propertyNames, name, inside))
      if (faults.length > faultsMax) break
    }
    return faults
  }
}

/** A longer name of a property is cut: the fault goes to the model and into the journal. */
const nameCharsMax = 200
const pathIn = ({ path }: Place, name: string): string =>
  `${path}/${(name.length > nameCharsMax ? `${name.slice(0, nameCharsMax)}…` : name).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Of alternatives that all fail, the one that nearly fits says most. */
function closest(tried: readonly ValueFault[][], { path }: Place): ValueFault {
  const [best] = tried.toSorted((a, b) => a.length - b.length).flatMap((faults) => faults.slice(0, 1))
  return {
    path,
    message: `Invalid input: fits none of the ${tried.length} alternatives${best === undefined ? '' : `; the closest: ${best.path || 'the value'}: ${best.message}`}`,
  }
}

function typeFault({ type, enum: allowed, const: only }: Schema, value: unknown): string | null {
  // JSON.parse reads 1e999 as Infinity, and JSON.stringify would write null.
  if (typeof value === 'number' && !Number.isFinite(value)) return 'Invalid input: the number is out of range'
  const found = typeOf(value)
  const types = type === undefined ? [] : [type].flat().map(String)
  const fits =
    types.length === 0 ||
    types.some((each) => each === found || (each === 'integer' && Number.isInteger(value)))
  if (!fits) return `Invalid input: expected ${types.join(' or ')}, received ${found}`
  const literals = only !== undefined ? [only] : Array.isArray(allowed) ? allowed : null
  if (literals === null || literals.includes(value)) return null
  return `Invalid input: expected ${literals
    .slice(0, 20)
    .map((each) => JSON.stringify(each))
    .join(' or ')}`
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function numberFaults(schema: Schema, value: number): string[] {
  const {
    minimum: min,
    maximum: max,
    exclusiveMinimum: above,
    exclusiveMaximum: below,
    multipleOf,
  } = schema as Readonly<Record<string, number | undefined>>
  const ratio = multipleOf === undefined ? 0 : value / multipleOf
  return [
    ...(min !== undefined && value < min ? [`expected at least ${min}`] : []),
    ...(max !== undefined && value > max ? [`expected at most ${max}`] : []),
    ...(above !== undefined && value <= above ? [`expected more than ${above}`] : []),
    ...(below !== undefined && value >= below ? [`expected less than ${below}`] : []),
    ...(Math.abs(ratio - Math.round(ratio)) > 1e-9 * Math.max(1, Math.abs(ratio))
      ? [`expected a multiple of ${multipleOf}`]
      : []),
  ]
}

function bounded(schema: Schema, size: number, [least, most]: readonly [string, string]): string[] {
  const [min, max] = [schema[least], schema[most]]
  return [
    ...(typeof min === 'number' && size < min ? [`expected at least ${min}`] : []),
    ...(typeof max === 'number' && size > max ? [`expected at most ${max}`] : []),
  ]
}

const formatsMade = new Map<string, z.ZodType>()

function formatOf(format: string): z.ZodType {
  const known =
    formatsMade.get(format) ?? z.fromJSONSchema({ type: 'string', format }, { registry: z.registry() })
  formatsMade.set(format, known)
  return known
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
