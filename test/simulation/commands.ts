// A command about a task, as packages/daemon carries it out, without NATS: the owner journals it; without a
// living owner it is written into the log, for whoever claims the task next.
import { BeaverError, type DomainEvent, event, type LogId, logKey, pause } from '@beaver/core'
import { draft, type TaskQueue } from '@beaver/core/journal'
import {
  callWaiting,
  clientAnswerEvents,
  type TaskDriver,
  decisionEvent,
  loadTask,
  steerEvent,
  TaskLog,
  type TaskLogPorts,
  type TaskSoFar,
} from '@beaver/runtime'
import { type Calling, callPeer } from './peer-call.ts'

export type Command =
  | { readonly kind: 'cancel'; readonly reason: string }
  | { readonly kind: 'steer'; readonly requestId: string; readonly text: string }
  | { readonly kind: 'decide'; readonly callId: string; readonly approved: boolean }
  | { readonly kind: 'client'; readonly callId: string; readonly content: string }

export interface CommandPorts extends Calling {
  readonly id: string
  readonly daemon: TaskDriver
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
  const loaded = await loadTask(log, ports)
  const { state, head, revision } = loaded
  if (state.ended !== null && command.kind !== 'steer')
    throw new BeaverError('conflict', 'The task has ended already.')
  const written = eventsOf(log, loaded, command)
  if (written.length === 0) return
  if (state.owner !== null && state.owner !== id) {
    const handed = await callPeer(of, state.owner, ownerMsMax, (peer) =>
      own(peer.daemon, log, command),
    ).catch((error: unknown) => {
      if (error instanceof BeaverError && error.code === 'fenced') return 'gone' as const
      throw error
    })
    if (handed === 'silent') throw new BeaverError('timeout', 'The owner did not answer.')
    if (handed !== 'gone') return
  }
  await new TaskLog(log, { head, revision, epoch: head.epoch }, ports).append(written.map(draft))
  if (command.kind !== 'steer' || state.suspended === null) await queue.wake(log)
}

async function own(daemon: TaskDriver, log: LogId, command: Command): Promise<void> {
  const task = daemon.tasks.get(logKey(log))
  if (task === undefined) throw new BeaverError('fenced', 'This daemon does not own the task.')
  if (command.kind === 'cancel') await task.cancel(command.reason)
  else if (command.kind === 'steer') await task.steer(command)
  else if (command.kind === 'client') await task.answerForClient(answersOf(command))
  else await task.decide({ callId: command.callId, approved: command.approved, by: 'ada', reason: '' })
}

const answersOf = ({ callId, content }: Extract<Command, { kind: 'client' }>) => ({
  answers: [{ callId, content }],
  by: 'web',
})

function eventsOf(log: LogId, task: TaskSoFar, command: Command): readonly DomainEvent[] {
  if (command.kind === 'client') return clientAnswerEvents(log, task, answersOf(command))
  if (command.kind === 'cancel') return [event('task_cancel_requested', { reason: command.reason })]
  const made = command.kind === 'steer' ? steerEvent(log, task.state, command) : decided(log, task, command)
  return made === null ? [] : [made]
}

function decided(log: LogId, task: TaskSoFar, command: Extract<Command, { kind: 'decide' }>): DomainEvent {
  const { runId, call } = callWaiting(log, task, command.callId)
  return decisionEvent(runId, { callId: call.id, approved: command.approved, by: 'ada', reason: '' })
}
