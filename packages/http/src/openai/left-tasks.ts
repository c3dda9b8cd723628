// Remembers tasks that continue after their requests ended, so that the same request finds its task again.
// OpenAI's clients repeat a request by themselves after a timeout or an error, without a key.
// - Two requests are the same if the name and the user of their tokens and the bytes of their bodies are
//   equal. So people who share a token share their tasks.
// - If no request comes for a task in time, the task is cancelled, because nobody could read its answer. A
//   task that waits for a person is remembered for a day instead, and never cancelled here.
// - The memory ends with the app. After that, the same request begins a new task.
// - Several tasks may be remembered for the same request. Each is found once, the oldest first.
import { createHash } from 'node:crypto'
import type { Caller } from '../access.ts'
import type { Resumed } from './open-question.ts'

/** How long a client may take to repeat its request, in milliseconds. */
const againMsMax = 60_000
/** How long a task that waits for a person is remembered, in milliseconds. */
const keptMsMax = 86_400_000
const requestsMax = 10_000

/** A remembered task. */
export interface LeftTask {
  readonly taskId: string
  /** Present if the request answered a question of an existing task. Absent: the request began the task. */
  readonly resumed?: Resumed
  /**
   * Cancels the task. It is called if no request comes in time. `null`: the task waits for a person and is
   * not cancelled.
   */
  readonly cancel: (() => void) | null
}

interface Entry extends LeftTask {
  readonly timer: NodeJS.Timeout
}

/** The remembered tasks of an app. */
export class LeftTasks {
  readonly #left = new Map<string, Entry[]>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #againMsMax: number

  /**
   * @param options.againMsMax how long a task is remembered before it is cancelled, in milliseconds. Default:
   * 60,000
   */
  constructor(options: { readonly againMsMax?: number } = {}) {
    this.#againMsMax = options.againMsMax ?? againMsMax
  }

  /** Remembers a task. `request`: the hash of its request (`sameRequest`). */
  leave(request: string, task: LeftTask): void {
    const timer = setTimeout(
      () => {
        this.#forget(request, entry)
        task.cancel?.()
      },
      task.cancel === null ? keptMsMax : this.#againMsMax,
    ).unref()
    const entry: Entry = { ...task, timer }
    this.#timers.add(timer)
    this.#left.set(request, [...(this.#left.get(request) ?? []), entry])
    // The oldest request is forgotten. The timers of its tasks stay, so these tasks are still cancelled.
    const [oldest = request] = this.#left.keys()
    if (this.#left.size > requestsMax) this.#left.delete(oldest)
  }

  /**
   * Takes the oldest task that is remembered for the request. The caller must follow it, or call `leave` for
   * it again. `null`: there is none.
   */
  take(request: string): LeftTask | null {
    const [entry] = this.#left.get(request) ?? []
    if (entry === undefined) return null
    this.#forget(request, entry)
    clearTimeout(entry.timer)
    return entry
  }

  /** Forgets all tasks without cancelling them. */
  close(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    this.#left.clear()
  }

  #forget(request: string, entry: Entry): void {
    this.#timers.delete(entry.timer)
    const others = (this.#left.get(request) ?? []).filter((each) => each !== entry)
    if (others.length === 0) this.#left.delete(request)
    else this.#left.set(request, others)
  }
}

/** A hash that is equal for two requests if they are the same. */
export const sameRequest = ({ name, userId }: Caller, body: string): string =>
  createHash('sha256')
    .update(JSON.stringify([name, userId ?? null, body]))
    .digest('hex')
