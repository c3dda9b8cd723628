// Measures the progress of a team from its events: how many of its nodes have ended, and what happens now.
// Pure.
import { counted, type DomainEvent, type RecordedEvent } from '@beaver/core'
import { duration } from '../text/figures.ts'

export interface TeamProgress {
  readonly total: number
  readonly ended: ReadonlySet<string>
  /** The nodes that work, each with the time of its start in RFC 3339. */
  readonly working: ReadonlyMap<string, string>
  /** What holds up the whole task, which no person decides. `null`: nothing does. */
  readonly held: string | null
}

export const noProgress: TeamProgress = { total: 0, ended: new Set(), working: new Map(), held: null }

interface Step {
  readonly after: TeamProgress
  readonly message: string
}

const messageCharsMax = 500

type TimedEvent = DomainEvent & Pick<RecordedEvent, 'time'>

/** The new progress, with a message if the event is worth one. A graph may grow while it runs. */
export function afterEvent(before: TeamProgress, event: TimedEvent): Step | null {
  switch (event.type) {
    case 'task_claimed':
      return telling({ ...before, held: null }, 'A daemon works on the task.')
    case 'task_suspended':
      return event.data.waits_for === 'person'
        ? null
        : telling({ ...before, held: event.data.reason }, `The task waits: ${event.data.reason}`)
    case 'task_team_run_started':
      return telling(
        { ...before, total: before.total + event.data.graph.nodes.length },
        'The team has started.',
      )
    case 'graph_extended':
      return telling(
        { ...before, total: before.total + event.data.nodes.length },
        `${event.data.node_id} added work for the team.`,
      )
    case 'node_started':
      return telling(
        { ...before, working: new Map(before.working).set(event.data.node_id, event.time) },
        `${event.data.node_id} has started.`,
      )
    case 'node_completed':
    case 'node_computed':
      return ended(before, event.data.node_id, 'has completed.')
    case 'node_failed':
      return ended(before, event.data.node_id, `has failed: ${event.data.failure.message}`)
    case 'node_blocked':
      return ended(before, event.data.node_id, `is blocked by ${event.data.cause_node_id}.`)
    case 'node_cancelled':
      return ended(before, event.data.node_id, 'was cancelled.')
    case 'node_skipped':
      return ended(before, event.data.node_id, 'was skipped.')
    default:
      return null
  }
}

const namedMax = 3

/** Says what happens at `now`, in milliseconds since 1970. `null`: no node works. */
export function happeningNow({ working, held }: TeamProgress, now: number): string | null {
  if (held !== null) return `The task waits: ${held}`.slice(0, messageCharsMax)
  if (working.size === 0) return null
  const named = [...working]
    .slice(0, namedMax)
    .map(([node, since]) => `${node} has worked for ${duration(now - Date.parse(since))}`)
  const more =
    working.size > namedMax
      ? [
          `${counted(working.size - namedMax, 'more node')} ${working.size === namedMax + 1 ? 'works' : 'work'}`,
        ]
      : []
  return `${[...named, ...more].join(', ')}.`
}

function ended(before: TeamProgress, node: string, what: string): Step {
  const working = new Map(before.working)
  working.delete(node)
  return telling({ ...before, working, ended: new Set([...before.ended, node]) }, `${node} ${what}`)
}

const telling = (after: TeamProgress, message: string): Step => ({
  after,
  message: message.slice(0, messageCharsMax),
})
