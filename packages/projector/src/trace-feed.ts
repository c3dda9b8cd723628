// Sends the spans of all tasks to a collector. It reads the events that the read model has stored, in the
// order of the journal, so it costs the daemons nothing and holds nothing back. What was sent is a number in a
// file of the home: the last message of the journal whose spans the collector has. If the collector does not
// answer, the feed waits and goes on there, so no span is lost; after a crash it may send the newest ones
// again, with the same ids. A read model that is built again has the same numbers, so nothing is sent again.
import { setImmediate } from 'node:timers/promises'
import { type Clock, eventData, type Logger, messageOf, pause, systemClock, systemFacts } from '@beaver/core'
import { type Backoff, pauseBefore } from '@beaver/core/supervision'
import { sampledTrace, type TaskTrace, taskTrace } from '@beaver/core/trace'
import {
  eventsAfter,
  eventsOfTask,
  keyOfRetried,
  lastPlace,
  logOfTask,
  placeInFeed,
  type ReadModel,
  type StoredEvent,
} from '@beaver/projection'
import {
  isTraced,
  type SpansSent,
  type SpanSink,
  TaskSpans,
  type TracedEvent,
  type TraceSpan,
} from '@beaver/telemetry/traces'

/** How many events are read at a time. */
const eventsMax = 500
/** How many spans one request has. */
const spansMax = 512
/** How many characters the texts of one request have. */
const charsMax = 1_000_000
/** Of how many open tasks the spans that have begun are in memory. Those of others are read again. */
const tasksMax = 10_000
/** The shortest time between two requests: spans that end meanwhile go together. */
const everyMs = 500
/** How long a feed that stops tries to send the rest. The next one sends what is left then. */
const lastMs = 2_000
/** The log says this often that spans are refused. */
const tellRefusedMs = 600_000
/** A request with one bad span is refused about ten times until the span is found. After more, all are bad. */
const refusedInRowMax = 20
const backoff: Backoff = { pauseMsMin: 1_000, pauseMsMax: 60_000, jitter: false }

export interface TraceFeedParts {
  readonly model: Pick<ReadModel, 'sql' | 'bound' | 'emptied'>
  /** The name of the journal, of which the ids are made. */
  readonly namespace: string
  readonly sink: SpanSink
  /** The share of the tasks that have spans, if their submitter leaves it to Beaver: 0 to 1. */
  readonly ratio: number
  readonly content: boolean
  /** The last message of the journal when the process began. */
  readonly end: number
  /** Where the feed keeps how far it is. */
  readonly kept: { read(): string | null; write(text: string): Promise<void> }
}

interface Told {
  readonly message: string
  /** RFC 3339, UTC. */
  readonly at: string
}

/** How it goes with the collector. */
export interface TracingState {
  /** How many spans the collector took and refused since the process started. */
  readonly sent: number
  readonly refused: number
  /** Of how many events of the read model it does not have the spans yet. */
  readonly waiting: number
  /** Why it takes none now, and since when. `null`: it takes them. */
  readonly problem: Told | null
  /** Why it did not take some, and when it said so last. `null`: it took all. */
  readonly refusal: Told | null
}

/** How far the feed is. */
interface Position {
  /** The identity of the journal's stream. */
  readonly stream: string
  readonly sequence: number
}

interface Followed {
  readonly spans: TaskSpans
  readonly isSampled: boolean
  taskseq: number
}

export class TraceFeed {
  readonly #parts: TraceFeedParts
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #stopping = new AbortController()
  /** The open tasks, the one that was used last at the end. */
  readonly #tasks = new Map<number, Followed>()
  #wake = Promise.withResolvers<void>()
  #position: Position | null = null
  #written = ''
  #place = 0
  /** The spans of events up to here were sent before the feed began to read here. */
  #sentTo = 0
  /** When a feed that stops gives up. */
  #lateMs = Infinity
  #emptied = -1
  #pending: TraceSpan[] = []
  /** Why the collector takes nothing now. `null`: it takes spans. */
  #problem: Told | null = null
  /** Why it did not take some spans. */
  #refusal: Told | null = null
  #sent = 0
  #refused = 0
  /** How many of these the log does not say yet, and when it may say it. */
  #untold = 0
  #tellAtMs = -Infinity
  /** How many requests in a row were refused. */
  #refusedInRow = 0

  constructor(
    parts: TraceFeedParts,
    { logger, clock = systemClock }: { readonly logger: Logger; readonly clock?: Clock },
  ) {
    this.#parts = parts
    this.#logger = logger
    this.#clock = clock
  }

  /** How it goes with the collector since the process started. */
  get state(): TracingState {
    const { model } = this.#parts
    return {
      ...{ sent: this.#sent, refused: this.#refused, problem: this.#problem, refusal: this.#refusal },
      waiting: this.#emptied === model.emptied ? Math.max(0, lastPlace(model.sql) - this.#place) : 0,
    }
  }

  /** Call it after the model has applied a batch. */
  applied(): void {
    this.#wake.resolve()
  }

  stop(): void {
    this.#lateMs = this.#clock.now() + lastMs
    this.#stopping.abort()
    this.#wake.resolve()
  }

  /** Sends spans until `stop`, and then what is left, for a short time. */
  async run(): Promise<void> {
    const { signal } = this.#stopping
    try {
      // What comes from now on has spans, also if this process is killed before it has sent one.
      this.#isPlaced()
      await this.#write()
    } catch (error) {
      this.#fails(messageOf(error))
    }
    // The process before this one may have left something, and a quiet journal wakes nobody.
    this.#wake.resolve()
    while (!signal.aborted) {
      await this.#wake.promise
      await pause(this.#clock, everyMs, signal)
      this.#wake = Promise.withResolvers()
      try {
        for (let more = true; more;) {
          more = (await this.#sendSome()) && !this.#isLate()
          await this.#write()
          await setImmediate()
        }
      } catch (error) {
        // The file of the rows or that of the position cannot be used now. The rest of the projector goes on.
        this.#fails(messageOf(error))
        await pause(this.#clock, backoff.pauseMsMax, signal)
        this.#wake.resolve()
      }
    }
    this.#tellRefused()
  }

  /** @returns whether there may be more */
  async #sendSome(): Promise<boolean> {
    const { model } = this.#parts
    if (!this.#isPlaced()) return false
    const rows = eventsAfter(model.sql, this.#place, eventsMax)
    const last = rows.at(-1)
    if (last === undefined) return false
    for (const row of rows) this.#take(row)
    while (this.#pending.length > 0) {
      const some = this.#pending.slice(0, fitting(this.#pending))
      if (!(await this.#send(some))) return false
      this.#pending = this.#pending.slice(some.length)
    }
    if (this.#emptied !== model.emptied) return true // The rows are other ones now.
    this.#place = last.place
    const more = rows.length === eventsMax
    // An entry of the journal has several events, and more of the last one may follow.
    const sequence = more ? last.sequence - 1 : last.sequence
    if (this.#position !== null && sequence > this.#position.sequence)
      this.#position = { ...this.#position, sequence }
    return more
  }

  /** Finds the place in the rows, at first and after the read model was emptied. `false`: it has no rows yet. */
  #isPlaced(): boolean {
    const { model } = this.#parts
    const bound = model.bound()
    if (bound === null) return false
    const position = this.#positionIn(bound)
    if (this.#emptied !== model.emptied) {
      this.#emptied = model.emptied
      this.#tasks.clear()
      this.#pending = []
      this.#place = placeInFeed(model.sql, position.sequence)
      this.#sentTo = position.sequence
    }
    return true
  }

  /** A feed that begins, or that meets another journal, does not send what was there before. */
  #positionIn(bound: Position): Position {
    this.#position ??= positionIn(this.#parts.kept.read())
    if (this.#position?.stream !== bound.stream) {
      this.#position = { ...bound, sequence: Math.max(bound.sequence, this.#parts.end) }
      this.#emptied = -1
    }
    return this.#position
  }

  async #write(): Promise<void> {
    const text = `${JSON.stringify(this.#position)}\n`
    if (this.#position !== null && text !== this.#written) await this.#parts.kept.write(text)
    this.#written = text
  }

  #take(row: StoredEvent): void {
    const followed = this.#followed(row)
    if (followed === null || !followed.isSampled || row.taskseq <= followed.taskseq) return
    const event = tracedEvent(row)
    followed.taskseq = row.taskseq
    const ended = event === null ? [] : followed.spans.take(event)
    if (row.sequence > this.#sentTo) this.#pending.push(...ended)
    if (terminal.test(row.type)) this.#tasks.delete(row.taskKey)
  }

  /** `null`: the beginning of the task is not here, so its spans would be wrong. */
  #followed(row: StoredEvent): Followed | null {
    const { sql } = this.#parts.model
    const known = this.#tasks.get(row.taskKey)
    this.#tasks.delete(row.taskKey)
    const followed = known ?? this.#begun(row)
    if (followed === null) return null
    this.#tasks.set(row.taskKey, followed)
    if (this.#tasks.size > tasksMax) this.#tasks.delete(this.#tasks.keys().next().value as number)
    if (known !== undefined || row.taskseq === 1 || !followed.isSampled) return followed
    for (const earlier of eventsOfTask(sql, row.taskKey, row.taskseq - 1)) {
      const event = tracedEvent(earlier)
      if (event !== null) followed.spans.take(event)
      followed.taskseq = earlier.taskseq
    }
    return followed
  }

  #begun({ taskKey }: StoredEvent): Followed | null {
    const { sql } = this.#parts.model
    const log = logOfTask(sql, taskKey)
    const submitted = this.#submitted(taskKey)
    if (log === null || submitted === null) return null
    const { retry_of: retryOf } = submitted.request
    const retriedKey = retryOf === undefined ? null : keyOfRetried(sql, log.tenant, retryOf)
    const retried = retriedKey === null ? null : this.#traceOf(retriedKey)
    const { content, namespace, ratio } = this.#parts
    const trace = sampledTrace(taskTrace(namespace, log, submitted.trace ?? null), ratio)
    const spans = new TaskSpans({ log, trace, retried, content })
    return { spans, isSampled: trace.sampled, taskseq: 0 }
  }

  #traceOf(taskKey: number): TaskTrace | null {
    const log = logOfTask(this.#parts.model.sql, taskKey)
    const submitted = this.#submitted(taskKey)
    return log === null || submitted === null
      ? null
      : taskTrace(this.#parts.namespace, log, submitted.trace ?? null)
  }

  #submitted(taskKey: number) {
    const [first] = eventsOfTask(this.#parts.model.sql, taskKey, 1)
    const event = first === undefined ? null : tracedEvent(first)
    return event?.type === 'task_submitted' ? event.data : null
  }

  /** @returns whether the spans are done with; `false`: the feed stops */
  async #send(spans: readonly TraceSpan[]): Promise<boolean> {
    const { signal } = this.#stopping
    for (let tries = 1; ; tries++) {
      const sent = await this.#sendOnce(spans)
      if (sent.kind === 'taken') {
        const { left = { spans: 0, reason: '' } } = sent
        this.#sent += Math.max(0, spans.length - left.spans)
        this.#refusedInRow = 0
        if (left.spans > 0) this.#refuse(Math.min(left.spans, spans.length), left.reason)
        if (this.#problem !== null) systemFacts.tracesSentAgain(this.#logger)
        this.#problem = null
        return true
      }
      if (sent.kind === 'refused' && spans.length > 1 && ++this.#refusedInRow < refusedInRowMax) {
        // One span may be too large, or not to be read. The others are sent without it.
        const half = spans.length >> 1
        return (await this.#send(spans.slice(0, half))) && (await this.#send(spans.slice(half)))
      }
      if (sent.kind === 'refused') {
        this.#refuse(spans.length, sent.reason)
        return true
      }
      if (signal.aborted) return false
      this.#fails(sent.reason)
      await pause(this.#clock, pauseBefore(tries, backoff), signal)
    }
  }

  #isLate(): boolean {
    return this.#clock.now() >= this.#lateMs
  }

  #fails(reason: string): void {
    if (this.#problem === null) systemFacts.tracesUnsent(this.#logger, { reason })
    this.#problem = { message: reason, at: this.#problem?.at ?? this.#now() }
  }

  /** Spans that the collector does not want are counted, and told now and then. */
  #refuse(spans: number, reason: string): void {
    this.#refused += spans
    this.#untold += spans
    this.#refusal = { message: reason, at: this.#now() }
    if (this.#clock.now() >= this.#tellAtMs) this.#tellRefused()
  }

  #tellRefused(): void {
    if (this.#untold === 0 || this.#refusal === null) return
    systemFacts.spansRefused(this.#logger, { spans: this.#untold, reason: this.#refusal.message })
    this.#untold = 0
    this.#tellAtMs = this.#clock.now() + tellRefusedMs
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString()
  }

  /** A feed that stops does not wait for a collector that is silent. */
  async #sendOnce(spans: readonly TraceSpan[]): Promise<SpansSent> {
    const { signal } = this.#stopping
    const late = Promise.withResolvers<SpansSent>()
    const onStop = (): void => {
      const leftMs = Math.max(0, this.#lateMs - this.#clock.now())
      const timer = this.#clock.after(leftMs, () =>
        late.resolve({ kind: 'failed', reason: 'it was too late' }),
      )
      void late.promise.then(() => timer.cancel())
    }
    if (signal.aborted) onStop()
    else signal.addEventListener('abort', onStop, { once: true })
    const sent = await Promise.race([this.#parts.sink.send(spans), late.promise])
    late.resolve(sent)
    signal.removeEventListener('abort', onStop)
    return sent
  }
}

/** How many of the first spans fit one request; at least one. */
function fitting(spans: readonly TraceSpan[]): number {
  let chars = 0
  const over = spans.findIndex(({ attributes }) => {
    for (const value of Object.values(attributes)) if (typeof value === 'string') chars += value.length
    return chars > charsMax
  })
  return Math.min(spansMax, Math.max(1, over === -1 ? spans.length : over))
}

const terminal = /^task_(?:completed|incomplete|failed|cancelled)$/

/** `null`: no span needs the event, this version does not know it, or its data is not here. */
function tracedEvent({ type, data, runId, taskseq, time }: StoredEvent): TracedEvent | null {
  if (data === null || !isTraced(type) || !Object.hasOwn(eventData, type)) return null
  const read = eventData[type as keyof typeof eventData].safeParse(JSON.parse(data))
  if (!read.success) return null
  return { type, data: read.data, runId: runId ?? '', taskseq, time } as TracedEvent
}

function positionIn(text: string | null): Position | null {
  try {
    const { stream, sequence } = JSON.parse(text ?? 'null') as Partial<Position>
    return typeof stream === 'string' && typeof sequence === 'number' ? { stream, sequence } : null
  } catch {
    return null
  }
}
