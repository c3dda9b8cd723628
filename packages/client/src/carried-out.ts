// Says whether a command is in the journal. A client asks this if it repeated a command that had no answer, and the repeated one is refused.
// R1. Only what the journal has counts. A command that was lost is not taken for one that was carried out.
import type { BlobStore, RecordedEvent, SignatureJudge } from '@beaver/core'
import { LogReader } from '@beaver/core'
import { journalReader, type Subjects } from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'
import { whilePresent } from './present-nats.ts'

/** How a client reads logs: where large texts are, who judges the signatures, and how long NATS may be away, in milliseconds. */
export interface JudgedReading {
  readonly blobs: Pick<BlobStore, 'get'>
  readonly judge: SignatureJudge
  readonly watchMs: number
}

export interface CarriedOut {
  /** Whether the log of a task has such an event. */
  has(taskId: string, wanted: (event: RecordedEvent) => boolean): Promise<boolean>
}

export function carriedOutIn(nc: NatsConnection, subjects: Subjects, { blobs, judge, watchMs }: JudgedReading): CarriedOut {
  async function* events(taskId: string): AsyncGenerator<RecordedEvent> {
    const reader = await journalReader(nc, subjects)
    const log = await reader.find(subjects.tenant, taskId)
    if (log === null) return
    const records = new LogReader(log, blobs, { judge })
    for await (const entry of reader.entries(log)) yield* records.events(entry)
  }
  return {
    async has(taskId, wanted) {
      for await (const event of whilePresent(nc, watchMs, new AbortController().signal, () => events(taskId))) if (wanted(event)) return true
      return false
    },
  }
}

/** The event of a cancel request. */
export const cancelled =
  ({ reason, nodeId }: { reason: string; nodeId: string | undefined }) =>
  (event: RecordedEvent): boolean =>
    nodeId === undefined
      ? event.type === 'task_cancel_requested' && event.data.reason === reason
      : event.type === 'node_cancel_requested' && event.data.reason === reason && event.data.node_id === nodeId

/** The event of a decision. `callId` may begin with the run of the call. */
export const decided =
  ({ callId, approved }: { callId: string; approved: boolean }) =>
  (event: RecordedEvent): boolean =>
    event.type === (approved ? 'approval_granted' : 'approval_denied') && (callId === event.data.call_id || callId === `${event.runId}/${event.data.call_id}`)
