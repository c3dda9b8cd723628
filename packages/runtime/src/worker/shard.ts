// The main thread's side of a worker thread: its loops, the messages, its watch and its loss, and who is
// charged for the loss. The loops' supervisors and the pool decide what follows. A thread that does not
// answer is ended, and is lost once it has ended, or after `endMsMax` as `stuck`: then only the end of the
// process stops it. A lost thread's calls of the program's models are ended.
import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads'
import { isFullHeap, type LoopEnd, type LoopSpec, type Skill, type Steer, ToolFailure } from '@beaver/agent'
import { BeaverError, type Logger, messageOf } from '@beaver/core'
import type { RunStatus } from '@beaver/core/fold'
import type { FailureClass } from '@beaver/core/supervision'
import { PortCalls } from '@beaver/core/port-calls'
import { processorWaitMs } from './processor-wait.ts'
import {
  batchedPort,
  type LoopHome,
  type SentSpec,
  type ShardHome,
  shardItself,
  type ShardPlace,
  type ShardThread,
} from './protocol.ts'
import { newVitals, readVitals, type VitalsReading } from './thread-vitals.ts'
import { threadWatch } from './thread-watch.ts'

export type LoopOutcome =
  | { readonly kind: 'ended'; readonly end: LoopEnd }
  /**
   * The thread died: start the loop again from the journal. `charge`: the tools that the loop had under way
   * there; `null`: the loop is not charged.
   */
  | {
      readonly kind: 'lost'
      readonly failureClass: FailureClass
      readonly message: string
      readonly charge: readonly string[] | null
    }
  | { readonly kind: 'broke'; readonly message: string }
  /** There is no thread, and there will be none. */
  | { readonly kind: 'gone'; readonly message: string }

export interface PlacedLoop {
  readonly id: number
  readonly spec: LoopSpec
  readonly host: LoopHome
  readonly settle: (outcome: LoopOutcome) => void
  /** When a cancel was sent, on the clock of `performance`. */
  cancelledAtMs: number | null
}

/** What is known of a thread's death. */
export interface Loss {
  readonly thread: number
  readonly message: string
  readonly charge: Charge
  readonly loops: readonly PlacedLoop[]
  readonly charged: readonly PlacedLoop[]
  /** It could not be ended and still runs. */
  readonly stuck: boolean
}

export interface ShardOptions {
  /** Runs the shard in a thread; settles when the thread has ended. */
  readonly run: (place: ShardPlace) => Promise<unknown>
  readonly threadOf: (id: number) => Worker | undefined
  readonly onLost: (loss: Loss) => void
  /** Serves the program's models to the thread; the result ends this. Absent: there are none. */
  readonly serveModels?: ((port: MessagePort) => () => void) | undefined
  /** Gets the thread's log lines. */
  readonly logger: Logger
}

/** How a thread ended. `failureClass`: of its loops; absent: `worker_lost`. */
interface Death {
  readonly reason: string
  readonly failureClass?: FailureClass
  /** It could not be ended and still runs. */
  readonly stuck?: boolean
}

/** How long a thread may take to say what its loops are doing. */
const statusesMsMax = 500
/** How long a thread may take to end. */
const endMsMax = 3_000

export class Shard {
  readonly ready: Promise<void>
  readonly #loops = new Map<number, PlacedLoop>()
  readonly #thread: ShardThread
  readonly #options: ShardOptions
  readonly #port: MessagePort
  readonly #calls: PortCalls
  readonly #vitals: Int32Array
  readonly #skills: KeptSkills
  readonly #watch = threadWatch()
  readonly #endModels: () => void
  #threadId = 0
  #tools: readonly string[] = []
  /** Why the thread is being ended; `null`: it runs. */
  #ending: string | null = null
  #lost = false

  constructor(options: ShardOptions) {
    this.#options = options
    const { port1, port2 } = new MessageChannel()
    const shared = newVitals()
    this.#port = port1
    this.#vitals = new Int32Array(shared)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ready = promise
    const home: ShardHome = {
      ready: (thread, tools) => {
        this.#threadId = thread
        this.#tools = tools
        resolve()
      },
      log: ({ level, event, message, fields }) => options.logger[level](event, message, fields),
    }
    this.#calls = new PortCalls(batchedPort(port1), {
      // Serve nothing to a dropped loop, or to a thread that is being ended.
      served: (target) =>
        target === shardItself ? home : this.#ending === null ? this.#loops.get(target)?.host : undefined,
      errors: { ToolFailure: ({ code = 'cannot_ask', message }) => new ToolFailure(code, message) },
    })
    this.#thread = this.#calls.remote<ShardThread>(shardItself, {
      cancel: 'note',
      steer: 'note',
      drop: 'note',
      setExternalTools: 'note',
      setAgentTexts: 'note',
      setSuspectTools: 'note',
      keepSkills: 'note',
      forgetSkills: 'note',
      setSecrets: 'note',
    })
    this.#skills = new KeptSkills(this.#thread)
    const models = options.serveModels === undefined ? null : new MessageChannel()
    this.#endModels =
      models === null ? () => undefined : (options.serveModels?.(models.port1) ?? (() => undefined))
    options.run({ port: port2, vitals: shared, ...(models === null ? {} : { models: models.port2 }) }).then(
      () => this.#lose({ reason: 'its code ended' }),
      (error: unknown) =>
        this.#lose({
          reason: messageOf(error),
          failureClass: isFullHeap(error) ? 'out_of_memory' : 'worker_lost',
        }),
    )
  }

  get loops(): ReadonlyMap<number, PlacedLoop> {
    return this.#loops
  }

  /** The calls for the thread as a whole. */
  get thread(): Omit<
    ShardThread,
    'run' | 'cancel' | 'steer' | 'drop' | 'keepSkills' | 'forgetSkills' | 'statuses'
  > {
    return this.#thread
  }

  /** The number of the thread, once it is ready. */
  get number(): number {
    return this.#threadId
  }

  /**
   * What each loop is doing, by its number, as the thread says; `null`: it did not answer within
   * `statusesMsMax`.
   */
  async statuses(): Promise<ReadonlyMap<number, RunStatus> | null> {
    const { promise: late, resolve } = Promise.withResolvers<null>()
    const timer = setTimeout(resolve, statusesMsMax, null)
    try {
      return await Promise.race([this.#thread.statuses(), late])
    } catch {
      return null // The thread was lost meanwhile.
    } finally {
      clearTimeout(timer)
    }
  }

  start(loop: PlacedLoop): void {
    this.#loops.set(loop.id, loop)
    this.#thread.run(loop.id, this.#sent(loop.spec)).then(
      (end) => this.#settle(loop, { kind: 'ended', end }),
      (error: unknown) => this.#settle(loop, { kind: 'broke', message: messageOf(error) }),
    )
  }

  cancel(id: number, reason: string): void {
    const loop = this.#loops.get(id)
    if (loop === undefined) return
    loop.cancelledAtMs ??= performance.now()
    this.#thread.cancel(id, reason)
  }

  #sent({ workspaceSkills, ...spec }: LoopSpec): SentSpec {
    return workspaceSkills === undefined
      ? spec
      : { ...spec, skillsNumber: this.#skills.numberOf(workspaceSkills) }
  }

  /** Gives a loop a text with which its task was steered. */
  steer(id: number, steer: Steer): void {
    if (this.#loops.has(id)) this.#thread.steer(id, steer)
  }

  /** Drops a loop that only waits. */
  drop(id: number, reason: string): void {
    const loop = this.#loops.get(id)
    if (loop === undefined) return
    this.#loops.delete(id)
    this.#thread.drop(id, reason)
    this.#calls.abandon(id)
    loop.settle({ kind: 'broke', message: reason })
  }

  /** Whether the thread answers. One that does not is ended, and takes no more loops. */
  checkAnswers(nowMs: number): boolean {
    if (this.#ending !== null || this.#lost) return false
    const cancelled = [...this.#loops.values()].flatMap((loop) => loop.cancelledAtMs ?? [])
    const cancelledAtMs = cancelled.length === 0 ? null : Math.min(...cancelled)
    const { thread, ...vitals } = readVitals(this.#vitals, this.#tools)
    const reason = this.#watch.look({ ...vitals, cancelledAtMs, waitedMs: processorWaitMs(thread) }, nowMs)
    if (reason === null) return true
    this.#end(reason)
    return false
  }

  close(): void {
    this.#endModels()
    this.#port.close()
  }

  /** Ignores the outcomes of a thread that is being ended. */
  #settle(loop: PlacedLoop, outcome: LoopOutcome): void {
    if (this.#ending !== null || !this.#loops.delete(loop.id)) return
    this.#calls.abandon(loop.id)
    loop.settle(outcome)
  }

  #lose({ reason, failureClass = 'worker_lost', stuck = false }: Death): void {
    if (this.#lost) return
    this.#lost = true
    this.close()
    const charge = chargeFor(readVitals(this.#vitals, this.#tools))
    const all = [...this.#loops.values()]
    this.#loops.clear()
    const message = `The worker thread was lost: ${this.#ending ?? reason}`
    this.#options.onLost({
      thread: this.#threadId,
      message,
      charge,
      stuck,
      loops: all,
      charged: all.filter(({ id }) => charge.loops.has(id)),
    })
    this.#calls.close(new BeaverError('unreachable', message))
    for (const loop of all) {
      loop.settle({ kind: 'lost', failureClass, message, charge: charge.loops.get(loop.id) ?? null })
    }
  }

  #end(reason: string): void {
    this.#ending = reason
    const timer = setTimeout(() => this.#lose({ reason, stuck: true }), endMsMax)
    void this.#options
      .threadOf(this.#threadId)
      ?.terminate()
      .then(() => {
        clearTimeout(timer)
        this.#lose({ reason })
      })
  }
}

const workspacesMax = 20

/** Sends the skills of a workspace to a thread once, and not with each of its loops: they may be 2 MB. */
export class KeptSkills {
  readonly #thread: Pick<ShardThread, 'keepSkills' | 'forgetSkills'>
  /** By their numbers, those that were not used for longest first. */
  readonly #kept = new Map<number, readonly Skill[]>()
  #last = 0

  constructor(thread: Pick<ShardThread, 'keepSkills' | 'forgetSkills'>) {
    this.#thread = thread
  }

  /** The number under which the thread has these skills. Unchanged skills of a workspace are the same objects. */
  numberOf(skills: readonly Skill[]): number {
    const known = [...this.#kept].find(([, kept]) => isSame(kept, skills))
    const number = known?.[0] ?? ++this.#last
    this.#kept.delete(number)
    this.#kept.set(number, skills)
    if (known === undefined) this.#thread.keepSkills(number, skills)
    if (this.#kept.size > workspacesMax) {
      const oldest = this.#kept.keys().next().value as number
      this.#kept.delete(oldest)
      this.#thread.forgetSkills(oldest)
    }
    return number
  }
}

const isSame = (one: readonly Skill[], other: readonly Skill[]): boolean =>
  one.length === other.length && one.every((skill, i) => skill === other[i])

// Decides who is charged for the loss of a worker thread. Pure. A loop is charged only if it had work in the
// thread at that moment: a tool, or an answer that it was reading; not if it waited for its host, the model
// or a cell. The user's tools are charged before built-in tools, which run in every system and are bounded. A
// tool whose loop has ended may still be the cause: then the thread was lost to a suspect, and no loop is
// charged.

interface Charge {
  /** The tools under way, by loop; empty for an answer that was read. A loop may have ended since. */
  readonly loops: ReadonlyMap<number, readonly string[]>
  /** The user's tools that were under way. */
  readonly ownTools: readonly string[]
}

export function chargeFor({ reader, calls }: Pick<VitalsReading, 'reader' | 'calls'>): Charge {
  if (reader !== null) return { loops: new Map([[reader, []]]), ownTools: [] }
  const own = calls.filter((call) => call.own)
  const loops = new Map<number, string[]>()
  for (const { loop, tool } of own.length > 0 ? own : calls) {
    const tools = loops.get(loop) ?? []
    if (!tools.includes(tool)) tools.push(tool)
    loops.set(loop, tools)
  }
  return { loops, ownTools: [...new Set(own.map(({ tool }) => tool))] }
}
