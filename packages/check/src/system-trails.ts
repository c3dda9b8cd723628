// Follows the system logs of a journal: their records are chained like those of tasks. A record with a fault
// is passed over, and the log continues from the record before it: writers do the same.
import { type ReadRecord, systemTypeOf } from './record.ts'
import type { Report } from './rules.ts'

const types: Readonly<Record<string, readonly string[]>> = {
  keys: ['key_announced', 'key_trusted', 'key_revoked'],
  checkpoints: ['checkpoint_made'],
  redactions: ['blob_redacted', 'record_redacted', 'task_archived', 'messages_archived', 'streams_placed'],
}

export class SystemTrails {
  /** The blobs that an operator removed, and why. */
  readonly redacted = new Map<string, string>()
  readonly #heads = new Map<
    string,
    { readonly taskseq: number; readonly hash: string; readonly epoch: number }
  >()

  /**
   * Returns whether the record is in its place and unchanged.
   *
   * @param isTrusted whether who wrote it may write it. What others write is in the chain, and removes
   * nothing
   */
  judge(name: string, { record, sha256 }: ReadRecord, tell: Report, isTrusted = true): boolean {
    let sound = true
    const report: Report = (rule, message) => {
      sound = false
      tell(rule, message)
    }
    const { taskseq, epoch, prevhash, hash } = record
    const head = this.#heads.get(name) ?? { taskseq: 0, hash: '0'.repeat(64), epoch: 0 }
    if (taskseq !== head.taskseq + 1)
      report('taskseq', `event ${taskseq} of the system log ${name} follows event ${head.taskseq}`)
    else if (prevhash !== head.hash)
      report(
        'chain',
        `event ${taskseq} of the system log ${name} names another hash than that of the event before it`,
      )
    if (hash !== sha256)
      report(
        'hash',
        `event ${taskseq} of the system log ${name} does not have the content that its hash says`,
      )
    if (epoch < head.epoch)
      report(
        'epoch',
        `event ${taskseq} of the system log ${name} has epoch ${epoch}, after epoch ${head.epoch}`,
      )
    if (record.subject !== name)
      report('identity', `event ${taskseq} is of ${record.subject}, and lies in the system log ${name}`)
    if (sound) this.#heads.set(name, { taskseq, hash, epoch })
    const inPlace = sound
    const type = systemTypeOf(record.type)
    if (type === undefined || types[name]?.includes(type) !== true)
      report(
        'event_type',
        `event ${taskseq} of the system log ${name} is of the type ${record.type}, which is not known there`,
      )
    if (type === 'blob_redacted' && isTrusted) {
      const { sha256: blob, reason } = (record.data ?? {}) as { sha256?: unknown; reason?: unknown }
      if (typeof blob === 'string') this.redacted.set(blob, String(reason))
    }
    return inPlace
  }
}
