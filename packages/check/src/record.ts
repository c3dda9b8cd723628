// Turns the bytes of an entry into its records, by this package's own shapes. An entry is read or refused as
// a whole; a refused one never stops the check.
import { hash } from 'node:crypto'
import { z } from 'zod'

const wireRecord = z.looseObject({
  specversion: z.literal('1.0'),
  id: z.string(),
  source: z.string(),
  subject: z.string(),
  type: z.string(),
  time: z.iso.datetime(),
  taskseq: z.int().positive(),
  epoch: z.int().nonnegative(),
  runid: z.string().optional(),
  prevhash: z.string(),
  hash: z.string(),
  data: z.unknown().optional(),
  dataref: z.string().optional(),
})
export type WireRecord = z.infer<typeof wireRecord>

const wireEntry = z.array(z.record(z.string(), z.unknown())).min(1)

export interface ReadRecord {
  readonly record: WireRecord
  /** The SHA-256 of its content. */
  readonly sha256: string
}

export type ReadEntry =
  | {
      readonly kind: 'entry'
      readonly records: readonly ReadRecord[]
      readonly canonicalFault: string | null
    }
  | { readonly kind: 'unreadable'; readonly why: string }

/** The short type of a system log's record, such as `key_trusted`; `undefined` for others. */
export const systemTypeOf = (wireType: string): string | undefined =>
  /^beaver\.system\.(\w+)\.v1$/.exec(wireType)?.[1]

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function readEntry(payload: Uint8Array): ReadEntry {
  try {
    const text = utf8.decode(payload)
    const raw = wireEntry.parse(JSON.parse(text))
    const forms = raw.map(canonicalOf)
    const records = raw.map((each, i): ReadRecord => ({
      record: wireRecord.parse(each),
      sha256: forms[i]?.sha256 ?? '',
    }))
    const fault = forms.find((form) => form.fault !== null)?.fault ?? null
    const differs = fault === null && `[${forms.map((form) => form.text).join(',')}]` !== text
    return {
      kind: 'entry',
      records,
      canonicalFault: differs ? 'its text is not the canonical text of its content' : fault,
    }
  } catch (error) {
    return { kind: 'unreadable', why: whyOf(error) }
  }
}

function canonicalOf(record: object): { text: string; sha256: string; fault: string | null } {
  try {
    return { ...canonicalRecord(record), fault: null }
  } catch (error) {
    return { text: '', sha256: '', fault: (error as Error).message }
  }
}

function whyOf(error: unknown): string {
  if (error instanceof z.ZodError) return z.prettifyError(error).replaceAll(/\s+/g, ' ')
  return error instanceof Error ? error.message : String(error)
}

const idClaim = z.object({ session: z.string() })

/** The session in a claim on an id; `null` if the payload is no claim. */
export function readIdClaim(payload: Uint8Array): string | null {
  try {
    return idClaim.parse(JSON.parse(utf8.decode(payload))).session
  } catch {
    return null
  }
}

// Canonical JSON (RFC 8785) and the hash of a record, written from the standard and from docs/decisions/0007,
// not from core. A value without a canonical form (a number out of range, a lone surrogate, too much nesting)
// is refused, never repaired.

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

interface CanonicalRecord {
  readonly text: string
  /** The SHA-256 of the text without the member `hash`. */
  readonly sha256: string
}

/** @throws {RangeError} for a record without a canonical form */
function canonicalRecord(record: object): CanonicalRecord {
  const members = membersOf(record, 0)
  const all = members.map(([, text]) => text)
  const hashed = members.flatMap(([key, text]) => (key === 'hash' ? [] : [text]))
  return { text: `{${all.join(',')}}`, sha256: hash('sha256', `{${hashed.join(',')}}`) }
}

/** Each member as text, in the order of the UTF-16 code units of its key. */
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
