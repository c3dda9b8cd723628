// Runs one loop to its end, whatever happens to the thread it runs in.
// R1. A lost loop is started again from the journal, a bounded number of times (the policy of `worker_lost`, `out_of_memory`).
// R2. Nothing is written for a run that stands ended in the journal. R3. Rejects only when the task is no longer ours.
import { type DomainEvent, draft, event, type FailureClass, failurePolicies, noUsage, runEnded } from '@beaver/core'
import { type LoopEnd, type LoopHost, loopEndOf, type LoopSpec } from '@beaver/agent'
import { eventsOfRun, loadTask } from './load-task.ts'
import type { TaskLog, TaskLogPorts } from './task-log.ts'
import type { RunningLoop, WorkerPool } from './worker/worker-pool.ts'

export interface SupervisedLoop {
  readonly end: Promise<LoopEnd>
  cancel(reason: string): void
}

export interface LoopSupervision {
  readonly pool: WorkerPool
  readonly log: TaskLog
  readonly ports: TaskLogPorts
  /** As it is when the run begins. */
  readMemory(): Promise<LoopSpec['memory']>
}

export function superviseLoop(spec: LoopSpec, host: LoopHost, of: LoopSupervision): SupervisedLoop {
  let running: RunningLoop | null = null
  let cancelReason: string | null = null

  async function run(): Promise<LoopEnd> {
    let restarts = 0
    // What a run knew at its beginning is in its prompt: read for those that have none yet.
    const prompted = spec.resume?.some((each) => each.type === 'system_prompt_snapshotted') === true
    const began = prompted ? spec : { ...spec, memory: await of.readMemory() }
    for (let next = began; ;) {
      running = of.pool.start(next, host)
      if (cancelReason !== null) running.cancel(cancelReason)
      const outcome = await running.outcome
      if (outcome.kind === 'ended') return outcome.end
      await of.log.flush()
      if (of.log.fenced.aborted) throw of.log.fenced.reason
      const known = await reload()
      if (known.run !== undefined && runEnded(known.run)) return loopEndOf(known.run)
      const failureClass = classOf(outcome)
      const policy = failurePolicies[failureClass]
      const failure = { class: failureClass, message: outcome.message }
      const mayRestart = policy.action === 'restart' && (known.run?.restarts ?? restarts) < policy.restartsMax
      if (!mayRestart) {
        const failed = event('run_failed', { failure, tool_iterations: known.run?.toolIterations ?? 0, usage: known.run?.usage ?? noUsage }, spec.start.run_id)
        await record(failed)
        return known.run === undefined ? failedUnstarted(failure) : { ...loopEndOf({ ...known.run, status: 'failed', failure }) }
      }
      restarts = (known.run?.restarts ?? restarts) + 1
      if (known.run !== undefined) await record(event('run_restarted', { failure, restarts }, spec.start.run_id))
      next = { ...began, resume: known.run === undefined ? null : known.events }
    }
  }

  const record = (one: DomainEvent): Promise<number> => of.log.append([draft(one)])

  async function reload() {
    const task = await loadTask(of.log.log, of.ports)
    return { run: task.state.runs.get(spec.start.run_id), events: eventsOfRun(task.events, spec.start.run_id) }
  }

  return {
    end: run(),
    cancel(reason) {
      cancelReason ??= reason
      running?.cancel(reason)
    },
  }
}

function classOf(outcome: { kind: 'lost' | 'broke'; message: string }): FailureClass {
  if (outcome.kind === 'broke') return 'internal'
  return /memory limit|OUT_OF_MEMORY/i.test(outcome.message) ? 'out_of_memory' : 'worker_lost'
}

function failedUnstarted(failure: LoopEnd['failure']): LoopEnd {
  return { status: 'failed', facts: { outputText: '', outputSeq: 0, tools: [] }, failure, usage: noUsage, provider: null, model: null }
}
