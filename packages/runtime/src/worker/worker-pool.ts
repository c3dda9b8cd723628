// The worker pool: Piscina threads, each of which runs one shard (shard.ts) with many loops. A lost shard is
// replaced after a pause that grows with the losses of the period, by the row `worker_pool` of core's
// supervisors. The pool fails if the workers cannot start, if too many losses cannot be charged to a suspect,
// or if a thread cannot be ended. A loop that can have no thread any more gets `gone` only once it is
// cancelled or the pool is closed, so that its task may be handed over before.
import type { MessagePort, Worker } from 'node:worker_threads'
import type { AgentTexts, ExternalTool, LoopHost, LoopSpec, Steer } from '@beaver/agent'
import { BeaverError, type Logger, messageOf, silentLogger, threadFacts } from '@beaver/core'
import type { RunStatus } from '@beaver/core/fold'
import type { KnownSecret } from '@beaver/core/secrets'
import {
  type Backoff,
  type Intensity,
  isExceeded,
  pauseBefore,
  recentDeaths,
  supervisors,
} from '@beaver/core/supervision'
import type { Piscina } from 'piscina'
import type { ShardPlace } from './protocol.ts'
import { type LoopOutcome, type Loss, type PlacedLoop, Shard } from './shard.ts'
import { watchLimits } from './thread-watch.ts'
import { type WorkerThreads, workerThreads } from './worker-threads.ts'

export type { LoopOutcome } from './shard.ts'

export interface RunningLoop {
  readonly outcome: Promise<LoopOutcome>
  cancel(reason: string): void
  /** Gives the loop a text with which its task was steered. The text must be durable. */
  steer(steer: Steer): void
  /**
   * Drops a loop that only waits; its run resumes later. Its outcome is then `broke`, and its host gets no
   * more calls.
   */
  drop(reason: string): void
}

export interface WorkerPool {
  start(spec: LoopSpec, host: LoopHost): RunningLoop
  /** Sets what later loops have besides the tools of their thread. */
  setExternalTools(tools: readonly ExternalTool[]): void
  /** Sets the skills, definitions and profiles of later loops, in every thread. */
  setAgentTexts(texts: AgentTexts): void
  /** Sets the secrets that every thread hides. It takes effect before the result of any later call. */
  setSecrets(secrets: readonly KnownSecret[]): void
  /** Rejects when the pool fails. */
  readonly failed: Promise<never>
  readonly loops: number
  /** Threads that take loops now; fewer than configured while a lost one is replaced. */
  readonly threads: number
  /** @throws {BeaverError} `internal` if a thread cannot be ended: only the end of the process stops it */
  close(): Promise<void>
}

/** The pool of a daemon, which can also say what is in its threads now. */
export interface ThreadedPool extends WorkerPool {
  /** How many threads were lost since the pool began. */
  readonly lost: number
  snapshot(): Promise<PoolSnapshot>
}

/** What is in the threads of a pool. */
export interface PoolSnapshot {
  /** The threads that take loops. `answers`: whether the thread said what its loops are doing. */
  readonly threads: readonly {
    readonly thread: number
    readonly loops: number
    readonly answers: boolean
  }[]
  /** The losses that count for the intensity now. */
  readonly losses: number
  /** The loops that have a thread, by run. `status`: what the loop is doing; `null`: its thread did not say. */
  readonly runs: ReadonlyMap<string, { readonly thread: number; readonly status: RunStatus | null }>
}

export interface WorkerPoolOptions extends WorkerThreads {
  readonly data: unknown
  /** Threads that were made earlier; they end with the pool. */
  readonly made?: Piscina | undefined
  /**
   * Serves the program's models to one thread, by its port; the result ends this. Default: the program has
   * none.
   */
  readonly serveModels?: ((port: MessagePort) => () => void) | undefined
  /** Default: the row `worker_pool` of the supervisors. */
  readonly policy?: PoolPolicy
  /** Gets the lost threads and what tools print in cells. Default: nothing is logged. */
  readonly logger?: Logger
}

const startMsMax = 30_000
/**
 * A daemon ends its threads after all durable work, within its own time limit. On a busy machine, a thread
 * takes seconds to end.
 */
const closeMsMax = 15_000
/** How long the record of a charge may take. */
const chargeMsMax = 2_000

/** @throws {BeaverError} `start_failed` */
export async function startWorkerPool(options: WorkerPoolOptions): Promise<ThreadedPool> {
  const pool = new ThreadPool(options)
  await pool.begin(options.threads)
  return pool
}

class ThreadPool implements ThreadedPool {
  lost = 0
  readonly failed: Promise<never>
  readonly #fail: (error: Error) => void
  readonly #piscina: Piscina
  readonly #data: unknown
  readonly #serveModels: WorkerPoolOptions['serveModels']
  readonly #logger: Logger
  readonly #shards = new Set<Shard>()
  /** Loops for which there is no thread at the moment. */
  readonly #waiting = new Set<(shard: Shard | null) => void>()
  readonly #losses
  readonly #suspects = toolLosses()
  #offered: readonly ExternalTool[] = []
  /** Kept for the thread that replaces a lost one. */
  #texts: AgentTexts | null = null
  #secrets: readonly KnownSecret[] | null = null
  #lastLoop = 0
  #state: 'starting' | 'running' | 'failed' | 'closed' = 'starting'
  #watch: NodeJS.Timeout | undefined
  /** Called with each run that starts. */
  #onStart: (run: string) => void = () => undefined

  constructor(options: WorkerPoolOptions) {
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => {})
    this.failed = promise
    this.#fail = reject
    this.#data = options.data
    this.#serveModels = options.serveModels
    this.#logger = options.logger ?? silentLogger
    this.#losses = threadLosses(options.policy ?? poolPolicy)
    this.#piscina = options.made ?? workerThreads(options)
    this.#piscina.on('error', (error) =>
      this.#giveUp(
        new BeaverError('start_failed', `A worker thread cannot start: ${messageOf(error)}`, {
          cause: error,
        }),
      ),
    )
  }

  async begin(threads: number): Promise<void> {
    const slow = Promise.withResolvers<never>()
    const timer = setTimeout(
      () =>
        slow.reject(
          new BeaverError('start_failed', `The worker threads did not start within ${startMsMax / 1000} s.`),
        ),
      startMsMax,
    )
    try {
      await Promise.race([
        Promise.all(Array.from({ length: threads }, () => this.#addShard())),
        this.failed,
        slow.promise,
      ])
    } catch (error) {
      this.#state = 'closed'
      await this.#piscina.destroy()
      throw error
    } finally {
      clearTimeout(timer)
    }
    this.#state = 'running'
    this.#watch = setInterval(() => this.#look(), watchLimits.tickMs).unref()
  }

  get loops(): number {
    return [...this.#shards].reduce((sum, shard) => sum + shard.loops.size, this.#waiting.size)
  }

  get threads(): number {
    return this.#shards.size
  }

  start(spec: LoopSpec, host: LoopHost): RunningLoop {
    const id = ++this.#lastLoop
    const { promise: outcome, resolve: settle } = Promise.withResolvers<LoopOutcome>()
    const loop: PlacedLoop = {
      id,
      spec,
      host,
      settle,
      cancelledAtMs: null,
    }
    let shard: Shard | null = null
    let cancelReason: string | null = null
    const steers: Steer[] = []
    const begin = (on: Shard | null): void => {
      this.#waiting.delete(begin)
      if (on === null) return settle({ kind: 'gone', message: 'No worker thread is running.' })
      shard = on
      on.start(loop)
      for (const steer of steers) on.steer(id, steer)
      if (cancelReason !== null) on.cancel(id, cancelReason)
    }
    this.#onStart(spec.start.run_id)
    const free = leastBusy(this.#shards)
    if (free !== null) begin(free)
    else if (this.#state === 'closed') begin(null)
    else this.#waiting.add(begin)
    return {
      outcome,
      cancel: (reason) => {
        cancelReason ??= reason
        shard?.cancel(id, cancelReason)
        if (shard === null && this.#state === 'failed') begin(null)
      },
      steer: (steer) => (shard === null ? void steers.push(steer) : shard.steer(id, steer)),
      drop: (reason) => {
        if (shard !== null) return shard.drop(id, reason)
        this.#waiting.delete(begin)
        settle({ kind: 'broke', message: reason })
      },
    }
  }

  setExternalTools(tools: readonly ExternalTool[]): void {
    this.#offered = tools
    for (const shard of this.#shards) shard.thread.setExternalTools(tools)
  }

  setAgentTexts(texts: AgentTexts): void {
    this.#texts = texts
    for (const shard of this.#shards) shard.thread.setAgentTexts(texts)
  }

  setSecrets(secrets: readonly KnownSecret[]): void {
    this.#secrets = secrets
    for (const shard of this.#shards) shard.thread.setSecrets(secrets)
  }

  async snapshot(): Promise<PoolSnapshot> {
    const shards = [...this.#shards].toSorted((a, b) => a.number - b.number)
    const said = await Promise.all(
      shards.map(async (shard) => ({ shard, statuses: await shard.statuses(), loops: [...shard.loops] })),
    )
    return {
      threads: said.map(({ shard, statuses, loops }) => ({
        thread: shard.number,
        loops: loops.length,
        answers: statuses !== null,
      })),
      losses: this.#losses.counting(performance.now()),
      runs: new Map(
        said.flatMap(({ shard, statuses, loops }) =>
          loops.map(([id, { spec }]) => [
            spec.start.run_id as string,
            { thread: shard.number, status: statuses?.get(id) ?? null },
          ]),
        ),
      ),
    }
  }

  async close(): Promise<void> {
    this.#state = 'closed'
    clearInterval(this.#watch)
    for (const begin of this.#waiting) begin(null)
    for (const shard of this.#shards) shard.close()
    const late = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), closeMsMax).unref())
    if ((await Promise.race([this.#piscina.destroy(), late])) === 'late')
      throw new BeaverError('internal', `A worker thread does not end within ${closeMsMax / 1000} s.`)
  }

  async #addShard(): Promise<void> {
    const shard = new Shard({
      run: (place) =>
        this.#piscina.run(
          { ...place, data: this.#data },
          { name: 'shard', transferList: portsOf(place) as never },
        ),
      serveModels: this.#serveModels,
      threadOf: (id) => (this.#piscina.threads as Worker[]).find(({ threadId }) => threadId === id),
      onLost: (loss) => this.#lose(shard, loss),
      logger: this.#logger,
    })
    await shard.ready
    this.#shards.add(shard)
    if (this.#secrets !== null) shard.thread.setSecrets(this.#secrets)
    if (this.#texts !== null) shard.thread.setAgentTexts(this.#texts)
    if (this.#offered.length > 0) shard.thread.setExternalTools(this.#offered)
    if (this.#suspects.names().length > 0) shard.thread.setSuspectTools(this.#suspects.names())
    const due = [...this.#waiting]
    this.#waiting.clear()
    for (const begin of due) begin(shard)
  }

  #look(): void {
    const nowMs = performance.now()
    for (const shard of this.#shards) if (!shard.checkAnswers(nowMs)) this.#shards.delete(shard)
  }

  #lose(shard: Shard, loss: Loss): void {
    this.#shards.delete(shard)
    if (this.#state === 'closed') return
    this.lost++
    tellLoss(this.#logger, loss)
    const nowMs = performance.now()
    if (this.#suspects.add(loss.charge.ownTools, nowMs))
      for (const each of this.#shards) each.thread.setSuspectTools(this.#suspects.names())
    if (loss.stuck) return this.#failWhenCharged(loss)
    const next = this.#losses.add({ charged: loss.charge.loops.size > 0, message: loss.message }, nowMs)
    if (next.kind === 'fail') return this.#giveUp(new BeaverError('internal', next.message))
    // No pause at the start, so that a thread that cannot start is reported soon.
    const pauseMs = this.#state === 'starting' ? 0 : next.pauseMs
    setTimeout(
      () => this.#state === 'failed' || this.#state === 'closed' || void this.#addShard(),
      pauseMs,
    ).unref()
  }

  /**
   * Fails the pool after the charge is recorded. Otherwise the task would take the next daemon's threads
   * along too.
   */
  #failWhenCharged({ message, charged }: Loss): void {
    const fail = (): void =>
      this.#giveUp(new BeaverError('internal', `${message}; it does not end, so this process has to.`))
    const due = new Set<string>(charged.map(({ spec }) => spec.start.run_id))
    if (due.size === 0) return fail()
    const timer = setTimeout(fail, chargeMsMax)
    this.#onStart = (run) => {
      if (!due.delete(run) || due.size > 0) return
      clearTimeout(timer)
      fail()
    }
  }

  #giveUp(error: Error): void {
    if (this.#state !== 'closed') this.#state = 'failed'
    this.#fail(error)
  }
}

const portsOf = ({ port, models }: ShardPlace): MessagePort[] =>
  models === undefined ? [port] : [port, models]

function leastBusy(shards: ReadonlySet<Shard>): Shard | null {
  let best: Shard | null = null
  for (const shard of shards) if (best === null || shard.loops.size < best.loops.size) best = shard
  return best
}

// The one line a lost thread leaves in the daemon's log: who was on it, what is suspect, what starts again.

function tellLoss(logger: Logger, { thread, message, charge, loops, charged, stuck }: Loss): void {
  threadFacts.lost(logger, {
    thread,
    reason: message,
    suspects: [...new Set([...charge.loops.values()].flat())],
    charged: charged.map(({ spec }) => ({ task: spec.taskId, run: spec.start.run_id })),
    runs: loops.length,
    stuck,
  })
}

// Suspect tools, by the row `suspect_tool` of core's supervisors: a user's tool that was under way in more
// lost threads than the intensity allows is suspect until the daemon ends, and its calls no longer run in a
// shared thread. An innocent tool that is called as often becomes suspect too: its calls cost more, and still
// have their results.

interface ToolLosses {
  /** @returns whether a tool has become suspect now */
  add(tools: readonly string[], nowMs: number): boolean
  names(): readonly string[]
}

export function toolLosses(
  intensity: Pick<Intensity, 'restartsMax' | 'periodMs'> = supervisors.suspect_tool.intensity,
): ToolLosses {
  const losses = new Map<string, readonly number[]>()
  const suspects = new Set<string>()
  return {
    add(tools, nowMs) {
      const before = suspects.size
      for (const tool of tools) {
        if (suspects.has(tool)) continue
        const recent = recentDeaths([...(losses.get(tool) ?? []), nowMs], nowMs, intensity)
        losses.set(tool, recent)
        if (isExceeded(recent.length, intensity)) suspects.add(tool)
      }
      return suspects.size > before
    },
    names: () => [...suspects],
  }
}

// Decides how the pool replaces its threads. A loss that is charged to a suspect does not count for the
// intensity, because the suspect runs in a cell from then on, which ends the series. Every loss within the
// period makes the next pause longer.

interface PoolPolicy {
  readonly intensity: Intensity
  readonly backoff: Backoff
}

export const poolPolicy: PoolPolicy = supervisors.worker_pool

type AfterLoss =
  | { readonly kind: 'replace'; readonly pauseMs: number }
  | { readonly kind: 'fail'; readonly message: string }

interface ThreadLosses {
  add(loss: { readonly charged: boolean; readonly message: string }, nowMs: number): AfterLoss
  /** How many losses count for the intensity now. */
  counting(nowMs: number): number
}

export function threadLosses({ intensity, backoff }: PoolPolicy): ThreadLosses {
  let all: readonly number[] = []
  let uncharged: readonly number[] = []
  return {
    add({ charged, message }, nowMs) {
      all = recentDeaths([...all, nowMs], nowMs, intensity)
      if (!charged) uncharged = recentDeaths([...uncharged, nowMs], nowMs, intensity)
      if (!charged && isExceeded(uncharged.length, intensity))
        return {
          kind: 'fail',
          message: `Worker threads died ${uncharged.length} times within ${(intensity.periodMs ?? 0) / 1000} s; the last: ${message}`,
        }
      return { kind: 'replace', pauseMs: pauseBefore(all.length, backoff) }
    },
    counting: (nowMs) => recentDeaths(uncharged, nowMs, intensity).length,
  }
}
