// The knowledge bases of a process, in a thread of their own: indexing keeps a core busy for seconds, and
// SQLite blocks its thread. A search ends soon after its signal aborts, whatever the thread does. A thread
// that is asked to end gives back its leases, so that the next process need not wait for their end. It has
// `endMsMax` for this. If the thread dies, its searches fail, and the thread is started again as the row
// `knowledge` of core's table `supervisors` says.
import {
  BeaverError,
  type ErrorCode,
  errorCodes,
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

/** To the thread. */
export type ToKnowledge =
  | {
      readonly kind: 'search'
      readonly call: number
      readonly id: string
      readonly request: KnowledgeRequest
    }
  | { readonly kind: 'abort'; readonly call: number }
  | { readonly kind: 'end' }

/** From the thread. */
export type FromKnowledge =
  | { readonly kind: 'found'; readonly call: number; readonly answer: KnowledgeAnswer }
  | { readonly kind: 'failed'; readonly call: number; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'told'; readonly file: string; readonly message: string }

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
  readonly post: (message: ToKnowledge) => void
}

class KnowledgeThread implements Knowledge {
  readonly #data: KnowledgeThreadData
  readonly #logger: Logger
  readonly #calls = new Map<number, PromiseWithResolvers<KnowledgeAnswer>>()
  readonly #supervision: Supervision<RunningThread>
  readonly #first: Promise<unknown>
  #lastCall = 0

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
    const call = ++this.#lastCall
    const answer = Promise.withResolvers<KnowledgeAnswer>()
    const onAbort = (): void => {
      thread.post({ kind: 'abort', call })
      answer.reject(signal.reason as Error)
    }
    this.#calls.set(call, answer)
    signal.addEventListener('abort', onAbort, { once: true })
    thread.post({ kind: 'search', call, id: of, request })
    try {
      return await answer.promise
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#calls.delete(call)
    }
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
    const { promise: gone, resolve } = Promise.withResolvers<{ reason: string }>()
    let reason: string | null = null
    let alive = true
    worker.on('message', (message: FromKnowledge) => this.#hear(message))
    worker.on('error', (error: unknown) => (reason = messageOf(error)))
    worker.once('exit', (code) => {
      alive = false
      for (const { reject } of this.#calls.values())
        reject(new BeaverError('unreachable', 'The search of documents ended. Try again later.'))
      resolve({ reason: reason ?? `exit code ${code}` })
    })
    return {
      gone,
      alive: () => alive,
      post: (message) => worker.postMessage(message, []),
      async stop() {
        worker.postMessage({ kind: 'end' } satisfies ToKnowledge, [])
        const ended = new AbortController()
        await Promise.race([gone, pause(systemClock, endMsMax, ended.signal)])
        ended.abort()
        await worker.terminate()
      },
      kill: () => void worker.terminate(),
    }
  }

  #hear(message: FromKnowledge): void {
    switch (message.kind) {
      case 'found':
        return this.#calls.get(message.call)?.resolve(message.answer)
      case 'failed':
        return this.#calls.get(message.call)?.reject(new BeaverError(message.code, message.message))
      case 'told':
        return systemFacts.configurationDiagnostic(this.#logger, {
          severity: 'warning',
          file: message.file,
          message: message.message,
        })
      default:
        return message satisfies never
    }
  }
}

const id = 'knowledge'

/** The error as it is sent to another thread. */
export function sentError(
  error: unknown,
): Pick<Extract<FromKnowledge, { kind: 'failed' }>, 'code' | 'message'> {
  const code = error instanceof BeaverError && Object.hasOwn(errorCodes, error.code) ? error.code : 'internal'
  return { code, message: messageOf(error) }
}
