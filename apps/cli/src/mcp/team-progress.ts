// Describes the progress of a team, in pure functions: what an event means, how many nodes have ended, and
// what happens now.
import type { DomainEvent } from '@beaver/core'
import { counted, type TaskView } from '@beaver/core/task-view'
import { duration } from '../text/figures.ts'

const messageCharsMax = 500
const namedMax = 3

/** The message for an event; `null` if the event is not worth a message. */
export function progressIn(event: DomainEvent): string | null {
  const message = messageIn(event)
  return message === null ? null : message.slice(0, messageCharsMax)
}

function messageIn(event: DomainEvent): string | null {
  switch (event.type) {
    case 'task_claimed':
      return 'A daemon works on the task.'
    case 'task_suspended':
      return event.data.waits_for === 'person' ? null : `The task waits: ${event.data.reason}`
    case 'task_team_run_started':
      return 'The team has started.'
    case 'graph_extended':
      return `${event.data.node_id} added work for the team.`
    case 'node_started':
      return `${event.data.node_id} has started.`
    case 'node_completed':
    case 'node_computed':
      return `${event.data.node_id} has completed.`
    case 'node_failed':
      return `${event.data.node_id} has failed: ${event.data.failure.message}`
    case 'node_blocked':
      return `${event.data.node_id} is blocked by ${event.data.cause_node_id}.`
    case 'node_cancelled':
      return `${event.data.node_id} was cancelled.`
    case 'node_skipped':
      return `${event.data.node_id} was skipped.`
    default:
      return null
  }
}

/** How many nodes of all teams have ended. */
export const nodesEnded = ({ nodes }: TaskView): number =>
  nodes.values().reduce((sum, { nodeEnded }) => sum + (nodeEnded ? 1 : 0), 0)

/** What happens at `now`, in milliseconds since 1970. `null`: no node works. */
export function happeningNow({ nodes, held }: TaskView, now: number): string | null {
  if (held !== null) return `The task waits: ${held}`.slice(0, messageCharsMax)
  const working = [...nodes.values()]
    .flatMap(({ name, startedAt, nodeEnded }) =>
      startedAt === null || nodeEnded ? [] : [{ name, startedAt }],
    )
    .toSorted((a, b) => a.startedAt - b.startedAt)
  if (working.length === 0) return null
  const named = working
    .slice(0, namedMax)
    .map(({ name, startedAt }) => `${name} has worked for ${duration(now - startedAt)}`)
  const left = working.length - namedMax
  const more = left > 0 ? [`${counted(left, 'more node')} ${left === 1 ? 'works' : 'work'}`] : []
  return `${[...named, ...more].join(', ')}.`
}
