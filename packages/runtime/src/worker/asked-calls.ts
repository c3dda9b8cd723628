// The calls that the loops of this thread have sent to the main thread, and the promises that wait for the
// answers. An answer settles its call once. An answer that nobody waits for is dropped. Nothing is kept of a
// loop that has ended.
import { TransientMap } from '@beaver/core'
import type { FromShard, HostAnswer, HostCall, ToShard } from './protocol.ts'

interface AskedCall {
  readonly loop: number
  resolve(value: never): void
  reject(error: Error): void
}

export class AskedCalls {
  readonly #post: (message: FromShard) => void
  readonly #calls = new TransientMap<number, AskedCall>()
  /** The open calls of each loop. */
  readonly #ofLoop = new TransientMap<number, Set<number>>()
  #last = 0

  constructor(post: (message: FromShard) => void) {
    this.#post = post
  }

  begin(loop: number): void {
    this.#ofLoop.set(loop, new Set())
  }

  ask<Value extends HostAnswer>(loop: number, what: HostCall, signal?: AbortSignal): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      const call = ++this.#last
      this.#calls.set(call, { loop, resolve: resolve as (value: never) => void, reject })
      this.#ofLoop.get(loop)?.add(call)
      this.#post({ kind: 'call', loop, call, ask: what })
      signal?.addEventListener(
        'abort',
        () => this.#calls.has(call) && this.#post({ kind: 'abandon', loop, call }),
        { once: true },
      )
    })
  }

  answered(reply: Extract<ToShard, { kind: 'reply' }>): void {
    const call = this.#calls.get(reply.call)
    this.#calls.delete(reply.call)
    if (call !== undefined) this.#ofLoop.get(call.loop)?.delete(reply.call)
    if (reply.ok) call?.resolve(reply.value as never)
    else call?.reject(new Error(reply.message))
  }

  /** The loop has ended: what it asked for and does not wait for any more would stay here otherwise. */
  forget(loop: number): void {
    for (const call of this.#ofLoop.get(loop) ?? []) this.#calls.delete(call)
    this.#ofLoop.delete(loop)
  }
}
