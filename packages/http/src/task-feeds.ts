// The events of tasks for many readers, as server-sent events. A task that somebody follows is read from the
// journal once, and each of its events is written as text once, however many readers it has. The fastest
// reader decides how far the journal is read: at most `aheadMax` events or `aheadBytesMax` bytes further than
// it has taken. What it is ahead of the others is kept, up to `keptMax` events and `keptBytesMax` bytes. A
// reader that is further back reads the journal itself until it has caught up. A slow reader therefore holds
// nothing but its own place. A reader takes all events that are there as one piece, up to `pieceBytesMax`:
// who is behind is not woken for each event. When the last reader has left, nothing is read any more.
import type { RecordedEvent } from '@beaver/core'
import { sseText } from './sse.ts'

/** Gives the events of a task from the first one, and then live. It ends when `signal` aborts. */
export type WatchTask = (
  taskId: string,
  options: { readonly signal: AbortSignal },
) => AsyncGenerator<RecordedEvent>

const keptMax = 512
const keptBytesMax = 2_000_000
const pieceBytesMax = 64 * 1024
/** How many events, and how many bytes of them, are read before the fastest reader asks for them. */
const aheadMax = 64
const aheadBytesMax = 256 * 1024

interface Piece {
  readonly bytes: Uint8Array
  /** The place of the last event in it. */
  readonly to: number
}

/** Reads tasks for readers. */
export class TaskFeeds {
  readonly #watch: WatchTask
  readonly #feeds = new Map<string, TaskFeed>()

  constructor(watch: WatchTask) {
    this.#watch = watch
  }

  /**
   * Begins to read. Close the reader, or read it to its end. @param after the place of the last event that
   * the reader has
   */
  follow(taskId: string, after: number): TaskReader {
    let feed = this.#feeds.get(taskId)
    if (feed === undefined) {
      const made = new TaskFeed(
        (signal) => this.#watch(taskId, { signal }),
        () => void (this.#feeds.get(taskId) === made && this.#feeds.delete(taskId)),
      )
      this.#feeds.set(taskId, (feed = made))
      made.begin()
    }
    return new TaskReader(feed, after)
  }

  /** Wakes all readers, and ends their streams. */
  close(): void {
    for (const feed of this.#feeds.values()) feed.close()
  }
}

const encoder = new TextEncoder()

function pieceOf(event: RecordedEvent): Piece {
  return {
    bytes: encoder.encode(sseText({ id: String(event.taskseq), event: event.type, data: event })),
    to: event.taskseq,
  }
}

/** One task that is read for its readers. */
class TaskFeed {
  readonly watch: (signal: AbortSignal) => AsyncGenerator<RecordedEvent>
  readonly #over = new AbortController()
  readonly #emptied: () => void
  readonly #readers = new Set<TaskReader>()
  #kept: Piece[] = []
  #keptBytes = 0
  /**
   * The place of the newest event that was read, of the newest that somebody has, and of the newest that is
   * not kept any more.
   */
  #tail = 0
  #taken = 0
  #forgotten = 0
  #end: { readonly error?: unknown } | null = null
  #news = Promise.withResolvers<void>()
  #isNews = false
  #hungry = Promise.withResolvers<void>()
  #first = Promise.withResolvers<RecordedEvent | null>()
  /** The piece that was made last, for readers at the same place. */
  #last: (Piece & { readonly from: number }) | null = null

  constructor(watch: (signal: AbortSignal) => AsyncGenerator<RecordedEvent>, emptied: () => void) {
    this.watch = watch
    this.#emptied = emptied
    this.#first.promise.catch(() => {})
  }

  /** Begins to read. It may fail at once, and then the feed is emptied before this returns. */
  begin(): void {
    void this.#read()
  }

  /**
   * The first event of the task. `null`: the journal was given up before there was one. Rejects with what
   * keeps it from being read.
   */
  get first(): Promise<RecordedEvent | null> {
    return this.#first.promise
  }

  /** What comes after a place. `behind`: it is not kept any more. `null`: nothing is there yet. */
  after(place: number): Piece | 'behind' | 'ended' | null {
    if (place >= this.#tail) {
      if (this.#end === null) {
        // It may have read more than this feed, while the log was archived.
        this.#wanted(place)
        return null
      }
      if ('error' in this.#end) throw this.#end.error
      return 'ended'
    }
    if (place < this.#forgotten) return 'behind'
    const at = this.#kept.findIndex(({ to }) => to > place)
    if (this.#last?.from !== place) this.#last = { ...this.#pieceFrom(at), from: place }
    this.#take(this.#last.to)
    return this.#last
  }

  #pieceFrom(at: number): Piece {
    const [first] = this.#kept.slice(at, at + 1)
    let [bytes, until] = [first?.bytes.length ?? 0, at + 1]
    for (
      ;
      until < this.#kept.length && bytes + (this.#kept[until]?.bytes.length ?? 0) <= pieceBytesMax;
      until++
    )
      bytes += this.#kept[until]?.bytes.length ?? 0
    const pieces = this.#kept.slice(at, until)
    return {
      bytes:
        pieces.length === 1 && first !== undefined
          ? first.bytes
          : Buffer.concat(pieces.map((each) => each.bytes)),
      to: pieces.at(-1)?.to ?? 0,
    }
  }

  #take(place: number): void {
    this.#wanted(place)
    if (this.#readers.size === 1) this.#forget(this.#kept.findLastIndex(({ to }) => to <= place) + 1)
  }

  #forget(count: number): void {
    for (const { bytes, to } of this.#kept.splice(0, count)) {
      this.#keptBytes -= bytes.length
      this.#forgotten = to
    }
  }

  /** Resolves when there is more, or when the reading has ended. */
  async news(): Promise<void> {
    await this.#news.promise
  }

  join(reader: TaskReader, place: number): void {
    this.#readers.add(reader)
    this.#wanted(place)
  }

  /** Somebody wants what comes after this place. */
  #wanted(place: number): void {
    this.#taken = Math.max(this.#taken, place)
    this.#hungry.resolve()
  }

  leave(reader: TaskReader): void {
    if (!this.#readers.delete(reader) || this.#readers.size > 0) return
    this.#emptied()
    this.close()
  }

  close(): void {
    this.#over.abort()
    this.#hungry.resolve()
    this.#ended({})
  }

  async #read(): Promise<void> {
    try {
      for await (const event of this.watch(this.#over.signal)) {
        this.#first.resolve(event)
        this.#add(pieceOf(event))
        while (this.#isFarAhead() && !this.#over.signal.aborted) {
          this.#hungry = Promise.withResolvers()
          await this.#hungry.promise
        }
        if (this.#over.signal.aborted) break
      }
      this.#ended({})
    } catch (error) {
      this.#ended({ error })
    }
  }

  #isFarAhead(): boolean {
    if (this.#tail - this.#taken >= aheadMax) return true
    let bytes = 0
    for (let at = this.#kept.length - 1; (this.#kept[at]?.to ?? 0) > this.#taken; at--)
      bytes += this.#kept[at]?.bytes.length ?? 0
    return bytes >= aheadBytesMax
  }

  #add(piece: Piece): void {
    this.#kept.push(piece)
    this.#keptBytes += piece.bytes.length
    this.#tail = piece.to
    while (this.#kept.length > 1 && (this.#kept.length > keptMax || this.#keptBytes > keptBytesMax))
      this.#forget(1)
    this.#tell()
  }

  #ended(how: { readonly error?: unknown }): void {
    this.#end ??= how
    if ('error' in this.#end) this.#first.reject(this.#end.error)
    else this.#first.resolve(null)
    this.#tell()
    // Nobody who comes now is served by this one.
    this.#emptied()
  }

  /** Wakes the readers in the next turn of the loop, once for all events of this turn. */
  #tell(): void {
    if (this.#isNews) return
    this.#isNews = true
    setImmediate(() => {
      this.#isNews = false
      this.#news.resolve()
      this.#news = Promise.withResolvers()
    })
  }
}

/** What one reader takes: pieces of a stream of server-sent events. */
export class TaskReader implements AsyncIterator<Uint8Array, undefined> {
  readonly #feed: TaskFeed
  #place: number
  #left = false
  /** What it reads itself, to catch up. */
  #own: { readonly events: AsyncGenerator<RecordedEvent>; readonly over: AbortController } | null = null

  constructor(feed: TaskFeed, after: number) {
    this.#feed = feed
    this.#place = after
    feed.join(this, after)
  }

  /**
   * The first event of the task, also for a reader that has it. `null`: there is none. Rejects if the journal
   * cannot be read.
   */
  get first(): Promise<RecordedEvent | null> {
    return this.#feed.first
  }

  /** Rejects with what keeps the journal from being read. */
  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    while (!this.#left) {
      const piece = this.#feed.after(this.#place)
      if (piece === 'ended') break
      if (piece === 'behind') {
        const caughtUp = await this.#nextOwn()
        if (caughtUp === null) break
        return caughtUp
      }
      this.#stopOwn()
      if (piece !== null) {
        this.#place = piece.to
        return { done: false, value: piece.bytes }
      }
      await this.#feed.news()
    }
    this.close()
    return { done: true, value: undefined }
  }

  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.close()
    return Promise.resolve({ done: true, value: undefined })
  }

  /** Ends the reading. */
  close(): void {
    if (this.#left) return
    this.#left = true
    this.#stopOwn()
    this.#feed.leave(this)
  }

  async #nextOwn(): Promise<IteratorResult<Uint8Array, undefined> | null> {
    if (this.#own === null) {
      const over = new AbortController()
      this.#own = { events: this.#feed.watch(over.signal), over }
    }
    for (;;) {
      const next = await this.#own.events.next()
      if (next.done === true) return null
      if (next.value.taskseq <= this.#place) continue
      const piece = pieceOf(next.value)
      this.#place = piece.to
      return { done: false, value: piece.bytes }
    }
  }

  #stopOwn(): void {
    const own = this.#own
    this.#own = null
    own?.over.abort()
    own?.events.return(undefined).catch(() => {}) // What fails now concerns no reader.
  }
}
