// Commands about a task, which any daemon takes: cancel the task or one of its nodes, steer it, or decide
// about a call that waits for an approval. Who carries a command out is decided in carry-out.ts. The delivery
// of a task is its lease. It may come to another daemon than the one that accepted and claimed the task; that
// daemon hands it on to the owner.
import { daemonCommand, daemonContracts, type TaskCommand } from '@beaver/contracts'
import { BeaverError, type Clock, type Delivery, type Ids, type LogId } from '@beaver/core'
import { call, findTask, parseRequest, serve, type Subjects } from '@beaver/nats'
import type { HandedOn } from '@beaver/runtime'
import type { NatsConnection } from '@nats-io/nats-core'
import { carryOut, carryOutOwn, type CarryingOut } from './carry-out.ts'
import { goneOwners } from './gone-owners.ts'
import type { ServeRequest } from './serve-requests.ts'

export interface TaskCommandsOf extends Pick<CarryingOut, 'daemonId' | 'driver' | 'wake'> {
  readonly nc: NatsConnection
  readonly subjects: Subjects
  readonly tenant: string
  readonly ports: CarryingOut['ports'] & { readonly ids: Ids }
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
  /**
   * Stops taking commands, except those about tasks that this daemon owns, which other daemons still hand on.
   */
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
  serveRequest,
}: TaskCommandsOf): TaskCommands {
  const findLog = (taskId: string): Promise<LogId> => existing(taskId, findTask(nc, subjects, tenant, taskId))
  const by: CarryingOut = { daemonId, ports, driver, wake, askOwner: asksOwners(nc, subjects) }
  const requests = serveCommandRequests({
    ids: ports.ids,
    serveRequest,
    carryOut: async (asked) => carryOut(await findLog(asked.task_id), asked, by),
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
    const request_id = asked.request_id ?? ids.next('steer')
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
  return [cancel, steer, decide, answer]
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
