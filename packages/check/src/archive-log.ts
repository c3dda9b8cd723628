// The archives of a journal: which messages an operator moved to a file, from the system log `redactions`,
// read by code of this package. An event counts only with the signature of an operator's key that counts at
// its place. A message may be missing only if an event names it, and is not judged even if it is still there.
// V3. If two events name one message, the first one counts.
import { hash } from 'node:crypto'
import { z } from 'zod'
import { type KeyLog, SystemTrails } from './key-log.ts'
import { eventsSubject, type LogPlace, placeOf } from './layout.ts'
import { type ReadRecord, readEntry, systemTypeOf, type WireRecord } from './record.ts'
import type { JournalSource, StreamMessage } from './source.ts'
import type { Head } from './trail.ts'
import { leafOfHash } from './tree.ts'

const named = z.object({
  file: z.string(),
  file_sha256: z.string(),
  logs: z.array(
    z.object({
      tenant: z.string(),
      session_id: z.string(),
      task_id: z.string(),
      after: z.object({ taskseq: z.int().positive(), hash: z.string() }),
      end: z.object({ taskseq: z.int().positive(), epoch: z.int().nonnegative(), hash: z.string() }),
      sequences: z.array(z.int().positive()).min(1),
      payloads: z.array(z.string().regex(/^[A-Za-z0-9_-]{43}$/)).min(1),
    }),
  ),
})
type Part = z.infer<typeof named>['logs'][number]

/** Consecutive messages of one log in a file. */
export interface ArchivedPart {
  readonly log: LogPlace
  readonly after: Pick<Head, 'taskseq' | 'hash'>
  readonly end: Head
  readonly file: string
  readonly sha256: string
}

const keyOf = ({ tenant, session, task }: LogPlace): string => [tenant, session, task].join('\u0000')

export class ArchiveLog {
  readonly #namespace: string
  readonly #parts = new Map<string, ArchivedPart[]>()
  readonly #messages = new Map<number, { readonly log: LogPlace; readonly payload: string }>()

  private constructor(namespace: string) {
    this.#namespace = namespace
  }

  static async read(source: JournalSource, keys: KeyLog): Promise<ArchiveLog> {
    const archives = new ArchiveLog(source.about.namespace)
    const trails = new SystemTrails()
    for await (const page of source.redactions())
      for (const message of page) archives.#take(message, keys, trails)
    return archives
  }

  has(sequence: number): boolean {
    return this.#messages.has(sequence)
  }

  /** Compares an archived message that is still there: `no` it is not archived, `same` or `other` content. */
  compare({ sequence, subject, payload }: StreamMessage): 'no' | 'same' | 'other' {
    const archived = this.#messages.get(sequence)
    if (archived === undefined) return 'no'
    return eventsSubject(this.#namespace, archived.log) === subject &&
      hash('sha256', payload, 'base64url') === archived.payload
      ? 'same'
      : 'other'
  }

  /** The leaf of an archived message; `null` if it was not archived. */
  leafOf(sequence: number): Buffer | null {
    const archived = this.#messages.get(sequence)
    return archived === undefined
      ? null
      : leafOfHash(
          sequence,
          eventsSubject(this.#namespace, archived.log),
          Buffer.from(archived.payload, 'base64url').toString('hex'),
        )
  }

  /** The archived parts of a log, in the order of the log. */
  partsOf(log: LogPlace): readonly ArchivedPart[] {
    return this.#parts.get(keyOf(log)) ?? []
  }

  /** The log's head from which a record continues, if only archived messages are between; else `null`. */
  across(
    log: LogPlace,
    head: Head,
    { taskseq, prevhash }: Pick<WireRecord, 'taskseq' | 'prevhash'>,
  ): Head | null {
    const parts = this.partsOf(log)
    let at: Pick<Head, 'taskseq' | 'hash'> = head
    // Part after part from the head on: each begins where the previous one ends.
    for (const { after, end } of parts) {
      if (after.taskseq !== at.taskseq || after.hash !== at.hash) continue
      if (end.taskseq === taskseq - 1 && end.hash === prevhash) return end
      at = end
    }
    return null
  }

  logs(): Iterable<readonly ArchivedPart[]> {
    return this.#parts.values()
  }

  #take(message: StreamMessage, keys: KeyLog, trails: SystemTrails): void {
    const place = placeOf(message.subject)
    const entry = readEntry(message.payload)
    if (place.kind !== 'system' || place.name !== 'redactions' || entry.kind === 'unreadable') return
    const lastHash = entry.records.at(-1)?.record.hash ?? ''
    const counts =
      message.signature !== undefined &&
      keys.faultOf('redactions', { sequence: message.sequence, signature: message.signature, lastHash }) ===
        null
    for (const each of entry.records)
      if (trails.judge('redactions', each, () => {}) && counts)
        this.#name(each, message, placeTenant(message))
  }

  #name(
    { record: { type, data } }: ReadRecord,
    { sequence }: StreamMessage,
    tenant: string | undefined,
  ): void {
    if (systemTypeOf(type) !== 'messages_archived') return
    const { data: archive } = named.safeParse(data)
    for (const part of archive?.logs ?? [])
      if (part.tenant === tenant && isSound(part, sequence))
        this.#add(part, { file: archive?.file ?? '', sha256: archive?.file_sha256 ?? '' })
  }

  #add(
    { tenant, session_id, task_id, after, end, sequences, payloads }: Part,
    file: Pick<ArchivedPart, 'file' | 'sha256'>,
  ): void {
    if (sequences.some((sequence) => this.#messages.has(sequence))) return // V3
    const log = { tenant, session: session_id, task: task_id }
    for (const [i, sequence] of sequences.entries())
      this.#messages.set(sequence, { log, payload: payloads[i] ?? '' })
    const parts = [...this.partsOf(log), { log, after, end, ...file }]
    this.#parts.set(
      keyOf(log),
      parts.toSorted((a, b) => a.after.taskseq - b.after.taskseq),
    )
  }
}

/** The tenant of the system log that contains a message. */
const placeTenant = ({ subject }: StreamMessage): string | undefined => {
  const place = placeOf(subject)
  return place.kind === 'system' ? place.tenant : undefined
}

function isSound({ after, end, sequences, payloads }: Part, place: number): boolean {
  const rises = sequences.every((sequence, i) => sequence > (sequences[i - 1] ?? 0))
  return (
    rises &&
    sequences.length === payloads.length &&
    (sequences.at(-1) ?? place) < place &&
    after.taskseq < end.taskseq
  )
}
