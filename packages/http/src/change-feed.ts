// The changes of tasks for many readers, as server-sent events.
// - While there are readers, the changes are followed once for all of them. When the last reader leaves, the
//   following stops.
// - A reader hears of the tasks that it reaches, and of no others.
// - Each reader has only what it has not taken yet: each task once, or a reset.
import { type Change, type ChangedTask, MergedChanges } from '@beaver/contracts'
import type { ServerSentEvent } from './sse.ts'

/** Yields `hello`, and then changes as they come. It ends when `signal` aborts. */
export type FollowChanges = (options: { readonly signal: AbortSignal }) => AsyncGenerator<Change>

/** The feed of an app. */
export class ChangeFeed {
  readonly #follow: FollowChanges
  #following: Following | null = null

  constructor(follow: FollowChanges) {
    this.#follow = follow
  }

  /**
   * Adds a reader. The caller must close it, or read it to its end.
   *
   * @param reaches whether the reader may hear of a task
   */
  join(reaches: (task: ChangedTask) => boolean): ChangeReader {
    if (this.#following !== null && !this.#following.isOver) return this.#following.join(reaches)
    this.#following = new Following()
    const reader = this.#following.join(reaches)
    void this.#following.run(this.#follow) // If it fails at once, the reader gets the failure.
    return reader
  }

  /** Ends the streams of all readers. */
  close(): void {
    this.#following?.end({})
  }
}

/** One following of the changes, which is over when it fails or when its last reader leaves. */
class Following {
  readonly #over = new AbortController()
  readonly #readers = new Set<ChangeReader>()
  #hello: { sequence: number | null } | null = null
  #end: { readonly error?: unknown } | null = null

  get isOver(): boolean {
    return this.#end !== null
  }

  join(reaches: (task: ChangedTask) => boolean): ChangeReader {
    const reader: ChangeReader = new ChangeReader(reaches, () => {
      this.#readers.delete(reader)
      if (this.#readers.size === 0) this.end({})
    })
    this.#readers.add(reader)
    if (this.#hello !== null) reader.hello(this.#hello.sequence)
    return reader
  }

  end(how: { readonly error?: unknown }): void {
    if (this.#end !== null) return
    this.#end = how
    this.#over.abort()
    for (const reader of this.#readers) reader.end(how)
  }

  /** Follows the changes until it is over. Never rejects. */
  async run(follow: FollowChanges): Promise<void> {
    try {
      for await (const change of follow({ signal: this.#over.signal })) {
        if (this.isOver) break
        if (change.kind === 'hello') for (const reader of this.#readers) reader.hello(change.sequence)
        else for (const reader of this.#readers) reader.hear(change)
        this.#hello = { sequence: change.sequence }
      }
      this.end({})
    } catch (error) {
      this.end({ error })
    }
  }
}

/** One reader: an iterator over messages of a stream of server-sent events. */
export class ChangeReader implements AsyncIterator<ServerSentEvent, undefined> {
  readonly #reaches: (task: ChangedTask) => boolean
  readonly #leave: () => void
  readonly #changes = new MergedChanges()
  readonly #begun = Promise.withResolvers<void>()
  #hello: { readonly sequence: number | null } | null = null
  #end: { readonly error?: unknown } | null = null
  #wake = (): void => {}

  constructor(reaches: (task: ChangedTask) => boolean, leave: () => void) {
    this.#reaches = reaches
    this.#leave = leave
    this.#begun.promise.catch(() => {})
  }

  /**
   * Resolves when the reader can miss nothing any more, or is closed. Rejects if the changes cannot be
   * followed.
   */
  get begun(): Promise<void> {
    return this.#begun.promise
  }

  /** The last message of the journal that is applied, as far as it is known. */
  get sequence(): number | null {
    return this.#changes.sequence ?? this.#hello?.sequence ?? null
  }

  hello(sequence: number | null): void {
    this.#hello = { sequence }
    this.#begun.resolve()
    this.#wake()
  }

  /** @param change no `hello` */
  hear(change: Change): void {
    if (change.kind !== 'changed') this.#changes.reset(change.sequence)
    else {
      const tasks = change.tasks.filter(this.#reaches)
      if (tasks.length === 0) return
      this.#changes.add(change.sequence, tasks)
    }
    this.#wake()
  }

  end(how: { readonly error?: unknown }): void {
    this.#end ??= how
    if ('error' in this.#end) this.#begun.reject(this.#end.error)
    else this.#begun.resolve()
    this.#wake()
  }

  /** Rejects if the changes cannot be followed. */
  async next(): Promise<IteratorResult<ServerSentEvent, undefined>> {
    for (;;) {
      const change = this.#end === null ? this.#take() : null
      if (change !== null) return { done: false, value: eventOf(change) }
      if (this.#end === null) await new Promise<void>((resolve) => (this.#wake = resolve))
      else if ('error' in this.#end) throw this.#end.error
      else return { done: true, value: undefined }
    }
  }

  return(): Promise<IteratorResult<ServerSentEvent, undefined>> {
    this.close()
    return Promise.resolve({ done: true, value: undefined })
  }

  /** Stops the reader. Safe to call twice. */
  readonly close = (): void => {
    this.end({})
    this.#leave()
  }

  #take(): Change | null {
    if (this.#hello === null) return this.#changes.take()
    const { sequence } = this.#hello
    this.#hello = null
    return { kind: 'hello', sequence }
  }
}

const eventOf = ({ kind, ...data }: Change): ServerSentEvent => ({
  ...(data.sequence === null ? {} : { id: String(data.sequence) }),
  event: kind,
  data,
})
