// The rules of a task as a whole: its first event, its owner, and its one end. An event after a terminal
// event is reported and changes nothing.
import { type CheckedEvent, terminalTypes } from './event.ts'
import type { WireRecord } from './record.ts'
import type { Report } from './rules.ts'
import type { Trail } from './trail.ts'

/** Returns whether the event comes before the terminal event, and so may change something. */
export function judgeEnd(trail: Trail, type: string, { taskseq }: WireRecord, report: Report): boolean {
  if (trail.ended === null) return true
  if (terminalTypes.has(type))
    report('terminal_once', `event ${taskseq} ends the task with ${type}, after ${trail.ended} had ended it`)
  else report('after_end', `${type} (event ${taskseq}) follows ${trail.ended}`)
  return false
}

/** `first`: the event begins the log. */
export function judgeTask(
  trail: Trail,
  event: CheckedEvent,
  { source }: WireRecord,
  first: boolean,
  report: Report,
): void {
  if (first !== (event.type === 'task_submitted'))
    report('first_event', first ? `the log begins with ${event.type}` : 'the task is submitted a second time')
  switch (event.type) {
    case 'task_submitted':
      return judgeSubmitted(trail, event.data, report)
    case 'task_claimed':
      if (!source.endsWith(`/${event.data.daemon}`))
        report('claim', `${source} claimed the task in the name of ${event.data.daemon}`)
      trail.owner = event.data.daemon
      return
    case 'task_released':
    case 'task_suspended':
      trail.owner = null
      return
    case 'task_steer_requested':
      if (trail.steers.has(event.data.request_id))
        report('steer_once', `the request ${event.data.request_id} steers the task a second time`)
      else trail.steers.set(event.data.request_id, 'requested')
      return
    case 'task_dead_lettered':
      trail.deadLettered = true
      return
    case 'task_completed':
    case 'task_incomplete':
    case 'task_failed':
    case 'task_cancelled':
      return endTask(trail, event.type, report)
    default:
  }
}

function judgeSubmitted(
  trail: Trail,
  data: Extract<CheckedEvent, { type: 'task_submitted' }>['data'],
  report: Report,
): void {
  const { tenant, session, task } = trail.log
  if (data.task_id !== task || data.session_id !== session || data.tenant !== tenant) {
    report(
      'identity',
      `${data.tenant}/${data.session_id}/${data.task_id} was submitted, and lies in the log of ${tenant}/${session}/${task}`,
    )
  }
  trail.previousTask = data.previous_task_id
}

function endTask(trail: Trail, type: string, report: Report): void {
  // A daemon that never drove the runs may end a task that is given up.
  if (!trail.deadLettered && !trail.blind) {
    for (const [runId, run] of trail.runs)
      if (run.status === 'open') report('open_at_end', `${type}, and the run ${runId} has not ended`)
    for (const [teamId, team] of trail.teams)
      if (!team.ended) report('open_at_end', `${type}, and the team ${teamId} has not ended`)
  }
  trail.ended = type
  trail.owner = null
  trail.steers.clear()
  trail.runs.clear()
  trail.teams.clear()
  trail.teamCalls.clear()
  trail.nodeRuns.clear()
  trail.answers.clear()
}
