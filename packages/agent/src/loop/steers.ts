// Which texts of a person who steers a run it is given next: each once, in the order in which they became
// durable, before a request to the model and never while a call of its last answer is open. A run that would
// complete is given the new texts, and thinks again.
import { type DomainEvent, event, invariant } from '@beaver/core'
import type { RunState } from '@beaver/core/fold'
import type { Steer } from './loop-spec.ts'

/** The messages for the texts that the run was not given yet. */
export function steerMessages(run: RunState, steers: readonly Steer[]): DomainEvent[] {
  const due = steers.filter(({ requestId }) => !run.steersGiven.includes(requestId))
  return due.map(({ requestId, text }) =>
    event('user_message_added', { content: text, steer_request_id: requestId }, run.start.run_id),
  )
}

/** The events, with the messages that are due in place of the completion. */
export function unlessSteered(
  run: RunState,
  events: readonly DomainEvent[],
  steers: readonly Steer[],
): readonly DomainEvent[] {
  if (events.at(-1)?.type !== 'run_completed') return events
  const messages = steerMessages(run, steers)
  return messages.length === 0 ? events : steeredOn(events, messages)
}

/** The events, with `messages` in place of the completion that was refused because of them. */
export function steeredOn(
  events: readonly DomainEvent[],
  messages: readonly DomainEvent[],
): readonly DomainEvent[] {
  invariant(
    events.at(-1)?.type === 'run_completed' && messages.length > 0,
    'Only a completion is refused, and only if the task was steered.',
  )
  return [...events.slice(0, -1), ...messages]
}
