// The knowledge bases of a process, in a thread of their own: indexing keeps a core busy for seconds, and
// SQLite blocks its thread. A search ends soon after its signal aborts, whatever the thread does. A thread
// that is asked to end gives back its leases, so that the next process need not wait for their end. It has
// `endMsMax` for this. If the thread dies, its searches fail, and the thread is started again as the row
// `knowledge` of core's table `supervisors` says.
import {
  BeaverError,
  type KnowledgeAnswer,
  type KnowledgeRequest,
  type KnownSecret,
  type Logger,
  messageOf,
  pause,
  type RunningChild,
  Supervision,
  supervisors,
  systemClock,
  systemFacts,
} from '@beaver/core'
import { PortCalls } from '@beaver/core/port-calls'
import { unlessAborted } from '@beaver/agent'
import type { ProviderChoices } from '@beaver/providers'
import { Worker } from 'node:worker_threads'
import type { KnowledgeFolder } from './knowledge-folder.ts'

/** What the thread is started with. */
export interface KnowledgeThreadData {
  readonly folders: readonly KnowledgeFolder[]
  /** The home of Beaver, absolute. */
  readonly home: string
  readonly model: ProviderChoices
  /** What no request may contain. */
  readonly secrets: readonly KnownSecret[]
}

/** What the thread does. It is number 0 of its port. */
export interface ServedKnowledge {
  search(id: string, request: KnowledgeRequest, signal: AbortSignal): Promise<KnowledgeAnswer>
  /** Gives back the leases, and then ends. */
  end(): void
}

/** What the process does for the thread. It is number 0 of the port. */
export interface KnowledgeHome {
  tell(file: string, message: string): void
}

/** The knowledge bases of a process. */
export interface Knowledge {
  /**
   * Searches one of them.
   *
   * @throws {BeaverError} what `KnowledgeBase.search` throws; `not_found` if there is no such knowledge base;
   * `unreachable` if the thread died
   * @throws the reason of `signal`
   */
  search(id: string, request: KnowledgeRequest, signal: AbortSignal): Promise<KnowledgeAnswer>
  close(): Promise<void>
}

const entry = new URL(
  import.meta.url.endsWith('.ts') ? './thread-entry.ts' : './thread-entry.js',
  import.meta.url,
)
const heapMbMax = 1_024
const endMsMax = 1_000

/** Starts the thread. It begins to index at once, and nobody waits for it. */
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

  async search(of: string, request: KnowledgeRequest, signal: AbortSignal): Promise<KnowledgeAnswer> {
    signal.throwIfAborted()
    await this.#first
    signal.throwIfAborted()
    const thread = this.#supervision.get(id)
    if (thread?.alive() !== true)
      throw new BeaverError('unreachable', 'The search of documents is being started again. Try again later.')
    const answer = await unlessAborted(thread.search(of, request, signal), signal)
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
