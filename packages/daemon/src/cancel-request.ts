// Turns a request to cancel into an event, for a task that no daemon drives at the moment.
import type { CancelRequest } from '@beaver/contracts'
import { type Asker, BeaverError, type DomainEvent, event, type LogId, type TaskState } from '@beaver/core'

/**
 * The event that asks the next owner of the task to cancel it.
 * @throws {BeaverError} `conflict` if the task or the node has ended, `not_found` if no running team has the
 * node
 */
export function cancelEvent(
  log: LogId,
  state: TaskState,
  { reason, node_id, ...asked }: Pick<CancelRequest, 'reason' | 'node_id'> & Asker,
): DomainEvent {
  if (state.ended !== null)
    throw new BeaverError('conflict', `The task ${log.task} has ended already: ${state.status}.`)
  if (node_id === undefined) return event('task_cancel_requested', { reason, ...askerOf(asked) })
  const team = [...state.teams.values()].find((each) => each.outcome === null && each.nodes.has(node_id))
  const status = team?.nodes.get(node_id)?.status
  if (team === undefined || status === undefined) {
    throw new BeaverError(
      'not_found',
      `No running team of the task ${log.task} has a node ${JSON.stringify(node_id)}. "beaver show ${log.task}" lists its nodes.`,
    )
  }
  if (status !== 'waiting' && status !== 'running')
    throw new BeaverError('conflict', `The node ${JSON.stringify(node_id)} has ended already: ${status}.`)
  return event('node_cancel_requested', {
    team_run_id: team.start.team_run_id,
    node_id,
    reason,
    ...askerOf(asked),
  })
}

/** Who asked, with no field that is absent. */
export function askerOf({ by, user_id }: Asker): Asker {
  return { ...(by === undefined ? {} : { by }), ...(user_id === undefined ? {} : { user_id }) }
}
