// `beaver archive`: writes the logs of ended tasks to a file, proves that the file is whole, and records where it is.
// A1. A session is archived as a whole, when all of its tasks have ended before the given time: the order of a session is checked with it.
// A2. A file with its final name is complete, on the disk, and was read again and checked by the independent check.
// A3. The record of the archive is written last. A task whose head was archived before is left out.
// A4. The journal keeps the records, because nobody can delete its messages: the chain still verifies, and an id stays taken.
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { checkJournal, exportLines, type JournalSource, openExport } from '@beaver/check'
import type { TaskSummary } from '@beaver/contracts'
import {
  appendSystemEvent,
  BeaverError,
  type KeyPorts,
  type LogId,
  messageOf,
  newestRecord,
  operatorSigner,
  readKeyRing,
  readTrustedEvents,
} from '@beaver/core'
import { callerName, journalReader } from '@beaver/nats'
import { type Connection, connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { findSystem } from '../system/find-system.ts'
import { sessionsJournal } from '../system/journal-source.ts'
import { count, counted } from '../text/figures.ts'
import { keyPortsOf } from './keys.ts'
import { sinceWhen } from './since-when.ts'

export interface ArchiveOptions {
  readonly before: string
  readonly out: string
  readonly json?: true
}

const sessionsMax = 1_000

export async function archive(options: ArchiveOptions, globals: GlobalOptions): Promise<number> {
  const { config, screen } = contextOf(globals)
  const before = sinceWhen(options.before, Date.now(), '--before')
  const system = findSystem(config, 'operator')
  await using connection = await connect(system)
  const ports = await keyPortsOf(connection, config)
  const heads = await headsToArchive(connection, before, ports)
  if (heads.length === 0) {
    if (options.json === true) screen.json({ file: null, tasks: [] })
    else screen.print(`No session ended before ${before} that is not archived yet.`)
    return 0
  }
  const sessions = [...new Map(heads.map(({ log }) => [log.session, log])).values()]
  const signer = await operatorSigner(ports)
  const source = await sessionsJournal(connection, sessions)
  const file = await writeArchive(source, resolve(options.out), new Date().toISOString())
  const sha256 = await verified(file, heads)
  const by = callerName(system.url, system.login)
  for (const { log, taskseq, hash } of heads) {
    const data = { tenant: log.tenant, session_id: log.session, task_id: log.task, taskseq, hash, file, file_sha256: sha256, by }
    await appendSystemEvent(ports.log, 'redactions', () => ({ type: 'task_archived', data }), { source: '/beaver/operator', now: ports.now, ...signer })
  }
  if (options.json === true) screen.json({ file, sha256, tasks: heads.map(({ log }) => log.task) })
  else
    screen.print(
      `${screen.symbols.done} ${counted(heads.length, 'task')} of ${counted(sessions.length, 'session')} in ${file}`,
      `The file was read again and checked. SHA-256 ${sha256}`,
      'The journal keeps the records, because nobody can delete its messages.',
    )
  return 0
}

interface Head {
  readonly log: LogId
  readonly taskseq: number
  readonly hash: string
}

/** The heads of the tasks to archive, oldest session first. */
async function headsToArchive(connection: Connection, before: string, ports: KeyPorts): Promise<Head[]> {
  const { nc, subjects } = connection
  const sessions = new Map<string, TaskSummary[]>()
  for (let cursor: number | undefined; ;) {
    const answer = await connection.client.query('tasks', { tenant: connection.tenant, limit: 200, ...(cursor === undefined ? {} : { before: cursor }) })
    for (const task of answer.tasks) sessions.set(task.session_id, [...(sessions.get(task.session_id) ?? []), task])
    if (!answer.more || answer.next === null) break
    cursor = answer.next
  }
  const ended = [...sessions.values()].filter((tasks) => tasks.every(({ ended_at: at }) => at !== null && at < before)).toReversed()
  const reader = await journalReader(nc, subjects)
  const events = await readTrustedEvents('redactions', ports.log, await readKeyRing(ports))
  const archived = new Set(events.flatMap((event) => (event.type === 'task_archived' ? [event.data.hash] : [])))
  const heads: Head[] = []
  let taken = 0
  for (const tasks of ended) {
    const ofSession = await Promise.all(tasks.toReversed().map(async (task) => headOf(task, await reader.last(logOf(task)))))
    if (ofSession.every(({ hash }) => archived.has(hash))) continue
    heads.push(...ofSession)
    if (++taken === sessionsMax) break
  }
  return heads
}

const logOf = ({ tenant, session_id: session, task_id: task }: TaskSummary): LogId => ({ tenant, session, task }) as LogId

function headOf(task: TaskSummary, last: Parameters<typeof newestRecord>[0] | null): Head {
  if (last === null) throw new BeaverError('corrupt_journal', `The read model has the task ${task.task_id}, and the journal does not.`)
  const newest = newestRecord(last)
  if (newest === null) throw new BeaverError('corrupt_journal', `The log of the task ${task.task_id} ends with a message that is no record.`)
  const { taskseq, hash } = newest
  return { log: logOf(task), taskseq, hash }
}

/** Returns the path of the complete file. */
async function writeArchive(source: JournalSource, folder: string, at: string): Promise<string> {
  const file = join(folder, `beaver-archive-${source.about.namespace}-${at.replaceAll(':', '').replace(/\.\d+/, '')}.ndjson`)
  const partial = `${file}.partial`
  try {
    await mkdir(folder, { recursive: true })
    await pipeline(
      async function* lines() {
        for await (const line of exportLines(source, at)) yield `${line}\n`
      },
      createWriteStream(partial, { mode: 0o600, flags: 'wx' }),
    )
    await synced(partial)
    await rename(partial, file)
    await synced(folder)
    return file
  } catch (cause) {
    await rm(partial, { force: true })
    throw new BeaverError('internal', `The archive could not be written to ${file}: ${messageOf(cause)}`, { cause })
  }
}

async function synced(path: string): Promise<void> {
  await using handle = await open(path)
  await handle.sync()
}

/**
 * Reads the file again from the disk. It must pass the independent check and end each log with the head that the journal has.
 *
 * @returns the SHA-256 of the file
 */
async function verified(file: string, heads: readonly Head[]): Promise<string> {
  const { findings } = await checkJournal(await openExport(file), { now: Date.now() })
  const [first] = findings
  if (first !== undefined)
    throw new BeaverError('corrupt_journal', `The archive ${file} does not pass the check: ${first.message}. Nothing was recorded. See "beaver check".`)
  const hash = createHash('sha256')
  let rest = ''
  const missing = new Map(heads.map((head) => [`"hash":"${head.hash}"`, head]))
  for await (const chunk of createReadStream(file)) {
    const bytes = chunk as Buffer
    hash.update(bytes)
    const text = rest + bytes.toString('latin1').replaceAll('\\"', '"')
    for (const [mark] of missing) if (text.includes(mark)) missing.delete(mark)
    rest = text.slice(-200)
  }
  const [absent] = missing.values()
  if (absent !== undefined)
    throw new BeaverError(
      'corrupt_journal',
      `The archive ${file} lacks the end of the task ${absent.log.task} (${count(missing.size)} in all). Nothing was recorded.`,
    )
  return hash.digest('hex')
}
