// Carries out a command about a task: by the supervisor that drives the task here, by the daemon that owns
// it, or by a write to its log. The owner journals a command. If the task has no living owner, the command is
// written to the log, and the next owner obeys it. A task may be claimed, handed over or lost in between. In
// this case its new owner is asked, at most `triesMax` times. Nobody writes into the log of a task that this
// daemon drives, or claims at the moment, but the task's supervisor.
import type { TaskCommand } from '@beaver/contracts'
import { BeaverError, type Clock, type DomainEvent, draft, type LogId, pause } from '@beaver/core'
import {
  type ArgumentsJudge,
  loadTask,
  steerEvent,
  type SteerRequest,
  type SupervisedTask,
  TaskLog,
  type TaskLogPorts,
  type TaskSoFar,
} from '@beaver/runtime'
import { askerOf, cancelEvent } from './cancel-request.ts'
import { answeredEvent, answerOf, decidedEvent, decisionOf } from './decision-request.ts'

export interface CarryingOut {
  readonly daemonId: string
  readonly ports: TaskLogPorts & { readonly clock: Clock; readonly judgeArguments: ArgumentsJudge }
  /**
   * Resolves with the supervisor of a task that this daemon drives, after a claim that is under way; `null`
   * for every other task.
   */
  driver(log: LogId): Promise<SupervisedTask | null>
  /**
   * Asks another daemon, which owns the task. @returns `false` if that daemon is gone, or let go of the task
   */
  askOwner(owner: string, asked: TaskCommand): Promise<boolean>
  /** Makes a daemon look at a task whose log was changed while no daemon drove it. */
  wake(log: LogId): Promise<void>
}

const triesMax = 20
const pauseMs = 50

/**
 * @throws {BeaverError} what the command is refused with; `fenced` if the task changes its owner all the
 * time; `unreachable`
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
  const event = await eventOf({ log, state, events }, asked, ports.judgeArguments)
  if (event === null) return // The log has the request already.
  if (state.owner === daemonId) {
    // It may have been claimed while its log was read. If not, this daemon let go of it.
    const since = await driver(log)
    if (since !== null) return carryOutOwn(since, asked)
  } else if (state.owner !== null && (await askOwner(state.owner, asked))) return
  await new TaskLog(log, { head, revision, epoch: head.epoch }, ports).append([draft(event)])
  // A suspended task continues when its wait is over. Its agent is told then.
  if (asked.command !== 'steer' || state.suspended === null) await wake(log)
}

/** Carries out a command about a task that this daemon drives. */
export function carryOutOwn(own: SupervisedTask, asked: TaskCommand): Promise<void> {
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
    default:
      return asked satisfies never
  }
}

async function eventOf(
  { log, ...task }: { log: LogId } & TaskSoFar,
  asked: TaskCommand,
  judge: ArgumentsJudge,
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
    default:
      return asked satisfies never
  }
}

function steerOf({ request_id, text, ...asked }: Extract<TaskCommand, { command: 'steer' }>): SteerRequest {
  return { requestId: request_id, text, ...askerOf(asked) }
}
