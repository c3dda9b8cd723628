// What a retry keeps of an ended task: events for the new task's log, from which the task resumes as after
// any takeover. Pure. What completed stays completed: answers, tool results, and the nodes that were given
// nothing that is made anew. None of it is requested or paid for again; the usage of a copy is 0. A run that
// did not complete continues where it stopped if it is the root, or if the outcome of one of its effects is
// unknown. Every other run starts from the beginning, with its node. The teams by which the task is judged
// continue if they are not complete (judged-teams.ts, retry-team.ts). What the root did after their end is
// left out. The texts with which the task was steered are kept, also those that the root was not given. The
// ids of runs and teams stay the same, because the copied events refer to each other by them.
import type { DataOf, DomainEvent } from '../events/catalog.ts'
import { noUsage } from '../chat.ts'
import { invariant } from '../errors.ts'
import type { TaskId } from '../ids.ts'
import type { RecordedEvent } from '../journal/record.ts'
import type { TeamProgram } from '../graph/team-program.ts'
import { judgedTeams } from './judged-teams.ts'
import { runKept, runReopened } from './reopen-run.ts'
import { keptTeam } from './retry-team.ts'
import { foldTask, type TaskState } from './task-state.ts'
import type { TeamState } from './team-state.ts'

type ProgramOf = (workflow: string) => TeamProgram | null

/**
 * The events with which a retry begins.
 *
 * @param events the whole log of a task that ended without completing
 * @param into the new task; `taskseq` is the position of the first returned event in its log
 * @param programOf the program of a workflow, by the workflow's name; `null`: it needs none
 * @returns `task_log_copied`, then the kept events, in the order of the old log
 * @throws {BeaverError} `internal` if the task has not ended
 * @example
 * const failed = events.map((each) => (each.type === 'task_completed' ? { ...each, ...event('task_failed',
 * each.data) } : each)) const [copied] = retryCopy(failed, { taskId: taskId.parse('task_2'), taskseq: 2 }, ()
 * => null) copied?.type // => 'task_log_copied'
 */
export function retryCopy(
  events: readonly RecordedEvent[],
  into: { taskId: TaskId; taskseq: number },
  programOf: ProgramOf,
): DomainEvent[] {
  const task = foldTask(events)
  const last = events.at(-1)
  invariant(
    task.submitted !== null && task.ended !== null && last !== undefined,
    'Only a task that has ended is retried.',
  )
  const kept = keptOf(events, task, programOf)
  const places = new Map(kept.map(({ taskseq }, index) => [taskseq, into.taskseq + 1 + index]))
  const from = {
    task_id: task.submitted.task_id,
    taskseq: last.taskseq,
    hash: last.hash,
    previous_task_id: historyOf(task),
  }
  return [
    { type: 'task_log_copied', data: { ...from, events: kept.length } },
    ...kept.map((event) => copyOf(event, { from: from.task_id, into: into.taskId, places })),
  ]
}

/** The task before this one in the session. The retry of a retry continues the history of the first task. */
function historyOf({ submitted, copied }: TaskState): TaskId | null {
  return copied === null ? (submitted?.previous_task_id ?? null) : copied.previous_task_id
}

function keptOf(events: readonly RecordedEvent[], task: TaskState, programOf: ProgramOf): RecordedEvent[] {
  const ofRun = Map.groupBy(
    events.filter((event) => event.runId !== undefined),
    (event) => event.runId as string,
  )
  const reopened = reopenedTeams(ofRun.get(task.rootRunId ?? '') ?? [], task)
  /** The kept events by their position. A kept event may differ from the one in the log. */
  const kept = new Map<number, RecordedEvent>()
  const keep = (some: readonly RecordedEvent[]): void =>
    some.forEach((event) => kept.set(event.taskseq, event))
  const root = task.rootRunId === null ? [] : runReopened(ofRun.get(task.rootRunId) ?? [], reopened.calls)
  keep(root)
  // A text that the root is not given again by these events is given to it before its next request.
  keep(events.filter((event) => event.type === 'task_steer_requested'))
  const asked = new Set(
    root.flatMap((event) =>
      event.type === 'assistant_message_added' ? event.data.tool_calls.map(({ id }) => id) : [],
    ),
  )
  for (const team of task.teams.values()) {
    const { team_run_id: id, call_id } = team.start
    if (call_id !== null && !asked.has(call_id)) continue
    const ofTeam = events.filter(
      (event) => event.runId === undefined && 'team_run_id' in event.data && event.data.team_run_id === id,
    )
    const ofNodes = [...task.runs.values()].filter(({ start }) => start.team_run_id === id)
    if (!reopened.teams.has(id)) {
      keep(ofTeam)
      for (const { start } of ofNodes) keep(runKept(ofRun.get(start.run_id) ?? []))
      continue
    }
    const retried = keptTeam({
      team,
      events: ofTeam,
      runs: task.runs,
      program: programOf(team.graph.workflow),
      goesOn: (runId) => effectInDoubt(ofRun.get(runId) ?? []),
    })
    keep(retried.events)
    for (const runId of retried.runs) {
      const own = ofRun.get(runId) ?? []
      keep(task.runs.get(runId)?.status === 'completed' ? runKept(own) : runReopened(own, new Set()))
    }
  }
  return [...kept.values()].toSorted((a, b) => a.taskseq - b.taskseq)
}

/**
 * The teams that continue, and the calls of the root that started them. They are the judged teams that are
 * not complete. If all judged teams are complete, they are those of the newest answer that started any, a
 * definition included.
 */
function reopenedTeams(
  root: readonly RecordedEvent[],
  { teams }: TaskState,
): { teams: ReadonlySet<string>; calls: ReadonlySet<string> } {
  const open = ({ outcome }: TeamState): boolean => outcome !== 'complete'
  const ofCall = new Map(
    [...teams.values()].flatMap((team) =>
      team.start.call_id === null ? [] : [[team.start.call_id, team] as const],
    ),
  )
  const answers = root.flatMap((event) =>
    event.type === 'assistant_message_added' ? [event.data.tool_calls.map(({ id }) => id)] : [],
  )
  const called = [...teams.values()].map((team) => ({
    call_id: team.start.call_id,
    workflow: team.start.graph.workflow,
    team,
  }))
  const judged = judgedTeams(answers, called).map(({ team }) => team)
  const newest = answers.findLast((calls) => calls.some((id) => ofCall.has(id))) ?? []
  const candidates = judged.some(open) ? judged : newest.flatMap((id) => ofCall.get(id) ?? [])
  const reopened = candidates.filter(open)
  return {
    teams: new Set(reopened.map(({ start }) => start.team_run_id)),
    calls: new Set(reopened.flatMap(({ start }) => (start.call_id === null ? [] : [start.call_id]))),
  }
}

const unknownOutcomes: ReadonlySet<string | null> = new Set(['in_doubt', 'cancelled'])

/** Whether a call that is not idempotent had begun, and its outcome is unknown. */
function effectInDoubt(run: readonly RecordedEvent[]): boolean {
  const begun = new Set<string>()
  for (const event of run) {
    if (event.type === 'tool_call_started' && !event.data.idempotent) begun.add(event.data.call_id)
    if (event.type === 'tool_result_recorded' && !unknownOutcomes.has(event.data.error))
      begun.delete(event.data.call_id)
  }
  return begun.size > 0
}

function copyOf(
  event: RecordedEvent,
  of: { from: TaskId; into: TaskId; places: ReadonlyMap<number, number> },
): DomainEvent {
  const data = copiedData(event, of)
  return (
    event.runId === undefined ? { type: event.type, data } : { type: event.type, runId: event.runId, data }
  ) as DomainEvent
}

function copiedData(
  event: RecordedEvent,
  { from, into, places }: Parameters<typeof copyOf>[1],
): DomainEvent['data'] {
  switch (event.type) {
    case 'assistant_message_added':
    case 'context_summarized':
    case 'summary_refused':
      return {
        ...event.data,
        usage: noUsage,
        copied_from: event.data.copied_from ?? { task_id: from, taskseq: event.taskseq },
      }
    case 'skill_selection_recorded': {
      const { failed_calls: _, ...data } = event.data
      return {
        ...data,
        usage: noUsage,
        copied_from: event.data.copied_from ?? { task_id: from, taskseq: event.taskseq },
      }
    }
    case 'run_completed':
    case 'run_failed':
    case 'run_cancelled':
      return { ...event.data, usage: noUsage }
    case 'execution_mode_selected':
      return { ...event.data, task_id: into }
    case 'node_evidence_evaluated':
      return { ...event.data, checks: event.data.checks.map((check) => moved(check, places)) }
    default:
      return event.data
  }
}

/** A verdict names the events on which it rests by their position in the log. */
function moved(
  check: DataOf<'node_evidence_evaluated'>['checks'][number],
  places: ReadonlyMap<number, number>,
): typeof check {
  return { ...check, rests_on: check.rests_on.flatMap((taskseq) => places.get(taskseq) ?? []) }
}
