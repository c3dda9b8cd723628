// A typed client of a running Beaver: what a program does over NATS, without the inside of a daemon.
// C1. Every call ends with an answer or a BeaverError, also if NATS goes away and never comes back
// (present-nats.ts). A watch that stops does not cancel the task. A daemon that dies or restarts costs time,
// not the answer: harmless requests are repeated, and a repeated task is the same task.
import { hash } from 'node:crypto'
import { join } from 'node:path'
import {
  BeaverError,
  type BlobStore,
  type JsonObject,
  type JsonValue,
  type LiveDelta,
  type LiveUpdate,
} from '@beaver/core'
import type { BudgetLimits, BudgetPeriod, SharedOf } from '@beaver/core/budget'
import { type ImagePart, readImageHeader } from '@beaver/core/images'
import { type RecordedEvent, ReplacementBytes } from '@beaver/core/journal'
import type { QuestionAnswer } from '@beaver/core/question'
import {
  type Change,
  type DaemonStatus,
  type LoadedAnswer,
  type MemoryReport,
  type QueryInput,
  type QueryName,
  type QueryOutput,
  type RequestInput,
  type RequestOutput,
  type RetriedTask,
  type SubmittedTask,
  type SystemState,
  type TypedOutcome,
  readOutput,
  wireTask,
} from '@beaver/contracts'
import type { TraceContext } from '@beaver/core/trace'
import {
  callerName,
  closeGently,
  connectNats,
  embeddedLogin,
  followChanges,
  type NatsLogin,
  recordReading,
  type Subjects,
  subjectsOf,
} from '@beaver/nats'
import { homeKeys, readSystemFile } from '@beaver/platform'
import type { NatsConnection } from '@nats-io/nats-core'
import { answered, cancelled, decided, isCarriedOut, type SaidBy } from './carried-out.ts'
import { deltasOf, followLive } from './live.ts'
import { newRequestId } from './made-ids.ts'
import { type Patience, PatientRequests } from './patient-requests.ts'
import { whilePresent } from './present-nats.ts'
import { type Sessions, sessionsOn } from './sessions.ts'
import { SystemStates } from './system-state.ts'
import { taskEventsIn } from './task-events.ts'
import { type TaskInput, type TaskOptions, type GivenTask, typedTask } from './task-input.ts'

/** A person's decision about a call that waits for an approval. */
export interface CallDecision {
  /**
   * The id in the event `approval_requested`. Write `<run>/<call>` if several runs of the task have a call
   * with this id.
   */
  readonly callId: string
  /** The `call_hash` of the call as the person saw it; another hash is refused. Default: any. */
  readonly callHash?: string | undefined
  readonly approved: boolean
  /** The user on whose behalf the client decides. Default: the client decides for itself. */
  readonly userId?: string | undefined
  /** The reason of a refusal, for the model. */
  readonly reason?: string | undefined
  /** The arguments to use instead: a JSON object that fits the tool, as text. Default: those of the model. */
  readonly arguments?: string | undefined
}

/** The client's answer to a call of one of its tools. */
export interface ClientCallAnswer {
  /** The id of the call, as in the event `client_call_requested`. */
  readonly callId: string
  /** The result, for the model. */
  readonly content: string
  /** Why the client could not make the call. Default: it made the call. */
  readonly error?: string | undefined
}

/** A person's answer to a question of a running call. */
export interface CallAnswer {
  /**
   * The id in the event `question_asked`. Write `<run>/<call>` if several runs of the task have a call with
   * this id.
   */
  readonly callId: string
  /** The `question_index` of the question that the person saw. Default: the waiting question. */
  readonly questionIndex?: number | undefined
  /** `accept` with `answers` (options or a text) or `content` (the fields of a form); `decline`; `cancel`. */
  readonly answer: QuestionAnswer
  /** Why there is no answer, for the model. */
  readonly reason?: string | undefined
  /** The user on whose behalf the client answers. Default: the client answers for itself. */
  readonly userId?: string | undefined
}

/** The steered task, and the id of the request. */
export type SteeredTask = RequestOutput<'task.steer'>

/** The task whose budget was raised, and the id of the request. */
export type RaisedTask = RequestOutput<'task.raise'>

/** Which of the budgets that tasks share is meant. */
export interface SharedBudgetName {
  readonly of: SharedOf
  /** The session, user or profile. Default: the budget is that of the tenant. */
  readonly name?: string | undefined
  /** Days and months are those of UTC. `run`: the whole life of a session. */
  readonly per: BudgetPeriod
}

/** The budgets that tasks share, and whether there are more of them. */
export type SharedBudgets = RequestOutput<'budget.list'>

/** The shared budget that was raised, the id of the request, and how many tasks waited for it. */
export type RaisedBudget = RequestOutput<'budget.raise'>

/** A client of one tenant. Disposing of it closes its connection. */
export interface BeaverClient extends AsyncDisposable {
  /**
   * Submits a task. The task is durable when this resolves. The request is repeated for up to 30 s if no
   * answer comes.
   *
   * @param task words, `{ workflow, arguments }`, or the task in the fields of the wire
   * @param options the options of the task, in place of the same fields of the wire
   * @throws {BeaverError} `invalid_arguments`, `workspace_missing`, `unknown_skill`, `unknown_profile`,
   * `unknown_workflow`, `conflict`, `no_daemon`; `unreachable` if NATS was away for longer than `daemonMs`;
   * `timeout`; `stream_missing` if the journal was deleted
   * @example
   * const { task_id } = await beaver.submit({ task: 'Report on this folder.', skill: 'folder-report' })
   * task_id.startsWith('task_') // => true
   * const { session_id } = await beaver.submit('Say what you are.', { sessionId: 'talk' })
   * session_id // => 'talk'
   */
  submit<Output = JsonValue, Name extends string = string>(
    task: GivenTask<Output, Name> | TaskInput<Name>,
    options?: TaskOptions<Output>,
  ): Promise<SubmittedTask>
  /**
   * Submits a task and waits for its end, on any daemon. The request is repeated after 15 s without an
   * answer, then after 30 s, and so on. Another call with the same `task_id` waits for the same task.
   *
   * If `output` of the options or of the task is a zod type, the model must answer with JSON of it, and
   * `output` of the outcome is a value of this type.
   *
   * @param task words, `{ workflow, arguments }`, or the task in the fields of the wire
   * @param options the options of the task; `timeoutMs`: how long to wait. Default: 600,000
   * @throws {BeaverError} the codes of `submit`; `timeout` after `timeoutMs`: the task continues
   * @throws {UnfitOutputError} `output_invalid`, with the answer, if the answer does not pass a check of
   * `task.output` that JSON Schema cannot express
   */
  run<Output = JsonValue, Name extends string = string>(
    task: GivenTask<Output, Name> | TaskInput<Name>,
    options?: TaskOptions<Output> & { readonly timeoutMs?: number | undefined },
  ): Promise<TypedOutcome<Output>>
  /**
   * Requests the cancellation of a task, or of one node of its running team. Resolves when the request is
   * journaled.
   *
   * The request is repeated for up to 30 s if no answer comes.
   *
   * @param options `userId`: the user on whose behalf the client cancels. Default: the client cancels for
   * itself
   * @throws {BeaverError} `not_found`; `conflict` if it has ended; `no_daemon`; `timeout`, `unreachable`: the
   * request may be journaled
   */
  cancel(
    taskId: string,
    reason: string,
    options?: { nodeId?: string | undefined; userId?: string | undefined },
  ): Promise<void>
  /**
   * Steers a task that has not ended: its root agent reads the text, as a message of the user, once before
   * its next request to the model. Resolves when the text is journaled. A task that waits continues to wait
   * before it reads the text.
   *
   * The request is repeated for up to 30 s if no answer comes.
   *
   * @param text at most 10,000 characters
   * @param options `requestId`: a call with the same id and the same text changes nothing. Default: a new id.
   * `userId`: the user on whose behalf the client steers. Default: the client steers for itself
   * @throws {BeaverError} `not_found`; `conflict` if the task has ended, is being cancelled, has no root
   * agent, or has received 100 texts; `invalid_arguments`; `no_daemon`; `timeout`, `unreachable`: the text
   * may be journaled
   * @example
   * const { task_id } = await beaver.submit({ task: 'Report on this folder.', skill: 'folder-report' })
   * const steered = await beaver.steer(task_id, 'Leave out the drafts.', { requestId: 'no-drafts' })
   * steered.request_id // => 'no-drafts'
   */
  steer(
    taskId: string,
    text: string,
    options?: { requestId?: string | undefined; userId?: string | undefined },
  ): Promise<SteeredTask>
  /**
   * Retries a task that failed, is incomplete or was cancelled. The retry is a new task at the end of the
   * same session, and it keeps what completed. A repeated request names the same retry.
   *
   * @param options `userId`: the user on whose behalf the client retries. Default: the user of the task.
   * `budget`: the most that the new task may use; what the old one used does not count. Default: the budget
   * of the old task. `trace`: the trace in which the client retries; default: the new task has one of its own
   * @throws {BeaverError} `not_found`; `conflict` if the task runs or completed, or has a retry with another
   * budget; `invalid_arguments` if the configuration gives a task less than `budget`; `not_allowed` if the session
   * belongs to another user; `workspace_missing`; `no_daemon`
   */
  retry(
    taskId: string,
    options?: {
      userId?: string | undefined
      budget?: BudgetLimits | undefined
      trace?: TraceContext | undefined
    },
  ): Promise<RetriedTask>
  /**
   * Gives more to a budget of a task, or of one node of its team. Resolves when the request is journaled; what
   * waits for it continues.
   *
   * The request is repeated for up to 30 s if no answer comes. The same `requestId` again changes nothing.
   *
   * @param more what is added to the limits; each amount is above 0
   * @param options `nodeId`: the node whose budget is raised. Default: the budget of the task. `reason`: why,
   * for the journal. `requestId`: an id of your own. Default: a new id. `userId`: the user on whose behalf the
   * client raises it. Default: the client does it for itself
   * @throws {BeaverError} `not_found`; `conflict` if the task has ended, if the budget has no limit of a
   * measure, or if it was raised 100 times; `no_daemon`; `timeout`, `unreachable`: the request may be journaled
   */
  raise(
    taskId: string,
    more: BudgetLimits,
    options?: {
      nodeId?: string | undefined
      reason?: string | undefined
      requestId?: string | undefined
      userId?: string | undefined
    },
  ): Promise<RaisedTask>
  /**
   * The budgets that tasks share and that the configuration bounds, with what is used and reserved of them in
   * their present period. `raise` gives more to the budget of a task, `raiseShared` to one of these.
   *
   * @param options `of`: only budgets of this kind. `name`: only those of this session, user or profile.
   * Default: all. `limit`: at most so many, up to 1,000. Default: 200. `userId`: the user on whose behalf the
   * client asks. Default: the client asks for itself
   * @throws {BeaverError} `budget_corrupt`; `no_daemon`; `timeout`, `unreachable`
   * @example
   * const { budgets } = await beaver.budgets({ of: 'tenant' })
   * budgets.map(({ per, limits }) => ({ per, limits })) // => [{ per: 'month', limits: { usd: 100 } }]
   */
  budgets(options?: {
    of?: SharedOf | undefined
    name?: string | undefined
    limit?: number | undefined
    userId?: string | undefined
  }): Promise<SharedBudgets>
  /**
   * Gives more to a budget that tasks share, in its present period. Resolves when the account has it and the
   * tasks that wait for it were told; they continue.
   *
   * The request is repeated for up to 30 s if no answer comes. The same `requestId` again changes nothing.
   *
   * @param more what is added to the limits; each amount is above 0
   * @param options `reason`: why, for the account and the journal. `requestId`: an id of your own. Default: a
   * new id. `userId`: the user on whose behalf the client raises it. Default: the client does it for itself
   * @throws {BeaverError} `conflict` if there is no such budget, if it has no limit of a measure, or if it was
   * raised 100 times in its period; `invalid_arguments`; `budget_corrupt`; `no_daemon`; `timeout`,
   * `unreachable`: the account may have it
   * @example
   * const { budget } = await beaver.raiseShared({ of: 'user', name: 'ann', per: 'day' }, { usd: 2 })
   * budget.limits // => { usd: 7 }
   */
  raiseShared(
    budget: SharedBudgetName,
    more: BudgetLimits,
    options?: {
      reason?: string | undefined
      requestId?: string | undefined
      userId?: string | undefined
    },
  ): Promise<RaisedBudget>
  /**
   * Decides about a call that waits for an approval. Resolves when the decision is journaled.
   *
   * The request is repeated for up to 30 s if no answer comes.
   *
   * @throws {BeaverError} `not_found`; `conflict` if the call was decided already; `invalid_arguments` if
   * changed arguments do not fit the tool; `no_daemon`; `timeout`, `unreachable`: the decision may be
   * journaled
   */
  decide(taskId: string, decision: CallDecision): Promise<void>
  /**
   * Answers a question of a running call. Resolves when the answer is journaled.
   *
   * The request is repeated for up to 30 s if no answer comes.
   *
   * @throws {BeaverError} `not_found`; `conflict` if the question was answered already; `invalid_arguments`
   * if the answer does not fit the question, which then still waits; `no_daemon`; `timeout`, `unreachable`:
   * the answer may be journaled
   */
  answer(taskId: string, answer: CallAnswer): Promise<void>
  /**
   * Answers calls of the tools that the client brought with the task (`client_tools`). `TaskView.clientCalls`
   * and the events `client_call_requested` name the calls. Resolves when the answers are journaled: all of
   * them or none. The same answer again changes nothing.
   *
   * The request is repeated for up to 30 s if no answer comes.
   *
   * @param options `userId`: the user on whose behalf the client answers. Default: the client answers for
   * itself. `toolChoice`: which tools the root agent must call in its next answer. Default: as the task asks
   * @throws {BeaverError} `not_found`; `conflict` if a call has another answer or does not wait any more;
   * `invalid_arguments`; `no_daemon`; `timeout`, `unreachable`: the answers may be journaled
   */
  answerCalls(
    taskId: string,
    answers: readonly ClientCallAnswer[],
    options?: {
      userId?: string | undefined
      toolChoice?: RequestInput<'task.client_answer'>['tool_choice']
    },
  ): Promise<void>
  /**
   * The pieces of answers while models produce them, from now on, for a task that was submitted with
   * `stream`. They are hints and may be lost; the journaled answers are the facts. It ends when `signal`
   * aborts or the connection closes.
   */
  deltas(taskId: string, options: { signal: AbortSignal }): AsyncGenerator<LiveDelta>
  /**
   * The pieces of answers, and the progress of calls while their tools run, from now on. Progress also comes
   * for a task that was submitted without `stream`. Both are hints and may be lost. It ends when `signal`
   * aborts or the connection closes.
   */
  live(taskId: string, options: { signal: AbortSignal }): AsyncGenerator<LiveUpdate>
  /**
   * The events of a task from the first one, then live. It ends after the terminal event, when `signal`
   * aborts, or when this client is closed. It also waits for a task that does not exist yet, so bound it with
   * `signal`. For an archived task, it gives only the first and the last entry.
   *
   * @param options `after`: only events after this place in the log. If the projector knows the event at this
   * place, nothing before it is read. Default: 0, so all events
   * @throws {BeaverError} `corrupt_journal`, `blob_missing`, `blob_corrupt`; `untrusted_record` before an
   * entry without a signature of a key that the operator trusts; `operator_changed` if this client knows
   * another operator of the journal; `stream_missing`, `stream_recreated`; `unreachable` if NATS was away for
   * longer than `watchMs`
   * @example
   * let last = ''
   * for await (const event of beaver.watch(task_id)) last = event.type
   * last // => 'task_completed'
   */
  watch(taskId: string, options?: { signal?: AbortSignal; after?: number }): AsyncGenerator<RecordedEvent>
  /**
   * The events of a task so far. It ends after the newest one, also if the task continues, and at once if
   * there is no such task.
   *
   * @param options `after`: as in `watch`
   * @throws {BeaverError} the codes of `watch`, except `stream_recreated`
   * @example
   * const types: string[] = []
   * for await (const event of beaver.events(task_id)) types.push(event.type)
   * types[0] // => 'task_submitted'
   */
  events(taskId: string, options?: { after?: number }): AsyncGenerator<RecordedEvent>
  /**
   * The event at one place in the log of a task, with its whole data; `null` if the journal does not have it.
   *
   * @throws {BeaverError} the codes of `events`
   * @example
   * const first = await beaver.event(task_id, 1)
   * first?.type // => 'task_submitted'
   */
  event(taskId: string, taskseq: number): Promise<RecordedEvent | null>
  /**
   * The changes of all tasks, for somebody who shows them. The first message is `hello`. `changed` names tasks
   * whose rows are in the read model: `query` now gives the new ones. `hello` and `reset` mean that anything
   * may have changed: ask again for what you show. Changes that you do not take in time are merged. It ends
   * when `signal` aborts, or when this client is closed.
   *
   * @throws {BeaverError} `not_allowed` if this login may not hear of changes; `unreachable` if NATS was away
   * for longer than `watchMs`
   * @example
   * const stop = new AbortController()
   * let first = ''
   * for await (const { kind } of beaver.changes({ signal: stop.signal })) {
   *   first ||= kind
   *   stop.abort()
   * }
   * first // => 'hello'
   */
  changes(options?: { signal?: AbortSignal }): AsyncGenerator<Change>
  /**
   * An image that a task shows, with its content. `content` has the SHA-256 that was asked for, and its first
   * bytes say that it is an image of `media_type`.
   *
   * @param options `userId`: only if the task belongs to this user. Default: the tasks of all users
   * @throws {BeaverError} `not_found` if the task does not show the image, or if the image was redacted;
   * `blob_missing`, `blob_corrupt`; the codes of `query`
   */
  image(
    taskId: string,
    sha256: string,
    options?: { userId?: string | undefined },
  ): Promise<{ readonly image: ImagePart; readonly content: Uint8Array }>
  /**
   * The status of one of the daemons.
   *
   * @param options `timeoutMs`: how long to wait. Default: 10,000. `endpoints`: `known` adds the daemon's
   * endpoints; with `asked` the daemon first asks each of them whether it answers, for up to 3 s. Default:
   * neither
   * @throws {BeaverError} `no_daemon`; `invalid_arguments` if an older daemon does not know `endpoints`
   */
  status(options?: { timeoutMs?: number; endpoints?: 'known' | 'asked' }): Promise<DaemonStatus>
  /**
   * The state of the whole system: each daemon with its slots, threads and endpoints, the projector, the
   * streams, the tasks and the budgets. A part that does not answer within 3 s says so. A daemon that was here
   * before stays in the answer for 15 minutes. Several calls within a second get one answer.
   *
   * @example
   * const { daemons } = await beaver.system()
   * daemons.list.map(({ state }) => state) // => ['answers']
   */
  system(): Promise<SystemState>
  /**
   * What agents keep for later runs, as a run that began now would see it.
   *
   * @param options `userId`: whose list `user` is meant. Default: that of tasks without a user
   * @throws {BeaverError} `memory_corrupt`; `not_allowed` if this identity may not ask for that user;
   * `no_daemon`
   * @example
   * const { user } = await beaver.memory()
   * user.chars_max // => 2000
   */
  memory(options?: { userId?: string | undefined }): Promise<MemoryReport>
  /**
   * What one daemon has loaded for its agents: skills, profiles, tools, workflows and MCP servers.
   *
   * @param asked `kind`: only entries of this kind. `name`: only entries of this name, with their texts and
   * their schemas. `limit`: at most so many, up to 500. Default: 100. `after`: the `next` of the page before
   * @throws {BeaverError} `not_found` if nothing of this name is loaded; `no_daemon`; `timeout`, `unreachable`
   * @example
   * const { entries } = await beaver.loaded({ kind: 'workflow', name: 'GraphWorkflow' })
   * entries.map(({ kind, name }) => `${kind} ${name}`) // => ['workflow GraphWorkflow']
   */
  loaded(asked?: RequestInput<'loaded'>): Promise<LoadedAnswer>
  /**
   * Plans a workflow call as a task would begin with it, and runs nothing. A call that the workflow refuses is
   * an answer with `ok: false`.
   *
   * @throws {BeaverError} `too_large` if the plan does not fit into an answer; `no_daemon`; `timeout`,
   * `unreachable`
   * @example
   * const agents = [{ name: 'writer', instruction: 'Describe the tides.' }]
   * const plan = await beaver.plan('SequentialWorkflow', { task: 'Describe the tides.', agents })
   * plan.ok && plan.graph.nodes.map(({ node_id }) => node_id) // => ['writer']
   */
  plan(workflow: string, args: JsonObject): Promise<RequestOutput<'plan'>>
  /**
   * Adds a workflow to the tools of an agent profile. The daemon that answers writes the file of the profile.
   * Other daemons with files of their own do not change. If the profile has the workflow, nothing changes.
   *
   * @param options `userId`: on whose behalf
   * @throws {BeaverError} `unknown_profile`, `unknown_workflow`; `conflict` if the file cannot be changed;
   * `not_allowed` for a login of the role client; `no_daemon`
   * @example
   * const refused = await beaver.addWorkflow('nobody', 'GraphWorkflow').catch(({ message }: Error) => message)
   * refused // => 'The daemon has loaded no profile "nobody".'
   */
  addWorkflow(
    profile: string,
    workflow: string,
    options?: { userId?: string | undefined },
  ): Promise<RequestOutput<'profile.add_workflow'>>
  /** Reads sessions from the journal. */
  readonly sessions: Sessions
  /**
   * Asks the projector. `docs/reference/wire.md` lists the queries with their inputs and answers.
   *
   * The request is repeated for up to 20 s if no answer comes.
   *
   * @throws {BeaverError} `no_daemon` if no projector runs; `timeout`; `not_found`; `invalid_arguments`;
   * `internal` if the answer has another shape
   * @example
   * const { tasks } = await beaver.query('tasks', { status: 'failed' })
   * tasks // => []
   */
  query<Name extends QueryWithoutInput>(name: Name): Promise<QueryOutput<Name>>
  query<Name extends QueryName>(name: Name, input: QueryInput<Name>): Promise<QueryOutput<Name>>
  /** Closes the connection. If the server is there, outgoing messages are sent first. */
  close(): Promise<void>
}

/** The queries without a required field, whose input may be left out. */
type QueryWithoutInput = {
  [Name in QueryName]: Record<string, never> extends QueryInput<Name> ? Name : never
}[QueryName]

/** A server that does not answer is noticed within three of these intervals. */
const pingMs = 2_000
const runMsMax = 600_000
const watchMsMax = 30_000
/** How long the projector may take to say where an event is, before the log is read from its beginning. */
const placeMsMax = 2_000

/** Which Beaver to connect to. */
export type BeaverPlace =
  /** The one that `beaver up` or a program runs in this home, with the login of its user. */
  | { readonly home: string }
  /** The one at this NATS server. `login` may also be a part of the URL. */
  | {
      readonly url: string
      readonly login?: NatsLogin
      readonly namespace: string
      readonly tenant: string
      /**
       * The id of the operator's key, as `beaver keys list` shows it. A journal of another operator is
       * refused. Default: the journal's operator at the first contact.
       */
      readonly operator?: string
    }

/**
 * Connects to a running Beaver.
 *
 * @param options the place; `timeoutMs`: how long the connection may take, by default 3,000; `name`: the name
 * of the connection, by default `beaver-client`
 * @throws {BeaverError} `unreachable`, `server_too_old`
 * @example
 * await using beaver = await connectBeaver({ home: '.beaver' })
 * const { status } = await beaver.run({ task: 'Say what you are.' })
 * status // => 'completed'
 */
export async function connectBeaver(
  options: BeaverPlace & { readonly name?: string; readonly timeoutMs?: number } & Patience,
): Promise<BeaverClient> {
  const { name = 'beaver-client', timeoutMs = 3_000 } = options
  const {
    url,
    login = {},
    namespace,
    tenant,
    operator,
  } = 'home' in options ? runningIn(options.home) : { operator: undefined, ...options }
  const nc = await connectNats({ url, login, name, timeoutMs, pingMs })
  const subjects = subjectsOf(namespace, { tenant, caller: callerName(url, login) })
  const pinned = 'home' in options ? pinnedIn(options.home, subjects) : () => operator ?? null
  return clientOn(nc, subjects, { ...options, operator: pinned })
}

function runningIn(home: string): Exclude<BeaverPlace, { readonly home: string }> {
  const running = readSystemFile(home)
  if (running === null)
    throw new BeaverError(
      'unreachable',
      `No Beaver runs with its data in ${home}. Start one with "beaver up", or name the right home.`,
    )
  const { nats_url: url, namespace, tenant, embedded } = running
  return { url, namespace, tenant, login: embedded ? embeddedLogin(join(home, 'nats'), 'client') : {} }
}

const pinnedIn =
  (home: string, { stream }: Subjects) =>
  (): string | null =>
    homeKeys(join(home, 'keys')).pinned(stream)

/**
 * A client on an existing connection. Its `close` drains the connection.
 *
 * @param options `operator`: gives the key of the operator that this client knows, or `null`. Default: the
 * first operator that it sees
 * @example
 * import { subjectsOf } from '@beaver/nats'
 *
 * const client = clientOn(nc, subjectsOf('default', { caller }))
 * const { model } = await client.status()
 * model // => 'beaver-simulated-1'
 */
export function clientOn(
  nc: NatsConnection,
  subjects: Subjects,
  options: Patience & { readonly operator?: () => string | null } = {},
): BeaverClient {
  const { tenant } = subjects
  const asks = new PatientRequests(nc, subjects, options)
  const systems = new SystemStates({ nc, subjects, asks })
  const { watchMs = watchMsMax } = options
  const judged = { ...recordReading(nc, subjects, options.operator ?? (() => null)), watchMs }
  const tasks = taskEventsIn(nc, subjects, {
    ...judged,
    ask: (input) => asks.queryOnce('events', input, placeMsMax),
  })
  const has = (taskId: string, saidBy: SaidBy): Promise<boolean> =>
    isCarriedOut(tasks.read(taskId, 0), saidBy)
  const close = (): Promise<void> => closeGently(nc)
  return {
    submit: (input, options) => asks.submit(wireTask(typedTask(input, options))),
    run: async <Output = JsonValue, Name extends string = string>(
      input: GivenTask<Output, Name> | TaskInput<Name>,
      { timeoutMs = runMsMax, ...options }: TaskOptions<Output> & { timeoutMs?: number | undefined } = {},
    ): Promise<TypedOutcome<Output>> => {
      const task = typedTask(input, options)
      const { output, ...ended } = await asks.run(wireTask(task), timeoutMs)
      const value = await readOutput(task.output, {
        task_id: ended.task_id,
        output_text: ended.final_output,
        output,
      })
      return value === undefined ? ended : { ...ended, output: value }
    },
    cancel: (taskId, reason, { nodeId, userId } = {}) =>
      asks.command('task.cancel', { task_id: taskId, reason, node_id: nodeId, user_id: userId }, () =>
        has(taskId, cancelled({ reason, nodeId })),
      ),
    steer: async (taskId, text, { requestId = newRequestId(), userId } = {}) => {
      await asks.command('task.steer', { task_id: taskId, text, request_id: requestId, user_id: userId })
      return { task_id: taskId, request_id: requestId }
    },
    retry: (taskId, { userId, budget, trace } = {}) =>
      asks.retry({ task_id: taskId, user_id: userId, budget }, trace),
    raise: async (taskId, more, { nodeId, reason, requestId = newRequestId(), userId } = {}) => {
      const asked = { task_id: taskId, more, node_id: nodeId, reason, request_id: requestId, user_id: userId }
      await asks.command('task.raise', asked)
      return { task_id: taskId, request_id: requestId }
    },
    budgets: ({ of, name, limit, userId } = {}) =>
      asks.harmless('budget.list', { of, name, limit, user_id: userId }),
    raiseShared: ({ of, name, per }, more, { reason, requestId = newRequestId(), userId } = {}) =>
      asks.harmless('budget.raise', { of, name, per, more, reason, request_id: requestId, user_id: userId }),
    decide: (taskId, { callId, callHash, approved, reason, userId, arguments: args }) =>
      asks.command(
        'task.decide',
        {
          task_id: taskId,
          call_id: callId,
          call_hash: callHash,
          approved,
          arguments: args,
          reason,
          user_id: userId,
        },
        () => has(taskId, decided({ callId, approved, arguments: args })),
      ),
    answer: (taskId, { callId, questionIndex, answer, reason, userId }) =>
      asks.command(
        'task.answer',
        { task_id: taskId, call_id: callId, question_index: questionIndex, answer, reason, user_id: userId },
        () => has(taskId, answered({ callId, questionIndex, answer })),
      ),
    answerCalls: (taskId, answers, { userId, toolChoice } = {}) =>
      asks.command('task.client_answer', {
        task_id: taskId,
        answers: answers.map(({ callId, content, error }) => ({ call_id: callId, content, error })),
        tool_choice: toolChoice,
        user_id: userId,
      }),
    deltas: (taskId, { signal }) => deltasOf(followLive(nc, subjects.liveAnySession(tenant, taskId), signal)),
    live: (taskId, { signal }) => followLive(nc, subjects.liveAnySession(tenant, taskId), signal),
    watch: (taskId, { signal = new AbortController().signal, after = 0 } = {}) =>
      tasks.watch(taskId, after, signal),
    events: (taskId, { after = 0 } = {}) => tasks.read(taskId, after),
    event: (taskId, taskseq) => tasks.at(taskId, taskseq),
    changes: ({ signal = new AbortController().signal } = {}) =>
      whilePresent(nc, watchMs, signal, (within) =>
        followChanges(nc, subjects, { position: () => asks.position(), signal: within }),
      ),
    async image(taskId, sha256, { userId } = {}) {
      const { image } = await asks.query('image', { task_id: taskId, sha256, user_id: userId })
      return { image, content: await imageContent(image, judged.blobs) }
    },
    status: ({ timeoutMs, ...asked } = {}) => asks.status(timeoutMs, asked),
    system: () => systems.read(),
    memory: ({ userId } = {}) => asks.harmless('memory', { user_id: userId }),
    loaded: (asked = {}) => asks.harmless('loaded', asked),
    plan: (workflow, args) => asks.harmless('plan', { workflow, arguments: args }),
    addWorkflow: (profile, workflow, { userId } = {}) =>
      asks.harmless('profile.add_workflow', { profile, workflow, user_id: userId }),
    sessions: sessionsOn(nc, subjects, judged, (input) => asks.query('session_search', input)),
    query: <Name extends QueryName>(name: Name, input?: QueryInput<Name>) => asks.query(name, input),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** @throws {BeaverError} `not_found` if it was redacted; `blob_missing`, `blob_corrupt` */
async function imageContent(
  { sha256, media_type }: ImagePart,
  blobs: Pick<BlobStore, 'get'>,
): Promise<Uint8Array> {
  const content = await blobs.get(sha256)
  if (content instanceof ReplacementBytes)
    throw new BeaverError('not_found', `The image ${sha256} was redacted.`)
  if (hash('sha256', content) !== sha256)
    throw new BeaverError('blob_corrupt', `The blob ${sha256} holds other content.`)
  if (readImageHeader(content)?.media_type !== media_type)
    throw new BeaverError('blob_corrupt', `The blob ${sha256} is no image of the type ${media_type}.`)
  return content
}
