// Gathers what an audit of a running system needs besides the messages: the keys, the checkpoints that were
// kept, and the proofs of the projector. Nothing of this is trusted here: packages/check verifies it. Without
// a projector, a whole journal can still be compared with the kept checkpoints.
import { createPublicKey } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Evidence,
  type GivenCheckpoint,
  type JournalSource,
  natsSource,
  type ProofOfInclusion,
  type StreamMessage,
} from '@beaver/check'
import type { QueryOutput } from '@beaver/contracts'
import { BeaverError, whyUnreadable } from '@beaver/core'
import { noteKeyText, readCheckpoint } from '@beaver/core/journal'
import { findTask as findLog, type Subjects } from '@beaver/nats'
import { type Config, homeKeys } from '@beaver/platform'
import type { Connection } from '../connection.ts'
import { findTask } from '../commands/find-task.ts'
import { ask } from '../commands/query.ts'
import { systemJournal } from './journal-source.ts'

type Proofs = QueryOutput<'proof'>

/**
 * Reads the checkpoints of a file: one note, or lines `{"time": …, "note": …}`.
 *
 * @throws {BeaverError} `not_found`, `invalid_arguments`
 */
export function checkpointsIn(file: string): GivenCheckpoint[] {
  const text = textOf(file)
  if (readCheckpoint(text) !== null) return [{ note: text, from: file }]
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const notes = lines.flatMap((line, i) => {
    const note = noteIn(line)
    return note === null ? [] : [{ note, from: `line ${i + 1} of ${file}` }]
  })
  if (notes.length === 0) throw new BeaverError('invalid_arguments', `There is no checkpoint in ${file}.`)
  return notes
}

function noteIn(line: string): string | null {
  try {
    const { note, checkpoint } = JSON.parse(line) as {
      readonly note?: unknown
      readonly checkpoint?: unknown
    }
    const text = note ?? checkpoint
    return typeof text === 'string' ? text : null
  } catch {
    return null
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new BeaverError('not_found', `The file ${file} cannot be read: ${whyUnreadable(cause)}.`, { cause })
  }
}

/** A key that the user gave as a text or as the path of a file. */
export function givenKey(text: string): string {
  return existsSync(text) ? textOf(text).trim() : text
}

/** What a home knows about a journal. */
export interface KnownToHome {
  /** The key of the home's projector. Empty if the home knows an operator, who decides which keys count. */
  readonly keys: readonly string[]
  readonly operator: string | null
  /** The checkpoints that the projector kept in the home. */
  readonly checkpoints: readonly GivenCheckpoint[]
}

/** Reads what the home knows about the journal of these subjects. */
export function knownToHome(
  { home, keysFolder }: Pick<Config, 'home' | 'keysFolder'>,
  { stream, fileName }: Subjects,
): KnownToHome {
  const kept = join(home, `checkpoints-${fileName}.ndjson`)
  const operator = homeKeys(keysFolder).pinned(stream)
  const checkpoints = existsSync(kept) && textOf(kept).trim() !== '' ? checkpointsIn(kept) : []
  const origins = new Set(checkpoints.flatMap(({ note }) => readCheckpoint(note)?.origin ?? []))
  const key = join(keysFolder, 'projector.key')
  if (operator !== null || !existsSync(key)) return { keys: [], operator, checkpoints }
  const publicKey = createPublicKey(textOf(key)).export({ type: 'spki', format: 'der' }).subarray(-32)
  return { keys: [...origins].map((name) => noteKeyText({ name, publicKey })), operator, checkpoints }
}

/** The whole journal, with the current checkpoint of the projector if a projector answers. */
export async function wholeJournal(connection: Connection): Promise<JournalSource> {
  const proofs = await ask(connection, 'proof', {}).catch(() => null)
  const source = await systemJournal(connection)
  return proofs === null ? source : { ...source, evidence: evidenceOf(proofs) }
}

/**
 * The logs of some tasks and the system logs, with proofs.
 *
 * @throws {BeaverError} `not_found`; `no_daemon` if no projector answers
 */
export async function journalOf(
  connection: Connection,
  typed: readonly string[],
  older: readonly GivenCheckpoint[],
): Promise<JournalSource> {
  const { nc, subjects, tenant } = connection
  const taskIds = await Promise.all(typed.map(async (text) => (await findTask(connection, text)).taskId))
  const sizes = older.flatMap(({ note }) => readCheckpoint(note)?.size ?? [])
  const proofs = await ask(connection, 'proof', { task_ids: taskIds })
  const wanted = [...new Set(sizes)].filter((size) => size <= proofs.size)
  const { consistency } = await ask(connection, 'proof', {
    size: proofs.size,
    older: wanted.slice(0, olderMax),
  })
  const logs = await Promise.all(taskIds.map((id) => findLog(nc, subjects, tenant, id)))
  const names = logs.flatMap((log) => (log === null ? [] : [subjects.accepted(log), subjects.events(log)]))
  const { namespace, stream, blobBucket } = subjects
  const source = await natsSource(nc, {
    namespace,
    stream,
    blobBucket,
    subjects: [...names, subjects.system('keys'), subjects.system('redactions')],
  })
  return {
    ...source,
    evidence: {
      ...evidenceOf(proofs),
      consistency: consistency.map(({ size, hashes }) => ({ size, hashes: hashes.map(bytes) })),
    },
    async *pages() {
      for await (const page of source.pages()) yield await withProofs(connection, page, proofs)
    },
  }
}

const olderMax = 64
/** The largest number of messages that the projector proves in one answer. */
const proofsMax = 100

/** Adds the proofs to the messages. Messages that are newer than the proofs are left out. */
async function withProofs(
  connection: Connection,
  page: readonly StreamMessage[],
  { size }: Proofs,
): Promise<StreamMessage[]> {
  const bySequence = new Map<number, Proofs['inclusion'][number]>()
  for (let from = 0; from < page.length; from += proofsMax) {
    const sequences = page.slice(from, from + proofsMax).map(({ sequence }) => sequence)
    for (const each of (await ask(connection, 'proof', { size, sequences })).inclusion)
      bySequence.set(each.sequence, each)
  }
  return page.flatMap((message): StreamMessage[] => {
    const found = bySequence.get(message.sequence)
    if (found === undefined || found.index === null) return []
    const proof: ProofOfInclusion = { index: found.index, hashes: found.hashes.map(bytes) }
    return [{ ...message, proof }]
  })
}

const bytes = (base64: string): Uint8Array => Buffer.from(base64, 'base64')

const evidenceOf = ({ key, checkpoint, heads }: Proofs): Evidence => ({
  keys: key === null ? [] : [key],
  checkpoint,
  heads,
  consistency: [],
})
