// Commands about a task, which any daemon takes: cancel the task or one of its nodes, steer it, or decide about a call that waits for an approval.
// C1. The owner journals a command. If the task has no living owner, the command is written to the log, and the next owner obeys it.
// C2. A task may be claimed, handed over or lost in between. In this case its new owner is asked, at most `triesMax` times.
// C3. The delivery of a task is its lease. It may come to another daemon than the one that accepted and claimed the task; that daemon
//     hands it on to the owner.
import { daemonCommand, daemonContracts, type TaskCommand } from '@beaver/contracts'
import { BeaverError, type Clock, type Delivery, type DomainEvent, draft, type Ids, type LogId, type TaskState, pause } from '@beaver/core'
import { call, findTask, parseRequest, serve, type Subjects } from '@beaver/nats'
import { type HandedOn, loadTask, steerEvent, type SteerRequest, type SupervisedTask, TaskLog, type TaskLogPorts } from '@beaver/runtime'
import type { NatsConnection } from '@nats-io/nats-core'
import { goneOwners } from './gone-owners.ts'
import type { ServeRequest } from './serve-requests.ts'
import { askerOf, cancelEvent } from './cancel-request.ts'
import { decidedEvent, decisionOf } from './decision-request.ts'

export interface TaskCommandsOf {
  readonly nc: NatsConnection
  readonly subjects: Subjects
  readonly tenant: string
  readonly daemonId: string
  readonly ports: TaskLogPorts & { readonly clock: Clock; readonly ids: Ids }
  /** Serves a request while the journal answers. */
  readonly serveRequest: ServeRequest
  /** Returns the task if this daemon drives it. */
  held(log: LogId): SupervisedTask | undefined
  /** Takes the lease of a task that this daemon drives. */
  takeOver(delivery: Pick<Delivery, 'log' | 'deliveries' | 'lease' | 'cause'>): Exclude<HandedOn, 'gone'>
  /** Makes a daemon look at a task whose log was changed while no daemon drove it. */
  wake(log: LogId): Promise<void>
}

const triesMax = 20
const pauseMs = 50
const ownerMsMax = 5_000
const leaseMsMax = 1_000

export interface TaskCommands {
  /** Gives a delivery to the daemon that claimed its task. */
  handOn(owner: string, delivery: Delivery): Promise<HandedOn>
  /** Stops taking commands, except those about tasks that this daemon owns, which other daemons still hand on. */
  stop(): Promise<unknown>
  /** Call only after the last owned task is released: a peer that gets no reply assumes that the task is unowned, and writes to its log. */
  close(): Promise<unknown>
}

/** Serves the commands until `stop`. */
export function serveTaskCommands({ nc, subjects, tenant, daemonId, ports, held, takeOver, wake, serveRequest }: TaskCommandsOf): TaskCommands {
  const cancel = serveRequest('task.cancel', async (asked, { by }) => {
    await carryOut({ ...asked, by, command: 'cancel' })
    return { task_id: asked.task_id, node_id: asked.node_id ?? null }
  })
  const steer = serveRequest('task.steer', async (asked, { by }) => {
    const request_id = asked.request_id ?? ports.ids.next('steer')
    await carryOut({ ...asked, request_id, by, command: 'steer' })
    return { task_id: asked.task_id, request_id }
  })
  const decide = serveRequest('task.decide', async (asked, { by }) => {
    await carryOut({ ...asked, by, command: 'decide' })
    return { task_id: asked.task_id, call_id: asked.call_id, approved: asked.approved }
  })
  /** Commands and leases that other daemons hand on, because this daemon owns the task. */
  const own = serve(
    nc,
    subjects.daemon(daemonId),
    async (request) => {
      const asked = parseRequest(daemonCommand, request, 'command')
      if (asked.command === 'ping') return { daemon: daemonId }
      if (asked.command === 'lease') {
        const { tenant, session_id, task_id, deliveries, lease, cause } = asked
        return { how: takeOver({ log: { tenant, session: session_id, task: task_id }, deliveries, lease, cause }) }
      }
      const task = held(await findLog(asked.task_id))
      if (task === undefined) throw new BeaverError('fenced', `This daemon does not own the task ${asked.task_id}.`)
      await carryOutOwn(task, asked)
      return { task_id: asked.task_id }
    },
    { perSecondMax: Infinity },
  )

  const findLog = (taskId: string): Promise<LogId> => existing(taskId, findTask(nc, subjects, tenant, taskId))

  async function carryOut(asked: TaskCommand): Promise<void> {
    const log = await findLog(asked.task_id)
    for (let tries = 1; ; tries++) {
      try {
        return await tryOnce(log, asked)
      } catch (error) {
        if (!(error instanceof BeaverError && error.code === 'fenced') || tries >= triesMax) throw error
        await pause(ports.clock, pauseMs, new AbortController().signal)
      }
    }
  }

  async function tryOnce(log: LogId, asked: TaskCommand): Promise<void> {
    const task = held(log)
    if (task !== undefined) return carryOutOwn(task, asked)
    const { state, head, revision } = await loadTask(log, ports)
    const event = eventOf(log, state, asked)
    if (event === null) return // The log has the request already.
    if (state.owner !== null && state.owner !== daemonId) {
      const handed = await call(nc, subjects.daemon(state.owner), asked, { timeoutMs: ownerMsMax, whom: 'owner of the task' }).catch((error: unknown) => {
        if (error instanceof BeaverError && (error.code === 'no_daemon' || error.code === 'fenced')) return null
        throw error
      })
      if (handed !== null) return
    }
    await new TaskLog(log, { head, revision, epoch: head.epoch }, ports).append([draft(event)])
    // A suspended task continues when its wait is over. Its agent is told then.
    if (asked.command !== 'steer' || state.suspended === null) await wake(log)
  }

  return { handOn: handsOn(nc, subjects, ports.clock), stop: () => Promise.all([cancel.stop(), steer.stop(), decide.stop()]), close: () => own.stop() }
}

/** @throws {BeaverError} `not_found` */
async function existing(taskId: string, found: Promise<LogId | null>): Promise<LogId> {
  const log = await found
  if (log === null) throw new BeaverError('not_found', `There is no task ${taskId}. "beaver tasks" lists the tasks.`)
  return log
}

/** Gives deliveries to the daemons that claimed their tasks. */
function handsOn(nc: NatsConnection, subjects: Subjects, clock: Clock): TaskCommands['handOn'] {
  const gone = goneOwners(clock)

  return async (owner, { log, deliveries, lease, cause }) => {
    const { tenant, session: session_id, task: task_id } = log
    if (gone.has(owner)) return 'gone'
    const asked = { command: 'lease', tenant, session_id, task_id, deliveries, lease, cause }
    try {
      const answer = daemonContracts.lease.output.parse(await call(nc, subjects.daemon(owner), asked, { timeoutMs: leaseMsMax, whom: 'owner of the task' }))
      return answer.how
    } catch (error) {
      if (error instanceof BeaverError && error.code === 'no_daemon') gone.add(owner)
      return 'gone' // The owner is gone or does not answer, so the task needs another owner.
    }
  }
}

function carryOutOwn(own: SupervisedTask, asked: TaskCommand): Promise<void> {
  switch (asked.command) {
    case 'cancel':
      return asked.node_id === undefined ? own.cancel(asked.reason, askerOf(asked)) : own.cancelNode(asked.node_id, asked.reason, askerOf(asked))
    case 'steer':
      return own.steer(steerOf(asked))
    case 'decide':
      return own.decide(decisionOf(asked))
    default:
      return asked satisfies never
  }
}

function eventOf(log: LogId, state: TaskState, asked: TaskCommand): DomainEvent | null {
  switch (asked.command) {
    case 'cancel':
      return cancelEvent(log, state, asked)
    case 'steer':
      return steerEvent(log, state, steerOf(asked))
    case 'decide':
      return decidedEvent(log, state, asked)
    default:
      return asked satisfies never
  }
}

function steerOf({ request_id, text, ...asked }: Extract<TaskCommand, { command: 'steer' }>): SteerRequest {
  return { requestId: request_id, text, ...askerOf(asked) }
}
