// Starts the daemon's worker threads by the configuration; the worker pool serves them later. This file
// imports little, so that the threads begin to load their modules before the main thread has loaded its own.
import type { Config } from '@beaver/platform'
import { type WorkerThreads, workerThreads } from '@beaver/runtime/threads'

export const threadOptions = ({ daemon }: Pick<Config, 'daemon'>): WorkerThreads => ({
  filename: new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url).href,
  threads: daemon.worker_threads,
  heapMbMax: daemon.worker_heap_mb_max,
})

export const daemonThreads = (config: Pick<Config, 'daemon'>): ReturnType<typeof workerThreads> =>
  workerThreads(threadOptions(config))
