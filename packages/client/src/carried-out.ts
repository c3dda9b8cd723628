// Whether a command is in the journal. A client asks this if it repeated a command without an answer and was
// refused. The newest event about the command decides: calls of several runs may have the same id.
import type { RecordedEvent } from '@beaver/core/journal'
import type { QuestionAnswer } from '@beaver/core/question'
import { LogReader } from '@beaver/core/journal'
import { isAnswer, isDecision, saysTheSame } from '@beaver/core/question'
import { journalReader, type RecordReading, type Subjects } from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'
import { whilePresent } from './present-nats.ts'

/** How a client reads logs, and how long NATS may be away, in milliseconds. */
export interface JudgedReading extends RecordReading {
  readonly watchMs: number
}

/** Whether an event carries the command out; `null` if it is about something else. */
export type SaidBy = (event: RecordedEvent) => boolean | null

export interface CarriedOut {
  /** The events of a task so far; none if there is no such task. */
  events(taskId: string): AsyncGenerator<RecordedEvent>
  has(taskId: string, saidBy: SaidBy): Promise<boolean>
}

export function carriedOutIn(
  nc: NatsConnection,
  subjects: Subjects,
  { blobs, judge, watchMs }: JudgedReading,
): CarriedOut {
  async function* read(taskId: string): AsyncGenerator<RecordedEvent> {
    const reader = await journalReader(nc, subjects)
    const log = await reader.find(subjects.tenant, taskId)
    if (log === null) return
    const records = new LogReader(log, blobs, { judge })
    for await (const entry of reader.entries(log)) yield* records.events(entry)
  }
  const events = (taskId: string): AsyncGenerator<RecordedEvent> =>
    whilePresent(nc, watchMs, new AbortController().signal, () => read(taskId))
  return {
    events,
    async has(taskId, saidBy) {
      let carriedOut = false
      for await (const event of events(taskId)) carriedOut = saidBy(event) ?? carriedOut
      return carriedOut
    },
  }
}

export const cancelled =
  ({ reason, nodeId }: { reason: string; nodeId: string | undefined }): SaidBy =>
  (event) => {
    const isIt =
      nodeId === undefined
        ? event.type === 'task_cancel_requested' && event.data.reason === reason
        : event.type === 'node_cancel_requested' &&
          event.data.reason === reason &&
          event.data.node_id === nodeId
    return isIt ? true : null
  }

/** Matches an answer. `callId` may begin with the run of the call. */
export const answered =
  ({
    callId,
    questionIndex: index,
    answer,
  }: {
    callId: string
    questionIndex: number | undefined
    answer: QuestionAnswer
  }): SaidBy =>
  (event) =>
    isAnswer(event, { callId, index }) ? saysTheSame(event, { answer }) : null

/** Matches a decision. `callId` may begin with the run of the call. */
export const decided =
  ({
    callId,
    approved,
    arguments: args,
  }: {
    callId: string
    approved: boolean
    arguments?: string | undefined
  }): SaidBy =>
  (event) =>
    isDecision(event, callId) ? saysTheSame(event, { approved, arguments: args }) : null
