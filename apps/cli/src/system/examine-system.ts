// Asks a running system about itself: the server, the journal, the daemons, the projector and the tasks. All
// questions are asked at the same time, once each, and end within a bounded time. A question without an
// answer gives a reason, never an error. system-findings.ts decides what the answers mean.
import type { ProjectorStatus, QueryOutput, TaskStatusFilter, TaskSummary } from '@beaver/contracts'
import type { DaemonStatus } from '@beaver/client'
import { BeaverError, messageOf } from '@beaver/core'
import {
  type PlacedStream,
  placedStreams,
  type PresentDaemon,
  presentDaemons,
  shownUrl,
  type StreamLook,
  streamPulse,
} from '@beaver/nats'
import { type Connection, connect } from '../connection.ts'
import type { FoundSystem } from './find-system.ts'

/** An answer, or the reason why there is none. */
export type Asked<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'unanswered'; readonly reason: string }

/** What a running system says about itself. */
export interface SystemReport {
  readonly server: string
  readonly version: string
  /** The size of the largest message that the server accepts, in bytes. */
  readonly messageBytesMax: number
  readonly stream: string
  /** The process id of `beaver up`; `null` if the system was not found by its home. */
  readonly pid: number | null
  /** The path of the embedded server's log. `null`: unknown. */
  readonly serverLog: string | null
  readonly look: StreamLook
  /** The streams and the servers that hold them. Empty: unknown. */
  readonly streams: readonly PlacedStream[]
  readonly daemons: readonly PresentDaemon[]
  /** The status of the daemon that answered first. */
  readonly daemon: Asked<DaemonStatus>
  readonly projector: Asked<ProjectorStatus>
  /** The answer of the audit. With `verify`, the newest tasks were compared with the journal just now. */
  readonly audit: Asked<QueryOutput<'audit'>>
  /**
   * The newest tasks that wait, for a person or for something else. `failed`: the newest tasks that failed.
   */
  readonly waiting: readonly TaskSummary[]
  readonly failed: readonly TaskSummary[]
}

const answerMsMax = 3_000
/** How long a daemon waits for its endpoints, in milliseconds. */
const endpointsMsMax = 3_000
const presenceMs = 400
const shownMax = 50

/**
 * Examines the system.
 *
 * @throws {BeaverError} `unreachable`, `server_too_old`
 */
export async function examineSystem(
  found: FoundSystem,
  { verify = false }: { readonly verify?: boolean } = {},
): Promise<SystemReport> {
  await using connection = await connect(found, { daemonMs: 0 })
  const { nc, subjects } = connection
  const tasks = async (status: TaskStatusFilter): Promise<readonly TaskSummary[]> => {
    const answer = await asked(connection.client.query('tasks', { status, limit: shownMax }))
    return answer.kind === 'answered' ? answer.value.tasks : []
  }
  const [look, streams, daemons, daemon, projector, audit, waiting, waitingForApproval, failed] =
    await Promise.all([
      streamPulse(nc, subjects.stream).look(),
      placedStreams(nc, subjects, ['journal', 'blobs']).catch(() => []), // The look says why the journal does not answer.
      presentDaemons(nc, subjects, { waitMs: presenceMs, emptyMs: 3 * presenceMs }),
      asked(statusOf(connection, verify ? 'asked' : 'known'), answerMsMax + endpointsMsMax),
      asked(connection.client.query('status')),
      asked(connection.client.query('audit', { verify, limit: 1 })),
      tasks('waiting'),
      tasks('waiting_for_approval'),
      tasks('failed'),
    ])
  const both = new Map([...waiting, ...waitingForApproval].map((task) => [task.task_id, task]))
  return {
    server: shownUrl(found.url),
    version: nc.info?.version ?? 'of unknown version',
    messageBytesMax: nc.info?.max_payload ?? Infinity,
    stream: subjects.stream,
    pid: found.pid,
    serverLog: found.serverLog ?? null,
    look,
    streams,
    daemons: withAnswering(daemons, daemon),
    daemon,
    projector,
    audit,
    waiting: [...both.values()].toSorted((a, b) =>
      (a.submitted_at ?? '').localeCompare(b.submitted_at ?? ''),
    ),
    failed,
  }
}

/** Asks for the status, without the endpoints if the daemon is too old to know them. */
async function statusOf({ daemonStatus }: Connection, endpoints: 'asked' | 'known'): Promise<DaemonStatus> {
  try {
    return await daemonStatus(answerMsMax + (endpoints === 'asked' ? endpointsMsMax : 0), endpoints)
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'invalid_arguments') return daemonStatus(answerMsMax)
    throw error
  }
}

/**
 * Adds the daemon that answered to the present daemons: it may have been too busy to report its presence in
 * time.
 */
function withAnswering(
  daemons: readonly PresentDaemon[],
  answered: Asked<DaemonStatus>,
): readonly PresentDaemon[] {
  if (answered.kind !== 'answered' || daemons.some(({ daemon }) => daemon === answered.value.daemon))
    return daemons
  const { daemon, tasks } = answered.value
  return [...daemons, { daemon, tasks }].toSorted((a, b) => (a.daemon < b.daemon ? -1 : 1))
}

async function asked<T>(question: Promise<T>, withinMs = answerMsMax): Promise<Asked<T>> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`There was no answer within ${withinMs / 1000} s.`)), withinMs).unref()
  })
  try {
    return { kind: 'answered', value: await Promise.race([question, late]) }
  } catch (error) {
    return { kind: 'unanswered', reason: messageOf(error) }
  }
}
