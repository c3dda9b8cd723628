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
  type ExecutionGraph,
  type Clock,
  draft,
  event,
  type Ids,
  isTerminalTaskEvent,
  type Journal,
  type LogId,
  messageOf,
  noUsage,
  runEnded,
  type RunId,
  splitBatch,
  type TaskRequest,
  type TaskState,
  type Usage,
} from '@beaver/core'
import { type LoopEnd, loopEndOf, type LoopSpec } from '@beaver/agent'
import type { Workflow } from '@beaver/workflows'
import { createActor } from 'xstate'
import type { AcceptedTasks } from './accepted-tasks.ts'
import { eventsOfRun, type LoadedTask, loadTask } from './load-task.ts'
import { loopHost, type LoopServicePorts, memoryOf, type OwnHost } from './loop-services.ts'
import { type SupervisedLoop, superviseLoop } from './loop-supervisor.ts'
import { rootSpec } from './loop-specs.ts'
import type { PastTasks } from './past-tasks.ts'
import { openedTask, type Opening } from './opened-task.ts'
import { earlierTurns, sessionHistory } from './session-history.ts'
import { type Decision, type TaskApprovals, taskApprovals } from './task-approvals.ts'
import { taskEnd, workflowEnd } from './task-end.ts'
import { TaskLog } from './task-log.ts'
import { taskMachine, type TaskOutcome } from './task-machine.ts'
import { type TaskTeams, taskTeams, type TeamLimits } from './task-teams.ts'
import type { WorkerPool } from './worker/worker-pool.ts'

export interface TaskPorts extends LoopServicePorts {
  readonly journal: Journal
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly ids: Ids
  readonly pool: WorkerPool
  readonly daemonId: string
  readonly source: string
  readonly limits: TaskLimits
  readonly accepted: AcceptedTasks
  /** What earlier tasks of a session said; shared by all tasks of the daemon. */
  readonly past: PastTasks
  /** The workflows a task may name. */
  readonly findWorkflow: (name: string) => Workflow | null
}

export interface TaskLimits extends TeamLimits {
  readonly toolIterationsMax: number
  /** Owners a task may lose before it is given up on. */
  readonly ownersLostMax: number
  /** Calls that need an approval, of a task that does not say whether somebody can answer. */
  readonly unattended: 'wait' | 'refuse'
  readonly approvalWaitMsMax: number
}

export interface SupervisedTask {
  readonly log: LogId
  readonly outcome: Promise<TaskOutcome>
  parked(): boolean
  /** This daemon owns the task: its claim is durable. */
  claimed(): boolean
  /** How it ended, when this daemon wrote the terminal event. */
  end(): DomainEvent | null
  /** The task before it in the session may have ended. */
  recheck(): void
  /** Journals the request; resolves when it is durable. */
  cancel(reason: string): Promise<void>
  /** Cancels one node of a running team; what depends on it is blocked. @throws {BeaverError} `not_found`, `conflict` */
  cancelNode(nodeId: string, reason: string): Promise<void>
  /** Journals what a person decided about a call. @throws {BeaverError} `not_found`, `conflict` */
  decide(decision: Decision): Promise<void>
  release(reason: string): void
}

/** How long the first entry of a task that is being opened waits for the first events of its root. */
const openingMsMax = 100

/** How a daemon came to a task. */
export interface TaskArrival {
  /** How often the task was delivered, from 1. */
  readonly deliveries: number
  /** The daemon that accepts a task drives it before the queue delivers it. */
  readonly opening: Opening | null
  /** Hands the delivery on to the daemon that claimed the task; `false` when that one does not drive it. */
  handOn(owner: string): Promise<boolean>
}

/** A task that was delivered this often without an end is given up on when it breaks again. */
const deliveriesMax = 10

export function superviseTask(log: LogId, { deliveries, opening, handOn }: TaskArrival, ports: TaskPorts): SupervisedTask {
  const { promise: outcome, resolve } = Promise.withResolvers<TaskOutcome>()
  const loops = new Set<SupervisedLoop>()
  let loaded: LoadedTask | null = null
  let taskLog: TaskLog | null = null
  let teams: TaskTeams | null = null
  let approvals: TaskApprovals | null = null
  let model: Pick<LoopEnd, 'provider' | 'model'> = { provider: null, model: null }
  let usage: Usage = noUsage
  let cancelReason: string | null = null
  let terminal: DomainEvent | null = null
  let owned = false
  let openingTimer: { cancel(): void } | null = null

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
    loaded = opening === null ? ((await ports.accepted.take(log)) ?? (await loadTask(log, ports))) : openedTask(opening)
    const { state } = loaded
    if (state.submitted === null) throw new Error('its log is empty')
    if (state.ended !== null) return actor.send({ type: 'over' })
    const before = state.submitted.previous_task_id
    if (before !== null && !(await hasEnded({ ...log, task: before }))) return actor.send({ type: 'predecessor.open' })
    if (state.owner !== null && state.owner !== ports.daemonId && (await handOn(state.owner))) return actor.send({ type: 'handed.on' })
    const epoch = loaded.head.epoch + 1
    const own = new TaskLog(log, { head: loaded.head, revision: loaded.revision, epoch, opening }, ports)
    taskLog = own
    taskLog.fenced.addEventListener('abort', fenced, { once: true })
    const ownersLost = state.ownersLost + (state.owner === null ? 0 : 1)
    if (ownersLost > ports.limits.ownersLostMax) {
      usage = usageOf(state)
      const why = `The task lost ${ownersLost} owners in the middle of its work and was given up on.`
      await taskLog.append([event('task_claimed', { daemon: ports.daemonId }), ...deadLetter(why, ownersLost, 'worker_lost')].map(draft))
      return actor.send({ type: 'over' })
    }
    const claim = [draft(event('task_claimed', { daemon: ports.daemonId }))]
    // A new task's claim is one message with the first events of its root run: nothing is asked of anybody before they are durable.
    if (loaded.events.length === 1) taskLog.hold(claim)
    else await taskLog.append(claim)
    // Whoever asked for the task waits until it stands in the journal: not for ever for a busy thread.
    if (opening !== null) openingTimer = ports.clock.after(openingMsMax, () => void own.flush())
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
    const { state } = loaded as LoadedTask
    const request = (state.submitted as DataOf<'task_submitted'>).request
    usage = usageOf(state)
    cancelReason ??= state.cancelReason
    const owned = taskLog as TaskLog
    approvals = taskApprovals(log, {
      clock: ports.clock,
      unattended: request.approvals ?? ports.limits.unattended,
      waitMsMax: ports.limits.approvalWaitMsMax,
      events: (loaded as LoadedTask).events,
      append: (drafts) => owned.append(drafts),
      load: async () => {
        await owned.flush()
        return (await loadTask(log, ports)).state
      },
    })
    const own = await taskTeams(log, request, loaded as LoadedTask, {
      ...ports,
      append: (drafts) => owned.append(drafts),
      hold: (drafts) => owned.hold(drafts),
      startLoop,
    })
    teams = own
    if (cancelReason !== null) own.cancel(cancelReason)
    const end = request.workflow === undefined ? await runRoot(request, own) : await runWorkflow(request.workflow, own)
    actor.send({ type: 'root.ended', end })
  }

  async function runRoot(request: TaskRequest, own: TaskTeams): Promise<LoopEnd> {
    const { state, events } = loaded as LoadedTask
    const known = state.rootRunId === null ? undefined : state.runs.get(state.rootRunId)
    if (known !== undefined && runEnded(known)) return loopEndOf(known)
    const history = await sessionHistory(log, (state.submitted as DataOf<'task_submitted'>).previous_task_id, ports.past)
    const runId = known?.start.run_id ?? (ports.ids.next('run') as RunId)
    const spec = rootSpec(log, request, {
      runId,
      history,
      toolIterationsMax: ports.limits.toolIterationsMax,
      resume: known === undefined ? null : eventsOfRun(events, runId),
    })
    const ofTask = taskLog as TaskLog
    const { promise: written, resolve: ended } = Promise.withResolvers<LoopEnd>()
    const root = startLoop(spec, {
      // What the root's end means for the task is decided here and written with it. Then the task has ended: its thread need not say so.
      async append(drafts, rootEnd) {
        if (rootEnd === null) return ofTask.append(drafts)
        terminal = taskEnd(rootEnd, own.last(), addUsage(usage, rootEnd.usage))
        const place = await ofTask.appendLast([...drafts, draft(terminal)], 'The task has ended.')
        root.letGo()
        ended(rootEnd)
        return place
      },
      runTeam: (callId, graph) => own.run({ runId, callId }, graph),
      sharedState: () => Promise.reject(new Error('A root agent has no shared state.')),
    })
    return Promise.race([root.end, written])
  }

  /** The task is a workflow: its graph was accepted with the task, and the same arguments give the same graph. */
  async function runWorkflow({ name, arguments: args }: NonNullable<TaskRequest['workflow']>, own: TaskTeams): Promise<LoopEnd> {
    const { state } = loaded as LoadedTask
    const known = [...state.teams.values()].find(({ start }) => start.run_id === null)?.start.graph
    const graph = known ?? (await plan())
    if (typeof graph !== 'string') return workflowEnd(await own.run(null, graph), { cancelled: cancelReason, ...model })
    return workflowEnd({ refused: { code: 'invalid_arguments', message: graph } }, { cancelled: null, ...model })

    async function plan(): Promise<ExecutionGraph | string> {
      const workflow = ports.findWorkflow(name)
      if (workflow === null) return `This daemon does not know the workflow ${JSON.stringify(name)}: start it with the definitions the task was accepted with.`
      const previous = (state.submitted as DataOf<'task_submitted'>).previous_task_id
      const planned = workflow.plan(args, { turn: await earlierTurns({ log, previous, workflow, args }, ports.past) })
      return planned.ok ? planned.graph : planned.error.message
    }
  }

  function startLoop(spec: LoopSpec, own: OwnHost): SupervisedLoop & { letGo(): void } {
    const host = loopHost(log, spec, own, { ports, approvals: approvals as TaskApprovals })
    const loop = superviseLoop(spec, host, { pool: ports.pool, log: taskLog as TaskLog, ports, readMemory: () => memoryOf(log, ports.memory) })
    loops.add(loop)
    if (cancelReason !== null) loop.cancel(cancelReason)
    const end = loop.end
      .then((ended) => {
        usage = addUsage(usage, ended.usage)
        if (ended.model !== null) model = { provider: ended.provider, model: ended.model }
        return ended
      })
      .finally(() => {
        loops.delete(loop)
        approvals?.ended(spec.start.run_id)
      })
    return { end, cancel: (reason) => loop.cancel(reason), letGo: () => void loops.delete(loop) }
  }

  async function finish(end: LoopEnd): Promise<void> {
    if (terminal === null) {
      terminal = taskEnd(end, teams?.last() ?? null, usage)
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
      openingTimer?.cancel()
      // A log that ended with its task is closed.
      if (terminal === null || loops.size > 0) taskLog?.close('This daemon let go of the task.')
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
    parked: () => actor.getSnapshot().value === 'parked',
    end: () => terminal,
    claimed: () => owned,
    recheck: () => actor.send({ type: 'recheck' }),
    async cancel(reason) {
      if (terminal !== null) throw new BeaverError('conflict', `The task ${log.task} has ended already.`)
      await (taskLog as TaskLog).append([draft(event('task_cancel_requested', { reason }))])
      cancelReason ??= reason
      teams?.cancel(reason)
      for (const loop of loops) loop.cancel(reason)
    },
    async cancelNode(nodeId, reason) {
      if (terminal !== null || teams === null) throw new BeaverError('conflict', `The task ${log.task} has no running team.`)
      await teams.cancelNode(nodeId, reason)
    },
    async decide(decision) {
      if (terminal !== null || approvals === null) throw new BeaverError('conflict', `The task ${log.task} has no call that waits for an approval.`)
      await approvals.decide(decision)
    },
    release: (reason) => actor.send({ type: 'release', reason }),
  }
}

/** What the runs before this claim used, the ended ones: those that go on report the whole of theirs. */
function usageOf(state: TaskState): Usage {
  return [...state.runs.values()].filter(runEnded).reduce((sum, run) => addUsage(sum, run.usage), noUsage)
}
