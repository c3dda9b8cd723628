// The canonical text of JSON values (RFC 8785: keys sorted by UTF-16 code unit, no white space).
// J1. Equal values have equal text, whatever the order of their keys.
// J2. The text survives a parse: canonicalJson(JSON.parse(canonicalJson(v))) === canonicalJson(v).
import { BeaverError } from './errors.ts'

/**
 * The canonical JSON text of a value. Values that JSON does not have are treated as in `JSON.stringify`:
 * `undefined` members are left out, and non-finite numbers become `null`. Lone surrogates become U+FFFD, so
 * that every language can read the text.
 *
 * @throws {BeaverError} `invalid_arguments` for data nested deeper than 1,000 levels
 * @example
 * canonicalJson({ b: 1, a: [true, null] }) // => '{"a":[true,null],"b":1}'
 */
export function canonicalJson(value: unknown): string {
  // Most values were parsed from canonical text. `JSON.stringify` writes such a value canonically, and
  // several times faster.
  return isCanonical(value, 0) ? JSON.stringify(value) : textOf(value, 0)
}

const depthMax = 1_000

/** Deeper values are rare, so they are not checked further. */
const plainDepthMax = 100

/**
 * Whether `JSON.stringify` writes the canonical text: the value is plain data, its keys are in order, and
 * each text is well-formed.
 */
function isCanonical(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed()
    case 'number':
    case 'boolean':
      return true
    case 'object':
      break
    default:
      return false
  }
  if (value === null) return true
  if (depth > plainDepthMax) return false
  if (Array.isArray(value)) {
    for (const item of value) if (!isCanonical(item, depth + 1)) return false
    return !('toJSON' in value)
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if ((prototype !== Object.prototype && prototype !== null) || 'toJSON' in value) return false
  let before = ''
  const object = value as Record<string, unknown>
  for (const key of Object.keys(object)) {
    if (key < before || !key.isWellFormed() || !isCanonical(object[key], depth + 1)) return false
    before = key
  }
  return true
}

function textOf(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.isWellFormed() ? value : value.toWellFormed())
    case 'number':
      return Number.isFinite(value) ? JSON.stringify(value) : 'null'
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value)
        ? canonicalArray(value, depth)
        : canonicalObject(value as Record<string, unknown>, depth)
    default:
      return 'null'
  }
}

function canonicalArray(values: readonly unknown[], depth: number): string {
  bounded(depth)
  let text = '['
  for (let i = 0; i < values.length; i++) text += (i === 0 ? '' : ',') + textOf(values[i], depth + 1)
  return `${text}]`
}

function canonicalObject(object: Record<string, unknown>, depth: number): string {
  bounded(depth)
  let text = '{'
  for (const key of sortedKeys(object)) {
    if (!key.isWellFormed()) return canonicalObject(wellFormedKeys(object), depth)
    const value = object[key]
    if (value === undefined || typeof value === 'function' || typeof value === 'symbol') continue
    text += `${text.length === 1 ? '' : ','}${textOf(key, 0)}:${textOf(value, depth + 1)}`
  }
  return `${text}}`
}

/**
 * Sorts by UTF-16 code unit. Most objects have few keys, and V8's own sort would allocate more memory than
 * such keys need.
 */
function sortedKeys(object: Record<string, unknown>): string[] {
  const keys = Object.keys(object)
  if (keys.length > 16) return keys.sort()
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string
    let at = i
    for (; at > 0 && (keys[at - 1] as string) > key; at--) keys[at] = keys[at - 1] as string
    keys[at] = key
  }
  return keys
}

/** Keys that become equal are one member, with the last value. */
function wellFormedKeys(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key.toWellFormed(), value]))
}

function bounded(depth: number): void {
  if (depth > depthMax)
    throw new BeaverError('invalid_arguments', `The data is nested deeper than ${depthMax} levels.`)
}
