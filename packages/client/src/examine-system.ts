// Asks a running system about itself: the server, the journal, the daemons, the projector and the tasks. All
// questions are asked at the same time, once each, and end within a bounded time. A question without an
// answer gives a reason, never an error. The command line and the gateway both ask here; system-state.ts makes
// the answer of the gateway from it.
import type {
  DaemonStatus,
  ProjectorStatus,
  QueryInput,
  QueryName,
  QueryOutput,
  TaskStatusFilter,
  TaskSummary,
} from '@beaver/contracts'
import { BeaverError, messageOf } from '@beaver/core'
import {
  type PlacedStream,
  placedStreams,
  type PresentDaemon,
  presentDaemons,
  type StreamLook,
  streamPulse,
  type Subjects,
} from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'

/** An answer, or the reason why there is none. */
export type Asked<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'unanswered'; readonly reason: string }

/** What the parts of a system say that everybody who examines it asks. */
export interface SystemLook {
  readonly look: StreamLook
  readonly streams: Asked<readonly PlacedStream[]>
  readonly daemons: Asked<readonly PresentDaemon[]>
  readonly projector: Asked<ProjectorStatus>
}

/** What a running system says about itself. */
export interface SystemExamination {
  readonly version: string
  /** The size of the largest message that the server accepts, in bytes. */
  readonly messageBytesMax: number
  readonly stream: string
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

/** What is asked of a client. */
interface SystemAsker {
  query<Name extends QueryName>(name: Name, input: QueryInput<Name>): Promise<QueryOutput<Name>>
  status(options: { timeoutMs: number; endpoints?: 'known' | 'asked' }): Promise<DaemonStatus>
}

/** Whom to ask, and over which connection. */
export interface SystemPlace {
  readonly nc: NatsConnection
  readonly subjects: Subjects
  readonly client: SystemAsker
}

export const answerMsMax = 3_000
/** How long a daemon waits for its endpoints, in milliseconds. */
const endpointsMsMax = 3_000
const presenceMs = 400
const shownMax = 50

/**
 * Examines the system, for a person at its command line.
 *
 * @param options `verify`: the newest tasks are compared with the journal, and the daemon asks its endpoints.
 * Default: no
 * @example
 * import { subjectsOf } from '@beaver/nats'
 *
 * const place = { nc, subjects: subjectsOf('default', { caller }), client: beaver }
 * const { daemons } = await examineSystem(place)
 * daemons.length // => 1
 */
export async function examineSystem(
  { nc, subjects, client }: SystemPlace,
  { verify = false }: { readonly verify?: boolean } = {},
): Promise<SystemExamination> {
  const tasks = async (status: TaskStatusFilter): Promise<readonly TaskSummary[]> => {
    const answer = await asked(client.query('tasks', { status, limit: shownMax }))
    return answer.kind === 'answered' ? answer.value.tasks : []
  }
  const [found, daemon, audit, waiting, waitingForApproval, failed] = await Promise.all([
    lookAtSystem({
      nc,
      subjects,
      streams: ['journal', 'blobs'],
      projector: () => client.query('status', {}),
    }),
    asked(statusOf(client, verify ? 'asked' : 'known'), answerMsMax + endpointsMsMax),
    asked(client.query('audit', { verify, limit: 1 })),
    tasks('waiting'),
    tasks('waiting_for_approval'),
    tasks('failed'),
  ])
  const both = new Map([...waiting, ...waitingForApproval].map((task) => [task.task_id, task]))
  return {
    version: nc.info?.version ?? 'of unknown version',
    messageBytesMax: nc.info?.max_payload ?? Infinity,
    stream: subjects.stream,
    look: found.look,
    // The look says why the journal does not answer.
    streams: found.streams.kind === 'answered' ? found.streams.value : [],
    daemons: withAnswering(found.daemons.kind === 'answered' ? found.daemons.value : [], daemon),
    daemon,
    projector: found.projector,
    audit,
    waiting: [...both.values()].toSorted((a, b) =>
      (a.submitted_at ?? '').localeCompare(b.submitted_at ?? ''),
    ),
    failed,
  }
}

interface LookWanted extends Pick<SystemPlace, 'nc' | 'subjects'> {
  /** Which streams are asked about. */
  readonly streams: Parameters<typeof placedStreams>[2]
  /** Asks the projector for its status. */
  readonly projector: () => Promise<ProjectorStatus>
}

/** Asks the server, the daemons and the projector whether they are there. */
export async function lookAtSystem({ nc, subjects, streams, projector }: LookWanted): Promise<SystemLook> {
  const [look, placed, daemons, status] = await Promise.all([
    streamPulse(nc, subjects.stream).look(),
    asked(placedStreams(nc, subjects, streams), answerMsMax + answerMsMax),
    asked(presentDaemons(nc, subjects, { waitMs: presenceMs, emptyMs: 3 * presenceMs })),
    asked(projector()),
  ])
  return { look, streams: placed, daemons, projector: status }
}

/** Asks for the status, without the endpoints if the daemon is too old to know them. */
async function statusOf(
  client: Pick<SystemAsker, 'status'>,
  endpoints: 'asked' | 'known',
): Promise<DaemonStatus> {
  try {
    return await client.status({
      timeoutMs: answerMsMax + (endpoints === 'asked' ? endpointsMsMax : 0),
      endpoints,
    })
  } catch (error) {
    if (error instanceof BeaverError && error.code === 'invalid_arguments')
      return client.status({ timeoutMs: answerMsMax })
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

/** Waits for an answer, but not for longer than this. */
export async function asked<T>(question: Promise<T>, withinMs = answerMsMax): Promise<Asked<T>> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`There was no answer within ${withinMs / 1000} s.`)), withinMs).unref()
  })
  try {
    return { kind: 'answered', value: await Promise.race([question, late]) }
  } catch (error) {
    return { kind: 'unanswered', reason: messageOf(error) }
  }
}
