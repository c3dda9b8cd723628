// Reads an earlier task of a session, and builds the session's visible history from such tasks. A task costs
// two reads, however long its log is: only its first and last entries are read and verified. The history is
// what was said (AL-12): the given conversation, the request, and the final answer or the reason why there is
// none. It has the newest tasks that fit the bound, oldest first; of a retried task only the retry; an
// exchange longer than the bound is shortened. It begins after the newest task of another user, because one
// user's exchange is never told to another (D-67).
import type { ChatMessage } from '../chat.ts'
import { BeaverError } from '../errors.ts'
import type { DataOf } from '../events/catalog.ts'
import { isTerminalTaskEvent } from '../events/event-kinds.ts'
import type { TaskResult } from '../events/task-events.ts'
import type { LogId, TaskId } from '../ids.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { Taint } from '../taint/taint.ts'
import type { Entry } from './journal.ts'
import { headBefore, LogReader, newestRecord, type SignatureJudge } from './read-log.ts'
import type { RecordedEvent } from './record.ts'

/** The source of the entries of logs. If it judges signatures, an entry that is not trusted is an error. */
export interface LogSource extends Partial<SignatureJudge> {
  first(log: LogId): Promise<Entry | null>
  last(log: LogId): Promise<Entry | null>
  /** All entries of the log, in order. */
  read(log: LogId): Promise<Iterable<Entry>> | AsyncIterable<Entry>
}

/** A task of a session, as its log shows it. */
export interface PastTask {
  readonly submitted: DataOf<'task_submitted'>
  /** RFC 3339. */
  readonly submittedAt: string
  /** `null` if the task has not ended. `at` is in RFC 3339. */
  readonly end: { readonly result: TaskResult; readonly at: string } | null
}

/**
 * Reads a task; `null` if there is no such log.
 *
 * @throws {BeaverError} `corrupt_journal`, `untrusted_record`, `blob_missing`, `blob_corrupt`
 * @example
 * const past = await readPastTask(log, journal, blobs)
 * past?.submitted.task_id // => task_id
 * await readPastTask({ ...log, task: taskId.parse('another') }, journal, blobs) // => null
 */
export async function readPastTask(
  log: LogId,
  source: LogSource,
  blobs: Pick<BlobStore, 'get'>,
): Promise<PastTask | null> {
  const [first, last] = await Promise.all([source.first(log), source.last(log)])
  if (first === null || last === null) return null
  for await (const event of new LogReader(log, blobs, { judge: judgeOf(source) }).events(first)) {
    if (event.type !== 'task_submitted')
      throw new BeaverError('corrupt_journal', `The log of task ${log.task} begins with ${event.type}.`)
    return { submitted: event.data, submittedAt: event.time, end: await endOf(log, last, source, blobs) }
  }
  return null // The first entry is a foreign message, so nobody submitted the task.
}

async function endOf(
  log: LogId,
  last: Entry,
  source: LogSource,
  blobs: Pick<BlobStore, 'get'>,
): Promise<PastTask['end']> {
  const reading = (): LogReader =>
    new LogReader(log, blobs, { from: headBefore(last), judge: judgeOf(source) })
  const newest = newestRecord(last) === null ? undefined : (await reading().read(last)).at(-1)
  if (newest !== undefined && isTerminalTaskEvent(newest.type)) return ended(newest)
  // Either the task is open, or something was written after its terminal event. The first terminal event
  // counts.
  const reader = new LogReader(log, blobs, { judge: judgeOf(source) })
  for await (const entry of await source.read(log))
    for await (const event of reader.events(entry)) if (isTerminalTaskEvent(event.type)) return ended(event)
  return null
}

const judgeOf = (source: LogSource): SignatureJudge | null =>
  source.signatureFault === undefined ? null : (source as SignatureJudge)

const ended = (event: RecordedEvent): PastTask['end'] => ({
  result: event.data as TaskResult,
  at: event.time,
})

/** The question and the answer of one task. */
export interface Exchange {
  readonly task: TaskId
  readonly said: string
  /**
   * The final output, or one line that says why there is none. It is empty if the task has not ended, or
   * ended with nothing.
   */
  readonly answered: string
  /** RFC 3339. `answeredAt` is empty for a task that has not ended. */
  readonly saidAt: string
  readonly answeredAt: string
  /** The labels of the answer. Absent: it has none. */
  readonly taint?: Taint
  /**
   * The conversation that the client gave with the task, oldest first. It comes before the question. Absent:
   * none.
   */
  readonly given?: readonly GivenMessage[]
}

/** A message of a conversation that a client kept. */
export type GivenMessage = NonNullable<PastTask['submitted']['request']['history']>[number]

/** An exchange with what the history of a session needs besides. */
export interface PastExchange extends Exchange {
  /**
   * The task before this one in the conversation: the one that it names, or the one before it in the session.
   */
  readonly previous: TaskId | null
  readonly retryOf: TaskId | null
  /** For whom the task is; `null`: for no user in particular. */
  readonly user: string | null
  /**
   * The length of all texts. A cache may leave out texts that exceed every bound; `chars` stays the full
   * length.
   */
  readonly chars: number
}

/**
 * The exchange of a task.
 *
 * @example
 * const past = await readPastTask(log, journal, blobs)
 * if (past !== null) exchangeOf(past).task // => task_id
 */
export function exchangeOf({
  submitted,
  submittedAt,
  end,
}: Pick<PastTask, 'submitted' | 'submittedAt'> & {
  readonly end: {
    readonly result: Pick<TaskResult, 'final_output' | 'failure' | 'taint'>
    readonly at: string
  } | null
}): PastExchange {
  const { task_id: task, previous_task_id, request } = submitted
  const previous = request.history_until ?? previous_task_id
  const answered = end === null ? '' : visibleAnswer(end.result)
  const { history: given } = request
  const chars = charsOf(given) + request.text.length + answered.length
  const taint = end?.result.taint
  const place = {
    previous,
    retryOf: request.retry_of ?? null,
    user: request.user_id ?? null,
    chars,
    ...(taint === undefined ? {} : { taint }),
    ...(given === undefined ? {} : { given }),
  }
  return { task, said: request.text, answered, saidAt: submittedAt, answeredAt: end?.at ?? '', ...place }
}

/** The limits of a history. */
export interface HistoryBound {
  /** How many of the newest tasks are read. */
  readonly tasksMax: number
  /** The length of all questions and answers together, in UTF-16 units. */
  readonly charsMax: number
}

/** The limits of the history that a task gets. */
export const historyBound: HistoryBound = { tasksMax: 20, charsMax: 100_000 }

/**
 * The exchanges of a session, oldest first. A task without an answer is left out.
 *
 * @param newest the newest task of the session that belongs to the history
 * @param of the limits, by default `historyBound`; `user`: for whom the history is, by default the user of
 * the newest task
 * @param read resolves with `null` if there is no such task; then the history begins after it
 * @example
 * const told = await visibleHistory(log.task, async (task) => {
 *   const past = await readPastTask({ ...log, task }, journal, blobs)
 *   return past === null ? null : exchangeOf(past)
 * })
 * told.map(({ task }) => task) // => [log.task]
 */
export async function visibleHistory(
  newest: TaskId | null,
  read: (task: TaskId) => Promise<PastExchange | null>,
  of: HistoryOf = {},
): Promise<Exchange[]> {
  const reading = historyRead(newest, of)
  let step = reading.next()
  while (step.done !== true) step = reading.next(await read(step.value))
  return step.value
}

type HistoryOf = Partial<HistoryBound> & { readonly user?: string | null }

/**
 * As `visibleHistory`, of tasks that can be read at once.
 *
 * @example
 * visibleHistoryNow(log.task, () => null) // => []
 */
export function visibleHistoryNow(
  newest: TaskId | null,
  read: (task: TaskId) => PastExchange | null,
  of: HistoryOf = {},
): Exchange[] {
  const reading = historyRead(newest, of)
  let step = reading.next()
  while (step.done !== true) step = reading.next(read(step.value))
  return step.value
}

/** Gives each task that is to be read, and takes what was read of it. */
function* historyRead(
  newest: TaskId | null,
  { tasksMax = historyBound.tasksMax, charsMax = historyBound.charsMax, user }: HistoryOf,
): Generator<TaskId, Exchange[], PastExchange | null> {
  const exchanges: Exchange[] = []
  const retried = new Set<TaskId>()
  let chars = 0
  let whose = user === undefined ? null : { user }
  for (let task = newest, looked = 0; task !== null && looked < tasksMax; looked++) {
    const past: PastExchange | null = yield task
    if (past === null) break
    whose ??= { user: past.user }
    if (past.user !== whose.user) break
    if (past.retryOf !== null) retried.add(past.retryOf)
    const isRetried = retried.has(task)
    task = past.previous
    if (isRetried) continue
    const short = past.chars > charsMax ? withNewestMessages(past, charsMax) : past
    const fitting =
      short.chars > charsMax ? shortened(short, Math.min(Math.trunc(charsMax / 2), charsMax - chars)) : short
    chars += fitting.chars
    if (chars > charsMax) break
    if (fitting.answered !== '') exchanges.unshift(fitting)
  }
  return exchanges
}

/**
 * What an agent is given of an exchange.
 *
 * @example
 * const told = { task: log.task, said: 'Add 1 and 2.', answered: '3', saidAt: '', answeredAt: '' }
 * exchangeMessages(told).map(({ role }) => role) // => ['user', 'assistant']
 */
export const exchangeMessages = ({ given = [], said, answered }: Exchange): ChatMessage[] => [
  ...given,
  { role: 'user', content: said },
  { role: 'assistant', content: answered },
]

const charsOf = (messages: readonly GivenMessage[] = []): number =>
  messages.reduce((chars, { content }) => chars + content.length, 0)

/** The exchange with the newest of its given messages that fit. */
function withNewestMessages({ given: all = [], ...past }: PastExchange, charsMax: number): PastExchange {
  let chars = past.chars - charsOf(all)
  const given: GivenMessage[] = []
  for (const message of all.toReversed()) {
    if (chars + message.content.length > charsMax) break
    chars += message.content.length
    given.unshift(message)
  }
  return { ...past, chars, ...(given.length === 0 ? {} : { given }) }
}

const leftOut = ' […] [The rest is left out here, because it is too long.]'

/**
 * The exchange in `charsMax` characters, or in a few more if these are very few. The question may take half
 * of them.
 */
function shortened(past: PastExchange, charsMax: number): PastExchange {
  const question = beginning(past.said, Math.trunc(charsMax / 2))
  const answered = beginning(past.answered, charsMax - question.length)
  return { ...past, said: question, answered, chars: question.length + answered.length }
}

const beginning = (text: string, charsMax: number): string =>
  text.length <= charsMax
    ? text
    : `${text.slice(0, Math.max(0, charsMax - leftOut.length)).toWellFormed()}${leftOut}`

// What a session shows as the answer of an ended task (AL-12). The reason for a missing output is bounded,
// marked, and never beside an output, so that nobody takes it for one (D-34).

const reasonCharsMax = 1_000

/**
 * The answer of a task. It is empty if there is nothing to show.
 *
 * @example
 * visibleAnswer({ final_output: '42', failure: null }) // => '42'
 * const failure = { class: 'provider_refused', message: 'The key was refused.' } as const
 * visibleAnswer({ final_output: '', failure }) // => '[No answer: The key was refused.]'
 */
export function visibleAnswer({
  final_output,
  failure,
}: Pick<TaskResult, 'final_output' | 'failure'>): string {
  if (final_output !== '' || failure === null) return final_output
  const { message } = failure
  return `[No answer: ${message.length > reasonCharsMax ? `${message.slice(0, reasonCharsMax)}…` : message}]`.toWellFormed()
}
