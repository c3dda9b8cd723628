// `beaver audit redact`: removes texts from the record of an ended task. The replacement and the event that
// explains it are durable before anything is erased. Repeating the command completes an interrupted one. The
// command says what it cannot remove: if a text is part of its record, its bytes stay in the journal.
import { text as textOf } from 'node:stream/consumers'
import { BeaverError, canonicalJson, isTerminalTaskEvent, type LogId, type SystemEvent } from '@beaver/core'
import type { ImagePart } from '@beaver/core/images'
import {
  appendSystemEvent,
  blobNameOf,
  LogReader,
  newestRecord,
  operatorSigner,
  readKeyRing,
  RemovalLog,
  eventTypeOf,
  type RecordedEvent,
  redactedData,
  splitBatch,
  type SystemWriter,
  type WireRecord,
} from '@beaver/core/journal'
import {
  callerName,
  eraseBlob,
  findTask as findLog,
  journalReader,
  natsBlobStore,
  natsSystemLog,
  natsTexts,
} from '@beaver/nats'
import { createHash } from 'node:crypto'
import { type Connection, connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { findSystem } from '../system/find-system.ts'
import { counted } from '../text/figures.ts'
import { findTask } from './find-task.ts'
import { keyPortsOf } from './keys.ts'

export interface RedactOptions {
  readonly event?: readonly string[]
  readonly text?: string
  readonly reason: string
  readonly json?: true
}

/** A record with its event, and the data that are read in its place from now on. */
interface Redacted {
  readonly record: WireRecord
  readonly event: RecordedEvent
  readonly replacement: string
  /** The SHA-256 of images whose content is erased with the event. */
  readonly images: readonly string[]
}

export async function redact(
  tasks: readonly string[],
  { reason, ...given }: Partial<RedactOptions>,
  globals: GlobalOptions,
): Promise<number> {
  const [typed] = tasks
  if (typed === undefined || tasks.length > 1)
    throw new BeaverError('invalid_arguments', 'Name one task: beaver audit redact <task> --reason "…".')
  if (reason === undefined)
    throw new BeaverError('invalid_arguments', 'Say why, with --reason. The record keeps this text.')
  return redactTask(typed, { ...given, reason }, globals)
}

async function redactTask(typed: string, options: RedactOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  const secret = options.text === '-' ? (await textOf(process.stdin)).replace(/\n$/, '') : options.text
  if (secret === '' || (secret === undefined && options.event === undefined))
    throw new BeaverError('invalid_arguments', 'Say what to remove: --event <n> or --text <text>.')
  const { reason: why } = options
  if (secret !== undefined && why.includes(secret))
    throw new BeaverError('invalid_arguments', 'The reason contains the text that is to be removed.')
  const system = findSystem(config, 'operator')
  await using connection = await connect(system)
  const { taskId } = await findTask(connection, typed)
  const log = await logOf(connection, taskId)
  const signer = await operatorSigner(await keyPortsOf(connection, config)) // Without the operator's key, nothing is written.
  const places = new Set(options.event?.map(Number))
  const chosen = await redactionsOfTask(connection, log, { places, secret })
  if (chosen.length === 0)
    throw new BeaverError('not_found', `No event of the task ${log.task} has such a text.`)
  const by = callerName(system.url, system.login)
  const erased = await carryOut(connection, log, chosen, { by, reason: options.reason, signer })
  const redacted = chosen.map(({ record }) => ({
    taskseq: record.taskseq,
    erased: erased.has(record.taskseq),
  }))
  if (options.json === true) screen.json({ task_id: log.task, redacted })
  else {
    screen.print(
      `${screen.symbols.done} ${counted(chosen.length, 'event')} of ${log.task}: ${redacted.map(({ taskseq }) => taskseq).join(', ')}, by ${by}.`,
    )
    const kept = redacted.filter((each) => !each.erased).map(({ taskseq }) => taskseq)
    if (kept.length > 0)
      screen.print(
        `The bytes of ${counted(kept.length, 'event')} (${kept.join(', ')}) stay in the journal: the text is part of the record. Every export and archive has them, too.`,
        'From now on, "[redacted]" is read in its place. Replace a secret where it is used.',
      )
  }
  return 0
}

/**
 * The log of a task that has ended.
 *
 * @throws {BeaverError} `not_found`; `conflict` if the task has not ended
 */
async function logOf({ nc, subjects, tenant }: Connection, taskId: string): Promise<LogId> {
  const log = await findLog(nc, subjects, tenant, taskId)
  if (log === null)
    throw new BeaverError(
      'not_found',
      `There is no task ${JSON.stringify(taskId)}. "beaver tasks" lists the tasks.`,
    )
  const last = await (await journalReader(nc, subjects)).last(log)
  const newest = last === null ? null : newestRecord(last)
  if (newest === null || !isTerminalTaskEvent(eventTypeOf(newest) ?? ''))
    throw new BeaverError(
      'conflict',
      `The task ${log.task} has not ended. Cancel it first, or wait: a text of a running task is still in use.`,
    )
  return log
}

async function redactionsOfTask(
  { nc, subjects }: Connection,
  log: LogId,
  { places, secret }: { readonly places: ReadonlySet<number>; readonly secret: string | undefined },
): Promise<Redacted[]> {
  const systemLog = await natsSystemLog(nc, subjects)
  const removals = new RemovalLog(log.tenant, systemLog, () =>
    readKeyRing({ log: systemLog, namespace: subjects.stream }),
  )
  const replacements = natsTexts(nc, subjects, () => removals.now())
  const archived = async () => (await removals.now()).archived
  const reader = new LogReader(log, replacements, { judge: { signatureFault: async () => null, archived } })
  const chosen: Redacted[] = []
  for await (const entry of (await journalReader(nc, subjects)).entries(log)) {
    const events = await reader.read(entry)
    if (events.length === 0) continue
    for (const [i, record] of splitBatch(entry.payload).entries()) {
      const event = events[i] as RecordedEvent
      if (places.size > 0 && !places.has(record.taskseq)) continue
      const data = canonicalJson(event.data) // As it is read now: an earlier redaction stays.
      const replacement = canonicalJson(redactedData(JSON.parse(data), secret))
      const images = places.size === 0 ? [] : imagesOf(event).map(({ sha256 }) => sha256)
      if (replacement !== data || images.length > 0) chosen.push({ record, event, replacement, images })
    }
  }
  if (chosen.length === 0 && reader.archived !== null)
    throw new BeaverError(
      'not_found',
      `No event of the task ${log.task} that is in the journal has such a text. Its other events are in the archive ${reader.archived.file}. ` +
        'Beaver does not change this file: delete it, or keep it where nobody reads it.',
    )
  return chosen
}

/** The images of an event. Erasing an image also removes it from other events that show it. */
function imagesOf({ type, data }: RecordedEvent): readonly ImagePart[] {
  if (type === 'task_submitted') return data.request.images ?? []
  return type === 'user_message_added' || type === 'tool_result_recorded' ? (data.images ?? []) : []
}

/**
 * Writes the replacements and the events, and erases the content. Returns the `taskseq` of each event whose
 * bytes were erased.
 */
async function carryOut(
  { nc, subjects }: Connection,
  log: LogId,
  chosen: readonly Redacted[],
  {
    by,
    reason,
    signer,
  }: { readonly by: string; readonly reason: string; readonly signer: Pick<SystemWriter, 'sign'> },
): Promise<ReadonlySet<number>> {
  const blobs = await natsBlobStore(nc, subjects)
  const systemLog = await natsSystemLog(nc, subjects)
  const erased = new Set<number>()
  for (const { record, event: told, replacement: text, images } of chosen) {
    for (const image of images) {
      const removed: SystemEvent = { type: 'blob_redacted', data: { sha256: image, reason, by } }
      await appendSystemEvent(systemLog, 'redactions', () => removed, {
        source: '/beaver/operator',
        now: () => Date.now(),
        ...signer,
      })
      await eraseBlob(nc, subjects, image)
    }
    if (images.length > 0 && canonicalJson(told.data) === text) {
      erased.add(record.taskseq)
      continue
    }
    const bytes = Buffer.from(text)
    const replacement = createHash('sha256').update(bytes).digest('hex')
    await blobs.put(replacement, bytes)
    const sha256 = blobNameOf(record)
    const event: SystemEvent =
      sha256 === null
        ? {
            type: 'record_redacted',
            data: {
              tenant: log.tenant,
              session_id: log.session,
              task_id: log.task,
              taskseq: record.taskseq,
              hash: record.hash,
              replacement,
              reason,
              by,
            },
          }
        : { type: 'blob_redacted', data: { sha256, replacement, reason, by } }
    await appendSystemEvent(systemLog, 'redactions', () => event, {
      source: '/beaver/operator',
      now: () => Date.now(),
      ...signer,
    })
    if (sha256 === null) continue
    await eraseBlob(nc, subjects, sha256)
    erased.add(record.taskseq)
  }
  return erased
}
