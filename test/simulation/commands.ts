// A command about a task, as packages/daemon carries it out, without NATS: the owner journals it; without a living owner it is written
// into the log, for whoever claims the task next.
import { BeaverError, type DomainEvent, draft, event, type LogId, logKey, pause, type TaskQueue } from '@beaver/core'
import { callWaiting, type Daemon, decisionEvent, loadTask, TaskLog, type TaskLogPorts } from '@beaver/runtime'
import { type Calling, callPeer } from './peer-call.ts'

export type Command = { readonly kind: 'cancel'; readonly reason: string } | { readonly kind: 'decide'; readonly callId: string; readonly approved: boolean }

export interface CommandPorts extends Calling {
  readonly id: string
  readonly daemon: Daemon
  readonly ports: TaskLogPorts
  readonly queue: TaskQueue
}

const ownerMsMax = 5_000
const triesMax = 20

export async function carryOut(of: CommandPorts, log: LogId, command: Command): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await tryOnce(of, log, command)
    } catch (error) {
      if (!(error instanceof BeaverError && error.code === 'fenced') || tries >= triesMax) throw error
      await pause(of.life.clock, 50, new AbortController().signal)
    }
  }
}

async function tryOnce(of: CommandPorts, log: LogId, command: Command): Promise<void> {
  const { daemon, ports, queue, id } = of
  const task = daemon.tasks.get(logKey(log))
  if (task !== undefined) return own(daemon, log, command)
  const { state, head, revision } = await loadTask(log, ports)
  if (state.ended !== null) throw new BeaverError('conflict', 'The task has ended already.')
  const written: DomainEvent = command.kind === 'cancel' ? event('task_cancel_requested', { reason: command.reason }) : decided(log, state, command)
  if (state.owner !== null && state.owner !== id) {
    const handed = await callPeer(of, state.owner, ownerMsMax, (peer) => own(peer.daemon, log, command)).catch((error: unknown) => {
      if (error instanceof BeaverError && error.code === 'fenced') return 'gone' as const
      throw error
    })
    if (handed === 'silent') throw new BeaverError('timeout', 'The owner did not answer.')
    if (handed !== 'gone') return
  }
  await new TaskLog(log, { head, revision, epoch: head.epoch }, ports).append([draft(written)])
  await queue.wake(log)
}

async function own(daemon: Daemon, log: LogId, command: Command): Promise<void> {
  const task = daemon.tasks.get(logKey(log))
  if (task === undefined) throw new BeaverError('fenced', 'This daemon does not own the task.')
  if (command.kind === 'cancel') await task.cancel(command.reason)
  else await task.decide({ callId: command.callId, approved: command.approved, by: 'ada', reason: '' })
}

function decided(log: LogId, state: Parameters<typeof callWaiting>[1], command: Extract<Command, { kind: 'decide' }>): DomainEvent {
  const { runId, call } = callWaiting(log, state, command.callId)
  return decisionEvent(runId, { callId: call.id, approved: command.approved, by: 'ada', reason: '' })
}
