// The events of a task that a list shows: a part of the log without gaps, in the order of the log. It begins at
// the place that somebody wants to see, grows at both ends, and takes new events by their place. What it has is
// never read again.
import type { QueryInput, QueryOutput } from '@beaver/contracts'

type Answer = Pick<QueryOutput<'timeline'>, 'events' | 'more'>
/** What a row shows. The rest of an event would fill the memory of the page. */
export type ToldEvent = Pick<Answer['events'][number], 'taskseq' | 'text' | 'offset_ms' | 'status'>

/** Reads a page of the log. */
export type ReadLog = (
  part: Required<Pick<QueryInput<'timeline'>, 'order' | 'limit'>> &
    Pick<QueryInput<'timeline'>, 'after' | 'before'>,
) => Promise<Answer>

/** Where a list begins: at the first event, at the newest one, or around a place. */
export type LogPlace = 'first' | 'newest' | number

export interface LogPart {
  /** `null`: nothing has been read yet. */
  readonly events: readonly ToldEvent[] | null
  /** Whether events come before the first one of the part. */
  readonly hasBefore: boolean
  /** Whether events follow that somebody must ask for. */
  readonly hasAfter: boolean
  /** Why the last reading failed. */
  readonly error: unknown
}

const limit = 500
/** So many places before the one that is wanted are read with it. */
const contextPlaces = 250

const nothing: LogPart = { events: null, hasBefore: false, hasAfter: false, error: null }

export class EventLog {
  readonly #read: ReadLog
  readonly #watchers = new Set<() => void>()
  #part = nothing
  /** `null`: nobody has opened it yet. */
  #place: LogPlace | null = null
  /** What is to be read next. One reading follows the other, so that the part has no gaps. */
  readonly #wanted = new Set<'before' | 'after'>()
  #reading: 'first' | 'before' | 'after' | null = null
  /** Counts the places that were opened: an answer for an earlier one is dropped. */
  #opened = 0

  constructor(read: ReadLog) {
    this.#read = read
  }

  get part(): LogPart {
    return this.#part
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  has(taskseq: number): boolean {
    const { events } = this.#part
    const [first, last] = [events?.[0], events?.at(-1)]
    return first !== undefined && last !== undefined && first.taskseq <= taskseq && taskseq <= last.taskseq
  }

  /** Begins at another place. */
  open(place: LogPlace): Promise<void> {
    this.#opened++
    this.#place = place
    this.#wanted.clear()
    this.#part = nothing
    this.#tell()
    return this.#work()
  }

  /** Reads more at an end of the part, if there is more. */
  more(end: 'before' | 'after'): Promise<void> {
    const has = end === 'before' ? this.#part.hasBefore : this.#part.hasAfter
    if (!has || this.#reading === end) return Promise.resolve()
    this.#wanted.add(end)
    return this.#work()
  }

  /** The task has events up to this place. `null`: there may be new ones, such as after a lost connection. */
  heard(taskseq: number | null): Promise<void> {
    const last = this.#part.events?.at(-1)?.taskseq ?? 0
    if (this.#part.hasAfter || (taskseq !== null && taskseq <= last)) return Promise.resolve()
    if (this.#part.events !== null) this.#wanted.add('after')
    return this.#work()
  }

  /** Tries again what has failed. */
  again(): Promise<void> {
    return this.#work()
  }

  async #work(): Promise<void> {
    if (this.#reading !== null || this.#place === null) return
    for (let end = this.#next(); end !== undefined; end = this.#next()) {
      this.#reading = end
      const opened = this.#opened
      if (end !== 'first') this.#wanted.delete(end)
      try {
        const read = await this.#step(end)
        if (opened === this.#opened) this.#part = { ...read, error: null }
      } catch (error) {
        if (opened === this.#opened) {
          if (end !== 'first') this.#wanted.add(end)
          this.#part = { ...this.#part, error }
          this.#tell()
          break
        }
      }
      this.#tell()
    }
    this.#reading = null
  }

  #next(): 'first' | 'before' | 'after' | undefined {
    return this.#part.events === null ? 'first' : this.#wanted.has('after') ? 'after' : [...this.#wanted][0]
  }

  async #step(end: 'first' | 'before' | 'after'): Promise<Omit<LogPart, 'error'>> {
    const { events, hasBefore } = this.#part
    if (events === null || end === 'first') return this.#begin()
    if (end === 'before') {
      const read = await this.#read({ order: 'desc', before: events[0]?.taskseq ?? 1, limit })
      return {
        ...this.#part,
        events: [...read.events.map(slim).toReversed(), ...events],
        hasBefore: read.more,
      }
    }
    const read = await this.#read({ order: 'asc', after: events.at(-1)?.taskseq ?? 0, limit })
    return {
      hasBefore,
      hasAfter: read.more,
      events: read.events.length === 0 ? events : [...events, ...read.events.map(slim)],
    }
  }

  async #begin(): Promise<Omit<LogPart, 'error'>> {
    if (this.#place === 'newest') {
      const read = await this.#read({ order: 'desc', limit })
      return { events: read.events.map(slim).toReversed(), hasBefore: read.more, hasAfter: false }
    }
    const after = typeof this.#place === 'number' ? Math.max(0, this.#place - contextPlaces) : 0
    const read = await this.#read({ order: 'asc', after, limit })
    // Nothing of a node may come behind the place.
    if (read.events.length === 0 && after > 0) {
      this.#place = 'newest'
      return this.#begin()
    }
    return { events: read.events.map(slim), hasBefore: after > 0, hasAfter: read.more }
  }

  #tell(): void {
    for (const each of this.#watchers) each()
  }
}

const slim = ({ taskseq, text, offset_ms, status }: ToldEvent): ToldEvent => ({
  taskseq,
  text,
  offset_ms,
  status,
})
