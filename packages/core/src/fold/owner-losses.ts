// Decides which owners a task may have killed, and with which tools. It reads the log, because an owner that
// dies cannot report anything. The worker pool itself charges for the death of a worker thread.
//
// A death is charged only if the journal shows a started call without a result, of a tool in the owner's
// process. A tool is charged once: from the next claim on, its calls run in a process of their own. A pure
// tool runs before its record (decision 0002), so a death while a run was about to act makes the task's pure
// tools suspect, without a charge. An owner that let go (`task_released`, `task_suspended`) is not lost.
import type { DomainEvent } from '../events/catalog.ts'
import { isTerminalTaskEvent } from '../events/event-kinds.ts'

/** The tools of a task whose calls must not run in a process or thread that others share. */
export interface SuspectTools {
  readonly names: readonly string[]
  /** Whether pure tools are suspect too. They may have run without a record. */
  readonly pure: boolean
}

/** No tool is suspect. */
export const noSuspects: SuspectTools = { names: [], pure: false }

/** What a log says about the owners of its task that disappeared without letting go. */
export interface OwnerLosses {
  /**
   * How many owners were lost so far. The last one counts as lost if it has not let go: the caller knows
   * whether it is dead.
   */
  readonly lost: number
  /** How many of these deaths may be charged to the task. */
  readonly charged: number
  /** Whether the death of the last owner may be charged to the task; `false` if the last owner let go. */
  readonly lastCharged: boolean
  /** What a daemon that claims the task now must not run in its own process. */
  readonly suspects: SuspectTools
}

interface Run {
  /**
   * The calls of the last answer that have no result. The value is the tool while the call is at work in the
   * owner's process, else `null`.
   */
  readonly due: Map<string, string | null>
  /** The tools of the calls that wait for a person. */
  readonly asking: Map<string, string>
}

/**
 * Finds the losses in the events of one task, which are given in order.
 *
 * @example
 * const { charged, suspects } = ownerLosses(events)
 * charged // => 0
 * suspects.names // => []
 */
export function ownerLosses(events: Iterable<DomainEvent>): OwnerLosses {
  const runs = new Map<string, Run>()
  const names = new Set<string>()
  let owned = false
  let [lost, charged] = [0, 0]
  let [lastCharged, pure] = [false, false]

  function lose(): void {
    const underWay = [...runs.values()]
      .flatMap(({ due }) => [...due.values()])
      .filter((tool) => tool !== null)
    const unknown = underWay.filter((tool) => !names.has(tool))
    for (const tool of unknown) names.add(tool)
    pure ||= [...runs.values()].some(({ due }) => due.size === 0)
    lost++
    lastCharged = unknown.length > 0
    if (lastCharged) charged++
  }

  for (const event of events) {
    if (isTerminalTaskEvent(event.type)) {
      owned = false
      break
    }
    switch (event.type) {
      case 'task_claimed':
        if (owned) lose()
        owned = true
        break
      case 'task_released':
      case 'task_suspended':
        owned = false
        break
      case 'run_started':
        runs.set(event.data.run_id, { due: new Map(), asking: new Map() })
        break
      case 'run_restarted':
        for (const tool of event.data.suspect_tools ?? []) names.add(tool)
        break
      case 'run_completed':
      case 'run_failed':
      case 'run_cancelled':
        runs.delete(event.runId ?? '')
        break
      case 'task_team_run_started':
        // The call waits for its team. The runs of the team have calls of their own.
        callOf(runs.get(event.data.run_id ?? ''), event.data.call_id ?? '', null)
        break
      default:
        evolveCalls(runs.get(event.runId ?? ''), event)
    }
  }
  if (owned) lose()
  else lastCharged = false
  return { lost, charged, lastCharged, suspects: { names: [...names], pure } }
}

function evolveCalls(run: Run | undefined, event: DomainEvent): void {
  if (run === undefined) return
  switch (event.type) {
    case 'assistant_message_added':
      run.due.clear()
      for (const { id } of event.data.tool_calls) run.due.set(id, null)
      return
    case 'tool_call_requested':
      run.due.set(event.data.call.id, null)
      return
    case 'tool_call_started':
      return callOf(run, event.data.call_id, event.data.tool_name)
    case 'question_asked':
      run.asking.set(event.data.call_id, event.data.tool_name)
      return callOf(run, event.data.call_id, null)
    case 'question_answered':
      return callOf(run, event.data.call_id, run.asking.get(event.data.call_id) ?? null)
    // The client makes the call, so nothing of it is at work in the process of the owner.
    case 'client_call_requested':
      return callOf(run, event.data.call_id, null)
    case 'tool_result_recorded':
      run.due.delete(event.data.call_id)
      return
    default:
  }
}

function callOf(run: Run | undefined, id: string, tool: string | null): void {
  if (run?.due.has(id) === true) run.due.set(id, tool)
}
