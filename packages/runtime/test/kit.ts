// What the runtime's tests share: daemons in this process, on the in-memory twins, with a pool whose threads
// a test can kill.
import {
  type AgentProfile,
  type ChatProvider,
  LoopDropped,
  type LoopHost,
  type LoopServices,
  onlyProvider,
  runAgentLoop,
  type Tool,
} from '@beaver/agent'
import {
  type Clock,
  type DomainEvent,
  event,
  type Ids,
  type JsonObject,
  type LogId,
  silentLogger,
  type TaskId,
} from '@beaver/core'
import type { BudgetAccounts } from '@beaver/core/budget'
import { draft, type RecordedEvent } from '@beaver/core/journal'
import { type FailurePolicies, failurePolicies } from '@beaver/core/supervision'
import {
  memoryBlobStore,
  memoryBudgetAccounts,
  type MemoryJournal,
  memoryJournal,
  type ScriptedProvider,
  until,
  type VirtualClock,
  virtualClock,
} from '@beaver/testing'
import { builtinTools } from '@beaver/tools'
import { findTaskWorkflow, type Workflow } from '@beaver/workflows'
import { AccountBook } from '../src/account-lines.ts'
import { acceptanceLines } from '../src/accept-task.ts'
import { workspaceFolders } from '../src/workspace-folders.ts'
import type { TaskDriver, TaskDriverOptions } from '../src/task-driver-ports.ts'
import { startTaskDriver } from '../src/task-driver.ts'
import { loadTask } from '../src/load-task.ts'
import { retryTask } from '../src/retry-request.ts'
import type { TaskLimits } from '../src/task-ports.ts'
import { callWaiting, decisionEvent } from '../src/task-approvals.ts'
import { type IntakePorts, submitTask } from '../src/task-intake.ts'
import type { BudgetRules } from '../src/budget-rules.ts'
import { TaskLog } from '../src/task-log.ts'
import type { LoopOutcome, WorkerPool } from '../src/worker/worker-pool.ts'

/** The twin of the worker pool: loops in this thread. `lose` is the death of the thread they run in. */
export interface MemoryPool extends WorkerPool {
  /** @param charge the tools its loops had under way; absent: nobody is charged */
  lose(charge?: readonly string[]): void
}

function memoryPool(services: LoopServices): MemoryPool {
  const running = new Set<(outcome: LoopOutcome) => void>()
  return {
    failed: new Promise<never>(() => {}),
    threads: 1,
    get loops() {
      return running.size
    },
    start(spec, host) {
      const { promise: outcome, resolve } = Promise.withResolvers<LoopOutcome>()
      const stop = new AbortController()
      const steers = new Map((spec.steers ?? []).map((each) => [each.requestId, each]))
      let lost = false
      const settle = (how: LoopOutcome): void => {
        lost ||= how.kind === 'lost'
        running.delete(settle)
        resolve(how)
      }
      running.add(settle)
      // What a dead thread asks for, nobody hears.
      const whileAlive = <Value>(ask: () => Promise<Value>): Promise<Value> =>
        lost ? new Promise(() => {}) : ask().then((value) => (lost ? new Promise(() => {}) : value))
      const heard: LoopHost = {
        ...host,
        append: (...args) => whileAlive(() => host.append(...args)),
        steers: () => [...steers.values()],
        stillOurs: () => whileAlive(async () => void (await host.stillOurs())),
        runTeam: (...args) => whileAlive(() => host.runTeam(...args)),
        teamOf: (callId) => whileAlive(() => host.teamOf(callId)),
        sharedState: (...args) => whileAlive(() => host.sharedState(...args)),
        approval: (callId) => whileAlive(() => host.approval(callId)),
        answer: (...args) => whileAlive(() => host.answer(...args)),
        memory: (...args) => whileAlive(() => host.memory(...args)),
        searchSessions: (...args) => whileAlive(() => host.searchSessions(...args)),
        pause: (...args) => whileAlive(() => host.pause(...args)),
        reserve: (...args) => whileAlive(() => host.reserve(...args)),
        callExternal: (...args) => whileAlive(() => host.callExternal(...args)),
        delta: (...args) => (lost ? undefined : host.delta(...args)),
      }
      runAgentLoop(structuredClone(spec), services, heard, stop.signal).then(
        (end) => settle({ kind: 'ended', end }),
        (error: Error) => settle({ kind: 'broke', message: error.message }),
      )
      return {
        outcome,
        cancel: (reason) => stop.abort(reason),
        steer: (steer) => void steers.set(steer.requestId, steer),
        drop(reason) {
          lost = true
          settle({ kind: 'broke', message: reason })
          stop.abort(new LoopDropped(reason))
        },
      }
    },
    setExternalTools: () => {},
    setAgentTexts: () => {},
    setSecrets: () => {},
    lose: (charge) =>
      [...running].forEach((settle) =>
        settle({
          kind: 'lost',
          failureClass: 'worker_lost',
          message: 'The worker thread was lost.',
          charge: charge ?? null,
        }),
      ),
    close: async () => {},
  }
}

const defaultLimits: TaskLimits = {
  toolIterationsMax: 20,
  nodeToolIterationsMax: 20,
  repeatsMax: 5,
  concurrentNodesMax: 16,
  teamRunsMax: 4,
  graphMax: { agents: 512, edges: 8192 },
  teamDeadlineMs: null,
  nodeDeadlineMs: null,
  ownersLostMax: 5,
  unattended: 'wait',
  approvalWaitMsMax: 86_400_000,
}

export interface TestDaemon extends TaskDriver {
  readonly lines: IntakePorts['lines']
  readonly pool: MemoryPool
  readonly id: string
  /** Its process dies: nothing of it is heard again, and nothing is given back. */
  kill(): void
  /** Its process is stopped: no timer, no delivery; until it goes on as if nothing had been. */
  stall(): void
  goOn(): void
}

export interface World {
  readonly journal: MemoryJournal
  /** The accounts of shared budgets. */
  readonly accounts: BudgetAccounts
  readonly clock: VirtualClock
  daemon(of: {
    provider: ScriptedProvider | ChatProvider
    tools?: readonly Tool[]
    definitions?: readonly Workflow[]
    /** The profile of every root agent. Default: none. */
    profile?: AgentProfile
    limits?: Partial<TaskDriverOptions['limits']>
    tasksMax?: number
    policies?: FailurePolicies
    /** What may be spent. Default: anything. */
    budgets?: BudgetRules
    onTakenOver?: () => void
    id?: string
    /** Nothing is delivered to it by the queue. */
    deaf?: boolean
  }): TestDaemon
  /** `at`: the daemon that accepts it, and drives it if it can. */
  submit(task?: {
    task_id?: string
    session_id?: string
    text?: string
    client_tools?: { name: string }[]
    user_id?: string
    /** The task is this workflow, and has no text. */
    workflow?: { name: string; arguments: object }
    at?: TestDaemon
  }): Promise<LogId>
  /** Asks for a retry of a task. */
  retry(taskId: string): Promise<LogId>
  events(log: LogId): Promise<readonly RecordedEvent[]>
  /** A decision is written to the log of a task that nobody drives, as any daemon does it. */
  decide(log: LogId, callId: string, approved: boolean): Promise<void>
  /** Something is written to the log of a task that nobody drives. */
  write(log: LogId, event: DomainEvent): Promise<void>
  /** Waits for a condition while time passes. */
  passing<Value>(
    what: string,
    look: () => Value | Promise<Value>,
    stepMs?: number,
  ): Promise<NonNullable<Exclude<Value, false>>>
  ended(log: LogId): Promise<readonly RecordedEvent[]>
}

export const leaseMs = 6_000

/** A journal, its queue and its blobs, for any number of daemons. */
export function world(): World {
  const clock = virtualClock()
  const journal = memoryJournal({ clock })
  const blobs = memoryBlobStore()
  let last = 0
  const ids: Ids = { next: (kind) => `${kind}_${++last}` }
  const accounts = memoryBudgetAccounts()
  const daemons = new Map<string, { answers(): boolean; takeOver: TaskDriver['takeOver'] }>()
  const stopped: Clock = { now: () => clock.now(), after: () => ({ cancel() {} }) }

  const passing: World['passing'] = (what, look, stepMs = 50) =>
    until(
      what,
      async () => {
        const seen = await look()
        clock.advance(stepMs)
        return seen
      },
      { everyMs: 0 },
    )
  const events = async (log: LogId): Promise<readonly RecordedEvent[]> =>
    (await loadTask(log, { journal, blobs })).events

  async function write(log: LogId, one: DomainEvent): Promise<void> {
    const { head, revision } = await loadTask(log, { journal, blobs })
    await new TaskLog(
      log,
      { head, revision, epoch: head.epoch },
      { journal, blobs, clock, source: '/beaver/daemons/other' },
    ).append([draft(one)])
  }

  const intake = {
    journal,
    blobs,
    clock,
    ids,
    source: '/beaver/daemons/intake',
    tenant: 'local',
    workspaceDefault: process.cwd(),
    folders: workspaceFolders(clock, { roots: ['/'], owned: false, home: '/nowhere' }),
    skillNames: [],
    profileNames: [],
    modelNames: ['deep'],
    workflowNames: [],
    findWorkflow: findTaskWorkflow,
    lines: acceptanceLines(clock),
    logger: silentLogger,
  }
  const logOf = (of: { session_id: string; task_id: string }): LogId =>
    ({ tenant: 'local', session: of.session_id, task: of.task_id as TaskId }) as LogId

  return {
    journal,
    accounts,
    clock,
    events,
    write,
    retry: async (taskId) => logOf(await retryTask({ task_id: taskId }, intake)),
    async decide(log, callId, approved) {
      const { runId, call } = callWaiting(log, await loadTask(log, { journal, blobs }), callId)
      await write(log, decisionEvent(runId, { callId: call.id, approved, by: 'ada', reason: '' }))
    },
    passing,
    daemon({
      provider,
      tools = builtinTools(),
      definitions = [],
      profile,
      limits = {},
      tasksMax = 10,
      policies = failurePolicies,
      budgets,
      onTakenOver,
      id = ids.next('daemon'),
      deaf = false,
    }) {
      let alive = true
      let stalled = false
      const pool = memoryPool({
        providers: onlyProvider(provider),
        permissions: [],
        skillSelection: 'off',
        tools,
        skills: [],
        definitions,
        profiles: new Map(profile === undefined ? [] : [[profile.name, profile]]),
        profileDefault: profile?.name ?? null,
        clock,
        random: () => 0,
        toolTimeoutMs: 60_000,
        failurePolicies: policies,
      })
      const late: (() => void)[] = []
      const fire = (act: () => void): void => {
        if (stalled) late.push(act)
        else if (alive) act()
      }
      const dead = (): Promise<never> => new Promise(() => {})
      // A dead process neither writes nor beats.
      const ofAlive: MemoryJournal = {
        ...journal,
        append: (append) => (alive ? journal.append(append) : dead()),
        accept: (acceptance) => (alive ? journal.accept(acceptance) : dead()),
      }
      const queue = journal.queue({ leaseMs, clock })
      const ownClock: Clock = {
        now: () => clock.now(),
        after: (delayMs, act) =>
          alive ? clock.after(delayMs, () => fire(act)) : stopped.after(delayMs, act),
      }
      const ownAccounts: BudgetAccounts = {
        ...accounts,
        read: (key) => (alive ? accounts.read(key) : dead()),
        write: (...written) => (alive ? accounts.write(...written) : dead()),
      }
      const daemon = startTaskDriver({
        journal: ofAlive,
        blobs,
        clock: ownClock,
        book: new AccountBook({ accounts: ownAccounts, clock: ownClock }),
        ids,
        pool,
        daemonId: id,
        source: `/beaver/daemons/${id}`,
        limits: { ...defaultLimits, ...limits },
        ...(budgets === undefined ? {} : { budgets }),
        ...(onTakenOver === undefined ? {} : { onTakenOver }),
        findWorkflow: findTaskWorkflow,
        logger: silentLogger,
        memory: null,
        sessions: null,
        external: null,
        live: null,
        queue: {
          adopt: queue.adopt,
          wake: (log, wake) => (alive ? queue.wake(log, wake) : dead()),
          wakeIn: (log, delayMs) => (alive ? queue.wakeIn(log, delayMs) : dead()),
          async *pull(wanted) {
            if (deaf)
              return void (await new Promise((resolve) =>
                wanted.signal.addEventListener('abort', resolve, { once: true }),
              ))
            for await (const delivery of queue.pull(wanted)) {
              if (!alive || stalled) return
              yield {
                ...delivery,
                acknowledge: () => alive && delivery.acknowledge(),
                giveBack: (pauseMs) => alive && delivery.giveBack(pauseMs),
                extend: () => alive && delivery.extend(),
              }
            }
          },
        },
        tasksMax,
        leaseMs,
        onEnded: () => {},
        async handOn(owner, delivery) {
          const of = daemons.get(owner)
          return of?.answers() === true ? of.takeOver(queue.adopt(delivery)) : 'gone'
        },
      })
      daemons.set(id, { answers: () => alive && !stalled, takeOver: daemon.takeOver })
      return {
        ...daemon,
        lines: acceptanceLines(clock),
        pool,
        id,
        kill: () => void (alive = false),
        stall: () => void (stalled = true),
        goOn() {
          stalled = false
          for (const act of late.splice(0)) fire(act)
        },
      }
    },
    async submit({ text = 'do it', workflow, at, ...names } = {}) {
      const work =
        workflow === undefined
          ? { task: text }
          : { workflow: workflow as { name: string; arguments: JsonObject } }
      const submitted = await submitTask(
        { ...work, ...names },
        { ...intake, ...(at === undefined ? {} : { open: at.open, enqueue: at.enqueue, lines: at.lines }) },
      )
      return logOf(submitted)
    },
    ended: (log) =>
      passing(`task ${log.task} has ended`, async () => {
        const all = await events(log)
        return (
          all.some(
            (each) =>
              each.type === 'task_completed' ||
              each.type === 'task_failed' ||
              each.type === 'task_cancelled' ||
              each.type === 'task_incomplete',
          ) && all
        )
      }),
  }
}

export const typesOf = (events: readonly DomainEvent[]): string[] => events.map((each) => each.type)
export const cancelRequested = (reason: string): DomainEvent => event('task_cancel_requested', { reason })
