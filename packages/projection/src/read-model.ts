// The read model: the journal folded into one SQLite file. This file owns the SQLite file, the checkpoint and
// the order of application; fold/ owns the rows, store/ the tables, queries/ the answers. The checkpoint is
// written in the transaction of its rows, so every event counts exactly once. A read model belongs to one
// stream and refuses another, even one of the same name. Rows depend on the journal's messages, their order
// and their blobs, never on the batches. One `apply` runs at a time, and its caller bounds the batch, which
// is held in memory.
import { hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { ChangedTask } from '@beaver/contracts'
import { BeaverError, invariant, type LogId } from '@beaver/core'
import {
  blobNameOf,
  emptySystemLog,
  eventTypeOf,
  identityFault,
  type JournalLeaf,
  KeyRing,
  type OpenedRecord,
  type ReadBlob,
  type ReplacedData,
} from '@beaver/core/journal'
import {
  type Archives,
  noArchives,
  notArchived,
  remembersArchived,
  withoutArchived,
} from './fold/archives.ts'
import { broken, type GapsOf, judge, recordFinding } from './fold/audit.ts'
import { Batch, type HeldTask } from './fold/batch.ts'
import { judgeCheckpoints } from './fold/fold-checkpoint.ts'
import { storeSystemMessage, type SystemMessage } from './fold/fold-system.ts'
import { foldEvent, foldLostEvent } from './fold/fold.ts'
import { growTree } from './fold/grow-tree.ts'
import { type IncomingMessage, type JournalMessage, takeIn } from './fold/intake.ts'
import { StoredKeys } from './fold/stored-keys.ts'
import { openDatabase } from './store/database.ts'
import { digestOf, dumpLines } from './store/dump.ts'
import { statusOf } from './queries/query-tasks.ts'
import { tableNames, tables, type TaskRow } from './store/schema.ts'
import { type Sql, sqlOn } from './store/sql.ts'
import { insert } from './store/table.ts'
import { indexedTo, indexTexts, lastText, unindexedTasksOf } from './store/text-index.ts'

export interface Applied {
  /** How many messages were new. */
  readonly messages: number
  readonly events: number
  /** How many of the events are no checkpoints, which are no news themselves. */
  readonly news: number
  readonly findings: number
  /** The tasks whose rows the batch changed. */
  readonly changed: readonly ChangedTask[]
  /** The checkpoint after the batch. */
  readonly sequence: number
}

/** What a part of the stream has besides the entries of tasks. */
export interface Beside {
  /** The entries of system logs, in stream order. */
  readonly system?: readonly SystemMessage[]
  /** The last sequence of this part of the stream. Default: the last sequence of its messages. */
  readonly to?: number
  /** Everything in this part of the stream: the leaves of the tree. Default: the tree does not grow. */
  readonly stored?: readonly JournalLeaf[]
}

export interface ReadModel extends Disposable, AsyncDisposable {
  /** For queries: `answer(model.sql, …)`. */
  readonly sql: Sql
  /**
   * Binds the file to a stream. Returns the sequence that was applied last, or 0.
   *
   * @param streamIdentity tells a stream from another one of the same name, for example
   * `BEAVER_main@2026-01-01T00:00:00Z`
   * @param streamEnd the last sequence of the stream, if it is known
   * @throws {BeaverError} `stream_recreated` if the file was built from another stream, or from more messages
   * than this stream has
   */
  begin(streamIdentity: string, streamEnd?: number): number
  /**
   * The stream to which the file is bound, and the sequence that was applied last; `null` if it is bound to
   * none.
   */
  bound(): { readonly stream: string; readonly sequence: number } | null
  /** The sequence that was applied last, or 0. */
  position(): number
  /**
   * Whether a row has a text that was redacted, or is of a message that was archived, after the row was
   * written.
   */
  remembersRemoved(): boolean
  /** Empties the file, so that no byte of its texts is left, and begins from the first message again. */
  forget(): void
  /** How often the file was emptied since it was opened. */
  readonly emptied: number
  /**
   * Whose signatures count, as far as the messages were applied. It has no keys if signatures are not judged.
   */
  keyRing(): KeyRing
  /**
   * Removes all rows, so that the next `begin` may bind the file to another stream and everything is applied
   * again.
   */
  clear(): void
  /** Whether another program has changed the file since the last question. */
  changedByOthers(): boolean
  /**
   * Applies a part of the stream, in order and in one transaction. Messages that were applied before are
   * skipped. It rejects, with nothing applied, if a blob cannot be fetched for another reason than that it is
   * missing.
   */
  apply(messages: readonly JournalMessage[], beside?: Beside): Promise<Applied>
  /**
   * Indexes texts that a large batch left for later, for the time of one slice. Returns whether there are
   * more. Searches find these texts even before that, but more slowly.
   */
  indexTexts(): boolean
  /** The rows of all tables as text, in a fixed order. */
  dump(): Iterable<string>
  /** The SHA-256 of the dump. */
  digest(): string
  close(): void
}

export interface ReadModelOptions {
  /** Reads a blob, or what is in its place. */
  readonly readBlob: ReadBlob
  /** Reads what is shown in place of the data of a redacted record. Default: no record was redacted. */
  readonly replacedData?: ReplacedData
  /** The namespace of the journal, to which signatures are bound. Default: signatures are not judged. */
  readonly namespace?: string
  /** The keys by which signatures are judged. Default: those that the applied messages announce. */
  readonly ring?: KeyRing
  /** Which messages are in an archive. Default: none. */
  readonly archives?: Archives
}

/**
 * Opens the read model in a file, and creates the file if it does not exist. `:memory:` keeps the model in
 * memory.
 *
 * @throws {BeaverError} `invalid_configuration` for a file of a newer Beaver or of another program
 * @example
 * await using model = openReadModel('read.db', { readBlob: (sha256) => blobs.get(sha256) })
 * const from = model.begin(identity) + 1
 */
export function openReadModel(file: string, options: ReadModelOptions): ReadModel {
  const db = openDatabase(file)
  const sql = sqlOn(db)
  const { namespace, ring, archives = noArchives } = options
  const keys = namespace === undefined ? null : new StoredKeys(sql, namespace, ring)
  let applying: Promise<unknown> | null = null
  let version = sql.one<{ data_version: number }>('pragma data_version').data_version
  let emptied = 0
  const empty = (): void => {
    emptied++
    forgetAll(db, sql)
    keys?.forget()
  }
  const close = (): void => {
    if (db.isOpen) db.close()
  }
  const applyBatch = async (
    messages: readonly JournalMessage[],
    { system = [], to = 0, stored = [] }: Beside,
  ): Promise<Applied> => {
    const { sequence } = checkpointOf(sql)
    const incoming = await takeIn(
      withoutArchived(inOrder(messages, sequence), archives),
      options.readBlob,
      options.replacedData,
    )
    const beside = { system: inOrder(system, sequence), to, stored: inOrder(stored, sequence) }
    try {
      return sql.transaction(() => store(sql, incoming, { ...beside, keys, archives }))
    } catch (error) {
      keys?.forget() // It may have read keys of the transaction, which is undone.
      throw error
    }
  }
  return {
    sql,
    begin: (identity, streamEnd = Number.MAX_SAFE_INTEGER) =>
      sql.transaction(() => bind(sql, { identity, streamEnd, file })),
    bound: () => sql.get<Checkpoint>('select stream, sequence from checkpoint') ?? null,
    position: () => checkpointOf(sql).sequence,
    remembersRemoved: () => remembersRedacted(sql) || remembersArchived(sql, archives),
    forget: empty,
    get emptied() {
      return emptied
    },
    keyRing: () => keys?.ring ?? new KeyRing('', emptySystemLog),
    clear() {
      empty()
      sql.run('delete from checkpoint')
    },
    changedByOthers() {
      // SQLite changes this number only when another connection has committed.
      const before = version
      version = sql.one<{ data_version: number }>('pragma data_version').data_version
      return version !== before
    },
    async apply(messages, beside = {}) {
      invariant(applying === null, 'Two batches are applied to one read model at the same time')
      const work = applyBatch(messages, beside)
      applying = work
      try {
        return await work
      } finally {
        applying = null
      }
    },
    indexTexts: () => sql.transaction(() => indexTexts(sql, sliceTextsMax)) === sliceTextsMax,
    dump: () => dumpLines(sql),
    digest: () => digestOf(sql),
    close,
    [Symbol.dispose]: close,
    async [Symbol.asyncDispose]() {
      await applying?.catch(() => {})
      close()
    },
  }
}

/** A batch with at most this many new texts indexes them itself. */
const atOnceTextsMax = 200
/** The texts of one slice, which takes some milliseconds. */
const sliceTextsMax = 50

interface Checkpoint {
  readonly stream: string
  readonly sequence: number
}

function checkpointOf(sql: Sql): Checkpoint {
  const row = sql.get<Checkpoint>('select stream, sequence from checkpoint')
  invariant(row !== undefined, 'A batch is applied before `begin` bound the read model to a stream')
  return row
}

function bind(
  sql: Sql,
  { identity, streamEnd, file }: { identity: string; streamEnd: number; file: string },
): number {
  const row = sql.get<Checkpoint>('select stream, sequence from checkpoint')
  if (row === undefined) {
    insert(sql, tables.checkpoint, { stream: identity, sequence: 0, events: 0 })
    return 0
  }
  if (row.stream !== identity) {
    throw new BeaverError(
      'stream_recreated',
      `The read model ${file} was built from the journal stream ${row.stream}, and the journal is now ${identity}. The stream was created again. ` +
        `Check that the journal is the right one; then delete ${file} (with its -wal and -shm files) to rebuild the read model from it.`,
    )
  }
  if (row.sequence > streamEnd) {
    throw new BeaverError(
      'stream_recreated',
      `The read model ${file} was built from ${row.sequence} messages of the journal stream ${identity}, which ends at ${streamEnd} now. Its end was lost. ` +
        `Restore the stream, or delete ${file} (with its -wal and -shm files) to rebuild the read model from the rest.`,
    )
  }
  return row.sequence
}

/** The messages after the checkpoint, each once. */
function inOrder<T extends { readonly sequence: number }>(messages: readonly T[], checkpoint: number): T[] {
  const fresh: T[] = []
  const seen = new Set<number>()
  let last = checkpoint
  for (const message of messages) {
    if (message.sequence <= checkpoint || seen.has(message.sequence)) continue
    invariant(
      message.sequence > last,
      `Message ${message.sequence} of the journal came after message ${last}`,
    )
    seen.add((last = message.sequence))
    fresh.push(message)
  }
  return fresh
}

type Around = Required<Beside> & { readonly keys: StoredKeys | null; readonly archives: Archives }

function store(
  sql: Sql,
  incoming: readonly IncomingMessage[],
  { system, to, stored, keys, archives }: Around,
): Applied {
  let { sequence } = checkpointOf(sql)
  const batch = new Batch(sql)
  const counts = { messages: 0, events: 0, news: 0, findings: 0 }
  for (const message of system) {
    counts.messages++
    const events = storeSystemMessage(sql, message, keys)
    counts.events += events
    if (message.name !== 'checkpoints') counts.news += events
  }
  for (const message of incoming) {
    if (message.sequence <= sequence) continue
    sequence = message.sequence
    counts.messages++
    const { log, fault } = message
    if (fault !== null || log === null) {
      storeForeign(batch, message)
      counts.findings++
      continue
    }
    const task = batch.task(log)
    if (archives.archived().has(sequence)) {
      broken(task)
      recordFinding(
        sql,
        { taskKey: task.key, sequence, taskseq: message.records[0]?.record.taskseq ?? null },
        notArchived(sequence),
      )
      counts.findings++
    }
    const trust = keys?.judge({ ...message, log }) ?? 'signed'
    if (typeof trust === 'object') {
      broken(task)
      recordFinding(
        sql,
        { taskKey: task.key, sequence, taskseq: message.records[0]?.record.taskseq ?? null },
        trust,
      )
      counts.findings++
    }
    if (trust === 'unsigned') task.change().unsigned += message.records.length
    const at = {
      sequence,
      log,
      isTrusted: typeof trust !== 'object',
      gaps: () => archives.archived().gapsOf(log),
    }
    for (const record of message.records) {
      counts.findings += storeRecord(sql, task, at, record)
      counts.events++
      counts.news++
    }
  }
  batch.save()
  growTree(sql, stored, archives)
  judgeCheckpoints(sql, system)
  sequence = Math.max(sequence, system.at(-1)?.sequence ?? 0, to)
  const texts = lastText(sql) - indexedTo(sql)
  if (texts + unindexedTasksOf(sql, atOnceTextsMax + 1) <= atOnceTextsMax) indexTexts(sql, atOnceTextsMax)
  sql.run('update checkpoint set sequence = ?, events = events + ?', [sequence, counts.events])
  return { ...counts, changed: batch.changed().map(changedTask), sequence }
}

const changedTask = (row: Readonly<TaskRow>): ChangedTask => ({
  task_id: row.task_id,
  session_id: row.session_id,
  user_id: row.user_id,
  taskseq: row.last_taskseq,
  status: statusOf(row),
})

/** A message that is no record. It makes no task; a task in whose log it lies is broken. */
function storeForeign(batch: Batch, { sequence, log, subject, payload, fault }: IncomingMessage): void {
  const reason = fault?.message ?? ''
  quarantine(batch.sql, { sequence, log, subject, payload, reason })
  const task = log === null ? null : batch.knownTask(log)
  if (task === null || fault === null) return
  broken(task)
  recordFinding(batch.sql, { taskKey: task.key, sequence, taskseq: null }, fault)
}

/** Returns the number of findings. */
function storeRecord(
  sql: Sql,
  task: HeldTask,
  {
    sequence,
    log,
    isTrusted,
    gaps,
  }: { readonly sequence: number; readonly log: LogId; readonly isTrusted: boolean; readonly gaps: GapsOf },
  incoming: OpenedRecord,
): number {
  const { record, event, dataJson } = incoming
  const at = { taskKey: task.key, sequence, taskseq: record.taskseq }
  const verdict = judge(task, log, record, gaps)
  if (verdict.finding !== null)
    recordFinding(sql, verdict.kind === 'repeat' ? { ...at, record } : at, verdict.finding)
  if (verdict.kind === 'repeat') return 1
  let findings = verdict.finding === null ? 0 : 1

  if (incoming.fault !== null) {
    recordFinding(sql, at, incoming.fault)
    findings++
  }
  const type = eventTypeOf(record)
  const { taskseq, epoch, time, hash } = record
  const runId = record.runid ?? null
  insert(sql, tables.events, {
    task_key: task.key,
    taskseq,
    epoch,
    type: type ?? record.type,
    run_id: runId,
    time,
    data: dataJson,
    blob_sha256: blobNameOf(record),
    hash,
    sequence,
  })
  task.change().last_event_at = time
  if (!isTrusted) return findings // What nobody who may signed is kept, and changes nothing else.
  const place = { taskKey: task.key, taskseq, time, runId }
  if (event === null) {
    if (type !== null) foldLostEvent(task, place, type)
    return findings
  }
  const stranger = identityFault(log, event)
  if (stranger !== null) {
    broken(task)
    recordFinding(sql, at, stranger)
    findings++
  }
  foldEvent(task, place, event)
  return findings
}

// Messages of the journal that are no records: who published them is not known, and no log contains them.
// They are kept to be looked at. A message has one row, whatever it contains. The row says why, how large the
// message is, its SHA-256 and how it begins. A row is small. After `excerptsMax` rows the beginnings are left
// out, so that a flood of messages fills no disk.

const excerptBytesMax = 2_048
const excerptsMax = 10_000

interface QuarantinedMessage {
  readonly sequence: number
  /** The log under whose subject it was published; `null` if the subject is none of Beaver's. */
  readonly log: LogId | null
  readonly subject: string | null
  readonly payload: Uint8Array
  readonly reason: string
}

function quarantine(sql: Sql, { sequence, log, subject, payload, reason }: QuarantinedMessage): void {
  const { n } = sql.one<{ n: number }>('select count(*) as n from (select 1 from quarantine limit ?)', [
    excerptsMax,
  ])
  const excerpt = n < excerptsMax ? Buffer.from(payload.subarray(0, excerptBytesMax)).toString() : ''
  insert(sql, tables.quarantine, {
    sequence,
    tenant: log?.tenant,
    session_id: log?.session,
    task_id: log?.task,
    subject,
    reason,
    bytes: payload.byteLength,
    sha256: hash('sha256', payload),
    excerpt,
  })
}

// Forgets texts that were redacted. A text is in many rows, in the full-text index and in free pages of the
// file, so the whole file is emptied, and the projector builds it again from the journal, where the text is
// replaced. Afterwards no byte of the old rows is in the file or in its WAL.

interface RedactedRow {
  readonly data: string
  readonly replacement: string | null
}

/** Whether a row of `events` has a text that is not the newest replacement of it. */
function remembersRedacted(sql: Sql): boolean {
  const rows = sql.each<RedactedRow>(
    `with redacted as (
       select coalesce(json_extract(data, '$.sha256'), json_extract(data, '$.hash')) as key, json_extract(data, '$.replacement') as replacement, max(sequence)
       from system_events where type in ('blob_redacted', 'record_redacted') and fault is null and untrusted is null group by 1
     )
     select events.data, redacted.replacement from redacted join events on events.blob_sha256 = redacted.key or events.hash = redacted.key
     where events.data is not null`,
    [],
  )
  for (const { data, replacement } of rows)
    if (data !== noReplacement && hash('sha256', data) !== replacement) return true
  return false
}

/** What is read in place of a text if there is no replacement, or if it cannot be read. */
const noReplacement = '{}'

function forgetAll(db: DatabaseSync, sql: Sql): void {
  db.exec('pragma secure_delete = on')
  sql.transaction(() => {
    sql.run("insert into transcript_fts (transcript_fts) values ('delete-all')")
    sql.run("insert into tasks_fts (tasks_fts) values ('delete-all')")
    for (const table of tableNames.toReversed()) if (table !== 'checkpoint') sql.run(`delete from ${table}`)
    sql.run('delete from text_index')
    sql.run('delete from unindexed_tasks')
    sql.run('update checkpoint set sequence = 0, events = 0')
  })
  db.exec('vacuum; pragma wal_checkpoint(truncate)')
}
