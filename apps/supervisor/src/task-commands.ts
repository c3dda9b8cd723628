// Commands about a task that any daemon takes: cancel it or a node of it, decide about a call that waits for an approval.
// C1. The owner journals a command; without a living owner it stands in the log, for whoever claims the task next.
// C2. A task may be claimed, handed over or lost meanwhile: then its new owner is asked, a bounded number of times.
// C3. The delivery of a task, which is its lease, may come to another daemon than the one that accepted and claimed it: it is
//     handed on to that one.
import { BeaverError, type Clock, type Delivery, type DomainEvent, draft, foreignId, type LogId, type TaskState, pause } from '@beaver/core'
import { call, findTask, parseRequest, serve, type Subjects } from '@beaver/nats'
import { loadTask, type SupervisedTask, TaskLog, type TaskLogPorts } from '@beaver/runtime'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import { cancelEvent, cancelRequest } from './cancel-request.ts'
import { decidedEvent, decisionOf, decisionRequest } from './decision-request.ts'

/** The delivery of a task, as one daemon hands it on to the owner. */
const leaseCommand = z.strictObject({
  command: z.literal('lease'),
  log: z.strictObject({ tenant: foreignId, session: foreignId, task: foreignId }),
  deliveries: z.int().positive(),
  lease: z.string(),
})
/** As one daemon hands it on to the owner. */
const taskCommand = z.discriminatedUnion('command', [
  cancelRequest.extend({ command: z.literal('cancel') }),
  decisionRequest.extend({ command: z.literal('decide') }),
])
type TaskCommand = z.infer<typeof taskCommand>

export interface TaskCommandsOf {
  readonly nc: NatsConnection
  readonly subjects: Subjects
  readonly tenant: string
  readonly daemonId: string
  readonly ports: TaskLogPorts & { readonly clock: Clock }
  /** The task, when this daemon holds it. */
  held(log: LogId): SupervisedTask | undefined
  /** Takes the lease of a task this daemon drives; `false` when it does not. */
  takeOver(delivery: Pick<Delivery, 'log' | 'deliveries' | 'lease'>): boolean
}

const triesMax = 20
const pauseMs = 50
const ownerMsMax = 5_000
const leaseMsMax = 1_000

export interface TaskCommands {
  /** Gives a delivery to the daemon that claimed its task; `false` when that one is gone, or does not drive it. */
  handOn(owner: string, delivery: Delivery): Promise<boolean>
  /** Takes no more commands but those about tasks it owns: other daemons go on handing these on. */
  stop(): Promise<unknown>
  /** Once it owns none: whoever finds nobody at an owner's subject takes its task for nobody's, and writes into it. */
  close(): Promise<unknown>
}

/** Serves the commands until `stop`. */
export function serveTaskCommands({ nc, subjects, tenant, daemonId, ports, held, takeOver }: TaskCommandsOf): TaskCommands {
  const cancel = serve(nc, subjects.service('task.cancel'), async (request) => {
    const asked = parseRequest(cancelRequest, request, 'cancel request')
    await carryOut({ ...asked, command: 'cancel' })
    return { task_id: asked.task_id, node_id: asked.node_id ?? null }
  })
  const decide = serve(nc, subjects.service('task.decide'), async (request) => {
    const asked = parseRequest(decisionRequest, request, 'decision')
    await carryOut({ ...asked, command: 'decide' })
    return { task_id: asked.task_id, call_id: asked.call_id, approved: asked.approved }
  })
  /** What another daemon hands on, because the task is ours. */
  const handedOn = serve(nc, subjects.daemon(daemonId), async (request) => {
    const asked = parseRequest(z.union([taskCommand, leaseCommand]), request, 'command')
    if (asked.command === 'lease') return { taken: takeOver({ ...asked, log: asked.log as LogId }) }
    const own = held(await findLog(asked.task_id))
    if (own?.claimed() !== true) throw new BeaverError('fenced', `This daemon does not own the task ${asked.task_id}.`)
    await carryOutOwn(own, asked)
    return { task_id: asked.task_id }
  })

  async function findLog(taskId: string): Promise<LogId> {
    const log = await findTask(nc, subjects, tenant, taskId)
    if (log === null) throw new BeaverError('not_found', `There is no task ${taskId}. "beaver tasks" lists those there are.`)
    return log
  }

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
    const own = held(log)
    if (own?.claimed() === true) return carryOutOwn(own, asked)
    const { state, head, revision } = await loadTask(log, ports)
    const event = eventOf(log, state, asked)
    if (state.owner !== null && state.owner !== daemonId) {
      const handed = await call(nc, subjects.daemon(state.owner), asked, { timeoutMs: ownerMsMax, whom: 'owner of the task' }).catch((error: unknown) => {
        if (error instanceof BeaverError && (error.code === 'no_daemon' || error.code === 'fenced')) return null
        throw error
      })
      if (handed !== null) return
    }
    await new TaskLog(log, { head, revision, epoch: head.epoch }, ports).append([draft(event)])
  }

  async function handOn(owner: string, { log, deliveries, lease }: Delivery): Promise<boolean> {
    const handed = await call(
      nc,
      subjects.daemon(owner),
      { command: 'lease', log, deliveries, lease },
      { timeoutMs: leaseMsMax, whom: 'owner of the task' },
    ).catch(() => null) // gone, or it does not answer: the task needs another owner
    return (handed as { taken?: boolean } | null)?.taken === true
  }

  return { handOn, stop: () => Promise.all([cancel.stop(), decide.stop()]), close: () => handedOn.stop() }
}

function carryOutOwn(own: SupervisedTask, asked: TaskCommand): Promise<void> {
  switch (asked.command) {
    case 'cancel':
      return asked.node_id === undefined ? own.cancel(asked.reason) : own.cancelNode(asked.node_id, asked.reason)
    case 'decide':
      return own.decide(decisionOf(asked))
    default:
      return asked satisfies never
  }
}

function eventOf(log: LogId, state: TaskState, asked: TaskCommand): DomainEvent {
  switch (asked.command) {
    case 'cancel':
      return cancelEvent(log, state, asked)
    case 'decide':
      return decidedEvent(log, state, asked)
    default:
      return asked satisfies never
  }
}
