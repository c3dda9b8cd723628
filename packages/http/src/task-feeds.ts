// The events of tasks for many readers, as server-sent events.
// - A task that has readers is read from the journal once, and each event is encoded once, however many
//   readers there are.
// - The fastest reader controls the reading: at most `aheadMax` events or `aheadBytesMax` bytes ahead of it.
// - The newest events, up to `keptMax` events and `keptBytesMax` bytes, are kept for slower readers. A reader
//   that needs older events reads the journal itself until it has caught up, so a slow reader costs no
//   memory.
// - A reader takes all available events as one piece of up to `pieceBytesMax`, so a reader that is behind
//   does not wake for each event.
// - The reading begins where the first reader is, so a reader of the end of a long task costs no reading of its
//   beginning. A reader that comes later and needs older events is a slow reader.
// - When the last reader leaves, the reading stops.
import type { BeaverClient } from '@beaver/client'
import type { RecordedEvent } from '@beaver/core/journal'
import { sseText } from './sse.ts'

/** How the feeds read the journal. */
export type TaskSource = () => Pick<BeaverClient, 'watch' | 'event'>

const keptMax = 512
const keptBytesMax = 2_000_000
const pieceBytesMax = 64 * 1024
/** How far the journal is read ahead of the fastest reader. */
const aheadMax = 64
const aheadBytesMax = 256 * 1024

interface Piece {
  readonly bytes: Uint8Array
  /** The place in the log of the last event in `bytes`. */
  readonly to: number
}

/** The feeds of an app: one for each task that has readers. */
export class TaskFeeds {
  readonly #source: TaskSource
  readonly #feeds = new Map<string, TaskFeed>()

  constructor(source: TaskSource) {
    this.#source = source
  }

  /**
   * Follows a task. The caller must close the reader, or read it to its end.
   *
   * @param after the place in the log of the last event that the reader has. 0: none
   */
  follow(taskId: string, after: number): TaskReader {
    let feed = this.#feeds.get(taskId)
    if (feed === undefined) {
      const made = new TaskFeed(this.#source, {
        taskId,
        after,
        emptied: () => void (this.#feeds.get(taskId) === made && this.#feeds.delete(taskId)),
      })
      this.#feeds.set(taskId, (feed = made))
      made.begin()
    }
    return new TaskReader(feed, after)
  }

  /** Ends the streams of all readers. */
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

/** The feed of one task: it reads the journal for all readers of the task. */
class TaskFeed {
  readonly #source: TaskSource
  readonly #taskId: string
  /** The place in the log behind which the reading begins. */
  readonly #from: number
  readonly #over = new AbortController()
  readonly #emptied: () => void
  readonly #readers = new Set<TaskReader>()
  #kept: Piece[] = []
  #keptBytes = 0
  /**
   * Places in the log: of the newest event that was read, of the newest event that any reader has, and of the
   * newest event that was dropped from `#kept`.
   */
  #tail: number
  #taken: number
  #forgotten: number
  #end: { readonly error?: unknown } | null = null
  #news = Promise.withResolvers<void>()
  #isNews = false
  #hungry = Promise.withResolvers<void>()
  #first = Promise.withResolvers<RecordedEvent | null>()
  /** The latest piece that was made, for other readers at the same place. */
  #last: (Piece & { readonly from: number }) | null = null

  constructor(
    source: TaskSource,
    {
      taskId,
      after,
      emptied,
    }: { readonly taskId: string; readonly after: number; readonly emptied: () => void },
  ) {
    this.#source = source
    this.#taskId = taskId
    this.#from = this.#tail = this.#taken = this.#forgotten = after
    this.#emptied = emptied
    this.#first.promise.catch(() => {})
  }

  /**
   * Starts the reading. It may fail synchronously, and then `emptied` is called before this method returns.
   */
  begin(): void {
    if (this.#from > 0) void this.#readFirst()
    void this.#read()
  }

  /** Reads the events after a place. */
  watch(after: number, signal: AbortSignal): AsyncGenerator<RecordedEvent> {
    return this.#source().watch(this.#taskId, { after, signal })
  }

  /**
   * The first event of the task. `null`: there is no task, or the feed ended before it read one. Rejects if
   * the journal cannot be read.
   */
  get first(): Promise<RecordedEvent | null> {
    return this.#first.promise
  }

  /**
   * The piece after a place in the log. `behind`: it is no longer kept. `null`: nothing new is there yet.
   * Throws if the reading has failed.
   */
  after(place: number): Piece | 'behind' | 'ended' | null {
    if (place >= this.#tail) {
      if (this.#end === null) {
        // The reader may be ahead of this feed if the log was archived while it read the journal itself.
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

  /** Resolves when there are more events, or when the reading has ended. */
  async news(): Promise<void> {
    await this.#news.promise
  }

  join(reader: TaskReader, place: number): void {
    this.#readers.add(reader)
    this.#wanted(place)
  }

  /** Records that a reader has everything up to this place and wants more. */
  #wanted(place: number): void {
    this.#taken = Math.max(this.#taken, place)
    this.#hungry.resolve()
  }

  leave(reader: TaskReader): void {
    if (!this.#readers.delete(reader)) return
    if (this.#readers.size > 0) return this.#tell() // Its `next` may wait for news.
    this.#emptied()
    this.close()
  }

  close(): void {
    this.#over.abort()
    this.#hungry.resolve()
    this.#ended({})
  }

  async #readFirst(): Promise<void> {
    try {
      this.#first.resolve(await this.#source().event(this.#taskId, 1))
    } catch (error) {
      this.#first.reject(error)
    }
  }

  async #read(): Promise<void> {
    try {
      for await (const event of this.watch(this.#from, this.#over.signal)) {
        if (this.#from === 0) this.#first.resolve(event)
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
    else if (this.#from === 0) this.#first.resolve(null)
    this.#tell()
    // New readers need a new feed.
    this.#emptied()
  }

  /** Wakes the readers in the next turn of the event loop, once for all events of this turn. */
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

/** One reader of a task: an iterator over pieces of a stream of server-sent events. */
export class TaskReader implements AsyncIterator<Uint8Array, undefined> {
  readonly #feed: TaskFeed
  #place: number
  #left = false
  /** The reader's own reading of the journal, while it catches up. */
  #own: { readonly events: AsyncGenerator<RecordedEvent>; readonly over: AbortController } | null = null

  constructor(feed: TaskFeed, after: number) {
    this.#feed = feed
    this.#place = after
    feed.join(this, after)
  }

  /**
   * The first event of the task, even if the reader already has it. `null`: there is none. Rejects if the
   * journal cannot be read.
   */
  get first(): Promise<RecordedEvent | null> {
    return this.#feed.first
  }

  /** Rejects if the journal cannot be read. */
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

  /** Stops the reader. Safe to call twice. */
  close(): void {
    if (this.#left) return
    this.#left = true
    this.#stopOwn()
    this.#feed.leave(this)
  }

  async #nextOwn(): Promise<IteratorResult<Uint8Array, undefined> | null> {
    if (this.#own === null) {
      const over = new AbortController()
      this.#own = { events: this.#feed.watch(this.#place, over.signal), over }
    }
    const next = await this.#own.events.next()
    if (next.done === true) return null
    const piece = pieceOf(next.value)
    this.#place = piece.to
    return { done: false, value: piece.bytes }
  }

  #stopOwn(): void {
    const own = this.#own
    this.#own = null
    own?.over.abort()
    own?.events.return(undefined).catch(() => {}) // The reader no longer needs these events.
  }
}
