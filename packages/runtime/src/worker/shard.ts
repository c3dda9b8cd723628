// One worker thread as the main thread sees it: the loops on it, the messages to and from it, its watch, and how it is lost.
// Who is charged is decided in loss.ts, what becomes of the loops by their supervisors, what replaces the thread by the pool.
// D1. A thread is lost once; each of its loops is then told so once, and whether it is charged. D2. A thread that does not answer
//     is ended, and lost when it has ended. D3. One that cannot be ended is lost after `endMsMax` and reported as `stuck`: only
//     the end of the process stops it.
import { MessageChannel, type Worker } from 'node:worker_threads'
import { isFullHeap, type LoopEnd, type LoopHost, type LoopSpec } from '@beaver/agent'
import { type FailureClass, type Logger, messageOf, TransientMap } from '@beaver/core'
import { abandonAll, answerCall } from './host-calls.ts'
import { type Charge, chargeFor } from './loss.ts'
import { batchedPost, type FromShard, type ShardPlace, type ToShard } from './protocol.ts'
import { newVitals, readVitals } from './thread-vitals.ts'
import { threadWatch } from './thread-watch.ts'

export type LoopOutcome =
  | { readonly kind: 'ended'; readonly end: LoopEnd }
  /** The thread died: start the loop again from the journal. `charge`: the tools it had under way there; `null`: not its doing. */
  | { readonly kind: 'lost'; readonly failureClass: FailureClass; readonly message: string; readonly charge: readonly string[] | null }
  | { readonly kind: 'broke'; readonly message: string }
  /** There is no thread any more, and there will be none. */
  | { readonly kind: 'gone'; readonly message: string }

export interface PlacedLoop {
  readonly id: number
  readonly spec: LoopSpec
  readonly host: LoopHost
  readonly settle: (outcome: LoopOutcome) => void
  readonly open: Map<number, AbortController>
  /** When a cancel was sent, on the clock of `performance`. */
  cancelledAtMs: number | null
}

/** A thread that is gone, and what is known of its death. */
export interface Loss {
  readonly thread: number
  readonly message: string
  readonly charge: Charge
  readonly loops: readonly PlacedLoop[]
  readonly charged: readonly PlacedLoop[]
  /** It could not be ended and still runs. */
  readonly stuck: boolean
}

export interface Shard {
  readonly loops: TransientMap<number, PlacedLoop>
  readonly ready: Promise<void>
  send(message: ToShard): void
  start(loop: PlacedLoop): void
  cancel(id: number, reason: string): void
  /** Lets go of a loop that only waits. */
  drop(id: number, reason: string): void
  /** Looks whether the thread answers. @returns `false`: it does not, and takes no loops from now on */
  look(nowMs: number): boolean
  close(): void
}

export interface ShardOptions {
  /** Runs the shard in a thread; settles when the thread is done or dead. */
  readonly run: (place: ShardPlace) => Promise<unknown>
  readonly threadOf: (id: number) => Worker | undefined
  readonly onLost: (loss: Loss) => void
  /** Writes what the thread has to say. */
  readonly logger: Logger
}

/** How a thread ended. @param failureClass of its loops; absent: `worker_lost` */
interface Death {
  readonly reason: string
  readonly failureClass?: FailureClass
  /** It could not be ended and still runs. */
  readonly stuck?: boolean
}

/** How long a thread may take to end. */
const endMsMax = 3_000

export function newShard({ run, threadOf, onLost, logger }: ShardOptions): Shard {
  const { port1: port, port2 } = new MessageChannel()
  const shared = newVitals()
  const vitals = new Int32Array(shared)
  const watch = threadWatch()
  const loops = new TransientMap<number, PlacedLoop>()
  const send = batchedPost<ToShard>(port)
  const { promise: ready, resolve: isReady } = Promise.withResolvers<void>()
  let thread = 0
  let tools: readonly string[] = []
  /** Why the thread is being ended; `null`: it is not. */
  let ending: string | null = null
  let lost = false

  port.on('message', (messages: readonly FromShard[]) => messages.forEach(receive))
  run({ port: port2, vitals: shared }).then(
    () => lose({ reason: 'its code ended' }),
    (error: unknown) => lose({ reason: messageOf(error), failureClass: isFullHeap(error) ? 'out_of_memory' : 'worker_lost' }),
  )

  function receive(message: FromShard): void {
    if (message.kind === 'ready') {
      ;({ thread, tools } = message)
      return isReady()
    }
    if (message.kind === 'log') {
      const { level, event, message: text, fields } = message.line
      return logger[level](event, text, fields)
    }
    const loop = loops.get(message.loop)
    if (ending !== null) return
    if (loop === undefined) {
      // It was let go of: nothing is done for it any more, and what it asks has an answer.
      if (message.kind === 'call') send({ kind: 'reply', call: message.call, ok: false, message: 'The loop was let go of.' })
      return
    }
    switch (message.kind) {
      case 'call':
        return answerCall(loop, message, send)
      case 'abandon':
        return loop.open.get(message.call)?.abort()
      case 'delta':
        return loop.host.delta(message.delta)
      case 'ended':
        loops.delete(message.loop)
        return loop.settle({ kind: 'ended', end: message.end })
      case 'broke':
        loops.delete(message.loop)
        abandonAll(loop)
        return loop.settle({ kind: 'broke', message: message.message })
      default:
        message satisfies never
    }
  }

  function lose({ reason, failureClass = 'worker_lost', stuck = false }: Death): void {
    if (lost) return
    lost = true
    port.close()
    const charge = chargeFor(readVitals(vitals, tools))
    const all = [...loops.values()]
    loops.clear()
    const message = `The worker thread was lost: ${ending ?? reason}`
    onLost({ thread, message, charge, stuck, loops: all, charged: all.filter(({ id }) => charge.loops.has(id)) })
    for (const loop of all) {
      abandonAll(loop)
      loop.settle({ kind: 'lost', failureClass, message, charge: charge.loops.get(loop.id) ?? null })
    }
  }

  function end(reason: string): void {
    ending = reason
    const timer = setTimeout(() => lose({ reason, stuck: true }), endMsMax)
    void threadOf(thread)
      ?.terminate()
      .then(() => {
        clearTimeout(timer)
        lose({ reason })
      })
  }

  return {
    loops,
    ready,
    send,
    start(loop) {
      loops.set(loop.id, loop)
      send({ kind: 'start', loop: loop.id, spec: loop.spec })
    },
    cancel(id, reason) {
      const loop = loops.get(id)
      if (loop === undefined) return
      loop.cancelledAtMs ??= performance.now()
      send({ kind: 'cancel', loop: id, reason })
    },
    drop(id, reason) {
      const loop = loops.get(id)
      if (loop === undefined) return
      loops.delete(id)
      send({ kind: 'drop', loop: id, reason })
      abandonAll(loop)
      loop.settle({ kind: 'broke', message: reason })
    },
    look(nowMs) {
      if (ending !== null || lost) return false
      const cancelled = [...loops.values()].flatMap((loop) => loop.cancelledAtMs ?? [])
      const reason = watch.look({ ...readVitals(vitals, tools), cancelledAtMs: cancelled.length === 0 ? null : Math.min(...cancelled) }, nowMs)
      if (reason === null) return true
      end(reason)
      return false
    },
    close: () => port.close(),
  }
}
