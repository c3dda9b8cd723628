// Compares the read model of a projector with one that is built again from the same journal, up to the same
// message and with the same archives. The read model is not changed. Each table that differs gives one
// finding, about its first row that differs. A read model that has not yet read the newest event of an
// archive cannot be compared, because the messages of its rows may be gone.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Finding, type JournalSource, placeOf, type StreamMessage } from '@beaver/check'
import { BeaverError, isSystemLogName, type LogId, systemEventData } from '@beaver/core'
import { ArchivedMessages, type RecordedSystemEvent, ReplacementBytes } from '@beaver/core/journal'
import { subjectsOf } from '@beaver/nats'
import {
  type Archives,
  type JournalMessage,
  type ModelSnapshot,
  noArchives,
  openReadModel,
  type ReadModel,
  type SystemMessage,
  tableNames,
} from '@beaver/projection'

export interface ComparedProjection {
  readonly file: string
  readonly compared: boolean
  /** The number of the message up to which the read models were compared; `null` if they were not. */
  readonly sequence: number | null
  /** Why the read models were not compared; `null` if they were. */
  readonly reason: string | null
}

/** Returns the findings, or the reason why the read models cannot be compared. */
export async function compareProjection(
  model: ModelSnapshot,
  source: JournalSource,
  onProgress: (sequence: number, last: number) => void,
): Promise<readonly Finding[] | string> {
  const { stream, created } = source.about
  const identity = `${stream}@${created}`
  if (model.stream !== identity)
    return [finding(`the read model was built from the stream ${model.stream}, and this one is ${identity}`)]
  if (model.sequence > source.about.lastSequence)
    return [
      finding(
        `the read model has applied message ${model.sequence}, and the journal ends with ${source.about.lastSequence}`,
      ),
    ]
  const archives = await archivesOf(model, source)
  if (archives === null)
    return 'it has not read yet what was archived last; start the projector and repeat the check'
  const folder = await mkdtemp(join(tmpdir(), 'beaver-check-'))
  try {
    await using rebuilt = openReadModel(join(folder, 'rebuilt.db'), {
      readBlob: (sha256) => blobOf(source, sha256, model),
      replacedData: (hash) => replacementOf(source, hash, model),
      namespace: source.about.stream,
      archives,
    })
    rebuilt.begin(identity)
    await rebuild(rebuilt, source, model.sequence, onProgress)
    return [...differences(model, rebuilt)]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function rebuild(
  rebuilt: ReadModel,
  source: JournalSource,
  upTo: number,
  onProgress: (sequence: number, last: number) => void,
): Promise<void> {
  for await (const page of source.pages()) {
    const stored = page.filter(({ sequence }) => sequence <= upTo)
    if (stored.length > 0)
      await rebuilt.apply(stored.flatMap(entryOf), {
        system: stored.flatMap(systemEntryOf),
        stored,
        to: stored.at(-1)?.sequence ?? 0,
      })
    const last = page.at(-1)?.sequence ?? upTo
    onProgress(Math.min(last, upTo), upTo)
    if (last >= upTo) return
  }
}

/** The archives that the read model knows; `null` if the journal has newer ones. */
async function archivesOf(model: ModelSnapshot, source: JournalSource): Promise<Archives | null> {
  let tenant: string | undefined
  for await (const page of source.redactions()) {
    for (const { sequence, subject, payload } of page) {
      const place = placeOf(subject)
      if (place.kind === 'system') ({ tenant } = place)
      if (sequence > model.sequence && Buffer.from(payload).includes('.messages_archived.')) return null
    }
  }
  const events = model.archived.flatMap(({ data, sequence: revision }): RecordedSystemEvent[] => {
    const parsed = systemEventData.messages_archived.safeParse(data)
    const place = { taskseq: 1, epoch: 0, source: '', time: '', hash: '', revision, signature: undefined }
    return parsed.success ? [{ type: 'messages_archived', data: parsed.data, ...place }] : []
  })
  if (tenant === undefined) return noArchives // The journal has no event of an archive.
  const archived = new ArchivedMessages(tenant, events)
  const subjects = subjectsOf(source.about.namespace, { tenant })
  return { archived: () => archived, subjectOf: (log) => subjects.events(log) }
}

function entryOf({ sequence, subject, payload, signature }: StreamMessage): JournalMessage[] {
  const place = placeOf(subject)
  return 'log' in place ? [{ sequence, log: place.log as LogId, payload, signature }] : []
}

function systemEntryOf({ sequence, subject, payload, signature }: StreamMessage): SystemMessage[] {
  const place = placeOf(subject)
  return place.kind === 'system' && isSystemLogName(place.name)
    ? [{ sequence, name: place.name, payload, signature }]
    : []
}

/** The content of a blob, or the replacement that the read model used for it. */
async function blobOf(source: JournalSource, sha256: string, model: ModelSnapshot): Promise<Uint8Array> {
  const bytes = (await source.readBlob(sha256)) ?? (await replacementOf(source, sha256, model))
  if (bytes === null) throw new BeaverError('blob_missing', `The blob ${sha256} does not exist.`)
  return bytes
}

function replacementOf(
  source: JournalSource,
  key: string,
  { replacements }: ModelSnapshot,
): Promise<Uint8Array> | null {
  const name = replacements.get(key)
  return name === undefined
    ? null
    : source.readBlob(name).then((bytes) => new ReplacementBytes(bytes ?? Buffer.from('{}')))
}

/**
 * Compares two dumps, which have the same order of tables and rows. After the first difference in a table,
 * the rest of the table is skipped.
 */
function* differences(model: ModelSnapshot, rebuilt: ReadModel): Generator<Finding> {
  const [ours, fresh] = [model.dump()[Symbol.iterator](), rebuilt.dump()[Symbol.iterator]()]
  let [one, other] = [nextRow(ours), nextRow(fresh)]
  while (one !== null || other !== null) {
    if (one !== null && other !== null && one.line === other.line) {
      ;[one, other] = [nextRow(ours), nextRow(fresh)]
      continue
    }
    const table = tableNames.find((name) => name === one?.table || name === other?.table)
    yield differenceIn(one?.table === table ? one : null, other?.table === table ? other : null, model)
    while (one !== null && one.table === table) one = nextRow(ours)
    while (other !== null && other.table === table) other = nextRow(fresh)
  }
}

interface Row {
  readonly table: string
  readonly line: string
  readonly json: string
}

function nextRow(rows: Iterator<string, unknown>): Row | null {
  const next = rows.next()
  if (next.done === true) return null
  const line = next.value
  const tab = line.indexOf('\t')
  return { table: line.slice(0, tab), line, json: line.slice(tab + 1) }
}

function differenceIn(one: Row | null, other: Row | null, model: ModelSnapshot): Finding {
  const [ours, fresh] = [columnsOf(one), columnsOf(other)]
  const table = (one ?? other)?.table ?? ''
  const { task_key, taskseq } = (one === null ? fresh : ours) as { task_key?: number; taskseq?: number }
  const what =
    one === null || other === null
      ? `${one === null ? 'does not have a row that a rebuild has' : 'has a row that a rebuild does not have'}: ${shown(one === null ? fresh : ours)}`
      : `differs from a rebuild: ${Object.keys(ours)
          .filter((name) => shown(ours[name]) !== shown(fresh[name]))
          .map((name) => `${name} is ${shown(ours[name])} and should be ${shown(fresh[name])}`)
          .join('; ')}`
  const task = task_key === undefined ? null : model.taskOf(task_key)
  return { ...finding(`the table ${table} ${what}`), ...task, taskseq: taskseq ?? null }
}

const columnsOf = (row: Row | null): Record<string, unknown> =>
  JSON.parse(row?.json ?? '{}') as Record<string, unknown>

const shownCharsMax = 200

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > shownCharsMax ? `${text.slice(0, shownCharsMax)}…` : text
}

const finding = (message: string): Finding => ({
  rule: 'projection',
  task_id: null,
  session_id: null,
  taskseq: null,
  sequence: null,
  message,
})
