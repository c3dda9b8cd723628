// Somebody with raw access to the journal: appends well-chained records to any log, unsigned or with a
// signature of its own choice.
import { type DomainEvent, event, type LogId } from '@beaver/core'
import {
  draft,
  emptyHead,
  headAfter,
  joinBatch,
  type LogHead,
  sealer,
  splitBatch,
  type WireRecord,
} from '@beaver/core/journal'
import { natsJournal, type Subjects } from '@beaver/nats'
import type { NatsConnection } from '@nats-io/nats-core'
import { headers } from '@nats-io/nats-core'

export interface Forged {
  readonly events: readonly DomainEvent[]
  /** Default: the epoch of the last record. */
  readonly epoch?: number
  /** The header of the message, from the hash of its last record. Default: none. */
  readonly sign?: (hash: string) => string | undefined
  /** Default: the source of the last record, so that nothing but the signature tells the forgery. */
  readonly source?: string
}

export async function forger(nc: NatsConnection, subjects: Subjects) {
  const journal = await natsJournal(nc, subjects)
  async function newest(log: LogId): Promise<{ record: WireRecord; revision: number; first: boolean }> {
    const last = await journal.last(log)
    if (last === null) throw new Error('The log is empty.')
    const record = splitBatch(last.payload).at(-1) as WireRecord
    return { record, revision: last.revision, first: splitBatch(last.payload)[0]?.taskseq === 1 }
  }
  const sealed = (
    head: LogHead,
    log: LogId,
    { events, epoch = head.epoch, source = '/beaver/daemons/forger' }: Forged,
  ) => {
    const seal = sealer({ epoch, source, subject: log.task, time: new Date().toISOString() })
    let at = head
    const records = events.map((each) => {
      const next = seal(at, draft(each))
      at = next.head
      return next.record
    })
    return { payload: joinBatch(records), hash: at.hash }
  }
  return {
    journal,
    /** Appends to a log that exists. */
    async append(log: LogId, forged: Forged): Promise<void> {
      const { record, revision, first } = await newest(log)
      const { payload, hash } = sealed(headAfter(record), log, { source: record.source, ...forged })
      const head = headers()
      head.set('Nats-Expected-Last-Subject-Sequence', String(first ? 0 : revision))
      const signature = forged.sign?.(hash)
      if (signature !== undefined) head.set('Beaver-Signature', signature)
      const answer = await nc.request(subjects.events(log), payload, { headers: head, timeout: 5_000 })
      if (answer.json<{ error?: unknown }>().error !== undefined) throw new Error(answer.string())
    },
    /** Accepts a task that nobody submitted. */
    async accept(log: LogId, text: string, workspace: string): Promise<void> {
      const request = { text, workspace, skill: null, source: 'nats' }
      const submitted = event('task_submitted', {
        task_id: log.task,
        session_id: log.session,
        tenant: log.tenant,
        previous_task_id: null,
        request,
      })
      const { payload } = sealed(emptyHead, log, { events: [submitted], epoch: 0 })
      const outcome = await journal.accept({ log, payloads: [payload], tail: { task: null, revision: 0 } })
      if (outcome.kind !== 'accepted') throw new Error(outcome.kind)
    },
    /** The signature of the last message of a log. */
    async signatureOf(log: LogId): Promise<string | undefined> {
      return (await journal.last(log))?.signature
    },
    /** The run that a log is about. */
    async rootRunOf(log: LogId): Promise<string> {
      for (const { payload } of await journal.read(log))
        for (const { type, runid } of splitBatch(payload))
          if (type.includes('run_started')) return runid as string
      throw new Error('No run has started.')
    },
    close: () => journal.close(),
  }
}
