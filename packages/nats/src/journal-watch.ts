// Watches the journal as a whole for one process, and admits no write before the journal was compared with
// the mark, nor during a harmful finding. It looks at the start, each second, and after every loss of the
// line; journal-judge.ts says what is wrong.
// A missing message counts as archived only if a signed event names it and the server says that this very
// message is gone. Their number is not enough: while an archive deletes messages, another message may be
// lost.
import { sign, verify } from 'node:crypto'
import {
  BeaverError,
  canonicalJson,
  type Clock,
  type Logger,
  pause,
  steadyClock,
  systemFacts,
} from '@beaver/core'
import { type ArchivedMessages, type SigningKey, verifyingKey } from '@beaver/core/journal'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { archivedNow, lookWithArchived } from './archived-look.ts'
import {
  acceptedMark,
  firstMark,
  type JournalAcceptance,
  journalAcceptance,
  type JournalFinding,
  type JournalLook,
  type JournalMark,
  journalMark,
  judgeJournal,
  noHash,
} from './journal-judge.ts'
import { type KeptText, parsedText } from './kept-text.ts'
import { lineOf } from './line.ts'
import { hashAt, hashOf } from './message-hash.ts'
import { lookAt, type StreamPulse, streamPulse } from './stream-pulse.ts'
import type { Subjects } from './subjects.ts'

/** Where a process keeps its mark, and where the acceptances of people are. */
export interface MarkStore {
  readMark(): JournalMark | null
  writeMark(mark: JournalMark): Promise<void>
  readAcceptances(): readonly JournalAcceptance[]
}

/**
 * A mark or an acceptance counts as none if it cannot be read, or if the operator did not sign the
 * acceptance.
 *
 * @param journal.operator the id of the operator's key that this home knows now; `null`: it knows none
 */
export function markStore(
  mark: KeptText,
  acceptances: KeptText,
  journal: { readonly stream: string; readonly operator: () => string | null },
): MarkStore {
  return {
    readMark: () => journalMark.safeParse(parsedText(mark.read() ?? '')).data ?? null,
    writeMark: (value) => mark.write(JSON.stringify(value)),
    readAcceptances: () =>
      readAcceptances(acceptances).filter(
        (each) => acceptanceFault(journal.stream, each, journal.operator()) === null,
      ),
  }
}

export interface JournalWatchOf {
  readonly subjects: Subjects
  readonly store: MarkStore
  readonly logger: Logger
  readonly clock?: Clock
  /** What was moved to archives, as signed events say now. Default: nothing. */
  readonly archived?: () => Promise<ArchivedMessages>
  readonly onAccepted?: (acceptance: JournalAcceptance) => void
}

const fullEveryMs = 10_000
const againMs = 250
const againMax = 2
const retryMs = 100
const never = new AbortController().signal

/**
 * Begins to watch, and resolves when the journal was compared once. The journal must exist.
 * @throws {BeaverError} `unreachable`
 */
export async function watchJournal(nc: NatsConnection, of: JournalWatchOf): Promise<JournalWatch> {
  const watch = new JournalWatch(nc, of, await jetstreamManager(nc, { checkAPI: false }))
  await watch.untilChecked()
  return watch
}

interface Acknowledged {
  readonly sequence: number
  readonly subject: string
  readonly payload: Uint8Array
}

export class JournalWatch {
  readonly #nc: NatsConnection
  readonly #parts: JournalWatchOf
  readonly #jsm: JetStreamManager
  readonly #clock: Clock
  readonly #pulse: StreamPulse
  readonly #undo: (() => void)[]
  #mark: JournalMark | null
  #stored = ''
  #storing: Promise<void> = Promise.resolve()
  /** The newest acknowledged message, until the mark has it. */
  #newest: Acknowledged | null = null
  #findings: readonly JournalFinding[] = []
  /** Whether the journal was compared since the line came up. */
  #isChecked = false
  #cuts = 0
  /** Applied acceptances of which the caller does not know yet. */
  readonly #applied: JournalAcceptance[] = []
  #checking: Promise<void> | null = null
  #fullAt = 0
  /** How many missing messages are in an archive, counted when `missing` were missing. */
  #archived = { count: 0, missing: 0, identity: '' }

  constructor(nc: NatsConnection, parts: JournalWatchOf, jsm: JetStreamManager) {
    this.#nc = nc
    this.#parts = parts
    this.#jsm = jsm
    this.#clock = parts.clock ?? steadyClock
    this.#mark = parts.store.readMark()
    this.#pulse = streamPulse(nc, parts.subjects.stream)
    this.#undo = [
      this.#pulse.follow(() => this.#looked()),
      lineOf(nc).onCut(() => {
        this.#isChecked = false
        this.#cuts++
      }),
      lineOf(nc).onUp(() => void this.#check()),
    ]
  }

  get findings(): readonly JournalFinding[] {
    return [...this.#findings, ...(this.#mark?.reported ?? [])]
  }

  /** The first harmful finding; `null` if Beaver may write. */
  get harm(): JournalFinding | null {
    return this.#findings.find(({ harmful }) => harmful) ?? null
  }

  get identity(): string {
    return this.#mark?.identity ?? ''
  }

  /** Compares now, with the content at the mark. */
  async now(): Promise<readonly JournalFinding[]> {
    await this.#check()
    return this.findings
  }

  /**
   * `null`: write now. Otherwise wait for the promise first, which rejects with `journal_changed` or
   * `stream_missing` if nothing may be written.
   */
  gate(): Promise<void> | null {
    return this.#isChecked && this.harm === null ? null : this.#admitted()
  }

  /** The last message that this process saw. Later writes are higher, unless an older journal is restored. */
  get sequence(): number {
    return Math.max(this.#newest?.sequence ?? 0, this.#mark?.sequence ?? 0)
  }

  /** Notes the newest write or read. After a loss of the line it counts once the journal was compared. */
  acknowledged(newest: Acknowledged): void {
    if (this.#isChecked && newest.sequence > (this.#newest?.sequence ?? 0)) this.#newest = newest
  }

  /** Compares again before the next write, because something shows that the journal may be another one. */
  doubt(): Promise<void> {
    this.#isChecked = false
    return this.#admitted()
  }

  /** Keeps a finding of the caller's own, until somebody accepts it. */
  report(finding: JournalFinding): void {
    const mark = this.#mark
    if (mark === null || mark.reported.length >= reportedMax) return
    if (
      mark.settled.includes(finding.message) ||
      mark.reported.some(({ message }) => message === finding.message)
    )
      return
    systemFacts.journalChanged(this.#parts.logger, finding)
    this.#mark = {
      ...mark,
      reported: [...mark.reported, { ...finding, at: new Date(this.#clock.now()).toISOString() }],
    }
    this.#store()
  }

  /** Forgets those of the caller's findings that were put right. */
  withdraw(isRight: (finding: JournalFinding) => boolean): void {
    const mark = this.#mark
    const right = mark?.reported.filter(isRight) ?? []
    if (mark === null || right.length === 0) return
    for (const finding of right) systemFacts.findingPutRight(this.#parts.logger, finding)
    this.#mark = { ...mark, reported: mark.reported.filter((each) => !right.includes(each)) }
    this.#store()
  }

  /** Reports those of these messages that the stream's leader does not have. */
  async unreadable({ from, to }: { readonly from: number; readonly to: number }): Promise<void> {
    const gone: number[] = []
    const archived = await archivedNow(this.#parts)
    for (let sequence = from, asked = 0; sequence <= to && asked < askedMax; sequence++) {
      if (archived.has(sequence)) continue
      asked++
      if ((await this.#hashAt(sequence)) === null) gone.push(sequence)
    }
    const [first] = gone
    // Deleted messages are missing messages, which somebody may have accepted.
    if (first === undefined || gone.length <= (this.#mark?.missing ?? 0)) return
    const last = gone.at(-1) ?? first
    const which = first === last ? `Message ${first}` : `${gone.length} messages from ${first} to ${last}`
    const message = `${which} of the journal ${this.identity} cannot be read. The nats-server has lost ${first === last ? 'it' : 'them'}, although it still counts ${first === last ? 'it' : 'them'}.`
    this.report({ kind: 'unreadable', message, harmful: false })
  }

  async untilChecked(): Promise<void> {
    while (!this.#isChecked && !this.#nc.isClosed()) {
      await this.#check()
      if (!this.#isChecked) await pause(this.#clock, retryMs, never)
    }
  }

  async close(): Promise<void> {
    for (const undo of this.#undo.splice(0)) undo()
    this.#moveOn()
    this.#store()
    await this.#storing
  }

  async #admitted(): Promise<void> {
    await this.untilChecked()
    const { harm } = this
    if (harm !== null)
      throw new BeaverError(
        harm.kind === 'missing_stream' ? 'stream_missing' : 'journal_changed',
        journalRefusal(harm),
      )
  }

  #check(): Promise<void> {
    this.#checking ??= this.#compare()
      .catch((error: unknown) =>
        systemFacts.callbackFailed(this.#parts.logger, { where: 'the watch over the journal', error }),
      )
      .finally(() => (this.#checking = null))
    return this.#checking
  }

  /** Each second, with what the look shows. The content at the mark is compared every ten seconds. */
  #looked(): void {
    const { seen } = this.#pulse
    if (seen.kind === 'unknown') return
    const due = this.#clock.now() - this.#fullAt > fullEveryMs
    const known =
      seen.kind === 'missing' || this.#mark === null ? null : { ...seen, archived: this.#archived.count }
    const quick =
      known === null
        ? null
        : judgeJournal(this.#mark as JournalMark, known, undefined, this.#parts.subjects.captured)
    if (due || !this.#isChecked || quick === null || quick.length > 0 || this.#findings.length > 0)
      return void this.#check()
    this.#moveOn()
    this.#store()
  }

  async #compare(): Promise<void> {
    for (let tries = 0; ; tries++) {
      this.#moveOn() // The mark must be older than the look.
      const cuts = this.#cuts
      const found = await this.#judge().catch(() => null)
      if (found === null) return
      if (tries < againMax && found.some(({ kind }) => kind === 'rolled_back' || kind === 'replaced')) {
        await pause(this.#clock, againMs, never)
        continue
      }
      this.#tell(found)
      this.#findings = found
      this.#isChecked = cuts === this.#cuts
      for (const acceptance of this.#applied.splice(0)) this.#parts.onAccepted?.(acceptance)
      this.#fullAt = this.#clock.now()
      return this.#store()
    }
  }

  /** `null`: nobody answered. */
  async #judge(): Promise<readonly JournalFinding[] | null> {
    const { stream, captured } = this.#parts.subjects
    const seen = await lookAt(this.#nc, stream)
    if (seen.kind === 'unknown') return null
    if (seen.kind === 'missing') return this.#mark === null ? [] : [missing(stream)]
    const look = await this.#withArchived(seen)
    if (look === null) return null
    if (this.#mark === null) {
      this.#mark = firstMark(look, (await this.#hashAt(look.lastSequence)) ?? noHash)
      return judgeJournal(this.#mark, look, undefined, captured)
    }
    const { identity, sequence } = this.#mark
    const isSame = identity === look.identity && sequence <= look.lastSequence
    const found = judgeJournal(
      this.#mark,
      look,
      isSame ? await this.#hashAtMark(sequence) : undefined,
      captured,
    )
    if ((found.length > 0 || this.#mark.reported.length > 0) && (await this.#accept(look)))
      return judgeJournal(this.#mark, look, undefined, captured)
    if (found.some(({ harmful }) => harmful)) return found
    const newest = await this.#hashAt(look.lastSequence)
    if (newest !== null && look.lastSequence > this.#mark.sequence)
      this.#mark = { ...this.#mark, sequence: look.lastSequence, hash: newest }
    return found
  }

  /** Adds the number of missing messages that are in an archive; `null` if nobody answered. */
  async #withArchived(look: JournalLook): Promise<JournalLook | null> {
    const { identity } = look
    const missing = look.lastSequence - look.messages
    if (identity !== this.#archived.identity) this.#archived = { count: 0, missing: 0, identity }
    if (missing !== this.#archived.missing) {
      const counted = await lookWithArchived(this.#nc, this.#parts)
      if (counted === null || counted.identity !== identity) return counted
      this.#archived = {
        count: counted.archived ?? 0,
        missing: counted.lastSequence - counted.messages,
        identity,
      }
      return counted
    }
    return { ...look, archived: this.#archived.count }
  }

  /** The hash of the content at the mark; `undefined` if it is in an archive and cannot be compared. */
  async #hashAtMark(sequence: number): Promise<string | null | undefined> {
    const hash = await this.#hashAt(sequence)
    return hash === null && (await archivedNow(this.#parts)).has(sequence) ? undefined : hash
  }

  /** Applies new acceptances. */
  async #accept(look: JournalLook): Promise<boolean> {
    let applied = false
    for (const acceptance of this.#parts.store.readAcceptances()) {
      const mark = this.#mark as JournalMark
      if (mark.accepted.includes(acceptance.id)) continue
      const next = acceptedMark(
        mark,
        acceptance,
        look,
        acceptance.sequence > look.lastSequence ? null : await this.#hashAt(acceptance.sequence),
      )
      if (next === null) continue
      this.#mark = next
      this.#newest = null
      applied = true
      systemFacts.journalAccepted(this.#parts.logger, acceptance)
      this.#applied.push(acceptance)
    }
    return applied
  }

  /** The hash of the message with this sequence, from the stream's leader; `null` if there is none. */
  #hashAt(sequence: number): Promise<string | null> {
    return hashAt(this.#jsm, this.#parts.subjects.stream, sequence)
  }

  #moveOn(): void {
    const newest = this.#newest
    if (newest === null || this.#mark === null || this.harm !== null) return
    this.#newest = null
    if (newest.sequence > this.#mark.sequence)
      this.#mark = { ...this.#mark, sequence: newest.sequence, hash: hashOf(newest) }
  }

  #store(): void {
    const text = JSON.stringify(this.#mark)
    if (this.#mark === null || text === this.#stored) return
    this.#stored = text
    this.#storing = this.#parts.store.writeMark(this.#mark).catch((error: unknown) => {
      this.#stored = '' // The next second tries again.
      systemFacts.callbackFailed(this.#parts.logger, { where: 'the mark of the journal', error })
    })
  }

  #tell(found: readonly JournalFinding[]): void {
    const { logger } = this.#parts
    for (const each of found)
      if (!this.#findings.some(({ message }) => message === each.message))
        systemFacts.journalChanged(logger, each)
    if (found.length === 0 && this.#findings.length > 0) systemFacts.journalSound(logger)
  }
}

const reportedMax = 200
/** The most messages of a gap that are asked for. */
const askedMax = 1_000

const missing = (stream: string): JournalFinding => ({
  kind: 'missing_stream',
  message: `The journal stream ${stream} does not exist any more.`,
  harmful: true,
})

/** What the caller of a refused write reads. */
export const journalRefusal = ({ message }: JournalFinding): string =>
  `${message} Beaver writes nothing until the journal is as before. Look at it with "beaver audit". If it is right as it is now, accept it with "beaver audit accept".`

// An operator signs the acceptances of a journal. The signature covers every field and the name of the
// stream. An acceptance counts if the operator that the home knows signed it, or without a signature if the
// home knows none. The journal's own keys are not used, because the journal may have lost them.

/** What people accepted, oldest first. Lines that cannot be read are left out. */
export const readAcceptances = (acceptances: Pick<KeptText, 'read'>): JournalAcceptance[] =>
  (acceptances.read() ?? '')
    .split('\n')
    .flatMap((line) => journalAcceptance.safeParse(parsedText(line)).data ?? [])

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
