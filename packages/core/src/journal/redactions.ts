// Redactions: what the operator removed from the record, and what readers get in its place. The system log
// `redactions` holds them. The record stays as it is: its hash covers the name of a removed blob, so the
// chain verifies. A replacement has the shape of the removed text, so every fold works. The event is durable
// before the text is removed, and the same redaction again completes an interrupted one. Only redactions
// signed by an operator's key count: a stranger's replacement would be read as a daemon's words.
import { BeaverError } from '../errors.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { KeyRing } from './key-ring.ts'
import type { RecordedSystemEvent } from './system-record.ts'

/** One text that was removed, or one record whose text is not shown any more. */
export interface Redaction {
  /**
   * `blob`: the bytes were removed. `record`: the text is part of the record, so its bytes stay in the
   * journal and readers do not show it.
   */
  readonly kind: 'blob' | 'record'
  /** The SHA-256 of the blob, or the hash of the record. */
  readonly key: string
  /** The SHA-256 of the blob with the replacement; `null` if there is none. */
  readonly replacement: string | null
  readonly by: string
  /** RFC 3339, UTC. */
  readonly at: string
  readonly reason: string
}

/** The texts that were removed from a journal. */
export interface RemovedTexts {
  /**
   * Counts the times that this was read anew: another number may mean that more was removed. 0: nothing was
   * ever removed.
   */
  readonly version: number
  /** By the SHA-256 of their blob or the hash of their record. */
  readonly redactions: ReadonlyMap<string, Redaction>
}

/**
 * The bytes that are read in place of a blob that was redacted. They do not have the SHA-256 that was asked
 * for.
 *
 * @example
 * new ReplacementBytes(Buffer.from('{}')).length // => 2
 */
export class ReplacementBytes extends Uint8Array {}

/**
 * The removed texts that these events of the log `redactions` name, by the SHA-256 of the blob or the hash of
 * the record. The last redaction of a text counts. In a journal with an operator, an event without the
 * operator's signature names none.
 */
export function redactionsIn(
  events: readonly RecordedSystemEvent[],
  ring: KeyRing,
): ReadonlyMap<string, Redaction> {
  const found = new Map<string, Redaction>()
  for (const event of events) {
    const redaction =
      ring.recordFault('redactions', { ...event, lastHash: event.hash }) === null ? redactionOf(event) : null
    if (redaction !== null) found.set(redaction.key, redaction)
  }
  return found
}

function redactionOf({ type, data, time: at }: RecordedSystemEvent): Redaction | null {
  switch (type) {
    case 'blob_redacted':
      return {
        kind: 'blob',
        key: data.sha256,
        replacement: data.replacement ?? null,
        by: data.by ?? 'the operator',
        at,
        reason: data.reason,
      }
    case 'record_redacted':
      return {
        kind: 'record',
        key: data.hash,
        replacement: data.replacement,
        by: data.by,
        at,
        reason: data.reason,
      }
    default:
      return null
  }
}

/**
 * Reads texts as they may be read: what was removed is replaced. Every reader of the record reads through it.
 */
export interface Replacements {
  /** The blob, or what is read in its place. It throws `blob_missing` if the blob was not redacted. */
  readonly get: BlobStore['get']
  /**
   * What is read in place of the data of a record; `null` if the record was not redacted, as far as the last
   * `refresh` tells.
   */
  of(hash: string): Promise<Uint8Array> | null
  /** Asks the journal what was removed. Returns a number that is another one if more was removed since. */
  refresh(): Promise<number>
}

/**
 * Makes a reader of texts that knows the redactions.
 *
 * @param now gives what was removed (removals.ts)
 * @example
 * const removals = new RemovalLog('local', systemLog, () => readKeyRing(keyPorts))
 * const replacements = replacementsOf(blobs, () => removals.now())
 * await replacements.refresh()
 * replacements.of('f'.repeat(64)) // => null
 */
export function replacementsOf(
  blobs: Pick<BlobStore, 'get'>,
  now: () => Promise<RemovedTexts>,
): Replacements {
  let known: ReadonlyMap<string, Redaction> = new Map()
  const refresh = async (): Promise<number> => {
    const { redactions, version } = await now()
    known = redactions
    return version
  }
  const replacementOf = async ({ replacement }: Redaction): Promise<Uint8Array> => {
    if (replacement === null) return noReplacement
    // A replacement that is lost must not bring the text back, and must not stop a reader either: its event
    // has no shape.
    return blobs.get(replacement).then(
      (bytes) => new ReplacementBytes(bytes),
      (error: unknown) => {
        if (error instanceof BeaverError && (error.code === 'blob_missing' || error.code === 'blob_corrupt'))
          return noReplacement
        throw error
      },
    )
  }
  return {
    async get(sha256) {
      try {
        return await blobs.get(sha256)
      } catch (error) {
        if (!(error instanceof BeaverError && error.code === 'blob_missing')) throw error
        if (!known.has(sha256)) await refresh()
        const redaction = known.get(sha256)
        if (redaction === undefined) throw error
        return await replacementOf(redaction)
      }
    },
    of(hash) {
      const redaction = known.get(hash)
      return redaction === undefined ? null : replacementOf(redaction)
    },
    refresh,
  }
}

const noReplacement = new ReplacementBytes(Buffer.from('{}'))

/** What is read in place of a redacted text. */
const redactedText = '[redacted]'
/** Shorter texts are names, codes and ids, which a fold needs. */
const textCharsMin = 80

/**
 * The data of an event without what has to go.
 *
 * @param secret every occurrence of it is replaced. Absent: every text of more than 80 characters is replaced
 * whole
 * @example
 * redactedData({ tool_name: 'read_file', content: 'The word is xyzzy.' }, 'xyzzy') // => { tool_name: 'read_file', content: 'The word is [redacted].' }
 */
export function redactedData(data: unknown, secret?: string): unknown {
  if (typeof data === 'string') {
    if (secret === undefined) return data.length > textCharsMin ? redactedText : data
    return [secret, JSON.stringify(secret).slice(1, -1)].reduce(
      (text, spelling) => text.replaceAll(spelling, redactedText),
      data,
    )
  }
  if (Array.isArray(data)) return data.map((item) => redactedData(item, secret))
  if (typeof data !== 'object' || data === null) return data
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      secret === undefined ? key : (redactedData(key, secret) as string),
      redactedData(value, secret),
    ]),
  )
}
