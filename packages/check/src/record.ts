// Turns the bytes of an entry into its records, with shapes of this package's own. An entry is read or
// refused as a whole. A refused entry never stops the check.
import { z } from 'zod'
import { canonicalRecord } from './canonical.ts'

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

/** The short type of a record of a system log, such as `key_trusted`; `undefined` if it is none. */
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

/** The session that a claim on an id names; `null` if the payload is not a claim. */
export function readIdClaim(payload: Uint8Array): string | null {
  try {
    return idClaim.parse(JSON.parse(utf8.decode(payload))).session
  } catch {
    return null
  }
}
