// Describes an event for people: who did what, in one sentence of bounded length, for the timeline and the
// live view. Every type of event has a teller, or the code does not compile. Texts say "Root agent" (D-07)
// and never contain the body of a prompt or of a skill. Machine names stay as they are.
import { amountText, budgetMeasures, budgetText, usedText } from '../budget/amounts.ts'
import { partsOfUsage } from '../usage.ts'
import type { DataOf, DomainEvent, EventType } from '../events/catalog.ts'
import type { taskEvents, TaskResult } from '../events/task-events.ts'
import type { JsonObject } from '../json.ts'
import { tellRun } from './tell-run.ts'
import { tellTeam } from './tell-team.ts'
import { counted, excerpt, sentence } from './text.ts'
import {
  because,
  byWhom,
  ofDaemon,
  ofTask,
  type Surroundings,
  type Teller,
  type EventDescription,
} from './told.ts'

// Tells the events of a task.

const tellTask: { readonly [T in keyof typeof taskEvents]: Teller<T> } = {
  task_submitted({ task_id, request, by }) {
    const { source, skill, text, workflow, profile, user_id } = request
    const as = workflow === undefined ? '' : ` as the workflow ${excerpt(workflow.name)}`
    const who = { ...(by === undefined ? {} : { by }), ...(user_id === undefined ? {} : { user_id }) }
    const more = {
      ...who,
      ...(workflow === undefined ? {} : { workflow: workflow.name }),
      ...(profile === undefined ? {} : { profile }),
    }
    return ofTask(
      `${task_id} was submitted${as}: ${excerpt(text)}`,
      { status: 'done', group: 'task', metadata: { source, skill, ...more } },
      { type: 'client', id: source, name: 'Client' },
    )
  },
  task_claimed: ({ daemon }, { takenOver }) =>
    ofDaemon(daemon, takenOver ? 'took the task over.' : 'took the task.', {
      status: 'done',
      group: 'task',
      news: takenOver,
    }),
  task_released: ({ daemon, reason }) =>
    ofDaemon(daemon, `gave the task back: ${sentence(excerpt(reason))}`, { status: 'done', group: 'task' }),
  // What the task waits for has been told.
  task_suspended: ({ daemon, reason }) =>
    ofDaemon(daemon, `let the task wait without a daemon: ${sentence(excerpt(reason))}`, {
      status: 'done',
      group: 'task',
      news: false,
    }),
  task_log_copied: ({ task_id, events }) =>
    ofTask(
      `is the retry of ${task_id}: ${events === 1 ? 'one event of it was' : `${counted(events, 'event')} of it were`} taken over.`,
      {
        status: 'done',
        group: 'task',
        metadata: { retry_of: task_id, events },
      },
    ),
  task_cancel_requested: ({ reason, ...doer }) =>
    ofTask(`is to be cancelled${byWhom(doer, ', says ')}: ${sentence(excerpt(reason))}`, {
      status: 'done',
      group: 'task',
    }),
  task_steer_requested: ({ text, request_id, ...doer }) =>
    ofTask(`is steered${byWhom(doer, ' by ')}: ${excerpt(text)}`, {
      status: 'done',
      group: 'task',
      metadata: { request_id },
    }),
  budget_reached: ({ budget, measure, percent, used, limit }) =>
    ofTask(`has used ${percent} % of ${excerpt(budgetText(budget))}: ${usedText(measure, used, limit)}.`, {
      status: 'done',
      group: 'task',
    }),
  budget_raised: ({ budget, more, ...doer }) =>
    ofTask(
      `has more in ${excerpt(budgetText(budget))}${byWhom(doer, ', by ')}: ${budgetMeasures
        .flatMap((measure) => (more[measure] === undefined ? [] : [amountText(measure, more[measure])]))
        .join(', ')}.`,
      { status: 'done', group: 'task' },
    ),
  // How many owners were lost, if any were, is in the failure that follows.
  task_dead_lettered: (data) =>
    ofTask('was given up on.', { status: 'failed', group: 'task', metadata: data }),
  task_completed: (data) => ofTask('completed.', { status: 'done', group: 'task', metadata: usageOf(data) }),
  task_incomplete: (data) =>
    ofTask(`ended incomplete${because(data.failure)}`, {
      status: 'failed',
      group: 'task',
      metadata: usageOf(data),
    }),
  task_failed: (data) =>
    ofTask(`failed${because(data.failure)}`, { status: 'failed', group: 'task', metadata: usageOf(data) }),
  task_cancelled: (data) =>
    ofTask('was cancelled.', { status: 'cancelled', group: 'task', metadata: usageOf(data) }),
}

const usageOf = ({ usage, simulated }: TaskResult): JsonObject => ({
  ...{ input_tokens: usage.input_tokens, output_tokens: usage.output_tokens, calls: usage.calls },
  ...partsOfUsage((part) => usage[part] ?? 0),
  simulated,
})

const tellers: { readonly [T in EventType]: Teller<T> } = { ...tellTask, ...tellRun, ...tellTeam }

/**
 * An event in words for people.
 *
 * @param around what the sentence needs besides the event
 * @example
 * const around = { taskId: 't', runId: null, agentName: 'Root agent', team: null, nodeTool: null, asked: null, takenOver: false }
 * describeEvent(event('task_cancel_requested', { reason: 'too slow' }), around).text // => 'Task is to be cancelled: too slow.'
 */
export function describeEvent(event: DomainEvent, around: Surroundings): EventDescription {
  return tell(event, around)
}

type EventOf<T extends EventType> = { [K in T]: { readonly type: K; readonly data: DataOf<K> } }[T]

function tell<T extends EventType>({ type, data }: EventOf<T>, around: Surroundings): EventDescription {
  const teller: Teller<T> = tellers[type]
  return teller(data, around)
}
