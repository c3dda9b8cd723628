// Canonical JSON (RFC 8785) and the hash of a record. It is written from the standard and from
// docs/decisions/0007, not from core. A value without a canonical form (a number out of range, a lone
// surrogate, too much nesting) is refused, never repaired.
import { hash } from 'node:crypto'

const depthMax = 2_000

/** @throws {RangeError} for a value without a canonical form */
function canonicalText(value: unknown, depth = 0): string {
  if (depth > depthMax) throw new RangeError(`it is nested deeper than ${depthMax} levels`)
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return numberText(value)
  if (typeof value === 'string') return stringText(value)
  if (Array.isArray(value)) return `[${value.map((each) => canonicalText(each, depth + 1)).join(',')}]`
  return `{${membersOf(value as object, depth)
    .map(([, text]) => text)
    .join(',')}}`
}

export interface CanonicalRecord {
  readonly text: string
  /** The SHA-256 of the text without the member `hash`. */
  readonly sha256: string
}

/** @throws {RangeError} for a record without a canonical form */
export function canonicalRecord(record: object): CanonicalRecord {
  const members = membersOf(record, 0)
  const all = members.map(([, text]) => text)
  const hashed = members.flatMap(([key, text]) => (key === 'hash' ? [] : [text]))
  return { text: `{${all.join(',')}}`, sha256: hash('sha256', `{${hashed.join(',')}}`) }
}

/** Each member as text, ordered by the UTF-16 code units of its key. */
function membersOf(object: object, depth: number): (readonly [key: string, text: string])[] {
  const entries = Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return entries.map(
    ([key, value]) => [key, `${stringText(key)}:${canonicalText(value, depth + 1)}`] as const,
  )
}

function stringText(text: string): string {
  if (!text.isWellFormed()) throw new RangeError('it holds half of a surrogate pair')
  return JSON.stringify(text)
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError('it holds a number out of range')
  return JSON.stringify(value)
}
