// Makes a validated task durable at the end of its session. The tasks of a session form a chain: each names
// the one that was accepted before it (D-47). Tasks that wait for one session at the same moment are accepted
// with one write, in the order of their requests. task-intake.ts validates requests.
import type { SubmittedTask } from '@beaver/contracts'
import {
  type Asker,
  BeaverError,
  type BlobStore,
  canonicalJson,
  type Clock,
  event,
  type Logger,
  type LogId,
  taskFacts,
  type TaskRequest,
} from '@beaver/core'
import type { ImagePart } from '@beaver/core/images'
import {
  type AcceptOutcome,
  draft,
  emptyHead,
  joinBatch,
  type Journal,
  LogReader,
  seal,
  sealedEvent,
  type SealedRecord,
  type SessionTail,
} from '@beaver/core/journal'
import { maskedData } from '@beaver/core/secrets'
import type { TraceContext } from '@beaver/core/trace'
import type { BudgetRules } from './budget-rules.ts'
import type { TaskDriver } from './task-driver-ports.ts'
import { isUnverified } from './final-faults.ts'
import { loadTask } from './load-task.ts'
import { openedAcceptance, type Opening } from './opened-task.ts'
import { type Place, type SessionLines, sessionLines } from './session-lines.ts'
import type { WorkspaceFolders } from './workspace-folders.ts'

/** What accepting a task needs that is validated. */
export interface AcceptPorts {
  readonly journal: Journal
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly logger: Logger
  readonly source: string
  readonly tenant: string
  readonly folders: WorkspaceFolders
  readonly lines: SessionLines<Asked>
  /** What the configuration gives each task. Absent: nothing is bounded. */
  readonly budgets?: Pick<BudgetRules, 'budgets'>
  /**
   * Drives a task from its acceptance on; `null` if there is no room for it. Absent: the queue delivers every
   * task.
   */
  readonly open?: TaskDriver['open']
  /** Gets each task that was accepted without being driven. */
  readonly enqueue?: TaskDriver['enqueue']
}

/** Who asked, and in which trace. */
export interface AskedBy extends Pick<Asker, 'by'> {
  /** `null` or absent: nobody said one. */
  readonly trace?: TraceContext | null
}

/** A task that is to be accepted. */
export interface Asked extends AskedBy {
  readonly log: LogId
  readonly task: TaskRequest
  readonly ports: AcceptPorts
  readonly sinceMs: number
  /** How many refused batches began with this task. */
  batches: number
  readonly resolve: (submitted: SubmittedTask) => void
  readonly reject: (error: unknown) => void
}

const busyMsMax = 30_000
/** The journal takes at most 200 messages as one write, and each task is two of them. */
const togetherMax = 100
const togetherBytesMax = 4 * 1024 * 1024
/** After so many refused batches, their first task is accepted alone. */
const batchesMax = 10

/**
 * Accepts a task at the end of its session. If another daemon accepts tasks of the session meanwhile, the end
 * of the session is read again, for at most `busyMsMax`.
 *
 * @param of.newSession the session was made up just now
 * @param of.by who asked, and `of.trace` in which trace
 * @param of.place its place among the requests for the session; default: the last
 * @throws {BeaverError} `conflict`; `not_allowed` if the session belongs to another user; `unreachable`
 */
export function acceptTask(
  log: LogId,
  task: TaskRequest,
  ports: AcceptPorts,
  of: { newSession?: boolean; place?: Place<Asked> } & AskedBy = {},
): Promise<SubmittedTask> {
  const { promise, resolve, reject } = Promise.withResolvers<SubmittedTask>()
  const by = of.by === undefined ? {} : { by: of.by }
  const { trace = null } = of
  const asked: Asked = {
    log,
    task,
    ports,
    ...by,
    trace,
    sinceMs: ports.clock.now(),
    batches: 0,
    resolve,
    reject,
  }
  // Nobody else knows a session that was made up just now.
  if (of.newSession === true)
    acceptAlone(asked, { task: null, revision: 0 }).then(
      (done) => done || ports.lines.place(log.tenant, log.session).enter(asked),
      reject,
    )
  else (of.place ?? ports.lines.place(log.tenant, log.session)).enter(asked)
  return promise
}

/**
 * Answers a request for an id that names a task already. @throws {BeaverError} `conflict` if the request or
 * its session differs
 */
export async function repeated(
  there: LogId,
  asked: LogId,
  task: TaskRequest,
  ports: AcceptPorts,
): Promise<SubmittedTask> {
  if (there.session !== asked.session)
    throw new BeaverError(
      'conflict',
      `The task id ${there.task} is already used in another session. Use another id, or leave it out.`,
    )
  const { state } = await loadTask(there, ports)
  if (state.submitted !== null && same(maskedData(state.submitted.request), task))
    return { task_id: there.task, session_id: there.session }
  throw new BeaverError(
    'conflict',
    `Another request already used the task id ${there.task}. Use another id, or leave it out.`,
  )
}

/** The waiting lines of a daemon that accepts tasks. */
export const acceptanceLines = (clock: Clock): SessionLines<Asked> => sessionLines(clock, acceptFront)

/**
 * Accepts the first task that waits for a session, and the tasks behind it that fit the same write.
 *
 * @returns the tasks that have an answer now
 */
async function acceptFront(waiting: readonly [Asked, ...Asked[]]): Promise<readonly Asked[]> {
  const [{ log, ports }] = waiting
  try {
    const tail = await ports.journal.sessionTail(log.tenant, log.session)
    const owner = tail.task === null ? null : await ownerOf({ ...log, task: tail.task }, ports)
    const front = tail.task === null ? waiting.slice(0, 1) : frontOf(waiting)
    const [refused, allowed] = [
      front.filter(({ task }) => !mayFollow(owner, task)),
      front.filter(({ task }) => mayFollow(owner, task)),
    ]
    for (const each of refused) each.reject(wrongOwner(owner, log.session))
    const [first] = allowed
    if (first === undefined) return refused
    if (allowed.length > 1) {
      const outcome = await acceptTogether(allowed, tail)
      if (outcome === 'accepted') return front
      // Another daemon was faster, so all are tried again behind what it wrote. If that does not help, the id
      // of a task behind the first may be the reason.
      const goneOn =
        outcome === 'tail_moved' &&
        (await ports.journal.sessionTail(log.tenant, log.session)).revision !== tail.revision
      if (goneOn && ++first.batches < batchesMax) return refused
    }
    return (await acceptAlone(first, tail)) ? [...refused, first] : refused
  } catch (error) {
    for (const each of waiting) each.reject(error)
    return waiting
  }
}

const mayFollow = (owner: SessionOwner | null, task: TaskRequest): boolean =>
  owner === null || owner.userId === task.user_id

function frontOf(waiting: readonly Asked[]): readonly Asked[] {
  const ids = new Set<string>()
  let bytes = 0
  const end = waiting.findIndex(({ log, task }) => {
    bytes += canonicalJson(task).length
    const full = ids.size > 0 && (ids.size === togetherMax || bytes > togetherBytesMax || ids.has(log.task))
    ids.add(log.task)
    return full
  })
  return end === -1 ? waiting : waiting.slice(0, end)
}

/** Stores all of the tasks or none. `id_taken`: the id of the first one. */
async function acceptTogether(asked: readonly Asked[], tail: SessionTail): Promise<AcceptOutcome['kind']> {
  const sealed: SealedRecord[] = []
  for (const [i, each] of asked.entries())
    sealed.push((await sealedTask(each, i === 0 ? tail.task : (asked[i - 1] as Asked).log.task)).record)
  const [first, ...followers] = asked.map(({ log }, i) => ({
    log,
    payload: joinBatch([sealed[i] as SealedRecord]),
  }))
  const { ports } = asked[0] as Asked
  const line = first as NonNullable<typeof first>
  const outcome = await ports.journal.accept({ log: line.log, payloads: [line.payload], tail, followers })
  if (outcome.kind !== 'accepted') return outcome.kind
  for (const { log, resolve } of asked) {
    taskFacts.accepted(ports.logger, log)
    resolve({ task_id: log.task, session_id: log.session })
  }
  return outcome.kind
}

/** @returns whether it has an answer; `false`: another task was accepted in the session meanwhile */
async function acceptAlone(asked: Asked, tail: SessionTail): Promise<boolean> {
  const { log, task, ports, resolve, reject, sinceMs } = asked
  try {
    const first = await sealedTask(asked, tail.task)
    const outcome =
      (await openHere(log, first, tail, ports)) ?? (await acceptOnly(log, first.record, tail, ports))
    if (outcome.kind === 'accepted') resolve({ task_id: log.task, session_id: log.session })
    else if (outcome.kind === 'id_taken') resolve(await repeated(outcome.by, log, task, ports))
    else if (ports.clock.now() - sinceMs < busyMsMax) return false
    else
      reject(
        new BeaverError(
          'timeout',
          `The session ${log.session} is busy: other tasks were accepted in it for ${busyMsMax / 1000} s, and this one was not. Ask again.`,
        ),
      )
  } catch (error) {
    reject(error)
  }
  return true
}

async function sealedTask({ log, task, by, trace = null, ports }: Asked, previous: SessionTail['task']) {
  const who = by === undefined ? {} : { by }
  const of = {
    task_id: log.task,
    session_id: log.session,
    tenant: ports.tenant,
    previous_task_id: previous,
    request: task,
    ...who,
    ...(trace === null ? {} : { trace }),
  }
  const submitted = draft(event('task_submitted', of))
  const written = {
    epoch: 0,
    source: ports.source,
    subject: log.task,
    time: new Date(ports.clock.now()).toISOString(),
  }
  const { record, head } = seal(emptyHead, submitted, written)
  if (record.blob !== null) await ports.blobs.put(record.blob.sha256, record.blob.bytes)
  return { record, event: sealedEvent(emptyHead, submitted, written, head) }
}

/** Drives a task here if it follows no other. `null`: it is not driven, and nothing of it is stored. */
async function openHere(
  log: LogId,
  first: { record: SealedRecord; event: Opening['event'] },
  tail: SessionTail,
  ports: AcceptPorts,
): Promise<AcceptOutcome | null> {
  if (tail.task !== null || first.record.blob !== null || ports.open === undefined) return null
  const opening = { submitted: first.record, event: first.event }
  const acceptance = openedAcceptance(opening, (payloads) => ports.journal.accept({ log, payloads, tail }))
  const task = ports.open(log, acceptance.opening)
  return task === null ? null : acceptance.outcome(task.over)
}

/**
 * Accepts a task without driving it. A task that follows no other waits here for room; the end of the earlier
 * task wakes any other.
 */
async function acceptOnly(
  log: LogId,
  record: SealedRecord,
  tail: SessionTail,
  ports: AcceptPorts,
): Promise<AcceptOutcome> {
  const payload = joinBatch([record])
  const outcome = await ports.journal.accept({ log, payloads: [payload], tail })
  if (outcome.kind === 'accepted') {
    taskFacts.accepted(ports.logger, log)
    if (tail.task === null)
      ports.enqueue?.(log, {
        revision: outcome.acceptedRevision,
        payload,
        timeMs: ports.journal.now(),
        signature: outcome.signature,
      })
  }
  return outcome
}

/** Whether both ask for the same. Who follows the task, and from which time zone, makes no difference. */
function same(one: TaskRequest, other: TaskRequest): boolean {
  const asked = (request: TaskRequest): string =>
    canonicalJson({ ...request, stream: false, time_zone: '', images: [] })
  const [ofOne, ofOther] = [one.images ?? [], other.images ?? []]
  return (
    asked(one) === asked(other) &&
    ofOne.length === ofOther.length &&
    ofOne.every((image, i) => sameImage(image, ofOther[i]))
  )
}

/** Compares paths only: a repeated request does not read the file again, although it may have changed. */
function sameImage(one: ImagePart, other: ImagePart | undefined): boolean {
  return one.sha256 === '' || other?.sha256 === '' ? one.name === other?.name : one.sha256 === other?.sha256
}

// Ownership of sessions (D-67): a session belongs to the user of its first task, or to the tenant if that
// task names no user. A task may continue a session only for the same user, so the newest task shows the
// owner. A log that does not verify shows none, and no later task gets its content.

/** The owner of a session; without `userId`, the session belongs to the tenant. */
interface SessionOwner {
  readonly userId?: string | undefined
}

/** The owner of the session, by its newest task. `null`: the log of that task does not verify. */
async function ownerOf(newest: LogId, ports: OwnerPorts): Promise<SessionOwner | null> {
  const request = await requestOf(newest, ports)
  return request === null ? null : { userId: request.user_id }
}

function wrongOwner(owner: SessionOwner | null, session: string): BeaverError {
  const whose =
    owner?.userId === undefined
      ? 'began without a user, so only a task without a user continues it'
      : 'belongs to a user, and only that user continues it'
  const message = `The session ${session} ${whose}. Use another session id, or leave it out.`
  return new BeaverError('not_allowed', message, { problems: [{ path: 'session_id', message }] })
}

interface OwnerPorts {
  readonly journal: Pick<Journal, 'first'>
  readonly blobs: BlobStore
}

/** The task's request; `null` if its log does not verify. */
async function requestOf(log: LogId, { journal, blobs }: OwnerPorts): Promise<TaskRequest | null> {
  const first = await journal.first(log)
  if (first === null) return null
  try {
    for await (const event of new LogReader(log, blobs).events(first))
      return event.type === 'task_submitted' ? event.data.request : null
    return null
  } catch (error) {
    if (isUnverified(error)) return null
    throw error
  }
}
