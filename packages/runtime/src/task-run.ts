// The work of one claimed task: its root loop or its workflow, its teams, its loops and its approvals.
// task-supervisor.ts decides when the task ends, waits or is handed over. The end of the root and the end of
// the task are written together.
import { type LoopEnd, loopEndOf, type LoopSpec, type PauseRequest } from '@beaver/agent'
import {
  addUsage,
  BeaverError,
  type ChatMessage,
  type Clock,
  type DomainEvent,
  type LogId,
  noUsage,
  pause,
  type RunId,
  taskFacts,
  type TaskId,
  type TaskRequest,
  type Usage,
} from '@beaver/core'
import {
  previousTaskOf,
  raiseText,
  runEnded,
  type TaskState,
  type ToolFact,
  waitBegan,
  waitedMs,
  waitEnded,
  waitsOver,
  wholeTask,
} from '@beaver/core/fold'
import type { ExecutionGraph } from '@beaver/core/graph'
import { draft, drafted, exchangeMessages, visibleHistory } from '@beaver/core/journal'
import { cleanTaint, joinTaints, type Taint } from '@beaver/core/taint'
import type { OutwardTrace } from '@beaver/core/trace'
import type { Workflow } from '@beaver/workflows'
import type { ClaimedTask } from './claim-task.ts'
import { eventsOfRun, loadTask } from './load-task.ts'
import { loopHost, memoryOf, type OwnHost } from './loop-services.ts'
import { rootSpec } from './loop-specs.ts'
import { type DroppableLoop, type SupervisedLoop, superviseLoop } from './loop-supervisor.ts'
import { type PastTasks, turnOf } from './past-tasks.ts'
import type { LoopActivity } from './suspension.ts'
import { TaskApprovals } from './task-approvals.ts'
import { unbounded } from './budget-rules.ts'
import { TaskBudget } from './task-budget.ts'
import { taskEnd, type TaskEvidence, workflowEnd } from './task-end.ts'
import type { TaskPorts } from './task-ports.ts'
import { raiseEvent, type RaiseRequest } from './task-raises.ts'
import { type SteerRequest, TaskSteers } from './task-steers.ts'
import { TaskTeams } from './task-teams.ts'

export interface RootEnd {
  readonly end: LoopEnd
  /** The task's terminal event, if it was written with the root's end. */
  readonly terminal: DomainEvent | null
}

interface LiveLoop {
  readonly loop: DroppableLoop
  readonly start: LoopSpec['start']
  readonly teamRunId: string | null
  readonly teams: Set<string>
  pause: (PauseRequest & { readonly untilMs: number }) | null
}

/** A loop that is under way, with what it waits for. */
export interface LoopNow extends LoopActivity {
  readonly start: LoopSpec['start']
  /** How often it was started again and charged for it. */
  readonly restarts: number
}

/** Under this id a run waits for a person who gives more to a budget. */
const budgetWait = 'budget'

/** A shorter pause does not suspend the task. */
const longMs = 2_000

export class TaskRun {
  readonly #task: ClaimedTask
  readonly #ports: TaskPorts
  readonly #request: TaskRequest
  /** What models and tools are told of its trace; `null`: nothing. */
  readonly #trace: OutwardTrace | null
  readonly #approvals: TaskApprovals
  readonly #steers: TaskSteers
  readonly #budget: TaskBudget
  /** What was given more to its budgets, also what is on its way to the journal. */
  readonly #raises: Map<string, string>
  readonly #clock: TaskClock
  readonly #loops = new Map<string, LiveLoop>()
  /** Called when the task may have begun to only wait. */
  readonly #onWait: () => void
  #teams: TaskTeams | null = null
  #root: SupervisedLoop | null = null
  #model: Pick<LoopEnd, 'provider' | 'model'> = { provider: null, model: null }
  #usage: Usage
  /** The tool calls of its teams' runs, by run id. Empty if the task requires no evidence. */
  readonly #toolFacts = new Map<string, readonly ToolFact[]>()
  #cancelReason: string | null
  #terminal: DomainEvent | null = null

  /** @throws when the task was never submitted */
  constructor(
    task: ClaimedTask,
    ports: TaskPorts,
    of: { cancelReason: string | null; onWait: () => void; onClientGone: (reason: string) => void },
  ) {
    const { state, askedAtMs } = task.loaded
    if (state.submitted === null) throw new Error(`The log of task ${task.log.task} is empty.`)
    this.#task = task
    this.#ports = ports
    this.#request = state.submitted.request
    this.#trace = ports.traceOf?.(task.log, state.submitted.trace ?? null) ?? null
    this.#clock = taskClock(ports.clock, state.clockMs)
    this.#usage = usageOf(state)
    for (const run of state.runs.values()) if (runEnded(run)) this.#keepFacts(loopEndOf(run), run.start)
    this.#cancelReason = of.cancelReason
    this.#onWait = of.onWait
    this.#approvals = new TaskApprovals(task.log, {
      clock: { now: () => ports.journal.now(), after: ports.clock.after },
      unattended: this.#request.approvals ?? ports.limits.unattended,
      waitMsMax: ports.limits.approvalWaitMsMax,
      askedAtMs,
      append: (drafts) => task.taskLog.append(drafts),
      judgeArguments: ports.judgeArguments ?? (async () => null),
      clientGone: of.onClientGone,
      cancelling: () => this.#cancelReason !== null,
      load: async () => {
        await task.taskLog.flush()
        return await loadTask(task.log, ports)
      },
    })
    this.#raises = new Map(state.raises)
    const { log, taskLog, loaded } = task
    const budgeted = { log, request: this.#request, epoch: taskLog.epoch, events: loaded.events }
    this.#budget = new TaskBudget(budgeted, {
      rules: ports.budgets ?? unbounded,
      ports: {
        // The time of work stops while a person is waited for.
        clock: {
          now: () => this.#clock.now() - waitedMs(state.personWaits, wholeTask, this.#clock.now()),
          after: this.#clock.after,
        },
        now: () => ports.journal.now(),
        nodeMs: (run) => this.#teams?.workedMs(run) ?? 0,
        unattended: this.#request.approvals ?? ports.limits.unattended,
        waitMsMax: ports.limits.approvalWaitMsMax,
        book: ports.book,
        append: (drafts) => task.taskLog.append(drafts),
        stored: () => task.taskLog.stored(),
        flush: () => void task.taskLog.flush(),
        canTell: () => this.#terminal === null,
        tell: (told, data) => {
          taskFacts.budgetReached(ports.logger, task.log, data)
          ports.alert?.(task.log, data)
          // The log may be closed by now, and then the next owner tells it.
          if (this.#terminal === null) task.taskLog.append([told]).catch(() => {})
        },
        waits: (run, begins) => {
          const { run_id: runId, team_run_id: teamRunId } = run
          const ofRun = { runId, teamRunId, callId: budgetWait }
          if (begins) waitBegan(state.personWaits, ofRun, this.#clock.now())
          else waitEnded(state.personWaits, ofRun, this.#clock.now())
          this.#onWait()
        },
      },
    })
    this.#steers = new TaskSteers(task.log, state, {
      append: (drafts) => task.taskLog.append(drafts),
      ended: () => this.#terminal !== null,
      tell: (steer) => this.#root?.steer(steer),
    })
  }

  get request(): TaskRequest {
    return this.#request
  }

  /** The usage of ended runs, in this claim and before. */
  get usage(): Usage {
    return this.#usage
  }

  /** Runs the task to the end of its root, or of its workflow. */
  async work(): Promise<RootEnd> {
    const { log, loaded, taskLog } = this.#task
    const teams = new TaskTeams(log, this.#request, loaded, {
      ...this.#ports,
      clock: this.#clock,
      append: (drafts) => taskLog.append(drafts),
      hold: (drafts) => taskLog.hold(drafts),
      startLoop: (spec, host) => this.#startLoop(spec, host),
      personWaitedMs: (id) => waitedMs(loaded.state.personWaits, id, this.#clock.now()),
    })
    await teams.tellEnded()
    this.#teams = teams
    if (this.#cancelReason !== null) teams.cancel(this.#cancelReason)
    const { workflow } = this.#request
    const end = workflow === undefined ? await this.#runRoot(teams) : await this.#runWorkflow(workflow, teams)
    return { end, terminal: this.#terminal }
  }

  /** The terminal event of the task for this end of its root. */
  endOf(end: LoopEnd): DomainEvent {
    return taskEnd(end, this.#teams?.ended() ?? [], this.#usage, this.#evidence())
  }

  #evidence(): TaskEvidence {
    return {
      required: this.#request.required_evidence ?? [],
      text: this.#request.text,
      tools: [...this.#toolFacts.values()].flat(),
    }
  }

  cancel(reason: string): void {
    this.#cancelReason ??= reason
    this.#teams?.cancel(reason)
    for (const { loop } of this.#loops.values()) loop.cancel(reason)
  }

  get teams(): TaskTeams | null {
    return this.#teams
  }

  /** @throws {BeaverError} `conflict`, `fenced` */
  steer(asked: SteerRequest): Promise<void> {
    return this.#steers.steer(asked, this.#cancelReason)
  }

  /** @throws {BeaverError} `conflict`, `not_found`, `fenced` */
  async raise(asked: RaiseRequest): Promise<void> {
    const { state } = this.#task.loaded
    const live = this.#teams?.liveTeams() ?? []
    const teams = new Map([
      ...state.teams,
      ...live.map(({ state: team }) => [team.start.team_run_id as string, team] as const),
    ])
    const task = { ...state, teams, raises: this.#raises, cancelReason: this.#cancelReason }
    const made = raiseEvent(this.#task.log, task, asked, this.#ports.budgets)
    if (made?.type !== 'budget_raised') return
    if (this.#terminal !== null)
      throw new BeaverError('conflict', `The task ${this.#task.log.task} has ended already.`)
    this.#raises.set(made.data.request_id, raiseText(made.data))
    const written = draft(made)
    await this.#task.taskLog.append([written])
    this.#budget.take([written])
    this.#budget.look()
  }

  /** Resolves when the accounts of shared budgets have what the log has. */
  accountsWritten(): Promise<void> {
    return this.#budget.written()
  }

  /** Closes its accounts of shared budgets, when it has ended. */
  closeAccounts(): Promise<void> {
    return this.#budget.closeAccounts()
  }

  get approvals(): TaskApprovals {
    return this.#approvals
  }

  /** What each loop is doing, as far as its host knows. */
  activity(): LoopNow[] {
    return [...this.#loops].map(([runId, { loop, start, teams, pause: paused }]) => ({
      runId,
      start,
      restarts: loop.restarts,
      asked: this.#approvals.waiting(runId),
      budgetMs: this.#budget.waitsMs(runId),
      teams: [...teams],
      pause:
        paused === null
          ? null
          : {
              leftMs: Math.max(0, paused.untilMs - this.#ports.clock.now()),
              waitsFor: paused.waitsFor,
              reason: paused.reason,
            },
    }))
  }

  /** Drops every loop: nothing of them is journaled any more. */
  drop(why: string): void {
    this.#budget.leave()
    for (const [runId, { loop, pause: paused }] of this.#loops) {
      if (paused?.admitted === true) this.#ports.admissions.keep(runId, paused.untilMs)
      // Stop a loop that may be at work, and watch it until it ends.
      if (paused === null) loop.cancel(why)
      else loop.drop(why)
    }
    this.#approvals.close()
    this.#budget.close()
  }

  get loops(): number {
    return this.#loops.size
  }

  /** Whether any loop waits for a person or the client, or for a provider longer than `longMs`. */
  get waits(): boolean {
    return (
      this.#approvals.count() > 0 ||
      this.#budget.waiting > 0 ||
      [...this.#loops.values()].some(({ pause: paused }) => paused !== null && paused.ms >= longMs)
    )
  }

  /** The terminal event, once it is decided. It may not be durable yet. */
  get terminal(): DomainEvent | null {
    return this.#terminal
  }

  async #runRoot(teams: TaskTeams): Promise<LoopEnd> {
    const { log, loaded, taskLog } = this.#task
    const { state, events } = loaded
    const known = state.rootRunId === null ? undefined : state.runs.get(state.rootRunId)
    if (known !== undefined && runEnded(known)) return loopEndOf(known)
    const history = await sessionHistory(
      log,
      { previous: this.#request.history_until ?? previousTaskOf(state), user: this.#request.user_id ?? null },
      this.#ports.past,
    )
    const runId = known?.start.run_id ?? (this.#ports.ids.next('run') as RunId)
    const spec = rootSpec(log, this.#request, {
      runId,
      history: history.messages,
      taint: history.taint,
      toolIterationsMax: this.#ports.limits.toolIterationsMax,
      repeatsMax: this.#ports.limits.repeatsMax,
      resume: known === undefined ? null : eventsOfRun(events, runId),
      admitted: this.#ports.admissions.take(runId),
    })
    const { promise: written, resolve: ended } = Promise.withResolvers<LoopEnd>()
    const root = this.#startLoop(spec, {
      // The end of the task is written with the root's end. After that, the thread's own report is not
      // needed.
      append: async (drafts, rootEnd) => {
        if (rootEnd === null) return taskLog.append(drafts)
        const told = rootEnd.status === 'completed' ? this.#steers.untilTold(rootEnd.steersGiven ?? []) : null
        if (told !== null) return told.then(() => null)
        const end = drafted(
          taskEnd(rootEnd, teams.ended(), addUsage(this.#usage, rootEnd.usage), this.#evidence()),
        )
        this.#terminal = end.event
        const place = await taskLog.appendLast([...drafts, end.draft], 'The task has ended.')
        this.#loops.delete(runId)
        ended(rootEnd)
        return place
      },
      runTeam: async (callId, graph, taint) => {
        const live = this.#loops.get(runId)
        live?.teams.add(callId)
        try {
          return await teams.run({ runId, callId, taint }, graph)
        } finally {
          live?.teams.delete(callId)
        }
      },
      teamOf: async (callId) => teams.ended().find((team) => team.call_id === callId)?.result ?? null,
      sharedState: () => Promise.reject(new Error('A root agent has no shared state.')),
    })
    this.#root = root
    return Promise.race([root.end, written])
  }

  /**
   * Runs a workflow task. Its graph was accepted with the task, and the same arguments give the same graph.
   */
  async #runWorkflow(
    { name, arguments: args }: NonNullable<TaskRequest['workflow']>,
    teams: TaskTeams,
  ): Promise<LoopEnd> {
    const { log, loaded } = this.#task
    const { state } = loaded
    const { findWorkflow, past } = this.#ports
    const known = [...state.teams.values()].find(({ start }) => start.run_id === null)?.start.graph
    const graph = known ?? (await plan())
    if (typeof graph !== 'string')
      return workflowEnd(await teams.run(null, graph), { cancelled: this.#cancelReason, ...this.#model })
    return workflowEnd(
      { refused: { code: 'invalid_configuration', message: graph } },
      { cancelled: null, ...this.#model },
    )

    async function plan(): Promise<ExecutionGraph | string> {
      const workflow = findWorkflow(name)
      if (workflow === null)
        return `The workflow ${JSON.stringify(name)} is not loaded by the daemon that runs this task. Put its file back into a folder of "workflows" of that daemon's configuration, and retry the task.`
      const previous = previousTaskOf(state)
      const planned = workflow.plan(args, {
        turn: await earlierTurns({ log, previous, workflow, args }, past),
      })
      return planned.ok ? planned.graph : planned.error.message
    }
  }

  #keepFacts({ facts }: LoopEnd, { run_id: runId, team_run_id: team }: LoopSpec['start']): void {
    if (team !== null && this.#request.required_evidence !== undefined)
      this.#toolFacts.set(runId, facts.tools)
  }

  #startLoop(spec: LoopSpec, own: OwnHost): SupervisedLoop {
    const { log, taskLog, loaded } = this.#task
    const runId = spec.start.run_id as string
    const teamRunId = spec.start.team_run_id as string | null
    const { personWaits } = loaded.state
    const owner = { tenant: log.tenant, user: this.#request.user_id ?? null }
    const host = loopHost(log, spec, own, {
      owner,
      ports: this.#ports,
      append: async (drafts, end, next = null) => {
        const reserved = next === null ? null : this.#budget.tryReserve(spec.start, next)
        const all = reserved === null ? drafts : [...drafts, draft(reserved.event)]
        const place = own.append(all, end)
        // What follows from these events must stand behind them in the log. A run that ends may have to take a
        // text first, and then nothing of this is written.
        if (end === null) this.#budget.take(all)
        const first = await place
        if (first === null) return null
        if (end !== null) this.#budget.take(all)
        return { first, granted: reserved?.granted ?? null }
      },
      reserve: (needs, signal) => this.#budget.reserve(spec.start, needs, signal),
      approval: (callId) => {
        const of = { runId, teamRunId, callId }
        waitBegan(personWaits, of, this.#clock.now())
        this.#onWait()
        return this.#approvals
          .wait(runId, callId)
          .finally(() => waitEnded(personWaits, of, this.#clock.now()))
      },
      answer: (question, signal) => {
        const of = { runId, teamRunId, callId: question.callId }
        waitBegan(personWaits, of, this.#clock.now())
        this.#onWait()
        const over = (): void => waitEnded(personWaits, of, this.#clock.now())
        signal.addEventListener('abort', over, { once: true })
        return this.#approvals.waitForAnswer(runId, question, signal).finally(over)
      },
      clientAnswer: (callId, signal) => {
        const of = { runId, teamRunId, callId }
        waitBegan(personWaits, of, this.#clock.now())
        this.#onWait()
        const over = (): void => waitEnded(personWaits, of, this.#clock.now())
        signal.addEventListener('abort', over, { once: true })
        return this.#approvals.waitForClient(runId, callId, signal).finally(over)
      },
      pause: (request, signal) => this.#pause(runId, request, signal),
      stillOurs: () => taskLog.stillOurs(),
    })
    const { suspects } = this.#task
    const { time_zone: timeZone, required_evidence: taskEvidence } = this.#request
    const zoned = {
      ...spec,
      ...(this.#trace === null ? {} : { trace: this.#trace }),
      ...(timeZone === undefined ? {} : { timeZone }),
      ...(taskEvidence === undefined ? {} : { taskEvidence }),
    }
    const { budgeted } = this.#budget
    const bounded = budgeted === undefined ? zoned : { ...zoned, budgeted }
    const asked =
      (this.#request.approvals ?? this.#ports.limits.unattended) === 'refuse'
        ? { ...bounded, unattended: true }
        : bounded
    const guarded = suspects.pure || suspects.names.length > 0 ? { ...asked, suspectTools: suspects } : asked
    const loop = superviseLoop(guarded, host, {
      pool: this.#ports.pool,
      log: taskLog,
      ports: this.#ports,
      readMemory: () => memoryOf(owner, this.#ports.memory),
      recordLostCall: async () => {
        const lost = this.#budget.lostCall(runId)
        if (lost === null) return false
        const written = draft(lost)
        await taskLog.append([written])
        this.#budget.take([written])
        return true
      },
      // Only a model uses skills, and the run of a tool node has none.
      readSkills: async () =>
        spec.part.kind === 'tool' ? [] : ((await this.#ports.skillsIn?.(this.#request.workspace)) ?? []),
      arrival: async (tools) => this.#ports.external?.arrival?.(tools),
      ...(teamRunId === null ? { steers: () => this.#steers.all } : {}),
    })
    const live: LiveLoop = { loop, start: spec.start, teamRunId, teams: new Set(), pause: null }
    this.#loops.set(runId, live)
    if (this.#cancelReason !== null) loop.cancel(this.#cancelReason)
    const end = loop.end
      .then((ended) => {
        this.#usage = addUsage(this.#usage, ended.usage)
        this.#keepFacts(ended, spec.start)
        if (ended.model !== null) this.#model = { provider: ended.provider, model: ended.model }
        return ended
      })
      .finally(() => {
        this.#loops.delete(runId)
        this.#approvals.ended(runId)
        waitsOver(personWaits, { runId, teamRunId }, this.#clock.now())
        if (this.waits) this.#onWait()
      })
    return { end, cancel: (reason) => loop.cancel(reason), steer: (steer) => loop.steer(steer) }
  }

  async #pause(runId: string, request: PauseRequest, signal: AbortSignal): Promise<void> {
    const live = this.#loops.get(runId)
    if (live !== undefined) live.pause = { ...request, untilMs: this.#ports.clock.now() + request.ms }
    if (this.waits) this.#onWait()
    await pause(this.#ports.clock, request.ms, signal)
    if (live !== undefined) live.pause = null
  }
}

/** The usage of runs that ended before this claim. A run that continues reports all of its own. */
function usageOf(state: TaskState): Usage {
  return [...state.runs.values()].filter(runEnded).reduce((sum, run) => addUsage(sum, run.usage), noUsage)
}

// The clock of one task runs while a daemon drives the task, and continues from the journal's time
// (task-state.ts in core).

type TaskClock = Clock

/** @param clockMs the task's clock when it was claimed */
function taskClock(clock: Clock, clockMs: number): TaskClock {
  const begun = clock.now()
  return {
    now: () => clockMs + Math.max(0, clock.now() - begun),
    after: (delayMs, act) => clock.after(delayMs, act),
  }
}

// The session's history for the root run, and the turns that earlier tasks took. past-tasks.ts caches what
// was read, so the cost of one more task does not grow with the session.

interface SessionHistory {
  /** The visible transcript of the session's earlier tasks, oldest first. */
  readonly messages: readonly ChatMessage[]
  /** The labels of the answers in it. */
  readonly taint: Taint
}

/** @param of `previous`: the newest of the earlier tasks; `user`: for whom the task is */
export async function sessionHistory(
  log: LogId,
  { previous, user }: { readonly previous: TaskId | null; readonly user: string | null },
  past: PastTasks,
): Promise<SessionHistory> {
  if (previous !== null) await past.refresh()
  const exchanges = await visibleHistory(previous, (task) => past.read({ ...log, task }), { user })
  const messages = exchanges.flatMap(exchangeMessages)
  return { messages, taint: joinTaints(exchanges.map((each) => each.taint ?? cleanTaint)) }
}

const turnsMax = 1_000

/** How many earlier tasks of the session took a turn with this call's key (D-48). */
export async function earlierTurns(
  call: { log: LogId; previous: TaskId | null; workflow: Workflow; args: unknown },
  past: PastTasks,
): Promise<number> {
  const { workflow, log } = call
  const key = workflow.turnKey?.(call.args) ?? null
  if (key === null) return 0
  let turns = 0
  for (let task = call.previous, read = 0; task !== null && read < turnsMax; read++) {
    const earlier = await past.read({ ...log, task })
    if (earlier === null) break
    // A retry takes no turn of its own.
    if (earlier.retryOf === null && earlier.turn === turnOf(workflow.name, key)) turns++
    task = earlier.previous
  }
  return turns
}
