// StoredKeys: whose signatures count, as the applied messages of the system log `keys` say. A verdict depends
// on the journal alone: a key event counts from its own position on, so a message is judged by the events
// before it. Before a journal has an operator, nothing in it can be signed. Such entries count as unsigned,
// which is no finding; the record says so.
import type { LogId } from '@beaver/core'
import { KeyRing, type RecordedSystemEvent, SignatureVerifier } from '@beaver/core/journal'
import type { Sql } from '../store/sql.ts'
import type { Finding, IncomingMessage } from './intake.ts'

type Row = Pick<RecordedSystemEvent, 'type' | 'taskseq' | 'epoch' | 'source' | 'time' | 'hash'> & {
  readonly data: string
  readonly sequence: number
  readonly signature: string | null
}

export class StoredKeys {
  readonly #sql: Sql
  readonly #namespace: string
  readonly #verifier = new SignatureVerifier()
  readonly #otherRing: KeyRing | null
  #ring: KeyRing | null = null

  /** @param otherRing the keys of another read model of the same journal. Default: those of this one */
  constructor(sql: Sql, namespace: string, otherRing: KeyRing | null = null) {
    this.#sql = sql
    this.#namespace = namespace
    this.#otherRing = otherRing
  }

  get ring(): KeyRing {
    this.#ring ??=
      this.#otherRing ?? new KeyRing(this.#namespace, { events: this.#events(), faults: [] }, this.#verifier)
    return this.#ring
  }

  /** Reads the keys again before the next verdict. */
  forget(): void {
    this.#ring = null
  }

  /** Whether a daemon that the operator trusts signed a message; or the finding. */
  judge({
    log,
    signature,
    sequence,
    records,
  }: IncomingMessage & { readonly log: LogId }): 'signed' | 'unsigned' | Finding {
    const { ring } = this
    const fault = ring.recordFault(log, {
      signature,
      revision: sequence,
      lastHash: records.at(-1)?.record.hash ?? null,
    })
    return fault === null
      ? signature === undefined
        ? 'unsigned'
        : 'signed'
      : {
          kind: 'signature',
          message: `the entry with event ${records[0]?.record.taskseq ?? '?'} is not trusted: ${fault}`,
        }
  }

  #events(): RecordedSystemEvent[] {
    const text =
      "select type, taskseq, epoch, source, time, data, hash, signature, sequence from system_events where name = 'keys' and fault is null order by sequence, record_index"
    return this.#sql.all<Row>(text).flatMap(({ data, signature, sequence, ...row }) => {
      const event = {
        ...row,
        data: JSON.parse(data) as unknown,
        revision: sequence,
        signature: signature ?? undefined,
      }
      return [event as RecordedSystemEvent]
    })
  }
}
