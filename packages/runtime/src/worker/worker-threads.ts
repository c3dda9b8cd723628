// The threads of a worker pool before they serve loops. A daemon makes them first, so that they load their
// modules while the main thread loads its own (docs/decisions/0029). They belong to their creator until a
// pool takes them.
import { Piscina } from 'piscina'

export interface WorkerThreads {
  /** The worker module; its export `shard` takes `{ port, vitals, data }` and calls `serveShard`. */
  readonly filename: string
  readonly threads: number
  readonly heapMbMax: number
}

export function workerThreads({ filename, threads, heapMbMax }: WorkerThreads): Piscina {
  return new Piscina({
    filename,
    name: 'shard',
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: 1,
    atomics: 'disabled',
    idleTimeout: Infinity,
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
  })
}
