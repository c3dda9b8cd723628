// Tasks whose requests were answered before the tasks had ended: the same request of the same caller finds its task again.
// L1. A request is the same if its caller and its body are. OpenAI's clients send a request again by themselves after a timeout or an error,
//     and name no key.
// L2. A task for which nobody asks again is cancelled after a while, because nobody could read its answer. One that waits for a person is kept.
// L3. What is known here ends with the app. Then the same request begins another task.
import { createHash } from 'node:crypto'
import type { Caller } from '../access.ts'

/** How long a client may take to ask again, in milliseconds. */
const againMsMax = 60_000
const tasksMax = 10_000

interface LeftTask {
  readonly taskId: string
  readonly timer: NodeJS.Timeout | null
}

export class LeftTasks {
  readonly #left = new Map<string, LeftTask>()
  readonly #againMsMax: number

  /** @param options.againMsMax how long a task is left before it is cancelled, in milliseconds. Default: 60,000 */
  constructor(options: { readonly againMsMax?: number } = {}) {
    this.#againMsMax = options.againMsMax ?? againMsMax
  }

  /** @param cancel ends the task, if nobody asks for it in time. `null`: the task is kept */
  leave(request: string, taskId: string, cancel: (() => void) | null): void {
    this.take(request)
    const timer =
      cancel === null
        ? null
        : setTimeout(() => {
            this.#left.delete(request)
            cancel()
          }, this.#againMsMax).unref()
    this.#left.set(request, { taskId, timer })
    // The oldest one is forgotten. If it was to be cancelled, its timer still does it.
    for (const oldest of this.#left.keys()) if (this.#left.size > tasksMax) this.#left.delete(oldest)
  }

  /** The task that the request left, which is from now on followed again; `null` if there is none. */
  take(request: string): string | null {
    const left = this.#left.get(request)
    this.#left.delete(request)
    if (left?.timer) clearTimeout(left.timer)
    return left?.taskId ?? null
  }

  /** Nothing is cancelled any more. */
  close(): void {
    for (const { timer } of this.#left.values()) if (timer !== null) clearTimeout(timer)
    this.#left.clear()
  }
}

/** What makes two requests the same. */
export const sameRequest = ({ name, userId }: Caller, body: string): string =>
  createHash('sha256')
    .update(JSON.stringify([name, userId ?? null, body]))
    .digest('hex')
