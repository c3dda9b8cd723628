// What a retry keeps of an ended task: events for the new task's log, from which the task resumes as after
// any takeover. Answers, tool results and nodes that completed are kept and not paid for again; the usage of
// a copy is 0. The root continues where it stopped, and so does a run with an effect whose outcome is
// unknown. Any other incomplete run starts anew, with its node.
//
// The teams by which the task is judged continue, and what the root did after their end is left out. All
// texts with which the task was steered are kept. The ids of runs and teams stay, because the copied events
// refer to them.
import { noUsage } from '../usage.ts'
import { invariant } from '../errors.ts'
import type { DataOf, DomainEvent, EventType } from '../events/catalog.ts'
import { type EvidenceGate, factsOf } from '../evidence/run-facts.ts'
import { definitionPrefix } from '../graph/execution-graph.ts'
import type { TeamProgram } from '../graph/team-program.ts'
import { enteredNode, settledNode } from '../graph/team-step.ts'
import type { TaskId } from '../ids.ts'
import type { RecordedEvent } from '../journal/record.ts'
import { canonicalJson } from '../canonical-json.ts'
import type { RunState } from './run-state.ts'
import { foldTask, previousTaskOf, type TaskState } from './task-state.ts'
import { evolveTeam, startTeam, type TeamState } from './team-state.ts'

/** With what the teams of a retry are decided again. */
export interface RetryOptions {
  /** The program of a workflow, by the workflow's name; `null`: it needs none. */
  readonly programOf: (workflow: string) => TeamProgram | null
  readonly gate: EvidenceGate
}

/**
 * The events with which a retry begins.
 *
 * @param events the whole log of a task that ended without completing
 * @param into the new task; `taskseq` is the position of the first returned event in its log
 * @returns `task_log_copied`, then the kept events, in the order of the old log
 * @throws {BeaverError} `internal` if the task has not ended
 * @example
 * const failed = events.map((each) => (each.type === 'task_completed' ? { ...each, ...event('task_failed', each.data) } : each))
 * const options = { programOf: () => null, gate: () => ({ passed: true, checks: [] }) }
 * const [copied] = retryCopy(failed, { taskId: taskId.parse('task_2'), taskseq: 2 }, options)
 * copied?.type // => 'task_log_copied'
 */
export function retryCopy(
  events: readonly RecordedEvent[],
  into: { taskId: TaskId; taskseq: number },
  options: RetryOptions,
): DomainEvent[] {
  const task = foldTask(events)
  const last = events.at(-1)
  invariant(
    task.submitted !== null && task.ended !== null && last !== undefined,
    'Only a task that has ended is retried.',
  )
  const kept = keptOf(events, task, options)
  const places = new Map(kept.map(({ taskseq }, index) => [taskseq, into.taskseq + 1 + index]))
  const from = {
    task_id: task.submitted.task_id,
    taskseq: last.taskseq,
    hash: last.hash,
    previous_task_id: previousTaskOf(task),
  }
  return [
    { type: 'task_log_copied', data: { ...from, events: kept.length } },
    ...kept.map((event) => copyOf(event, { from: from.task_id, into: into.taskId, places })),
  ]
}

function keptOf(events: readonly RecordedEvent[], task: TaskState, options: RetryOptions): RecordedEvent[] {
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
      program: options.programOf(team.graph.workflow),
      gate: options.gate,
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
 * The judged teams that are not complete, with the calls of the root that started them. If all are complete:
 * the teams of the newest answer that started any, a definition included.
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
  copying: { from: TaskId; into: TaskId; places: ReadonlyMap<number, number> },
): DomainEvent {
  const data = copiedData(event, copying)
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

// Decides by which teams a task is judged (D-60), by the order of the calls and never by the order in which
// teams began or ended, so a takeover changes nothing. The teams of one answer count together and supersede
// those of earlier answers. A `workflow:` definition that was called as a tool does not count, and neither
// does a call that was refused.

/**
 * A team and the call that started it. `call_id`: `null` if the task is a workflow and the team is its only
 * one.
 */
export interface CalledTeam {
  readonly call_id: string | null
  readonly workflow: string
}

/**
 * The teams by which a task is judged, in the order of their calls. The task completes only if all of them
 * are complete.
 *
 * @param callsOfAnswers the ids of the calls of each answer of the root run, in the order of the answers
 * @returns an empty list if no team counts
 * @example
 * const draft = { call_id: 'c1', workflow: 'SequentialWorkflow' }
 * const final = { call_id: 'c2', workflow: 'GraphWorkflow' }
 * judgedTeams([['c1'], ['c2']], [final, draft]) // => [final]
 * judgedTeams([['c1', 'c2']], [final, draft]) // => [draft, final]
 */
export function judgedTeams<Team extends CalledTeam>(
  callsOfAnswers: readonly (readonly string[])[],
  teams: Iterable<Team>,
): Team[] {
  const all = [...teams]
  const own = all.filter(({ call_id }) => call_id === null)
  if (own.length > 0) return own
  const counted = new Map(
    all.flatMap((team) =>
      team.call_id === null || isDefinition(team) ? [] : [[team.call_id, team] as const],
    ),
  )
  const newest = callsOfAnswers.findLast((calls) => calls.some((id) => counted.has(id))) ?? []
  return newest.flatMap((id) => counted.get(id) ?? [])
}

const isDefinition = ({ workflow }: CalledTeam): boolean => workflow.startsWith(definitionPrefix)

// The events of one run that a retry keeps: all of them if the run completed, otherwise those up to the point
// where its next model call or tool call is due. Failed tries are left out, because the retry has tries and
// waits of its own.

const ends: ReadonlySet<EventType> = new Set(['run_completed', 'run_failed', 'run_cancelled'])

/** What the first task tried and paid. The retry tries, waits and pays for itself. */
const tried: ReadonlySet<EventType> = new Set([
  'provider_call_failed',
  'model_call_reserved',
  'model_call_lost',
  'model_call_paid',
  'budget_exceeded',
])

/**
 * Tries and restarts are of no use to a retry. A restart that names suspect tools is kept: their calls run in a
 * cell from then on.
 */
const isTrouble = (event: RecordedEvent): boolean =>
  tried.has(event.type) || (event.type === 'run_restarted' && (event.data.suspect_tools ?? []).length === 0)

/** The events of a run that stays ended, without its failed tries. */
function runKept(run: readonly RecordedEvent[]): RecordedEvent[] {
  return run.filter((event) => !isTrouble(event))
}

/**
 * The events of a run that continues. The list is empty if the run had not begun to think; then the run
 * starts from the beginning.
 *
 * @param due calls that lose their results; what the run did after the answer that asked for one of them is
 * left out
 */
function runReopened(run: readonly RecordedEvent[], due: ReadonlySet<string>): RecordedEvent[] {
  if (!run.some(({ type }) => type === 'user_message_added' || type === 'tool_call_requested')) return []
  const last = newestAnswer(run, due)
  const calls = new Set(last === null ? ofToolNode(run) : callsOf(last))
  const answers = run.filter((event) => event.type === 'assistant_message_added')
  const dropped = answers.find(({ taskseq }) => taskseq > (last?.taskseq ?? 0))
  const kept = run.filter((event) => {
    if (ends.has(event.type) || isTrouble(event)) return false
    // The first answer of a run chooses its mode.
    if (event.type === 'execution_mode_selected' && dropped === answers[0]) return answers.length === 0
    if (event.type === 'tool_result_recorded' && calls.has(event.data.call_id)) {
      // A cancelled call is due again. What happens to it depends on whether it may have taken effect.
      return event.data.error !== 'cancelled' && !due.has(event.data.call_id)
    }
    if (last !== null && due.size > 0 && event.taskseq > last.taskseq)
      return 'call_id' in event.data && calls.has(event.data.call_id ?? '')
    return dropped === undefined || event.taskseq < dropped.taskseq
  })
  return withFurtherTurns(kept, run)
}

type Answer = Extract<RecordedEvent, { type: 'assistant_message_added' }>

/** The newest answer from which the run continues. An answer without calls ended the run, without success. */
function newestAnswer(run: readonly RecordedEvent[], due: ReadonlySet<string>): Answer | null {
  const calling = run.filter(
    (event): event is Answer => event.type === 'assistant_message_added' && event.data.tool_calls.length > 0,
  )
  return calling.find((answer) => callsOf(answer).some((id) => due.has(id))) ?? calling.at(-1) ?? null
}

const callsOf = (answer: Answer): string[] => answer.data.tool_calls.map(({ id }) => id)
const ofToolNode = (run: readonly RecordedEvent[]): string[] =>
  run.flatMap((event) => (event.type === 'tool_call_requested' ? [event.data.call.id] : []))

/**
 * A run that used up its iterations could do nothing in a retry. It gets as many iterations again as it used.
 * One that went nowhere may do the same as often again as it might.
 */
function withFurtherTurns(kept: RecordedEvent[], run: readonly RecordedEvent[]): RecordedEvent[] {
  const failed = run.find((event) => event.type === 'run_failed')
  return kept.map((event) =>
    event.type === 'run_started' && failed !== undefined
      ? { ...event, data: { ...event.data, ...furtherTurns(event.data, failed.data) } }
      : event,
  )
}

function furtherTurns(
  { max_tool_iterations, repeats_max }: DataOf<'run_started'>,
  { failure, tool_iterations }: DataOf<'run_failed'>,
): Partial<DataOf<'run_started'>> {
  switch (failure.class) {
    case 'iterations_exhausted':
      return { max_tool_iterations: max_tool_iterations + tool_iterations }
    case 'no_progress':
      return repeats_max === undefined ? {} : { repeats_max: 2 * repeats_max }
    default:
      return {}
  }
}

// What a retry keeps of a team that continues. The team is decided again from its start. A decision of the
// old log is kept if the team decides the same from what was kept before, so a node keeps its result only if
// it was given the same. A node that failed, was blocked or was cancelled is decided anew, and so is
// everything that rested on it. A run is dropped if it may have read, in the shared state, the writes of a
// dropped run.

interface RetriedTeam {
  /** As it ended. */
  readonly team: TeamState
  /**
   * The events of the team, in the order of the log: those that name it and are of no run, and what its runs
   * wrote into the shared state.
   */
  readonly events: readonly RecordedEvent[]
  readonly runs: ReadonlyMap<string, RunState>
  readonly program: TeamProgram | null
  readonly gate: EvidenceGate
  /** Whether a run that did not complete goes on in the retry. */
  readonly goesOn: (runId: string) => boolean
}

/** What is kept of a team. */
interface KeptTeam {
  readonly events: readonly RecordedEvent[]
  /** The runs that are kept, by their ids. */
  readonly runs: ReadonlySet<string>
}

/** What a retry keeps of a team that is not complete. */
function keptTeam(retried: RetriedTeam): KeptTeam {
  const refused = new Set<string>()
  for (;;) {
    const kept = new Again(retried, refused).decide()
    const misled = misledRuns(kept, retried)
    if (misled.length === 0) return kept
    for (const runId of misled) refused.add(runId)
  }
}

/** The runs that ended, or go on, after something was written into the shared state that is not there now. */
function misledRuns({ events: left, runs }: KeptTeam, { events }: RetriedTeam): string[] {
  const kept = new Set(left)
  const firstLost =
    events.find((event) => event.type === 'shared_state_changed' && !kept.has(event))?.taskseq ?? Infinity
  const before = events.flatMap((event) =>
    event.type === 'node_completed' && event.taskseq < firstLost ? [event.data.run_id] : [],
  )
  return firstLost === Infinity ? [] : [...new Set(runs).difference(new Set(before))]
}

/** The team, decided again. */
class Again {
  readonly #retried: RetriedTeam
  readonly #refused: ReadonlySet<string>
  readonly #team: TeamState
  readonly #outputs = new Map<string, string>()
  readonly #events: RecordedEvent[] = []
  readonly #runs = new Set<string>()

  constructor(retried: RetriedTeam, refused: ReadonlySet<string>) {
    this.#retried = retried
    this.#refused = refused
    this.#team = startTeam(retried.team.start, 0)
  }

  decide(): KeptTeam {
    const { events } = this.#retried
    for (let i = 0; i < events.length;) {
      const kept = this.#keptAt(i)
      for (const event of events.slice(i, i + kept)) this.#keep(event)
      i += Math.max(1, kept)
    }
    return { events: this.#events, runs: this.#runs }
  }

  /** How many of the events from this one on are kept. They are one decision. */
  #keptAt(i: number): number {
    const event = this.#retried.events[i] as RecordedEvent
    if (event.type === 'task_team_run_started') return 1
    if (event.type === 'shared_state_changed')
      return event.data.run_id !== null && this.#runs.has(event.data.run_id) ? 1 : 0
    const nodeId =
      'node_id' in event.data && typeof event.data.node_id === 'string' ? event.data.node_id : null
    if (nodeId === null || (event.type === 'node_started' && !this.#isKept(nodeId, event.data.run_id)))
      return 0
    const decided = this.#decided(nodeId)
    return decided.every((each, place) => isSame(each, this.#retried.events[i + place])) ? decided.length : 0
  }

  /** Whether the run is the last one of its node and has a result, or goes on. */
  #isKept(nodeId: string, runId: string): boolean {
    const node = this.#retried.team.nodes.get(nodeId)
    return (
      node?.runId === runId &&
      !this.#refused.has(runId) &&
      (node.status === 'completed' || this.#retried.goesOn(runId))
    )
  }

  /** What the team decides about a node now. */
  #decided(nodeId: string): readonly DomainEvent[] {
    const options = { program: this.#retried.program, gate: this.#retried.gate, outputs: this.#outputs }
    const node = this.#team.nodes.get(nodeId)
    if (node?.status !== 'running')
      return node?.status === 'waiting' ? enteredNode(this.#team, nodeId, options) : []
    const run = this.#retried.runs.get(node.runId ?? '')
    if (run?.status !== 'completed' || this.#retried.team.nodes.get(nodeId)?.status !== 'completed') return []
    return settledNode(
      this.#team,
      { nodeId, runId: run.start.run_id, status: 'completed', facts: factsOf(run), failure: null },
      options,
    )
  }

  #keep(event: RecordedEvent): void {
    this.#events.push(event)
    if (event.type === 'task_team_run_started') return
    evolveTeam(this.#team, event, { clockMs: 0 })
    if (event.type === 'node_started') this.#runs.add(event.data.run_id)
    if (event.type === 'node_computed') this.#outputs.set(event.data.node_id, event.data.output)
    if (event.type === 'node_completed')
      this.#outputs.set(event.data.node_id, this.#retried.runs.get(event.data.run_id)?.outputText ?? '')
  }
}

/** A run has another id each time. */
function isSame(decided: DomainEvent, old: RecordedEvent | undefined): boolean {
  if (old === undefined || decided.type !== old.type) return false
  const data =
    decided.type === 'node_started' && old.type === 'node_started'
      ? { ...decided.data, run_id: old.data.run_id }
      : decided.data
  return canonicalJson(data) === canonicalJson(old.data)
}
