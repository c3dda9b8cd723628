// The Journal port on JetStream: one stream, one message for each entry, and two subjects for each log, for
// its first entry and for all later ones. The fence is `Nats-Expected-Last-Subject-Sequence`. There is no
// `Nats-Msg-Id`, because a duplicate id would hide a refused write.
// A task in the session of its own name is accepted by one message, which fences the id and the session. Any
// other acceptance is an atomic batch with an entry that claims the id (docs/decisions/0031).
import type { LogId } from '@beaver/core'
import {
  type Acceptance,
  type AcceptOutcome,
  ArchivedMessages,
  type Entry,
  type Journal,
  lastHashOf,
  leafContent,
} from '@beaver/core/journal'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { GroupCommit, type WriteUnit } from './group-commit.ts'
import { entriesOf, findLog, firstEntry, lastEntry, tailOf, taskAfter } from './journal-reader.ts'
import type { JournalTrust } from './journal-trust.ts'
import { storedMessageOf, streamExists } from './leader-read.ts'
import { lineOf } from './line.ts'
import { hearsMost } from './other-server.ts'
import type { Write } from './publish-batch.ts'
import { ensureJournalStream } from './stream.ts'
import type { Subjects } from './subjects.ts'

export interface NatsJournal extends Journal {
  settled(): Promise<void>
  /** How long neither a waiting write nor the clock's regular look has had an answer, in milliseconds. */
  readonly silentMs: number
  close(): void
}

/** The most that the subject and the headers of a message need. */
const frameBytesMax = 8 * 1024
const payloadBytesDefault = 1_048_576
const entryBytesBound = 900 * 1024

export interface JournalSignatures {
  readonly trust: Pick<JournalTrust, 'faultOf' | 'removals'>
  /** The signatures of the messages of one commit, from the contents of their leaves. */
  readonly sign: (leaves: readonly string[]) => readonly string[]
}

/** @param signatures default: nothing is signed, and no signature is judged */
export async function natsJournal(
  nc: NatsConnection,
  subjects: Subjects,
  signatures: JournalSignatures | null = null,
): Promise<NatsJournal> {
  const jsm = await ensureJournalStream(nc, subjects)
  const clock: ServerClock = await serverClock(nc, subjects)
  const commits = new GroupCommit(nc, {
    name: subjects.stream,
    async lastMessage(subject) {
      const found = await storedMessageOf(jsm, subjects.stream, { last_by_subj: subject })
      return found === null ? null : { sequence: found.revision, payload: found.payload }
    },
    exists: () => streamExists(jsm, subjects.stream),
    sign: signatures?.sign,
  })
  const leafOf = signatures === null ? () => undefined : signedLeaf

  return {
    async append({ log, expectedRevision, payloads }) {
      const subject = subjects.events(log)
      const outcome = await commits.write({
        writes: fenced(subject, expectedRevision, payloads, (payload) => leafOf(log, payload)),
        touches: [subject],
      })
      return outcome.kind === 'stored'
        ? { kind: 'appended', revision: outcome.lastSequence }
        : { kind: 'fenced' }
    },
    async accept(acceptance) {
      const { log, payloads } = acceptance
      const unit = acceptanceUnit(subjects, acceptance, leafOf)
      const outcome = await commits.write(unit)
      if (outcome.kind === 'stored') {
        const { lastSequence: lastRevision } = outcome
        const first = unit.writes.findIndex(({ payload }) => payload === payloads[0])
        const acceptedRevision = lastRevision - (unit.writes.length - 1 - first)
        const revision = payloads.length === 1 ? 0 : acceptedRevision + payloads.length - 1
        return {
          kind: 'accepted',
          acceptedRevision,
          revision,
          lastRevision,
          signature: unit.writes[first]?.signature,
        }
      }
      const by = await findLog(jsm, subjects, log.tenant, log.task)
      return by === null ? { kind: 'tail_moved' } : ({ kind: 'id_taken', by } satisfies AcceptOutcome)
    },
    find: (tenant, task) => findLog(jsm, subjects, tenant, task),
    sessionTail: (tenant, session) => tailOf(nc, jsm, subjects, { tenant, session }),
    next: (log, acceptedRevision) => taskAfter(jsm, subjects, log, acceptedRevision),
    first: (log) => firstEntry(jsm, subjects, log),
    last: (log) => lastEntry(jsm, subjects, log),
    async read(log) {
      const entries: Entry[] = []
      for await (const entry of entriesOf(nc, jsm, subjects, log)) entries.push(entry)
      return entries
    },
    signatureFault: async (log, entry) => (await signatures?.trust.faultOf(log, entry)) ?? null,
    archived: async () =>
      (await signatures?.trust.removals())?.archived ?? new ArchivedMessages(subjects.tenant, []),
    now: () => clock.now(),
    get entryBytesMax() {
      return Math.min(entryBytesBound, (nc.info?.max_payload ?? payloadBytesDefault) - frameBytesMax)
    },
    settled: () => commits.settled(),
    get silentMs() {
      return Math.max(commits.waitingMs, clock.silentMs)
    },
    close: () => clock.close(),
  }
}

/** The content of a message's leaf; `undefined` if the message is not signed. */
type LeafOf = (log: LogId, payload: Uint8Array) => string | undefined

function signedLeaf(log: LogId, payload: Uint8Array): string | undefined {
  const recordHash = lastHashOf(payload)
  return recordHash === null ? undefined : leafContent(log, recordHash)
}

/**
 * Only the first message of a subject has a fence: the server stores the rest of a batch directly after it.
 */
function fenced(
  subject: string,
  expectedRevision: number,
  payloads: readonly Uint8Array[],
  leafOf: (payload: Uint8Array) => string | undefined,
): Write[] {
  return payloads.map((payload, i) => ({
    subject,
    expectedSequence: i === 0 ? expectedRevision : null,
    payload,
    leaf: leafOf(payload),
  }))
}

function acceptanceUnit(
  subjects: Subjects,
  { log, payloads, tail, followers = [] }: Acceptance,
  leafOf: LeafOf,
): WriteUnit {
  const { tenant, session, task } = log
  const [first = new Uint8Array(), ...later] = payloads
  const place = {
    subject: subjects.accepted(log),
    expectedSequence: tail.revision,
    payload: first,
    leaf: leafOf(log, first),
  }
  const events = fenced(subjects.events(log), 0, later, (payload) => leafOf(log, payload))
  const ofSession = `session ${subjects.session(tenant, session)}`
  if (session === (task as string) && tail.revision === 0)
    return {
      writes: [{ ...place, fence: subjects.session(tenant, session) }, ...events],
      touches: [ofSession, `id ${subjects.taskId(tenant, task)}`],
    }
  const own = {
    writes: [
      idClaim(subjects, log),
      { ...place, fence: subjects.sessionAccepted(tenant, session) },
      ...events,
    ],
    touches: namesOf(subjects, log),
  }
  // The first place has the fence of the session, and covers the others of its batch.
  const behind = followers.map(({ log: each, payload }) => ({
    writes: [
      idClaim(subjects, each),
      { subject: subjects.accepted(each), expectedSequence: null, payload, leaf: leafOf(each, payload) },
    ],
    touches: namesOf(subjects, each),
  }))
  return {
    writes: [own, ...behind].flatMap(({ writes }) => writes),
    touches: [ofSession, ...[own, ...behind].flatMap(({ touches }) => touches)],
  }
}

/** The entry that gives an id to a session of another name. */
function idClaim(subjects: Subjects, { tenant, session, task }: LogId): Write {
  const payload = Buffer.from(JSON.stringify({ session }))
  return {
    subject: subjects.taskId(tenant, task),
    expectedSequence: 0,
    fence: subjects.taskIdClaims(tenant, task),
    payload,
  }
}

/** A claim on an id has the id as a session in its subject, so it also belongs to that session. */
function namesOf(subjects: Subjects, { tenant, task }: LogId): string[] {
  return [
    `id ${subjects.taskId(tenant, task)}`,
    `session ${subjects.session(tenant, task as string as LogId['session'])}`,
  ]
}

// The journal's clock gives the server's time, so that all daemons have the same time. Between two looks it
// follows this process's steady clock. Each look also shows whether the stream answers, even if nobody
// writes. An answer of a leader that is cut off from the other servers does not count: it can store nothing.

interface ServerClock {
  /** Milliseconds since 1970. */
  now(): number
  /** How long looks have had no answer, in milliseconds; 0 if the last look was answered. */
  readonly silentMs: number
  close(): void
}

const checkEveryMs = 1_000
const answerMsMax = 2_000

/** Asks once before it resolves. @throws {Error} if the stream does not answer */
async function serverClock(nc: NatsConnection, { stream }: Pick<Subjects, 'stream'>): Promise<ServerClock> {
  const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: answerMsMax })
  let offsetMs = 0
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let silentSince: number | null = null

  async function checkStream(): Promise<void> {
    const sent = performance.now()
    silentSince ??= sent
    const { ts, cluster } = await lineOf(nc).unlessCut(() => jsm.streams.info(stream))
    const received = performance.now()
    if (!hearsMost(cluster)) throw new Error('the leader of the stream does not hear the other servers')
    silentSince = null
    if (ts !== undefined) offsetMs = Date.parse(ts) - (sent + received) / 2
  }

  function again(): void {
    if (closed || nc.isClosed()) return
    timer = setTimeout(() => void checkStream().then(again, again), checkEveryMs)
    timer.unref()
  }

  await checkStream()
  again()
  return {
    now: () => Math.round(performance.now() + offsetMs),
    get silentMs() {
      return silentSince === null ? 0 : performance.now() - silentSince
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
