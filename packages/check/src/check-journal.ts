// The check: reads a journal once, in stream order, and compares every event with the rules. It shares no
// code with the packages that write and fold the journal, so that two independent readers must agree. Memory
// is bounded by the open tasks, one page of messages, and a few fields for each ended task.
// The keys are read first, because an export of a part may have them anywhere; so are the archives, because a
// gap comes before the event that explains it. Of a log with archived messages, only the first and last
// entries are judged: the rules of its runs need the archive's file.
import { hash } from 'node:crypto'
import { ArchiveLog } from './archive-log.ts'
import { BlobAhead } from './blob-ahead.ts'
import { judgeChain, judgeWriter } from './chain-rules.ts'
import { eventOf, eventTypeOf } from './event.ts'
import { ImageContents } from './image-contents.ts'
import { KeyLog, SystemTrails } from './key-log.ts'
import { placeOf, type LogPlace, type Place } from './layout.ts'
import { LogSet } from './log-set.ts'
import { notesOf, readNote } from './note.ts'
import { readEntry, readIdClaim, type ReadEntry, type ReadRecord, type WireRecord } from './record.ts'
import { judgeRun } from './run-rules.ts'
import type { SignedLog } from './signature.ts'
import type { Finding, Report, Rule } from './rules.ts'
import type { JournalAbout, JournalSource, StreamMessage } from './source.ts'
import { judgeEnd, judgeTask } from './task-rules.ts'
import { judgeTeam } from './team-rules.ts'
import { judgeValues } from './value-rules.ts'
import type { Trail } from './trail.ts'

export interface CheckOptions {
  /** Keeps only findings about this task, or about no task. Default: all findings. */
  readonly task?: string
  /** An open task without an owner is noted if its last event is older. Default: 600,000. */
  readonly openMsMax?: number
  /** The current time in milliseconds since 1970, for the age of open tasks. */
  readonly now: number
  /** The id of the operator's key that the reader knows. Default: the first operator of the journal. */
  readonly operator?: string
  readonly onProgress?: (progress: { readonly sequence: number; readonly events: number }) => void
  readonly signal?: AbortSignal
}

export interface CheckSummary {
  readonly about: JournalAbout
  readonly messages: number
  readonly events: number
  readonly tasks: number
  readonly tasks_open: number
  readonly first_sequence: number | null
  readonly last_sequence: number | null
  readonly blobs_verified: number
  readonly signatures: SignatureSummary
}

/** Who signed what was checked. */
export interface SignatureSummary {
  /** The id of the first operator's key, on which all trust rests; `null` if the journal has no operator. */
  readonly operator: string | null
  readonly verified: number
  /** How many unsigned entries are older than the journal's operator. */
  readonly unsigned: number
}

/** A remark that is not a violation. */
export interface Note {
  readonly task_id: string
  readonly session_id: string
  readonly message: string
}

export interface CheckResult {
  /** The findings in stream order, at most `findingsMax`. */
  readonly findings: readonly Finding[]
  /** How often each rule was broken, including the findings beyond `findingsMax`. */
  readonly broken: Readonly<Partial<Record<Rule, number>>>
  readonly notes: readonly Note[]
  readonly summary: CheckSummary
}

export const findingsMax = 10_000
const openMsDefault = 600_000

/**
 * Checks everything in a source.
 *
 * @throws {UnreadableJournal} if the source cannot be read at all
 * @example const { findings } = await checkJournal(await openExport('journal.ndjson'), { now: Date.now() })
 */
export async function checkJournal(source: JournalSource, options: CheckOptions): Promise<CheckResult> {
  const keys = await KeyLog.read(source)
  return checkWithKeys(source, { keys, archives: await ArchiveLog.read(source, keys) }, options)
}

interface ReadBefore {
  readonly keys: KeyLog
  readonly archives: ArchiveLog
}

/** The same, with keys and archives that are already read. */
export async function checkWithKeys(
  source: JournalSource,
  before: ReadBefore,
  options: CheckOptions,
): Promise<CheckResult> {
  const check = new Check(source, before, options)
  for await (const page of source.pages()) {
    options.signal?.throwIfAborted()
    await check.take(page)
  }
  return check.finish()
}

type Site = Pick<Finding, 'task_id' | 'session_id' | 'taskseq' | 'sequence'>

class Check {
  readonly #source: JournalSource
  readonly #options: CheckOptions
  readonly #keys: KeyLog
  readonly #archives: ArchiveLog
  readonly #logs = new LogSet()
  readonly #systemLogs = new SystemTrails()
  readonly #findings: Finding[] = []
  readonly #broken: Partial<Record<Rule, number>> = {}
  /** Missing blobs. Only at the end is it known whether they were redacted. */
  readonly #absent: {
    readonly name: string
    readonly taskseq: number
    readonly trail: Trail
    tell(): void
  }[] = []
  readonly #images: ImageContents
  #messages = 0
  #events = 0
  #blobs = 0
  #verified = 0
  #unsigned = 0
  #first: number | null = null
  #last: number | null = null

  constructor(source: JournalSource, { keys, archives }: ReadBefore, options: CheckOptions) {
    this.#source = source
    this.#images = new ImageContents(source)
    this.#options = options
    this.#keys = keys
    this.#archives = archives
    if (options.operator !== undefined && options.operator !== keys.operator)
      this.#report(
        nowhere,
        'operator',
        `the operator of the journal is ${keys.operator ?? 'nobody'}, and the one that is known here is ${options.operator}`,
      )
  }

  async take(page: readonly StreamMessage[]): Promise<void> {
    const read = page.map((message) => ({
      message,
      place: placeOf(message.subject),
      entry: readEntry(message.payload),
    }))
    const judged = read.filter(({ message }) => this.#archives.compare(message) !== 'same')
    const wanted = judged.flatMap(({ place, entry }) =>
      'log' in place && entry.kind === 'entry' ? entry.records.flatMap(blobNameOf) : [],
    )
    const blobs = new BlobAhead(wanted, (sha256) => this.#source.readBlob(sha256))
    for (const { message, place, entry } of read) {
      this.#messages++
      this.#follow(message)
      if (this.#isArchived(message, place)) continue
      if ('log' in place) await this.#takeEntry(message, { ...place, entry }, blobs)
      else if (place.kind === 'id') this.#takeIdClaim(message, place)
      else if (place.kind === 'system') this.#takeSystemEntry(message, place.name, entry)
      else if (place.kind === 'unknown')
        this.#report(
          { ...nowhere, sequence: message.sequence },
          'subject',
          `the subject ${message.subject} is none of a journal`,
        )
    }
    this.#options.onProgress?.({ sequence: this.#last ?? 0, events: this.#events })
  }

  finish(): CheckResult {
    const { about } = this.#source
    if (about.whole && (this.#last ?? 0) < about.lastSequence) {
      const rule = about.exportedAt === null ? 'stream_gap' : 'export'
      this.#report(
        nowhere,
        rule,
        `the messages after ${this.#last ?? 0} are missing, up to ${about.lastSequence}`,
      )
    }
    if (about.whole)
      this.#logs.judgeClaims(({ task, session }) =>
        this.#reportAt({ ...nowhere, task_id: task, session_id: session }),
      )
    this.#judgeArchives()
    for (const { name, tell } of this.#absent) if (!this.#systemLogs.redacted.has(name)) tell()
    const open = [...this.#logs.trails()].filter((trail) => trail.ended === null)
    const summary = {
      about,
      messages: this.#messages,
      events: this.#events,
      tasks: this.#logs.size,
      tasks_open: open.length,
      first_sequence: this.#first,
      last_sequence: this.#last,
      blobs_verified: this.#blobs + this.#images.verified,
      signatures: { operator: this.#keys.operator, verified: this.#verified, unsigned: this.#unsigned },
    }
    return {
      findings: this.#findings,
      broken: this.#broken,
      notes: [
        ...open.flatMap((trail) => this.#noteOf(trail)),
        ...this.#redactionNotes(),
        ...this.#archiveNotes(),
      ],
      summary,
    }
  }

  #follow({ sequence }: StreamMessage): void {
    let expected = (this.#last ?? 0) + 1
    while (expected < sequence && this.#archives.has(expected)) expected++
    if (this.#source.about.whole && sequence !== expected)
      this.#report(
        { ...nowhere, sequence },
        'stream_gap',
        `message ${sequence} follows message ${expected - 1}`,
      )
    this.#first ??= sequence
    this.#last = sequence
  }

  /** Whether a message is archived but not deleted. */
  #isArchived(message: StreamMessage, place: Place): boolean {
    const compared = this.#archives.compare(message)
    const log = 'log' in place ? { task_id: place.log.task, session_id: place.log.session } : {}
    if (compared === 'other')
      this.#report(
        { ...nowhere, ...log, sequence: message.sequence },
        'archive',
        `message ${message.sequence} is not the one that was archived`,
      )
    return compared === 'same'
  }

  async #takeEntry(
    message: StreamMessage,
    { log, kind, entry }: { log: LogPlace; kind: 'accepted' | 'events'; entry: ReadEntry },
    blobs: BlobAhead,
  ) {
    const at = { task_id: log.task, session_id: log.session, taskseq: null, sequence: message.sequence }
    const report = this.#reportAt(at)
    const trail = this.#logs.trailOf(log, kind, report)
    if (entry.kind === 'unreadable') {
      trail.blind = true
      return report('entry', `the entry is not a batch of records: ${entry.why}`)
    }
    if (entry.canonicalFault !== null)
      report('canonical', `the entry is not canonical JSON: ${entry.canonicalFault}`)
    this.#judgeSignature(log, message, entry.records, report)
    for (const each of entry.records)
      await this.#takeRecord(trail, each, blobs, this.#reportAt({ ...at, taskseq: each.record.taskseq }))
  }

  async #takeRecord(trail: Trail, read: ReadRecord, blobs: BlobAhead, report: Report): Promise<void> {
    this.#events++
    const { record } = read
    this.#passArchived(trail, record)
    const { epoch, taskseq: placesTaken } = trail.head
    judgeChain(trail, read, report)
    const type = eventTypeOf(record)
    const data = await this.#dataOf(trail, read, blobs, report)
    if (!judgeEnd(trail, type ?? record.type, record, report)) return
    judgeWriter(trail, record, type, epoch, report)
    if (type === null)
      return report('event_type', `event ${record.taskseq} is of the type ${record.type}, which is not known`)
    const event = eventOf(type, record, data === undefined ? {} : data.value)
    if (typeof event === 'string') {
      trail.blind = true
      if (data !== undefined)
        report('event_data', `${type} (event ${record.taskseq}) lacks what its type needs: ${event}`)
      return
    }
    for (const absent of await this.#images.judge(event, record.taskseq, report))
      this.#absent.push({ ...absent, trail })
    judgeTask(trail, event, record, placesTaken === 0, report)
    this.#logs.judgeOrder(trail, event, report)
    if (trail.blind) return
    judgeValues(trail, event, report)
    judgeTeam(trail, event, report)
    judgeRun(trail, event, report)
  }

  /** Moves the head of a log past its archived messages, if the record follows them. */
  #passArchived(trail: Trail, record: WireRecord): void {
    if (record.taskseq <= trail.head.taskseq + 1) return
    const head = this.#archives.across(trail.log, trail.head, record)
    if (head === null) return
    trail.head = head
    trail.blind = true
    trail.claimedEpoch = head.epoch
    // The archive contains the claim of the task.
    trail.epochSource = record.source
    trail.owner = record.source
    trail.overwritten = false
  }

  /** A log must continue after its archived messages, because its last entry is never archived. */
  #judgeArchives(): void {
    for (const parts of this.#archives.logs()) {
      const [{ log, end } = { log: null, end: null }] = parts.slice(-1)
      const trail = log === null ? null : this.#logs.known(log)
      if (
        log === null ||
        (trail === null && !this.#source.about.whole) ||
        (trail !== null && trail.head.taskseq > end.taskseq)
      )
        continue
      this.#report(
        { ...nowhere, task_id: log.task, session_id: log.session },
        'archive',
        'the log has no entry behind its archived messages',
      )
    }
  }

  /** The data of a record; `undefined` if its blob cannot be read. */
  async #dataOf(
    trail: Trail,
    read: ReadRecord,
    blobs: BlobAhead,
    report: Report,
  ): Promise<{ readonly value: unknown } | undefined> {
    const { data, dataref, taskseq } = read.record
    if (dataref === undefined) return { value: data }
    const blob = await readBlob(read, blobs)
    if ('rule' in blob) {
      const [name] = blobNameOf(read)
      if (blob.rule === 'blob_missing' && name !== undefined)
        this.#absent.push({
          name,
          taskseq,
          trail,
          tell: () => report(blob.rule, `event ${taskseq}: ${blob.message}`),
        })
      else report(blob.rule, `event ${taskseq}: ${blob.message}`)
      return undefined
    }
    this.#blobs++
    return blob
  }

  #takeIdClaim(
    { sequence, payload }: StreamMessage,
    { tenant, task }: { tenant: string; task: string },
  ): void {
    const session = readIdClaim(payload)
    const report = this.#reportAt({ task_id: task, session_id: session, taskseq: null, sequence })
    if (session === null) report('entry', `the claim on the id ${task} names no session`)
    else this.#logs.claimId(tenant, task, session, report)
  }

  #takeSystemEntry(message: StreamMessage, name: string, entry: ReadEntry): void {
    const { sequence } = message
    const report = this.#reportAt({ ...nowhere, sequence })
    if (entry.kind === 'unreadable')
      return report('entry', `the entry of the system log ${name} is not a batch of records: ${entry.why}`)
    if (entry.canonicalFault !== null)
      report(
        'canonical',
        `the entry of the system log ${name} is not canonical JSON: ${entry.canonicalFault}`,
      )
    const isTrusted =
      name === 'keys'
        ? this.#judgeKeys(sequence, report)
        : this.#judgeSignature(name, message, entry.records, report)
    for (const each of entry.records) {
      this.#events++
      this.#systemLogs.judge(
        name,
        each,
        this.#reportAt({ ...nowhere, sequence, taskseq: each.record.taskseq }),
        isTrusted,
      )
    }
    if (name === 'checkpoints' && !this.#keys.isBefore(message))
      this.#judgeNotes(sequence, notesOf(entry.records), report)
  }

  /** Whether an entry's signature counts, or the journal had no operator yet. */
  #judgeSignature(
    log: SignedLog,
    { sequence, signature }: StreamMessage,
    records: readonly ReadRecord[],
    report: Report,
  ): boolean {
    const last = records.at(-1)?.record
    const message = { sequence, signature, lastHash: last?.hash ?? '' }
    if (this.#keys.isBefore(message)) {
      this.#unsigned++
      return true
    }
    const fault = this.#keys.faultOf(log, message)
    if (fault === null) this.#verified++
    else
      report('signature', `the entry with event ${records[0]?.record.taskseq ?? 0} is not trusted: ${fault}`)
    return fault === null
  }

  #judgeKeys(sequence: number, report: Report): boolean {
    const faults = this.#keys.ignored(sequence)
    for (const fault of faults) report('key_event', fault)
    if (faults.length === 0) this.#verified++
    return faults.length === 0
  }

  #judgeNotes(sequence: number, notes: readonly string[], report: Report): void {
    if (this.#keys.operator === null) return
    for (const text of notes) {
      const note = readNote(text)
      const fault =
        typeof note === 'string' ? `cannot be read: ${note}` : this.#keys.noteFault(note, sequence)
      if (fault !== null)
        report('checkpoint_signature', `the checkpoint of message ${sequence} of the journal ${fault}`)
    }
  }

  #noteOf(trail: Trail): Note[] {
    const { task, session } = trail.log
    const ageMs = this.#options.now - Date.parse(trail.lastTime)
    if (
      trail.owner !== null ||
      !(ageMs > (this.#options.openMsMax ?? openMsDefault)) ||
      !this.#isWanted(task)
    )
      return []
    return [
      {
        task_id: task,
        session_id: session,
        message: `is open, nobody owns it, and its last event is ${Math.round(ageMs / 60_000)} minutes old`,
      },
    ]
  }

  #redactionNotes(): Note[] {
    return this.#absent.flatMap(({ name, taskseq, trail: { log } }) => {
      const reason = this.#systemLogs.redacted.get(name)
      if (reason === undefined || !this.#isWanted(log.task)) return []
      return [
        {
          task_id: log.task,
          session_id: log.session,
          message: `has no data for event ${taskseq}, because an operator removed it: ${reason}`,
        },
      ]
    })
  }

  #archiveNotes(): Note[] {
    return [...this.#archives.logs()].flatMap((parts) => {
      const [first, last] = [parts[0], parts.at(-1)]
      if (
        first === undefined ||
        last === undefined ||
        !this.#isWanted(first.log.task) ||
        this.#logs.known(first.log) === null
      )
        return []
      const events = parts.reduce((sum, { after, end }) => sum + end.taskseq - after.taskseq, 0)
      const message = `has ${events} events in the archive ${last.file} (SHA-256 ${last.sha256}). They were not checked here: use "beaver check --export" with the file`
      return [{ task_id: first.log.task, session_id: first.log.session, message }]
    })
  }

  #reportAt(place: Site): Report {
    return (rule, message) => this.#report(place, rule, message)
  }

  #report(place: Site, rule: Rule, message: string): void {
    if (place.task_id !== null && !this.#isWanted(place.task_id)) return
    this.#broken[rule] = (this.#broken[rule] ?? 0) + 1
    if (this.#findings.length < findingsMax) this.#findings.push({ rule, ...place, message })
  }

  #isWanted(task: string): boolean {
    return this.#options.task === undefined || this.#options.task === task
  }
}

const nowhere: Site = { task_id: null, session_id: null, taskseq: null, sequence: null }

async function readBlob(
  read: ReadRecord,
  blobs: BlobAhead,
): Promise<{ readonly value: unknown } | { readonly rule: Rule; readonly message: string }> {
  const [name] = blobNameOf(read)
  if (name === undefined) return { rule: 'blob_missing', message: `${read.record.dataref} names no blob` }
  const bytes = await blobs.next(name)
  if (bytes === null) return { rule: 'blob_missing', message: `the blob ${name} does not exist` }
  if (hash('sha256', bytes) !== name)
    return { rule: 'blob_changed', message: `the blob ${name} holds other content` }
  try {
    return { value: JSON.parse(new TextDecoder().decode(bytes)) as unknown }
  } catch {
    return { rule: 'event_data', message: `the blob ${name} is not JSON` }
  }
}

function blobNameOf({ record }: ReadRecord): string[] {
  const name = /^blob:sha256:([0-9a-f]{64})$/.exec(record.dataref ?? '')?.[1]
  return name === undefined ? [] : [name]
}
