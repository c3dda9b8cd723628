// TaskSupervisor: drives one task from its claim to its terminal event. One a task, in the daemon's main thread.
// K1. Nothing of the task takes effect before its claim is durable. K2. After a release or a loss nothing more is written.
// K3. Cancel is journaled before it takes effect, and a task taken over remembers it.
// K4. The root's end and what it means for the task are written together.
import {
  addUsage,
  BeaverError,
  type BlobStore,
  type DataOf,
  type DomainEvent,
  type Clock,
  draft,
  event,
  type ExecutionGraph,
  type ExecutionNode,
  type Ids,
  isTerminalTaskEvent,
  type Journal,
  type LogId,
  messageOf,
  type NodeEnd,
  noUsage,
  runEnded,
  type RunId,
  splitBatch,
  startTeam,
  type TaskState,
  type TeamRunId,
  type Usage,
} from '@beaver/core'
import { type LoopEnd, loopEndOf, type LoopHost, type LoopSpec, type TeamResult } from '@beaver/agent'
import { createActor } from 'xstate'
import type { AcceptedTasks } from './accepted-tasks.ts'
import { eventsOfRun, type LoadedTask, loadTask } from './load-task.ts'
import { type SupervisedLoop, superviseLoop } from './loop-supervisor.ts'
import { nodeSpec, rootSpec } from './loop-specs.ts'
import { sessionHistory } from './session-history.ts'
import { taskEnd } from './task-end.ts'
import { TaskLog } from './task-log.ts'
import { taskMachine, type TaskOutcome } from './task-machine.ts'
import { type RunningTeam, superviseTeam } from './team-supervisor.ts'
import type { WorkerPool } from './worker/worker-pool.ts'

export interface TaskPorts {
  readonly journal: Journal
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly ids: Ids
  readonly pool: WorkerPool
  readonly daemonId: string
  readonly source: string
  readonly limits: TaskLimits
  readonly accepted: AcceptedTasks
}

export interface TaskLimits {
  readonly toolIterationsMax: number
  readonly nodeToolIterationsMax: number
  readonly concurrentNodesMax: number
  /** Owners a task may lose before it is given up on. */
  readonly ownersLostMax: number
}

export interface SupervisedTask {
  readonly log: LogId
  readonly outcome: Promise<TaskOutcome>
  readonly parked: boolean
  /** This daemon owns the task: its claim is durable. */
  readonly claimed: boolean
  /** How it ended, when this daemon wrote the terminal event. */
  readonly end: DomainEvent | null
  /** The task before it in the session may have ended. */
  recheck(): void
  /** Journals the request; resolves when it is durable. */
  cancel(reason: string): Promise<void>
  release(reason: string): void
}

/** A task that was delivered this often without an end is given up on when it breaks again. */
const deliveriesMax = 10

/** @param deliveries how often the task was delivered, from 1 */
export function superviseTask(log: LogId, deliveries: number, ports: TaskPorts): SupervisedTask {
  const { promise: outcome, resolve } = Promise.withResolvers<TaskOutcome>()
  const loops = new Set<SupervisedLoop>()
  const teams = new Map<string, RunningTeam>()
  const teamCalls = new Map<string, Promise<TeamResult>>()
  let loaded: LoadedTask | null = null
  let taskLog: TaskLog | null = null
  let lastTeam: TeamResult | null = null
  let usage: Usage = noUsage
  let cancelReason: string | null = null
  let terminal: DomainEvent | null = null
  let owned = false

  const actor = createActor(taskMachine, {
    input: {
      claim: () => effect(claim),
      run: () => effect(run),
      finish: (end) => effect(() => finish(end)),
      release: (reason) => effect(() => release(reason)),
    },
  })

  /** What fails here is a lost task or a broken one. This daemon lets go and the lease brings it back, until it is hopeless. */
  function effect(begin: () => Promise<void>): void {
    begin().catch(async (error: unknown) => {
      report(error)
      if (await givenUp(error).catch(() => false)) actor.send({ type: 'given.up' })
      else fenced()
    })
  }

  /** A task that breaks every daemon that takes it would come back for ever: after some deliveries it ends, with the reason. */
  async function givenUp(error: unknown): Promise<boolean> {
    if (taskLog === null || taskLog.fenced.aborted || deliveries < deliveriesMax) return false
    await taskLog.append(deadLetter(`The task could not be driven, ${deliveries} times: ${messageOf(error)}`, deliveries, 'internal').map(draft))
    return true
  }

  function deadLetter(message: string, count: number, failureClass: 'internal' | 'worker_lost'): DomainEvent[] {
    const failure = { class: failureClass, message }
    const end: LoopEnd = { status: 'failed', facts: { outputText: '', outputSeq: 0, tools: [] }, failure, usage: noUsage, provider: null, model: null }
    terminal = taskEnd(end, null, usage)
    return [event('task_dead_lettered', { claims: count }), terminal]
  }

  const fenced = (): void => {
    if (actor.getSnapshot().status === 'active') actor.send({ type: 'fenced' })
  }

  /** Whether somebody else wrote since this daemon claimed the task. What cannot be read is taken for it: the lease decides then. */
  async function overtaken(): Promise<boolean> {
    if (taskLog?.fenced.aborted !== true) return false
    const last = await ports.journal.last(log)
    const newest = last === null ? undefined : splitBatch(last.payload).at(-1)
    return newest !== undefined && newest.epoch >= taskLog.epoch && newest.source !== ports.source
  }

  function report(error: unknown): void {
    if (taskLog?.fenced.aborted !== true) process.emitWarning(`Task ${log.task}: ${messageOf(error)}`, 'BeaverTask')
  }

  async function claim(): Promise<void> {
    loaded = ports.accepted.take(log) ?? (await loadTask(log, ports))
    const { state } = loaded
    if (state.submitted === null) throw new Error('its log is empty')
    if (state.ended !== null) return actor.send({ type: 'over' })
    const before = state.submitted.previous_task_id
    if (before !== null && !(await hasEnded({ ...log, task: before }))) return actor.send({ type: 'predecessor.open' })
    const epoch = loaded.head.epoch + 1
    taskLog = new TaskLog(log, { head: loaded.head, revision: loaded.revision, epoch }, ports)
    taskLog.fenced.addEventListener('abort', fenced, { once: true })
    const ownersLost = state.ownersLost + (state.owner === null ? 0 : 1)
    if (ownersLost > ports.limits.ownersLostMax) {
      usage = usageOf(state)
      const why = `The task lost ${ownersLost} owners in the middle of its work and was given up on.`
      await taskLog.append([event('task_claimed', { daemon: ports.daemonId }), ...deadLetter(why, ownersLost, 'worker_lost')].map(draft))
      return actor.send({ type: 'over' })
    }
    const claim = [draft(event('task_claimed', { daemon: ports.daemonId }))]
    // A new task's claim is one message with the first events of its root run: assembling them has no effect on anything.
    if (loaded.events.length === 1) taskLog.hold(claim)
    else await taskLog.append(claim)
    owned = true
    actor.send({ type: 'claimed' })
  }

  async function hasEnded(of: LogId): Promise<boolean> {
    const last = await ports.journal.last(of)
    if (last === null) return true
    const type = splitBatch(last.payload).at(-1)?.type ?? ''
    return isTerminalTaskEvent(type.replace(/^beaver\./, '').replace(/\.v\d+$/, ''))
  }

  async function run(): Promise<void> {
    const { state, events } = loaded as LoadedTask
    const request = (state.submitted as DataOf<'task_submitted'>).request
    usage = usageOf(state)
    cancelReason ??= state.cancelReason
    const known = state.rootRunId === null ? undefined : state.runs.get(state.rootRunId)
    lastTeam = null
    for (const team of state.teams.values())
      if (team.outcome !== null) lastTeam = await superviseTeam(team, outputsOf(state, team.start.team_run_id), noTeamHost).result
    if (known !== undefined && runEnded(known)) return actor.send({ type: 'root.ended', end: loopEndOf(known) })
    const history = await sessionHistory(log, (state.submitted as DataOf<'task_submitted'>).previous_task_id, ports)
    const runId = known?.start.run_id ?? (ports.ids.next('run') as RunId)
    const spec = rootSpec(log, request, {
      runId,
      history,
      toolIterationsMax: ports.limits.toolIterationsMax,
      resume: known === undefined ? null : eventsOfRun(events, runId),
    })
    const owned = taskLog as TaskLog
    const end = await runLoop(spec, {
      // What the root's end means for the task is decided here and written with it.
      append(drafts, rootEnd) {
        if (rootEnd === null) return owned.append(drafts)
        terminal = taskEnd(rootEnd, lastTeam, addUsage(usage, rootEnd.usage))
        return owned.appendLast([...drafts, draft(terminal)], 'The task has ended.')
      },
      // A root that was started again in another thread asks again for a team that runs, or has ended, already.
      runTeam(callId, graph) {
        const team = teamCalls.get(callId) ?? runTeam(runId, callId, graph)
        teamCalls.set(callId, team)
        return team
      },
    })
    actor.send({ type: 'root.ended', end })
  }

  async function runLoop(spec: LoopSpec, host: LoopHost): Promise<LoopEnd> {
    const loop = superviseLoop(spec, host, { pool: ports.pool, log: taskLog as TaskLog, ports })
    loops.add(loop)
    if (cancelReason !== null) loop.cancel(cancelReason)
    try {
      const end = await loop.end
      usage = addUsage(usage, end.usage)
      return end
    } finally {
      loops.delete(loop)
    }
  }

  async function runTeam(rootRunId: string, callId: string, graph: ExecutionGraph): Promise<TeamResult> {
    const { state, events } = loaded as LoadedTask
    const owned = taskLog as TaskLog
    let team = [...state.teams.values()].find(({ start }) => start.run_id === rootRunId && start.call_id === callId)
    if (team === undefined) {
      const start: DataOf<'task_team_run_started'> = {
        team_run_id: ports.ids.next('team') as TeamRunId,
        run_id: rootRunId as RunId,
        call_id: callId,
        graph,
        concurrent_nodes_max: ports.limits.concurrentNodesMax,
      }
      await owned.append([draft(event('task_team_run_started', start))])
      team = startTeam(start)
    }
    const teamRunId = team.start.team_run_id
    const running = superviseTeam(team, outputsOf(state, teamRunId), {
      append: (drafts) => owned.append(drafts),
      newRunId: () => ports.ids.next('run'),
      runNode: (node, runId, dependencies, taken) =>
        runNode(node, runId, dependencies, { teamRunId, task: graph.task, rootRunId, loaded: taken ? { state, events } : null }),
    })
    teams.set(teamRunId, running)
    if (cancelReason !== null) running.cancel(cancelReason)
    lastTeam = await running.result
    teams.delete(teamRunId)
    return lastTeam
  }

  async function runNode(
    node: ExecutionNode,
    runId: string,
    dependencies: readonly { node_id: string; output: string }[],
    of: { teamRunId: string; task: string; rootRunId: string; loaded: Pick<LoadedTask, 'state' | 'events'> | null },
  ): Promise<NodeEnd> {
    const known = of.loaded?.state.runs.get(runId)
    const { request } = (loaded as LoadedTask).state.submitted as DataOf<'task_submitted'>
    const resume = known === undefined || of.loaded === null ? null : eventsOfRun(of.loaded.events, runId)
    const spec = nodeSpec(log, request, { node, runId, dependencies, ...of, toolIterationsMax: ports.limits.nodeToolIterationsMax, resume })
    const end =
      known !== undefined && runEnded(known)
        ? loopEndOf(known)
        : await runLoop(spec, {
            append: (drafts) => (taskLog as TaskLog).append(drafts),
            runTeam: () => Promise.reject(new Error('A worker has no workflow tools.')),
          })
    return { nodeId: node.node_id, runId, status: end.status, facts: end.facts, failure: end.failure }
  }

  async function finish(end: LoopEnd): Promise<void> {
    if (terminal === null) {
      terminal = taskEnd(end, lastTeam, usage)
      await (taskLog as TaskLog).appendLast([draft(terminal)], 'The task has ended.')
    }
    actor.send({ type: 'finished' })
  }

  async function release(reason: string): Promise<void> {
    await (taskLog as TaskLog).appendLast([draft(event('task_released', { daemon: ports.daemonId, reason }))], 'The task was handed over.')
    actor.send({ type: 'released' })
  }

  actor.subscribe({
    next: ({ status, value }) => {
      if (status !== 'done') return
      const how =
        value === 'lost'
          ? overtaken().then(
              (is) => (is ? 'overtaken' : 'lost'),
              () => 'overtaken' as const,
            )
          : (value as TaskOutcome)
      taskLog?.close('This daemon let go of the task.')
      for (const loop of loops) loop.cancel('The daemon let go of the task.')
      resolve(how)
    },
    error: (error) => {
      report(error)
      resolve('lost')
    },
  })
  actor.start()

  return {
    log,
    outcome,
    get parked() {
      return actor.getSnapshot().value === 'parked'
    },
    get end() {
      return terminal
    },
    get claimed() {
      return owned
    },
    recheck: () => actor.send({ type: 'recheck' }),
    async cancel(reason) {
      if (terminal !== null) throw new BeaverError('conflict', `The task ${log.task} has ended already.`)
      await (taskLog as TaskLog).append([draft(event('task_cancel_requested', { reason }))])
      cancelReason ??= reason
      for (const team of teams.values()) team.cancel(reason)
      for (const loop of loops) loop.cancel(reason)
    },
    release: (reason) => actor.send({ type: 'release', reason }),
  }
}

const noTeamHost = {
  append: () => Promise.reject(new Error('the team has ended')),
  newRunId: () => '',
  runNode: () => Promise.reject(new Error('the team has ended')),
}

/** What the runs before this claim used, the ended ones: those that go on report the whole of theirs. */
function usageOf(state: TaskState): Usage {
  return [...state.runs.values()].filter(runEnded).reduce((sum, run) => addUsage(sum, run.usage), noUsage)
}

function outputsOf(state: TaskState, teamRunId: string): Map<string, string> {
  const outputs = new Map<string, string>()
  for (const [nodeId, node] of state.teams.get(teamRunId)?.nodes ?? []) {
    const run = node.runId === null ? undefined : state.runs.get(node.runId)
    if (node.status === 'completed' && run !== undefined) outputs.set(nodeId, run.outputText)
  }
  return outputs
}
