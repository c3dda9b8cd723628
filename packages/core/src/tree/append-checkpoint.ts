// Appends a checkpoint to the system log `checkpoints`. It reads only the end of the log, which has a
// checkpoint for each minute of work.
import type { Clock } from '../ports/clock.ts'
import { BeaverError } from '../errors.ts'
import { canonicalJson } from '../canonical-json.ts'
import { emptyHead, headAfter, joinBatch, sealing, splitBatch } from '../journal/record.ts'
import type { SystemLog } from '../journal/system-log.ts'

const name = 'checkpoints'
const type = 'checkpoint_made'
const triesMax = 5

/** Who writes checkpoints. */
export interface CheckpointWriter {
  readonly source: string
  readonly clock: Clock
  /** The signature of the entry, from the hash of its record. Default: the entry is not signed. */
  readonly sign?: ((record: { readonly name: 'checkpoints'; readonly hash: string }) => string) | undefined
}

/**
 * Resolves when the checkpoint is durable.
 *
 * @throws {BeaverError} `unreachable`, `corrupt_journal` if the end of the log cannot be read
 * @example
 * await appendCheckpoint(systemLog, 'beaver/default\n0\n', { source: '/beaver/projectors/p1', clock: systemClock })
 * const last = await systemLog.last('checkpoints')
 * if (last !== null) splitBatch(last.payload)[0]?.data // => { note: 'beaver/default\n0\n' }
 */
export async function appendCheckpoint(
  log: SystemLog,
  note: string,
  { source, clock, sign }: CheckpointWriter,
): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    const last = await log.last(name)
    const newest = last === null ? undefined : splitBatch(last.payload).at(-1)
    const head = newest === undefined ? emptyHead : headAfter(newest)
    const written = { epoch: head.epoch, source, subject: name, time: new Date(clock.now()).toISOString() }
    const { record, head: after } = sealing(written, (kind: string) =>
      ['beaver', 'system', kind, 'v1'].join('.'),
    )(head, {
      type,
      dataJson: canonicalJson({ note }),
    })
    const signature = sign?.({ name, hash: after.hash })
    const outcome = await log.append({
      name,
      expectedRevision: last?.revision ?? 0,
      payload: joinBatch([record]),
      signature,
    })
    if (outcome.kind === 'appended') return
  }
  throw new BeaverError(
    'unreachable',
    `The checkpoint could not be written: other writers were faster ${triesMax} times.`,
  )
}
