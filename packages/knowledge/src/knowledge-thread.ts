// Runs the knowledge bases of a process in a thread of their own, because indexing keeps a core busy for
// seconds and SQLite blocks its thread. A search ends soon after its signal aborts, whatever the thread does.
// When the thread is asked to end, it has `endMsMax` to give back its leases, so that the next process need
// not wait for their end. If the thread dies, its searches fail. The row `knowledge` of core's table
// `supervisors` limits its restarts.
import {
  BeaverError,
  type KnowledgeAnswer,
  type KnowledgeRequest,
  type Logger,
  messageOf,
  pause,
  systemClock,
  systemFacts,
} from '@beaver/core'
import type { KnownSecret } from '@beaver/core/secrets'
import { type RunningChild, Supervision, supervisors } from '@beaver/core/supervision'
import { PortCalls } from '@beaver/core/port-calls'
import { unlessAborted } from '@beaver/agent'
import type { ProviderChoices } from '@beaver/providers'
import { Worker } from 'node:worker_threads'
import type { KnowledgeFolder } from './knowledge-folder.ts'

/** The data with which the thread starts. */
export interface KnowledgeThreadData {
  readonly folders: readonly KnowledgeFolder[]
  /** The absolute path of Beaver's home. */
  readonly home: string
  /** The endpoints among which the embedding endpoint is chosen. */
  readonly model: ProviderChoices
  /** The secrets that no request to an endpoint may contain. */
  readonly secrets: readonly KnownSecret[]
}

/** The methods of the thread: object 0 of its port. */
export interface ServedKnowledge {
  search(id: string, request: KnowledgeRequest, signal: AbortSignal): Promise<KnowledgeAnswer>
  /** Gives back the leases and ends the thread. */
  end(): void
}

/** The methods of the process for the thread: object 0 of the port. */
export interface KnowledgeHome {
  /** Logs a warning about the folder `file`. */
  tell(file: string, message: string): void
}

/** The knowledge bases of a process. */
export interface Knowledge {
  /**
   * Searches the knowledge base with this id.
   *
   * @throws {BeaverError} the errors of `KnowledgeBase.search`; `not_found` if there is no such knowledge
   * base; `unreachable` if the thread died
   * @throws the reason of `signal` if it aborts
   */
  search(id: string, request: KnowledgeRequest, signal: AbortSignal): Promise<KnowledgeAnswer>
  /** Stops the thread, within about `endMsMax`. */
  close(): Promise<void>
}

const entry = new URL(
  import.meta.url.endsWith('.ts') ? './thread-entry.ts' : './thread-entry.js',
  import.meta.url,
)
/** The limit of the thread's heap, in MiB. */
const heapMbMax = 1_024
/** How long the thread may take to end, in milliseconds. After that it is terminated. */
const endMsMax = 1_000

/** Starts the thread. It begins to index at once; the function does not wait for this. */
export function startKnowledge(data: KnowledgeThreadData, logger: Logger): Knowledge {
  return new KnowledgeThread(data, logger)
}

interface RunningThread extends RunningChild {
  readonly alive: () => boolean
  readonly search: ServedKnowledge['search']
}

class KnowledgeThread implements Knowledge {
  readonly #data: KnowledgeThreadData
  readonly #logger: Logger
  readonly #supervision: Supervision<RunningThread>
  readonly #first: Promise<unknown>

  constructor(data: KnowledgeThreadData, logger: Logger) {
    this.#data = data
    this.#logger = logger
    this.#supervision = new Supervision<RunningThread>({ spec: supervisors.knowledge, logger })
    this.#first = this.#supervision.add(id, () => this.#start()).catch(() => {})
  }

  async search(baseId: string, request: KnowledgeRequest, signal: AbortSignal): Promise<KnowledgeAnswer> {
    signal.throwIfAborted()
    await this.#first
    signal.throwIfAborted()
    const thread = this.#supervision.get(id)
    if (thread?.alive() !== true)
      throw new BeaverError('unreachable', 'The search of documents is being started again. Try again later.')
    const answer = await unlessAborted(thread.search(baseId, request, signal), signal)
    if (answer === null) throw signal.reason
    return answer
  }

  async close(): Promise<void> {
    await this.#supervision.stop()
  }

  async #start(): Promise<RunningThread> {
    const worker = new Worker(entry, {
      workerData: this.#data,
      name: 'knowledge',
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax },
    })
    const home: KnowledgeHome = {
      tell: (file, message) =>
        systemFacts.configurationDiagnostic(this.#logger, { severity: 'warning', file, message }),
    }
    const calls = new PortCalls(worker, { served: () => home })
    const thread = calls.remote<ServedKnowledge>(0, { end: 'note' })
    const { promise: gone, resolve } = Promise.withResolvers<{ reason: string }>()
    let reason: string | null = null
    let alive = true
    worker.on('error', (error: unknown) => (reason = messageOf(error)))
    worker.once('exit', (code) => {
      alive = false
      calls.close(new BeaverError('unreachable', 'The search of documents ended. Try again later.'))
      resolve({ reason: reason ?? `exit code ${code}` })
    })
    return {
      gone,
      alive: () => alive,
      search: thread.search,
      async stop() {
        thread.end()
        const ended = new AbortController()
        await Promise.race([gone, pause(systemClock, endMsMax, ended.signal)])
        ended.abort()
        await worker.terminate()
      },
      kill: () => void worker.terminate(),
    }
  }
}

const id = 'knowledge'
