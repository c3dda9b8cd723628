// Commands about a task, which any daemon takes: cancel the task or one of its nodes, steer it, decide about
// a call, answer a question or calls of the client's tools, or raise a budget. The delivery of a task is its lease; a daemon that gets the
// delivery of another daemon's task hands it on to the owner.
import {
  type AnswerRequest,
  type CancelRequest,
  daemonCommand,
  daemonContracts,
  type DecisionRequest,
  type TaskCommand,
} from '@beaver/contracts'
import {
  type Asker,
  BeaverError,
  type Clock,
  type DomainEvent,
  event,
  type Ids,
  type LogId,
  pause,
} from '@beaver/core'
import type { TaskState } from '@beaver/core/fold'
import { type Delivery, draft } from '@beaver/core/journal'
import { call, findTask, parseRequest, serve, type Subjects } from '@beaver/nats'
import {
  type Answer,
  answerEvent,
  type ArgumentsJudge,
  type LimitRules,
  listShared,
  raiseShared,
  type SharedBudgetsPorts,
  callWaiting,
  clientAnswerEvents,
  type ClientAnswers,
  type Decision,
  decisionEvent,
  type HandedOn,
  loadTask,
  mustFit,
  questionWaiting,
  raiseEvent,
  type RaiseRequest,
  steerEvent,
  type SteerRequest,
  type TaskSupervisor,
  TaskLog,
  type TaskLogPorts,
  type TaskSoFar,
} from '@beaver/runtime'
import type { NatsConnection } from '@nats-io/nats-core'
import type { ServeRequest } from './serve-requests.ts'

export interface TaskCommandsOf extends Pick<CarryingOut, 'daemonId' | 'driver' | 'wake'> {
  readonly nc: NatsConnection
  readonly subjects: Subjects
  readonly tenant: string
  readonly ports: CarryingOut['ports'] & { readonly ids: Ids }
  /** The budgets that tasks share. */
  readonly shared: Omit<SharedBudgetsPorts, 'tenant'>
  /** Serves a request while the journal answers. */
  readonly serveRequest: ServeRequest
  /** Takes the lease of a task that this daemon drives. */
  takeOver(delivery: Pick<Delivery, 'log' | 'deliveries' | 'lease' | 'cause'>): Exclude<HandedOn, 'gone'>
}

const ownerMsMax = 5_000
const leaseMsMax = 1_000

export interface TaskCommands {
  /** Gives a delivery to the daemon that claimed its task. */
  handOn(owner: string, delivery: Delivery): Promise<HandedOn>
  /** Stops taking commands, except those that other daemons hand on about tasks of this daemon. */
  stop(): Promise<unknown>
  /**
   * Call only after the last owned task is released: a peer that gets no reply assumes that the task is
   * unowned, and writes to its log.
   */
  close(): Promise<unknown>
}

/** Serves the commands until `stop`. */
export function serveTaskCommands({
  nc,
  subjects,
  tenant,
  daemonId,
  ports,
  driver,
  takeOver,
  wake,
  shared,
  serveRequest,
}: TaskCommandsOf): TaskCommands {
  const findLog = (taskId: string): Promise<LogId> => existing(taskId, findTask(nc, subjects, tenant, taskId))
  const by: CarryingOut = { daemonId, ports, driver, wake, askOwner: asksOwners(nc, subjects) }
  const requests = [
    ...serveCommandRequests({
      ids: ports.ids,
      serveRequest,
      carryOut: async (asked) => carryOut(await findLog(asked.task_id), asked, by),
    }),
    ...serveSharedBudgets({
      shared: { tenant, ...shared },
      ids: ports.ids,
      serveRequest,
      carryOut: (log, asked) => carryOut(log, asked, by),
    }),
  ]
  /** Commands and leases that other daemons hand on to this owner. */
  const own = serve(
    nc,
    subjects.daemon(daemonId),
    async (request) => {
      const asked = parseRequest(daemonCommand, request, 'command')
      if (asked.command === 'ping') return { daemon: daemonId }
      if (asked.command === 'lease') {
        const { tenant, session_id, task_id, deliveries, lease, cause } = asked
        return {
          how: takeOver({ log: { tenant, session: session_id, task: task_id }, deliveries, lease, cause }),
        }
      }
      const task = await driver(await findLog(asked.task_id))
      if (task === null)
        throw new BeaverError('fenced', `This daemon does not own the task ${asked.task_id}.`)
      await carryOutOwn(task, asked)
      return { task_id: asked.task_id }
    },
    { perSecondMax: Infinity },
  )

  return {
    handOn: handsOn(nc, subjects, ports.clock),
    stop: () => Promise.all(requests.map((each) => each.stop())),
    close: () => own.stop(),
  }
}

interface CommandRequests {
  readonly ids: TaskCommandsOf['ports']['ids']
  readonly serveRequest: TaskCommandsOf['serveRequest']
  readonly carryOut: (asked: TaskCommand) => Promise<void>
}

/** The requests of clients. */
function serveCommandRequests({ ids, serveRequest, carryOut }: CommandRequests) {
  const cancel = serveRequest('task.cancel', async (asked, { by }) => {
    await carryOut({ ...asked, by, command: 'cancel' })
    return { task_id: asked.task_id, node_id: asked.node_id ?? null }
  })
  const steer = serveRequest('task.steer', async (asked, { by }) => {
    const request_id = asked.request_id ?? ids.next('request')
    await carryOut({ ...asked, request_id, by, command: 'steer' })
    return { task_id: asked.task_id, request_id }
  })
  const decide = serveRequest('task.decide', async (asked, { by }) => {
    await carryOut({ ...asked, by, command: 'decide' })
    return { task_id: asked.task_id, call_id: asked.call_id, approved: asked.approved }
  })
  const answer = serveRequest('task.answer', async (asked, { by }) => {
    await carryOut({ ...asked, by, command: 'answer' })
    return { task_id: asked.task_id, call_id: asked.call_id, action: asked.answer.action }
  })
  const raise = serveRequest('task.raise', async (asked, { by }) => {
    const request_id = asked.request_id ?? ids.next('request')
    await carryOut({ ...asked, request_id, by, command: 'raise' })
    return { task_id: asked.task_id, request_id }
  })
  const clientAnswer = serveRequest('task.client_answer', async (asked, { by }) => {
    await carryOut({ ...asked, by, command: 'client_answer' })
    return { task_id: asked.task_id, call_ids: asked.answers.map(({ call_id }) => call_id) }
  })
  return [cancel, steer, decide, answer, raise, clientAnswer]
}

interface SharedBudgetRequests {
  readonly shared: SharedBudgetsPorts
  readonly ids: TaskCommandsOf['ports']['ids']
  readonly serveRequest: TaskCommandsOf['serveRequest']
  readonly carryOut: (log: LogId, asked: TaskCommand) => Promise<void>
}

/** The requests about budgets that tasks share. */
function serveSharedBudgets({ shared, ids, serveRequest, carryOut }: SharedBudgetRequests) {
  const list = serveRequest('budget.list', async ({ of, name, limit }) => {
    const { budgets, ...rest } = await listShared({ of, name, limit }, shared)
    return { budgets: [...budgets], ...rest }
  })
  const raise = serveRequest('budget.raise', async (asked, { by }) => {
    const { of, name, per, more, reason, user_id } = asked
    const request_id = asked.request_id ?? ids.next('request')
    const given = { of, name, per, more, reason, by, user_id }
    const { budget, waiting } = await raiseShared({ ...given, requestId: request_id }, shared)
    for (const { session, task } of waiting) {
      const told = { command: 'raise', task_id: task, request_id, more, reason, by, user_id } as const
      const log = { tenant: shared.tenant, session, task } as LogId
      // A task may end meanwhile, and then nobody has to be told.
      await carryOut(log, { ...told, shared: { of, name, per } }).catch((error: unknown) => {
        if (!(error instanceof BeaverError && error.code === 'conflict')) throw error
      })
    }
    return { budget, request_id, woken_tasks: waiting.length }
  })
  return [list, raise]
}

/** @throws {BeaverError} `not_found` */
async function existing(taskId: string, found: Promise<LogId | null>): Promise<LogId> {
  const log = await found
  if (log === null)
    throw new BeaverError('not_found', `There is no task ${taskId}. "beaver tasks" lists the tasks.`)
  return log
}

function asksOwners(nc: NatsConnection, subjects: Subjects): CarryingOut['askOwner'] {
  return async (owner, asked) => {
    try {
      await call(nc, subjects.daemon(owner), asked, { timeoutMs: ownerMsMax, whom: 'owner of the task' })
      return true
    } catch (error) {
      if (error instanceof BeaverError && (error.code === 'no_daemon' || error.code === 'fenced'))
        return false
      throw error
    }
  }
}

/** Gives deliveries to the daemons that claimed their tasks. */
function handsOn(nc: NatsConnection, subjects: Subjects, clock: Clock): TaskCommands['handOn'] {
  const gone = goneOwners(clock)

  return async (owner, { log, deliveries, lease, cause }) => {
    const { tenant, session: session_id, task: task_id } = log
    if (gone.has(owner)) return 'gone'
    const asked = { command: 'lease', tenant, session_id, task_id, deliveries, lease, cause }
    try {
      const answer = daemonContracts.lease.output.parse(
        await call(nc, subjects.daemon(owner), asked, { timeoutMs: leaseMsMax, whom: 'owner of the task' }),
      )
      return answer.how
    } catch (error) {
      if (error instanceof BeaverError && error.code === 'no_daemon') gone.add(owner)
      return 'gone' // The owner is gone or does not answer, so the task needs another owner.
    }
  }
}

// Remembers for a moment which owners are gone. After a death, each task of the dead daemon asks for its
// owner before it is claimed, and hundreds of unanswered questions take as long as the claims. If the owner
// is back, the fence of the journal decides, as after any late answer.

/** For how long an owner counts as gone without another question, in milliseconds. */
const goneMs = 250
const keptMax = 1_000

interface GoneOwners {
  add(owner: string): void
  has(owner: string): boolean
}

export function goneOwners(clock: Pick<Clock, 'now'>): GoneOwners {
  const since = new Map<string, number>()
  return {
    add(owner) {
      if (since.size >= keptMax) since.clear()
      since.set(owner, clock.now())
    },
    has(owner) {
      const at = since.get(owner)
      return at !== undefined && clock.now() - at < goneMs
    },
  }
}

// Carries out a command about a task: by the supervisor that drives the task here, by the daemon that owns it
// or, if no living daemon owns it, by a write to its log, which the next owner obeys. If the task changes its
// owner meanwhile, the new owner is asked, at most `triesMax` times. Only its supervisor writes into the log
// of a task that this daemon drives or claims.

export interface CarryingOut {
  readonly daemonId: string
  readonly ports: TaskLogPorts & {
    readonly clock: Clock
    readonly judgeArguments: ArgumentsJudge
    readonly budgets?: LimitRules
  }
  /**
   * Resolves with the supervisor of a task that this daemon drives, after a claim that is under way; `null`
   * for every other task.
   */
  driver(log: LogId): Promise<TaskSupervisor | null>
  /** Asks the daemon that owns the task. @returns `false` if that daemon is gone, or released the task */
  askOwner(owner: string, asked: TaskCommand): Promise<boolean>
  /** Makes a daemon look at a task whose log was changed while no daemon drove it. */
  wake(log: LogId): Promise<void>
}

const triesMax = 20
const pauseMs = 50

/**
 * @throws {BeaverError} the refusal of the command; `fenced` if the task keeps changing its owner;
 * `unreachable`
 */
export async function carryOut(log: LogId, asked: TaskCommand, by: CarryingOut): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await tryOnce(log, asked, by)
    } catch (error) {
      if (!(error instanceof BeaverError && error.code === 'fenced') || tries >= triesMax) throw error
      await pause(by.ports.clock, pauseMs, new AbortController().signal)
    }
  }
}

async function tryOnce(
  log: LogId,
  asked: TaskCommand,
  { daemonId, ports, driver, askOwner, wake }: CarryingOut,
): Promise<void> {
  const here = await driver(log)
  if (here !== null) return carryOutOwn(here, asked)
  const { state, events, head, revision } = await loadTask(log, ports)
  const written = await eventsOf({ log, state, events }, asked, ports)
  if (written.length === 0) return // The log has the request already.
  if (state.owner === daemonId) {
    // This daemon may have claimed it while its log was read, or released it.
    const since = await driver(log)
    if (since !== null) return carryOutOwn(since, asked)
  } else if (state.owner !== null && (await askOwner(state.owner, asked))) return
  await new TaskLog(log, { head, revision, epoch: head.epoch }, ports).append(written.map(draft))
  // A suspended task continues when its wait is over, and its agent gets the text then.
  if (asked.command !== 'steer' || state.suspended === null) await wake(log)
}

/** Carries out a command about a task that this daemon drives. */
function carryOutOwn(own: TaskSupervisor, asked: TaskCommand): Promise<void> {
  switch (asked.command) {
    case 'cancel':
      return asked.node_id === undefined
        ? own.cancel(asked.reason, askerOf(asked))
        : own.cancelNode(asked.node_id, asked.reason, askerOf(asked))
    case 'steer':
      return own.steer(steerOf(asked))
    case 'decide':
      return own.decide(decisionOf(asked))
    case 'answer':
      return own.answer(answerOf(asked))
    case 'raise':
      return own.raise(raiseOf(asked))
    case 'client_answer':
      return own.answerForClient(clientAnswersOf(asked))
    default:
      return asked satisfies never
  }
}

async function eventsOf(
  task: { log: LogId } & TaskSoFar,
  asked: TaskCommand,
  ports: CarryingOut['ports'],
): Promise<readonly DomainEvent[]> {
  if (asked.command === 'client_answer') return clientAnswerEvents(task.log, task, clientAnswersOf(asked))
  const event = await eventOf(task, asked, ports)
  return event === null ? [] : [event]
}

async function eventOf(
  { log, ...task }: { log: LogId } & TaskSoFar,
  asked: Exclude<TaskCommand, { command: 'client_answer' }>,
  { judgeArguments: judge, budgets }: CarryingOut['ports'],
): Promise<DomainEvent | null> {
  switch (asked.command) {
    case 'cancel':
      return cancelEvent(log, task.state, asked)
    case 'steer':
      return steerEvent(log, task.state, steerOf(asked))
    case 'decide':
      return decidedEvent({ log, ...task }, asked, judge)
    case 'answer':
      return answeredEvent({ log, ...task }, asked)
    case 'raise':
      return raiseEvent(log, task.state, raiseOf(asked), budgets)
    default:
      return asked satisfies never
  }
}

const clientAnswersOf = ({
  answers,
  tool_choice: toolChoice,
  by,
  user_id,
}: Extract<TaskCommand, { command: 'client_answer' }>): ClientAnswers => ({
  answers: answers.map(({ call_id, content, error }) => ({ callId: call_id, content, error })),
  toolChoice,
  by,
  userId: user_id,
})

function steerOf({ request_id, text, ...asked }: Extract<TaskCommand, { command: 'steer' }>): SteerRequest {
  return { requestId: request_id, text, ...askerOf(asked) }
}

function raiseOf({
  request_id: requestId,
  more,
  node_id,
  shared,
  reason,
  ...asked
}: Extract<TaskCommand, { command: 'raise' }>): RaiseRequest {
  return {
    ...{ requestId, more, reason, ...askerOf(asked) },
    ...(node_id === undefined ? {} : { budget: { of: 'node', name: node_id, per: 'run' } }),
    ...(shared === undefined ? {} : { budget: shared }),
  }
}

// Events for a task that no daemon drives at the moment.

/**
 * The event that asks the next owner of the task to cancel it.
 * @throws {BeaverError} `conflict` if the task or the node has ended, `not_found` if no running team has the
 * node
 */
export function cancelEvent(
  log: LogId,
  state: TaskState,
  { reason, node_id, ...asked }: Pick<CancelRequest, 'reason' | 'node_id'> & Asker,
): DomainEvent {
  if (state.ended !== null)
    throw new BeaverError('conflict', `The task ${log.task} has ended already: ${state.status}.`)
  if (node_id === undefined) return event('task_cancel_requested', { reason, ...askerOf(asked) })
  const team = [...state.teams.values()].find((each) => each.outcome === null && each.nodes.has(node_id))
  const status = team?.nodes.get(node_id)?.status
  if (team === undefined || status === undefined) {
    throw new BeaverError(
      'not_found',
      `No running team of the task ${log.task} has a node ${JSON.stringify(node_id)}. "beaver show ${log.task}" lists its nodes.`,
    )
  }
  if (status !== 'waiting' && status !== 'running')
    throw new BeaverError('conflict', `The node ${JSON.stringify(node_id)} has ended already: ${status}.`)
  return event('node_cancel_requested', {
    team_run_id: team.start.team_run_id,
    node_id,
    reason,
    ...askerOf(asked),
  })
}

function askerOf({ by, user_id }: Asker): Asker {
  return { ...(by === undefined ? {} : { by }), ...(user_id === undefined ? {} : { user_id }) }
}

type AskedDecision = DecisionRequest & { readonly by: string }

const decisionOf = ({
  call_id,
  call_hash,
  approved,
  by,
  reason,
  user_id,
  arguments: args,
}: AskedDecision): Decision => ({
  callId: call_id,
  callHash: call_hash,
  approved,
  by,
  reason,
  userId: user_id,
  arguments: args,
})

/**
 * The event that keeps the decision for the next owner of the task.
 * @throws {BeaverError} `not_found`, `conflict`, `invalid_arguments`
 */
async function decidedEvent(
  { log, ...task }: Known,
  asked: AskedDecision,
  judge: ArgumentsJudge,
): Promise<DomainEvent> {
  const { runId, call } = callWaiting(log, task, asked.call_id, asked.call_hash)
  const decision = { ...decisionOf(asked), callId: call.id, callHash: call.callHash ?? undefined }
  await mustFit(call, decision, judge)
  return decisionEvent(runId, decision)
}

interface Known extends TaskSoFar {
  readonly log: LogId
}

type AskedAnswer = AnswerRequest & { readonly by: string }

const answerOf = ({ call_id, question_index, answer, by, reason, user_id }: AskedAnswer): Answer => ({
  callId: call_id,
  index: question_index,
  answer,
  by,
  reason,
  userId: user_id,
})

/**
 * The event that keeps the answer for the next owner of the task.
 * @throws {BeaverError} `not_found`, `conflict`, `invalid_arguments`
 */
function answeredEvent({ log, ...task }: Known, asked: AskedAnswer): DomainEvent {
  const answer = answerOf(asked)
  const { runId, callId, index } = questionWaiting(log, task, answer)
  return answerEvent(runId, index, { ...answer, callId })
}
