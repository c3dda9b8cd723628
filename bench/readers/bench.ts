// bench readers: 100,000 reads of blobs and 10,000 watches of tasks. What do they leave behind on the server,
// and does one fail?
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { hash, randomBytes } from 'node:crypto'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { clientOn } from '@beaver/client'
import type { BlobStore } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import {
  connectNats,
  ensureJournalStream,
  natsBlobStore,
  natsJournal,
  startEmbeddedServer,
  type Subjects,
  subjectsOf,
} from '@beaver/nats'
import { journalMessages } from '../projection/journal.ts'

const blobReads = Number(process.env['BENCH_BLOB_READS'] ?? 100_000)
const watches = Number(process.env['BENCH_WATCHES'] ?? 10_000)
const blobBytes = 70_000
const [blobsStored, tasksStored, readsAtOnce] = [200, 500, 16]
const consumersMax = 10

export async function run({ json }: { json: boolean }): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`)
  const dataDir = mkdtempSync(join(tmpdir(), 'beaver-bench-'))
  process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  const { natsServer } = JSON.parse(
    readFileSync(new URL('../../.beaver/tools/paths.json', import.meta.url), 'utf8'),
  ) as { natsServer: string }
  const server = await startEmbeddedServer({ binary: natsServer, dataDir, sync: 'default' })
  const nc = await connectNats({ url: server.url, name: 'bench' })
  const subjects = subjectsOf('bench')
  const jsm = await ensureJournalStream(nc, subjects)
  const journal = await natsJournal(nc, subjects)
  const consumers: Record<string, number> = {}
  const look = async (): Promise<void> => {
    for await (const { config, state } of jsm.streams.list())
      consumers[config.name] = Math.max(consumers[config.name] ?? 0, state.consumer_count)
  }
  try {
    const blobs = await natsBlobStore(nc, subjects)
    const names = await storeBlobs(blobs)
    const tasks = await storeTasks(nc, subjects)
    const read = await inLanes(blobReads, async (i) => {
      if ((await blobs.get(names[i % names.length] as string)).length !== blobBytes)
        throw new Error('a blob has another length')
      if (i % 10_000 === 0) await look()
    })
    say(`blobs read: ${blobReads}, ${read.errors} errors, ${Math.round(read.perSecond)}/s`)
    const client = clientOn(nc, subjects)
    const watched = await inLanes(watches, async (i) => {
      const seen: RecordedEvent[] = []
      for await (const event of client.watch(tasks[i % tasks.length] as string)) seen.push(event)
      if (seen.at(-1)?.type !== 'task_completed') throw new Error('a watch ended before its task')
      if (i % 1_000 === 0) await look()
    })
    say(`watched: ${watches}, ${watched.errors} errors, ${Math.round(watched.perSecond)}/s`)
    await look()
    const figures = {
      blob_reads: blobReads,
      blob_read_errors: read.errors,
      blob_reads_per_second: Math.round(read.perSecond),
      watches,
      watch_errors: watched.errors,
      watches_per_second: Math.round(watched.perSecond),
      consumers_most: consumers,
    }
    if (json) process.stdout.write(`${JSON.stringify({ bench: 'readers', figures })}\n`)
    else process.stdout.write(table(figures))
  } finally {
    journal.close()
    await nc.close()
    await server.stop()
  }
}

async function storeBlobs(blobs: BlobStore): Promise<string[]> {
  const names: string[] = []
  for (let i = 0; i < blobsStored; i++) {
    const bytes = randomBytes(blobBytes)
    names.push(hash('sha256', bytes))
    await blobs.put(names[i] as string, bytes)
  }
  return names
}

/** Whole tasks, as a daemon writes them; returns their ids. */
async function storeTasks(
  nc: Awaited<ReturnType<typeof connectNats>>,
  subjects: Subjects,
): Promise<string[]> {
  const known = new Set<string>()
  for (const { log, payload } of journalMessages({ kinds: ['loop', 'report'] })) {
    const first = !known.has(log.task)
    if (first && known.size === tasksStored) break
    known.add(log.task)
    if (first)
      await nc.request(subjects.taskId(log.tenant, log.task), JSON.stringify({ session: log.session }))
    await nc.request(first ? subjects.accepted(log) : subjects.events(log), payload)
  }
  return [...known]
}

/** Does `act` for 0 to `count` - 1, some at a time; what it throws is counted. */
async function inLanes(
  count: number,
  act: (i: number) => Promise<void>,
): Promise<{ errors: number; perSecond: number }> {
  let [next, errors] = [0, 0]
  const begun = performance.now()
  const lane = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) {
      await act(i).catch((error: unknown) => {
        if (errors++ < 5) process.stderr.write(`${String(error)}\n`)
      })
    }
  }
  await Promise.all(Array.from({ length: readsAtOnce }, lane))
  return { errors, perSecond: (count / (performance.now() - begun)) * 1000 }
}

function table(figures: {
  blob_reads: number
  blob_read_errors: number
  blob_reads_per_second: number
  watches: number
  watch_errors: number
  watches_per_second: number
  consumers_most: Readonly<Record<string, number>>
}): string {
  const {
    blob_reads,
    blob_read_errors,
    blob_reads_per_second,
    watches: watched,
    watch_errors,
    watches_per_second,
    consumers_most,
  } = figures
  return [
    '',
    `Blobs of ${blobBytes} bytes and whole tasks, ${readsAtOnce} readers at a time; ${cpus().length} × ${cpus()[0]?.model.trim()}; Node.js ${process.version}`,
    '',
    `reads of blobs  ${String(blob_reads).padStart(7)}   ${blob_read_errors} errors   ${blob_reads_per_second}/s`,
    `watches         ${String(watched).padStart(7)}   ${watch_errors} errors   ${watches_per_second}/s`,
    ...Object.entries(consumers_most).map(
      ([stream, most]) => `consumers of ${stream.padEnd(24)} at most ${most}   (goal ≤ ${consumersMax})`,
    ),
    '',
  ].join('\n')
}
