// Tasks whose requests were answered before the tasks had ended: the same request of the same caller finds
// its task again. A request is the same if the name and the user of its token and the bytes of its body are
// the same. OpenAI's clients send a request again by themselves after a timeout or an error, and name no key.
// People who share a token share this, too. A task for which nobody asks again is cancelled after a while,
// because nobody could read its answer. One that waits for a person is kept for a day. What is known here
// ends with the app. Then the same request begins another task. Several tasks may be left by the same
// request. Each of them is found once, the oldest first.
import { createHash } from 'node:crypto'
import type { Caller } from '../access.ts'
import type { Resumed } from './open-question.ts'

/** How long a client may take to ask again, in milliseconds. */
const againMsMax = 60_000
/** How long a task that waits for a person is found again, in milliseconds. */
const keptMsMax = 86_400_000
const requestsMax = 10_000

/** A task that a request left. */
export interface LeftTask {
  readonly taskId: string
  /** The task goes on after an answer, which the request gave. Absent: the request began the task. */
  readonly resumed?: Resumed
  /** Ends the task, if nobody asks for it in time. `null`: it waits for a person, and is kept. */
  readonly cancel: (() => void) | null
}

interface Entry extends LeftTask {
  readonly timer: NodeJS.Timeout
}

export class LeftTasks {
  readonly #left = new Map<string, Entry[]>()
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #againMsMax: number

  /**
   * @param options.againMsMax how long a task is left before it is cancelled, in milliseconds. Default:
   * 60,000
   */
  constructor(options: { readonly againMsMax?: number } = {}) {
    this.#againMsMax = options.againMsMax ?? againMsMax
  }

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
    // The oldest request is forgotten. The timers of its tasks go on.
    const [oldest = request] = this.#left.keys()
    if (this.#left.size > requestsMax) this.#left.delete(oldest)
  }

  /**
   * The task that the request left, which from now on is followed again; `null` if there is none. Who cannot
   * follow it leaves it again.
   */
  take(request: string): LeftTask | null {
    const [entry] = this.#left.get(request) ?? []
    if (entry === undefined) return null
    this.#forget(request, entry)
    clearTimeout(entry.timer)
    return entry
  }

  /** Nothing is cancelled any more. */
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

/** A hash by which the same request is known when it comes again. */
export const sameRequest = ({ name, userId }: Caller, body: string): string =>
  createHash('sha256')
    .update(JSON.stringify([name, userId ?? null, body]))
    .digest('hex')
