// What the runtime's tests share: daemons in this process, on the in-memory twins, with a pool whose threads a test can kill.
import { builtinTools, type ChatProvider, type LoopServices, onlyProvider, runAgentLoop, type Tool } from '@beaver/agent'
import { type Clock, type DomainEvent, event, type Ids, type LogId, type RecordedEvent, type TaskId } from '@beaver/core'
import { memoryBlobStore, type MemoryJournal, memoryJournal, type ScriptedProvider, until, type VirtualClock, virtualClock } from '@beaver/testing'
import { findWorkflow } from '@beaver/workflows'
import { acceptedTasks } from '../src/accepted-tasks.ts'
import { workspaceFolders } from '../src/workspace-folders.ts'
import { type Daemon, type DaemonOptions, startDaemon } from '../src/daemon.ts'
import { loadTask } from '../src/load-task.ts'
import type { TaskLimits } from '../src/task-supervisor.ts'
import { submitTask } from '../src/task-intake.ts'
import type { LoopOutcome, WorkerPool } from '../src/worker/worker-pool.ts'

/** The twin of the worker pool: loops in this thread. `lose` is the death of the thread they run in. */
export interface MemoryPool extends WorkerPool {
  lose(message?: string): void
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
      const heard = {
        append: (...args: Parameters<typeof host.append>) => whileAlive(() => host.append(...args)),
        runTeam: (...args: Parameters<typeof host.runTeam>) => whileAlive(() => host.runTeam(...args)),
        sharedState: (...args: Parameters<typeof host.sharedState>) => whileAlive(() => host.sharedState(...args)),
        approval: (callId: string) => whileAlive(() => host.approval(callId)),
        memory: (...args: Parameters<typeof host.memory>) => whileAlive(() => host.memory(...args)),
        searchSessions: (...args: Parameters<typeof host.searchSessions>) => whileAlive(() => host.searchSessions(...args)),
        callExternal: (...args: Parameters<typeof host.callExternal>) => whileAlive(() => host.callExternal(...args)),
        delta: (...args: Parameters<typeof host.delta>) => (lost ? undefined : host.delta(...args)),
      }
      runAgentLoop(structuredClone(spec), services, heard, stop.signal).then(
        (end) => settle({ kind: 'ended', end }),
        (error: Error) => settle({ kind: 'broke', message: error.message }),
      )
      return { outcome, cancel: (reason) => stop.abort(reason) }
    },
    offer: () => {},
    lose: (message = 'The worker thread was lost.') => [...running].forEach((settle) => settle({ kind: 'lost', message })),
    close: async () => {},
  }
}

const defaultLimits: TaskLimits = {
  toolIterationsMax: 20,
  nodeToolIterationsMax: 20,
  concurrentNodesMax: 16,
  teamRunsMax: 4,
  graphMax: { agents: 512, edges: 8192 },
  teamDeadlineMs: null,
  nodeDeadlineMs: null,
  ownersLostMax: 5,
  unattended: 'wait',
  approvalWaitMsMax: 86_400_000,
}

export interface TestDaemon extends Daemon {
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
  readonly clock: VirtualClock
  daemon(of: {
    provider: ScriptedProvider | ChatProvider
    tools?: readonly Tool[]
    limits?: Partial<DaemonOptions['limits']>
    tasksMax?: number
    id?: string
    /** Nothing is delivered to it by the queue. */
    deaf?: boolean
  }): TestDaemon
  /** `at`: the daemon that accepts it, and drives it if it can. */
  submit(task?: { task_id?: string; session_id?: string; text?: string; at?: TestDaemon }): Promise<LogId>
  events(log: LogId): Promise<readonly RecordedEvent[]>
  /** Waits for a condition while time passes. */
  passing<Value>(what: string, look: () => Value | Promise<Value>, stepMs?: number): Promise<NonNullable<Exclude<Value, false>>>
  ended(log: LogId): Promise<readonly RecordedEvent[]>
}

export const leaseMs = 6_000

/** A journal, its queue and its blobs, for any number of daemons. */
export function world(): World {
  const journal = memoryJournal()
  const blobs = memoryBlobStore()
  const clock = virtualClock()
  let last = 0
  const ids: Ids = { next: (kind) => `${kind}_${++last}` }
  const accepted = acceptedTasks()
  const daemons = new Map<string, { answers(): boolean; takeOver: Daemon['takeOver'] }>()
  const stopped: Clock = { now: () => clock.now(), after: () => ({ cancel() {} }) }

  const passing: World['passing'] = (what, look, stepMs = 50) =>
    until(what, async () => {
      const seen = await look()
      clock.advance(stepMs)
      return seen
    })
  const events = async (log: LogId): Promise<readonly RecordedEvent[]> => (await loadTask(log, { journal, blobs })).events

  return {
    journal,
    clock,
    events,
    passing,
    daemon({ provider, tools = builtinTools(), limits = {}, tasksMax = 10, id = ids.next('daemon'), deaf = false }) {
      let alive = true
      let stalled = false
      const pool = memoryPool({
        providers: onlyProvider(provider),
        permissions: [],
        skillSelection: 'off',
        tools,
        skills: [],
        definitions: [],
        profiles: new Map(),
        profileDefault: null,
        clock,
        random: () => 0,
        toolTimeoutMs: 60_000,
      })
      const late: (() => void)[] = []
      const fire = (act: () => void): void => {
        if (stalled) late.push(act)
        else if (alive) act()
      }
      const dead = (): Promise<never> => new Promise(() => {})
      // A dead process neither writes nor beats.
      const ofAlive: MemoryJournal = { ...journal, append: (append) => (alive ? journal.append(append) : dead()) }
      const queue = journal.queue({ leaseMs, clock })
      const daemon = startDaemon({
        journal: ofAlive,
        blobs,
        clock: { now: () => clock.now(), after: (delayMs, act) => (alive ? clock.after(delayMs, () => fire(act)) : stopped.after(delayMs, act)) },
        ids,
        pool,
        daemonId: id,
        source: `/beaver/daemons/${id}`,
        limits: { ...defaultLimits, ...limits },
        findWorkflow,
        accepted,
        memory: null,
        sessions: null,
        external: null,
        live: null,
        queue: {
          adopt: queue.adopt,
          async *pull(wanted) {
            if (deaf) return void (await new Promise((resolve) => wanted.signal.addEventListener('abort', resolve, { once: true })))
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
        onEnded: (log) => daemon.sessionIdle(log.tenant, log.session),
        onParked: () => {},
        async handOn(owner, delivery) {
          const of = daemons.get(owner)
          return of?.answers() === true && of.takeOver(queue.adopt(delivery))
        },
      })
      daemons.set(id, { answers: () => alive && !stalled, takeOver: daemon.takeOver })
      return {
        ...daemon,
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
    async submit({ text = 'do it', at, ...names } = {}) {
      const submitted = await submitTask(
        { task: text, ...names },
        {
          journal,
          blobs,
          clock,
          ids,
          source: '/beaver/daemons/intake',
          tenant: 'local',
          workspaceDefault: process.cwd(),
          folders: workspaceFolders(clock),
          skillNames: [],
          profileNames: [],
          workflowNames: [],
          findWorkflow,
          accepted,
          findTask: async () => null,
          ...(at === undefined ? {} : { open: at.open }),
        },
      )
      return { tenant: 'local', session: submitted.session_id, task: submitted.task_id as TaskId } as LogId
    },
    ended: (log) =>
      passing(`task ${log.task} has ended`, async () => {
        const all = await events(log)
        return (
          all.some(
            (each) => each.type === 'task_completed' || each.type === 'task_failed' || each.type === 'task_cancelled' || each.type === 'task_incomplete',
          ) && all
        )
      }),
  }
}

export const typesOf = (events: readonly DomainEvent[]): string[] => events.map((each) => each.type)
export const cancelRequested = (reason: string): DomainEvent => event('task_cancel_requested', { reason })
