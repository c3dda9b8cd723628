// The journal stream and the blob bucket: made when missing, left alone when there.
import { BeaverError, messageOf } from '@beaver/core'
import { DiscardPolicy, type JetStreamManager, jetstreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream'
import { type NatsConnection, nanos } from '@nats-io/nats-core'
import { identityOf } from './stream-pulse.ts'
import type { Subjects } from './subjects.ts'

/** Creates the journal stream if it does not exist. Nothing in it ages or can be deleted. */
export async function ensureJournalStream(nc: NatsConnection, subjects: Subjects, options: { replicas?: number } = {}): Promise<JetStreamManager> {
  const jsm = await jetstreamManager(nc, { timeout: 10_000 })
  try {
    await jsm.streams.add({
      name: subjects.stream,
      description: 'Beaver: the journal of every task and the order of their acceptance',
      subjects: [...subjects.captured],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.New,
      num_replicas: options.replicas ?? 1,
      deny_delete: true,
      deny_purge: true,
      allow_direct: true,
      allow_atomic: true,
    })
  } catch (cause) {
    const existing = await jsm.streams.info(subjects.stream).catch(() => null)
    if (existing === null) throw new BeaverError('start_failed', `The journal stream ${subjects.stream} cannot be created: ${messageOf(cause)}`, { cause })
    if (existing.config.allow_atomic !== true) {
      throw new BeaverError(
        'start_failed',
        `The stream ${subjects.stream} exists without atomic batches. Allow them: nats stream edit ${subjects.stream} --allow-batch`,
        { cause },
      )
    }
  }
  return jsm
}

/**
 * Creates the stream of wakes if it does not exist: a work queue that holds at most one wake and one alarm for each task. A newer one
 * takes the place of an older one, so that none is lost and none piles up. An alarm is a message schedule: the server publishes the
 * wake at its time.
 */
export async function ensureWakeStream(jsm: JetStreamManager, subjects: Subjects, options: { replicas?: number } = {}): Promise<void> {
  try {
    await jsm.streams.add({
      name: subjects.wakeStream,
      description: 'Beaver: tasks that a daemon is to look at, now or later',
      subjects: [...subjects.capturedWakes],
      storage: StorageType.File,
      retention: RetentionPolicy.Workqueue,
      discard: DiscardPolicy.Old,
      max_msgs_per_subject: 1,
      num_replicas: options.replicas ?? 1,
      allow_direct: true,
      allow_msg_schedules: true,
      duplicate_window: nanos(duplicateWindowMs),
    } as Parameters<typeof jsm.streams.add>[0])
  } catch (cause) {
    const existing = await jsm.streams.info(subjects.wakeStream).catch(() => null)
    if (existing === null) throw new BeaverError('start_failed', `The stream ${subjects.wakeStream} cannot be created: ${messageOf(cause)}`, { cause })
  }
}

/** Within this time a wake with the same name is one wake. */
const duplicateWindowMs = 5_000

/** What tells this stream from another one of the same name, created later. */
export async function streamIdentity(nc: NatsConnection, subjects: Subjects): Promise<{ identity: string; lastSequence: number }> {
  const jsm = await jetstreamManager(nc)
  const info = await jsm.streams.info(subjects.stream)
  return { identity: identityOf(subjects.stream, info.created), lastSequence: info.state.last_seq }
}
