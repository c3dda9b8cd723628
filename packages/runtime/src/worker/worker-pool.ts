// The worker pool: Piscina threads, each running one shard, each shard many loops.
// W1. A loop runs on exactly one shard. W2. A shard that is lost is replaced, and each of its loops is told `lost` once.
// W3. A pool whose workers cannot start says so at once instead of waiting for ever. W4. Shards that die too often
//     (`lossesMax` within `lossesPeriodMs`) make the pool fail: the daemon's supervisor decides. W5. A loop started while all
//     threads are being replaced waits for the next one.
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import type { ExternalTool, LoopEnd, LoopHost, LoopSpec } from '@beaver/agent'
import { BeaverError, messageOf, TransientMap } from '@beaver/core'
import { batchedPost, type FromShard, type HostAnswer, type HostCall, type ToShard } from './protocol.ts'

export type LoopOutcome =
  | { readonly kind: 'ended'; readonly end: LoopEnd }
  /** The thread died: start the loop again from the journal. */
  | { readonly kind: 'lost'; readonly message: string }
  | { readonly kind: 'broke'; readonly message: string }

export interface RunningLoop {
  readonly outcome: Promise<LoopOutcome>
  cancel(reason: string): void
}

export interface WorkerPool {
  start(spec: LoopSpec, host: LoopHost): RunningLoop
  /** What loops started from now on have besides the tools of their thread. */
  offer(tools: readonly ExternalTool[]): void
  /** Rejects when the pool cannot go on. */
  readonly failed: Promise<never>
  readonly loops: number
  /** Threads that take loops now; fewer than configured while one is being replaced. */
  readonly threads: number
  close(): Promise<void>
}

interface Shard {
  readonly send: (message: ToShard) => void
  readonly port: MessagePort
  readonly loops: TransientMap<number, PlacedLoop>
}

interface PlacedLoop {
  readonly host: LoopHost
  readonly settle: (outcome: LoopOutcome) => void
  /** Calls of the host that may be abandoned. */
  readonly open: Map<number, AbortController>
}

const startMsMax = 30_000
const lossesMax = 20
const lossesPeriodMs = 60_000

/** @param options `filename`: the worker module; its export `shard` takes `{ port, data }` and calls `serveShard`. */
export async function startWorkerPool(options: { filename: string; threads: number; heapMbMax: number; data: unknown }): Promise<WorkerPool> {
  const pool = new Piscina({
    filename: options.filename,
    minThreads: options.threads,
    maxThreads: options.threads,
    concurrentTasksPerWorker: 1,
    atomics: 'disabled',
    idleTimeout: Infinity,
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: options.heapMbMax },
  })
  const { promise: failed, reject: fail } = Promise.withResolvers<never>()
  failed.catch(() => {})
  pool.on('error', (error) => giveUp(new BeaverError('start_failed', `A worker thread cannot start: ${messageOf(error)}`, { cause: error })))
  const shards = new Set<Shard>()
  /** Loops for which there is no thread at the moment. */
  const waiting: ((shard: Shard | null) => void)[] = []
  const losses: number[] = []
  let offered: readonly ExternalTool[] = []
  let lastLoop = 0
  let closing = false

  /** There will be no further thread. */
  function giveUp(error: Error): void {
    closing = true
    for (const begin of waiting.splice(0)) begin(null)
    fail(error)
  }

  function addShard(): Promise<void> {
    const { port1, port2 } = new MessageChannel()
    const shard: Shard = { port: port1, send: batchedPost<ToShard>(port1), loops: new TransientMap() }
    const ready = new Promise<void>((resolve) => {
      port1.once('message', () => {
        port1.on('message', (messages: readonly FromShard[]) => messages.forEach((message) => receive(shard, message)))
        shards.add(shard)
        if (offered.length > 0) shard.send({ kind: 'external_tools', tools: offered })
        for (const begin of waiting.splice(0)) begin(shard)
        resolve()
      })
    })
    pool.run({ port: port2, data: options.data }, { name: 'shard', transferList: [port2] as never }).then(
      () => lose(shard, 'The worker thread ended.'),
      (error: unknown) => lose(shard, messageOf(error)),
    )
    return ready
  }

  function lose(shard: Shard, message: string): void {
    shards.delete(shard)
    shard.port.close()
    for (const loop of shard.loops.values()) {
      abandonAll(loop)
      loop.settle({ kind: 'lost', message: `The worker thread was lost: ${message}` })
    }
    shard.loops.clear()
    if (closing) return
    const now = Date.now()
    losses.push(now)
    while (losses.length > 0 && now - (losses[0] as number) > lossesPeriodMs) losses.shift()
    if (losses.length > lossesMax)
      giveUp(new BeaverError('internal', `Worker threads died ${losses.length} times within ${lossesPeriodMs / 1000} s; the last: ${message}`))
    else void addShard()
  }

  function receive(shard: Shard, message: FromShard): void {
    const loop = shard.loops.get(message.loop)
    if (loop === undefined) return
    switch (message.kind) {
      case 'call':
        return answer(shard, message.call, hostCall(loop, message.call, message.ask))
      case 'abandon':
        return loop.open.get(message.call)?.abort()
      case 'delta':
        return loop.host.delta(message.delta)
      case 'ended':
        shard.loops.delete(message.loop)
        return loop.settle({ kind: 'ended', end: message.end })
      case 'broke':
        shard.loops.delete(message.loop)
        abandonAll(loop)
        return loop.settle({ kind: 'broke', message: message.message })
      default:
        message satisfies never
    }
  }

  const slow = Promise.withResolvers<never>()
  const timer = setTimeout(() => slow.reject(new BeaverError('start_failed', `The worker threads did not start within ${startMsMax / 1000} s.`)), startMsMax)
  try {
    await Promise.race([Promise.all(Array.from({ length: options.threads }, addShard)), failed, slow.promise])
  } catch (error) {
    closing = true
    await pool.destroy()
    throw error
  } finally {
    clearTimeout(timer)
  }

  return {
    failed,
    get loops() {
      return [...shards].reduce((sum, shard) => sum + shard.loops.size, waiting.length)
    },
    get threads() {
      return shards.size
    },
    start(spec, host) {
      const id = ++lastLoop
      const { promise: outcome, resolve: settle } = Promise.withResolvers<LoopOutcome>()
      let shard: Shard | null = null
      let cancelReason: string | null = null
      const cancel = (): void => void (cancelReason !== null && shard?.send({ kind: 'cancel', loop: id, reason: cancelReason }))
      const begin = (on: Shard | null): void => {
        if (on === null) return settle({ kind: 'lost', message: 'No worker thread is running.' })
        shard = on
        on.loops.set(id, { host, settle, open: new Map() })
        on.send({ kind: 'start', loop: id, spec })
        cancel()
      }
      const free = leastBusy(shards)
      if (free === null && !closing) waiting.push(begin)
      else begin(free)
      return {
        outcome,
        cancel(reason) {
          cancelReason ??= reason
          cancel()
        },
      }
    },
    offer(tools) {
      offered = tools
      for (const shard of shards) shard.send({ kind: 'external_tools', tools })
    },
    async close() {
      closing = true
      for (const begin of waiting.splice(0)) begin(null)
      for (const shard of shards) shard.port.close()
      await pool.destroy()
    },
  }
}

function leastBusy(shards: ReadonlySet<Shard>): Shard | null {
  let best: Shard | null = null
  for (const shard of shards) if (best === null || shard.loops.size < best.loops.size) best = shard
  return best
}

function abandonAll({ open }: PlacedLoop): void {
  for (const call of open.values()) call.abort()
}

function hostCall({ host, open }: PlacedLoop, call: number, ask: HostCall): Promise<HostAnswer> {
  switch (ask.of) {
    case 'append':
      return host.append(ask.drafts, ask.end)
    case 'team':
      return host.runTeam(ask.callId, ask.graph)
    case 'shared_state':
      return host.sharedState(ask.access)
    case 'approval':
      return host.approval(ask.callId)
    case 'memory':
      return host.memory(ask.change)
    case 'search':
      return host.searchSessions(ask.request)
    case 'external': {
      const stop = new AbortController()
      open.set(call, stop)
      return host.callExternal(ask.external, stop.signal).finally(() => open.delete(call))
    }
    default:
      return ask satisfies never
  }
}

function answer(shard: Shard, call: number, value: Promise<HostAnswer>): void {
  value.then(
    (result) => shard.send({ kind: 'reply', call, ok: true, value: result }),
    (error: unknown) => shard.send({ kind: 'reply', call, ok: false, message: messageOf(error) }),
  )
}
