// The acceptances of a journal, which an operator signs: that the journal is right as it is now. The
// signature covers every field, and the name of the journal's stream. An acceptance counts if the operator
// whom the home knows signed it. A home that knows no operator has a journal without keys, and there an
// acceptance without a signature counts. The keys of the journal are not asked, because the journal may have
// lost them.
import { canonicalJson, type SigningKey, verifyingKey } from '@beaver/core'
import { sign, verify } from 'node:crypto'
import { type JournalAcceptance, journalAcceptance } from './journal-judge.ts'
import { type KeptText, parsedText } from './kept-text.ts'

/** What people accepted, oldest first. A line that is none counts as none. */
export const readAcceptances = (acceptances: Pick<KeptText, 'read'>): JournalAcceptance[] =>
  (acceptances.read() ?? '')
    .split('\n')
    .flatMap((line) => journalAcceptance.safeParse(parsedText(line)).data ?? [])

/** The acceptance with the signature of the operator. */
export function signedAcceptance(
  stream: string,
  acceptance: JournalAcceptance,
  key: SigningKey,
): JournalAcceptance {
  const named = { ...acceptance, key_id: key.id, public_key: key.publicKey }
  return { ...named, signature: sign(null, statement(stream, named), key.privateKey).toString('base64url') }
}

/**
 * Why an acceptance does not count, in words. `null`: it counts.
 *
 * @param operator the id of the operator's key that this home knows; `null`: it knows none
 */
export function acceptanceFault(
  stream: string,
  acceptance: JournalAcceptance,
  operator: string | null,
): string | null {
  const { key_id: id, public_key: publicKey, signature, ...rest } = acceptance
  if (operator === null && signature === undefined) return null
  if (id === undefined || publicKey === undefined || signature === undefined) return 'it is not signed'
  if (id !== operator) return `it is signed by the key ${id}, which is not the operator's`
  const key = verifyingKey(id, publicKey)
  const signed = statement(stream, { ...rest, key_id: id, public_key: publicKey })
  return key !== null && verify(null, signed, key, Buffer.from(signature, 'base64url'))
    ? null
    : `its signature by the key ${id} is not one of this content`
}

const statement = (stream: string, acceptance: Omit<JournalAcceptance, 'signature'>): Buffer =>
  Buffer.from(`beaver-acceptance/v1\n${stream}\n${canonicalJson(acceptance)}\n`)
