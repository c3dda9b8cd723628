// Runs one loop to its end, whatever happens to its thread. A loop whose thread is lost starts again from the
// journal: if the loss is charged to the loop, `mayRestart` decides; the pool bounds all other losses. It
// rejects only if the task no longer belongs to this daemon, or if the daemon has no threads left.
import { BeaverError, type DomainEvent, event, noUsage } from '@beaver/core'
import { runEnded } from '@beaver/core/fold'
import { draft } from '@beaver/core/journal'
import {
  type FailureClass,
  type FailurePolicies,
  failurePolicies,
  isExceeded,
  supervisors,
} from '@beaver/core/supervision'
import { type LoopEnd, type LoopHost, loopEndOf, type LoopSpec, type Steer } from '@beaver/agent'
import { eventsOfRun, loadTask } from './load-task.ts'
import type { TaskLog, TaskLogPorts } from './task-log.ts'
import type { RunningLoop, WorkerPool } from './worker/worker-pool.ts'

export interface SupervisedLoop {
  readonly end: Promise<LoopEnd>
  cancel(reason: string): void
  /** Gives the loop a text with which its task was steered. The text must be durable. */
  steer(steer: Steer): void
}

export interface DroppableLoop extends SupervisedLoop {
  /** How often the loop was started again and charged for it, in this claim and before. */
  readonly restarts: number
  /** Drops a loop that only waits, after its log is closed: `end` rejects, and nothing is written for it. */
  drop(reason: string): void
}

export interface LoopSupervision {
  readonly pool: WorkerPool
  readonly log: TaskLog
  readonly ports: TaskLogPorts & { readonly failurePolicies?: FailurePolicies }
  /** The memory as it is when the run begins. */
  readMemory(): Promise<LoopSpec['memory']>
  /** The skills of the task's workspace, as they are when the run begins or is resumed. */
  readSkills(): Promise<NonNullable<LoopSpec['workspaceSkills']>>
  /**
   * Records the call of a model that was under way when the run's process or thread ended. Resolves with
   * whether there was one. Absent: no calls are reserved.
   */
  readonly recordLostCall?: () => Promise<boolean>
  /**
   * Resolves when the tools with which the run began have come, or will not come soon. Called only for a run
   * that is resumed.
   */
  readonly arrival?: (tools: readonly string[]) => Promise<void>
  /** The durable texts with which the task was steered so far. Absent: this loop takes none. */
  readonly steers?: () => readonly Steer[]
}

export function superviseLoop(spec: LoopSpec, host: LoopHost, of: LoopSupervision): DroppableLoop {
  let running: RunningLoop | null = null
  let cancelReason: string | null = null
  let restarts = spec.resume?.findLast((each) => each.type === 'run_restarted')?.data.restarts ?? 0

  async function run(): Promise<LoopEnd> {
    const began = await withTexts(spec, of)
    const lostBefore = began.resume !== null && (await of.recordLostCall?.()) === true
    for (let next = lostBefore ? { ...began, resume: (await reload()).events } : began; ;) {
      const steers = of.steers?.() ?? []
      running = of.pool.start(steers.length === 0 ? next : { ...next, steers }, host)
      if (cancelReason !== null) running.cancel(cancelReason)
      const outcome = await running.outcome
      if (outcome.kind === 'ended') return outcome.end
      await of.log.flush()
      if (of.log.fenced.aborted) throw of.log.fenced.reason
      await of.recordLostCall?.()
      const known = await reload()
      if (known.run !== undefined && runEnded(known.run)) return loopEndOf(known.run)
      const resume = known.run === undefined ? null : known.events
      if (outcome.kind === 'gone') throw new BeaverError('internal', outcome.message)
      if (outcome.kind === 'lost' && outcome.charge === null) {
        next = { ...began, resume, admitted: false }
        continue
      }
      const failure = {
        class: outcome.kind === 'broke' ? ('internal' as const) : outcome.failureClass,
        message: outcome.message,
      }
      const tools = outcome.kind === 'broke' ? [] : (outcome.charge ?? [])
      const before = known.run?.restarts ?? restarts
      if (
        !mayRestart(of.ports.failurePolicies ?? failurePolicies, {
          failureClass: failure.class,
          restarts: before,
          tools,
        })
      ) {
        const failed = event(
          'run_failed',
          { failure, tool_iterations: known.run?.toolIterations ?? 0, usage: known.run?.usage ?? noUsage },
          spec.start.run_id,
        )
        await record(failed)
        return known.run === undefined
          ? failedUnstarted(failure)
          : { ...loopEndOf({ ...known.run, status: 'failed', failure }) }
      }
      restarts = before + 1
      const restarted = event(
        'run_restarted',
        { failure, restarts, ...(tools.length === 0 ? {} : { suspect_tools: [...tools] }) },
        spec.start.run_id,
      )
      const written = known.run === undefined ? null : await record(restarted)
      next = {
        ...began,
        resume: written === null || resume === null ? resume : (await reload()).events,
        admitted: false,
      }
    }
  }

  const record = (one: DomainEvent): Promise<number> => of.log.append([draft(one)])

  async function reload() {
    const task = await loadTask(of.log.log, of.ports)
    return {
      run: task.state.runs.get(spec.start.run_id),
      events: eventsOfRun(task.events, spec.start.run_id),
    }
  }

  return {
    end: run(),
    get restarts() {
      return restarts
    },
    cancel(reason) {
      cancelReason ??= reason
      running?.cancel(reason)
    },
    steer: (steer) => running?.steer(steer),
    drop: (reason) => running?.drop(reason),
  }
}

/** Reads the memory only for a run that has no prompt yet: the prompt of any other run contains it. */
async function withTexts(spec: LoopSpec, of: LoopSupervision): Promise<LoopSpec> {
  await toolsArrived(spec, of)
  const prompted = spec.resume?.some((each) => each.type === 'system_prompt_snapshotted') === true
  const remembering = prompted ? spec : { ...spec, memory: await of.readMemory() }
  const workspaceSkills = await of.readSkills()
  return workspaceSkills.length === 0 ? remembering : { ...remembering, workspaceSkills }
}

/**
 * Waits for external tools. Without them, after a restart of the daemon, a call that waits for a person would
 * find no tool, and the run would continue without its tools.
 */
async function toolsArrived({ resume }: LoopSpec, { arrival, log }: LoopSupervision): Promise<void> {
  const started = resume?.find((each) => each.type === 'run_started')
  if (arrival === undefined || started === undefined) return
  const { promise: fenced, resolve } = Promise.withResolvers<void>()
  log.fenced.addEventListener('abort', () => resolve(), { once: true })
  await Promise.race([arrival(started.data.tools), fenced])
  if (log.fenced.aborted) throw log.fenced.reason
}

/**
 * Whether a charged run may start again, by rows of core's supervisors with the configured number:
 * `loop_suspect_tools` if tools took the thread along; otherwise the policy of the class, which is
 * `loop_out_of_memory` if an answer of the model filled the heap, or `loop` if it broke.
 */
function mayRestart(
  policies: FailurePolicies,
  {
    failureClass,
    restarts,
    tools,
  }: { failureClass: FailureClass; restarts: number; tools: readonly string[] },
): boolean {
  const policy = policies[failureClass]
  return (
    policy.action === 'restart' &&
    !isExceeded(restarts + 1, tools.length === 0 ? policy : supervisors.loop_suspect_tools.intensity)
  )
}

function failedUnstarted(failure: LoopEnd['failure']): LoopEnd {
  return {
    status: 'failed',
    facts: { outputText: '', outputSeq: 0, tools: [] },
    failure,
    usage: noUsage,
    provider: null,
    model: null,
  }
}
