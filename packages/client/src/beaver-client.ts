// A typed client of a running Beaver: what a program does over NATS, and nothing that needs a daemon's inside.
// C1. Every call ends: with an answer or a BeaverError. C2. A watch that stops is not a cancel. C3. A daemon that dies or is started
//     again costs time, not the answer: what may be asked again is, and a task is one task however often it is asked for.
import { type BlobStore, isTerminalTaskEvent, type LiveDelta, LogReader, type RecordedEvent, BeaverError } from '@beaver/core'
import type { DaemonStatus, QueryInput, QueryName, QueryOutput, RetriedTask, SubmittedTask, SubmitTask, TaskOutcome } from '@beaver/contracts'
import { askAgain } from './ask-again.ts'
import { followLive } from './live.ts'
import { notFresh, withIds } from './made-ids.ts'
import {
  type AskAt,
  askDaemon,
  askProjector,
  connectNats,
  followLog,
  lineOf,
  natsBlobStore,
  presentDaemons,
  streamPulse,
  type Subjects,
  subjectsOf,
} from '@beaver/nats'
import { type Sessions, sessionsOn } from './sessions.ts'
import type { NatsConnection } from '@nats-io/nats-core'

/** What a person decides about a call that waits for an approval. */
export interface CallDecision {
  /** As in the event `approval_requested`; `<run>/<call>` where several runs of the task have one of that id. */
  readonly callId: string
  readonly approved: boolean
  /** Who. */
  readonly by: string
  /** For the model, of a denied call. */
  readonly reason?: string | undefined
}

export interface BeaverClient extends AsyncDisposable {
  /**
   * Submits a task; it is durable when this resolves. Asked again for 30 s when no answer comes.
   * @throws {BeaverError} `invalid_arguments`, `workspace_missing`, `unknown_skill`, `unknown_profile`, `unknown_workflow`, `conflict`, `no_daemon`;
   *   `unreachable` when NATS has been away for longer than `daemonMs`; `stream_missing`: the journal was deleted
   */
  submit(task: SubmitTask): Promise<SubmittedTask>
  /**
   * Submits a task and waits for its end, whichever daemon drives it: it is asked for again after 15 s, then at twice the
   * distance. Calling this again with the same `task_id` waits for the same task.
   * @throws {BeaverError} as `submit`, and `timeout` after `timeoutMs` (default 10 minutes): the task goes on
   */
  run(task: SubmitTask, options?: { timeoutMs?: number }): Promise<TaskOutcome>
  /**
   * Asks for a cancel of the task, or of one node of its running team; resolves when the request is journaled.
   * @throws {BeaverError} `not_found`, `conflict` for what has ended, `no_daemon`
   */
  cancel(taskId: string, reason: string, options?: { nodeId?: string | undefined }): Promise<void>
  /**
   * Takes a task up again that failed, is incomplete or was cancelled: as a new task at the end of its session, which keeps what
   * completed. Asked for twice, it is one task.
   * @throws {BeaverError} `not_found`, `conflict` for a task that runs or completed, `workspace_missing`, `no_daemon`
   */
  retry(taskId: string): Promise<RetriedTask>
  /**
   * Decides about a call that waits for an approval; resolves when the decision is journaled.
   * @throws {BeaverError} `not_found`, `conflict` for one that has been decided, `no_daemon`
   */
  decide(taskId: string, decision: CallDecision): Promise<void>
  /**
   * What the task's models are saying, while they say it: of tasks submitted with `stream`, from now on. Hints, which may be
   * lost; the journaled answers are what was said. Goes on until `signal` aborts or the connection closes.
   */
  deltas(taskId: string, options: { signal: AbortSignal }): AsyncGenerator<LiveDelta>
  /**
   * The task's events from the first, then live; ends after its terminal event or when `signal` aborts.
   * A task that does not exist yet is waited for: bound it with `signal`.
   */
  watch(taskId: string, options?: { signal?: AbortSignal }): AsyncGenerator<RecordedEvent>
  /** What one of the daemons says of itself. @throws {BeaverError} `no_daemon` */
  status(options?: { timeoutMs?: number }): Promise<DaemonStatus>
  /** Sessions read back from the journal. */
  readonly sessions: Sessions
  /**
   * Asks the projector. `docs/reference/wire.md` lists the queries with their inputs and answers.
   * @throws {BeaverError} `no_daemon` when no projector runs, `not_found`, `invalid_arguments`; `internal` for an answer of another shape
   * @example const { tasks } = await beaver.query('tasks', { status: 'failed' })
   */
  query<Name extends QueryWithoutInput>(name: Name): Promise<QueryOutput<Name>>
  query<Name extends QueryName>(name: Name, input: QueryInput<Name>): Promise<QueryOutput<Name>>
  close(): Promise<void>
}

/** The queries of which no field is required: their input may be left out. */
type QueryWithoutInput = { [Name in QueryName]: Record<string, never> extends QueryInput<Name> ? Name : never }[QueryName]

const answerMsMax = 10_000
const submitMsMax = 30_000
/** What daemons have to say that they are there. */
const presenceMs = 250
/** A server that does not answer is noticed within three of these. */
const pingMs = 2_000
const runMsMax = 600_000

export interface Patience {
  /** How long a daemon, the projector or NATS may be away before `no_daemon` or `unreachable` is thrown: it may be starting again. Default 5 s. */
  readonly daemonMs?: number
  /** When `run` asks for the first time whether the task's end was missed. Default 15 s. */
  readonly askAgainMs?: number
}

/** @throws {BeaverError} `unreachable`, `server_too_old` */
export async function connectBeaver(
  options: { url: string; namespace: string; tenant: string; name?: string; timeoutMs?: number } & Patience,
): Promise<BeaverClient> {
  const nc = await connectNats({ url: options.url, name: options.name ?? 'beaver-client', timeoutMs: options.timeoutMs ?? 3_000, pingMs })
  return clientOn(nc, subjectsOf(options.namespace), options.tenant, options)
}

/** A client on a connection that is there already; `close` drains it. */
export function clientOn(nc: NatsConnection, subjects: Subjects, tenant: string, { daemonMs = 5_000, askAgainMs = 15_000 }: Patience = {}): BeaverClient {
  let blobs: Promise<BlobStore> | null = null
  const line = lineOf(nc)
  const closed = (): boolean => nc.isClosed() || line.downMs > daemonMs
  const at = (timeoutMs: number): AskAt => ({ nc, subjects, timeoutMs })
  /** Daemons that are there take no requests without a journal. */
  const why = async (): Promise<BeaverError | null> => {
    if (line.downMs > 0 || (await streamPulse(nc, subjects.stream).look()).kind !== 'missing') return null
    const there = await presentDaemons(nc, subjects, { waitMs: presenceMs })
    return there.length === 0 ? null : new BeaverError('stream_missing', `The journal stream ${subjects.stream} does not exist: somebody deleted it.`)
  }
  const once = { repeatable: false, daemonMs, withinMs: answerMsMax, closed }
  const oftener = { repeatable: true, daemonMs, withinMs: submitMsMax, closed }

  function submit(request: SubmitTask): Promise<SubmittedTask> {
    const task = withIds(request)
    return askAgain((unanswered, leftMs) => askDaemon(at(Math.min(answerMsMax, leftMs)), 'task.submit', unanswered === 0 ? task : notFresh(task)), {
      ...oftener,
      why,
    })
  }

  async function run(request: SubmitTask, { timeoutMs = runMsMax }: { timeoutMs?: number } = {}): Promise<TaskOutcome> {
    const task = withIds(request)
    try {
      return await askAgain(
        (unanswered, leftMs) => askDaemon(at(Math.min(askAgainMs * 2 ** unanswered, leftMs)), 'task.run', unanswered === 0 ? task : notFresh(task)),
        { ...oftener, withinMs: timeoutMs, why },
      )
    } catch (cause) {
      if (!(cause instanceof BeaverError && cause.code === 'timeout')) throw cause
      const message = `The task ${task.task_id} was not answered within ${timeoutMs / 1000} s. If it was accepted it goes on: ask again with its id, or watch it.`
      throw new BeaverError('timeout', message, { cause })
    }
  }

  async function* watch(taskId: string, { signal = new AbortController().signal }: { signal?: AbortSignal } = {}): AsyncGenerator<RecordedEvent> {
    let reader: LogReader | null = null
    for await (const batch of followLog(nc, subjects, { tenant, task: taskId, signal })) {
      for (const message of batch.messages) {
        reader ??= new LogReader(message.log, { get: async (sha256) => (await (blobs ??= natsBlobStore(nc, subjects))).get(sha256) })
        for await (const event of reader.events(message)) {
          yield event
          if (isTerminalTaskEvent(event.type)) return
        }
      }
    }
  }

  async function close(): Promise<void> {
    if (nc.isClosed()) return
    // Without a server there is nobody to drain to.
    await (line.downMs > 0 ? nc.close() : nc.drain().catch(() => nc.close()))
  }

  return {
    submit,
    run,
    cancel: async (taskId, reason, { nodeId } = {}) => {
      const asked = { task_id: taskId, reason, node_id: nodeId }
      await askAgain(() => askDaemon(at(answerMsMax), 'task.cancel', asked), { ...once, why })
    },
    retry: (taskId) => askAgain((_, leftMs) => askDaemon(at(Math.min(answerMsMax, leftMs)), 'task.retry', { task_id: taskId }), oftener),
    decide: async (taskId, { callId, approved, by, reason }) => {
      const asked = { task_id: taskId, call_id: callId, approved, by, reason }
      await askAgain(() => askDaemon(at(answerMsMax), 'task.decide', asked), { ...once, why })
    },
    deltas: (taskId, { signal }) => followLive(nc, subjects.liveAnySession(tenant, taskId), signal),
    watch,
    status: ({ timeoutMs = answerMsMax } = {}) => askDaemon(at(timeoutMs), 'status', {}),
    sessions: sessionsOn(nc, subjects, tenant, () => (blobs ??= natsBlobStore(nc, subjects))),
    query: <Name extends QueryName>(name: Name, input?: QueryInput<Name>) => askAgain(() => askProjector(at(answerMsMax), name, input), once),
    close,
    [Symbol.asyncDispose]: close,
  }
}
