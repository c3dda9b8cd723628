// Makes the streams of the journal, of wakes and of channels if they do not exist. Existing ones stay as they
// are; only the subjects of the journal stream are completed.
import { BeaverError, messageOf } from '@beaver/core'
import {
  DiscardPolicy,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from '@nats-io/jetstream'
import { type NatsConnection, nanos } from '@nats-io/nats-core'
import { streamExists } from './leader-read.ts'
import { addJournal, placeOfJournal, type StreamPlace } from './stream-place.ts'
import type { Subjects } from './subjects.ts'

/**
 * Creates the journal stream if it does not exist. Its messages do not expire, and nobody can purge them.
 *
 * @param place default: three replicas where three servers can hold them, else one
 */
export async function ensureJournalStream(
  nc: NatsConnection,
  subjects: Subjects,
  place: StreamPlace = {},
): Promise<JetStreamManager> {
  const jsm = await jetstreamManager(nc, { timeout: 10_000 })
  try {
    await addJournal(nc, jsm, place, {
      name: subjects.stream,
      description: 'Beaver: the journal of every task and the order of their acceptance',
      subjects: [...subjects.captured],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.New,
      // Without `deny_delete`, because an archive deletes messages. Only the role `operator` may do this
      // (permissions.ts), and the watch reports each missing message that no signed event names
      // (docs/decisions/0077).
      deny_purge: true,
      allow_direct: true,
      allow_atomic: true,
    })
  } catch (cause) {
    const existing = await jsm.streams.info(subjects.stream).catch(() => null)
    if (existing === null)
      throw new BeaverError(
        'start_failed',
        `The journal stream ${subjects.stream} cannot be created: ${messageOf(cause)}`,
        { cause },
      )
    if (existing.config.allow_atomic !== true) {
      throw new BeaverError(
        'start_failed',
        `The stream ${subjects.stream} exists without atomic batches. Allow them: nats stream edit ${subjects.stream} --allow-batch`,
        { cause },
      )
    }
    await captureAll(jsm, { name: subjects.stream, wanted: subjects.captured, config: existing.config })
  }
  return jsm
}

interface Capturing {
  readonly name: string
  readonly wanted: readonly string[]
  readonly config: { readonly subjects?: readonly string[] }
}

/** The stream of an earlier version does not capture every subject of this version. */
async function captureAll(
  jsm: JetStreamManager,
  { name, wanted, config: { subjects: captured = [] } }: Capturing,
): Promise<void> {
  if (wanted.every((subject) => captured.includes(subject))) return
  try {
    await jsm.streams.update(name, { subjects: [...new Set([...captured, ...wanted])] })
  } catch (cause) {
    const named = wanted.map((subject) => JSON.stringify(subject)).join(' and ')
    throw new BeaverError(
      'start_failed',
      `The stream ${name} must capture ${named}, and this cannot be changed from here: ${messageOf(cause)}. Change it with: nats stream edit`,
      { cause },
    )
  }
}

/**
 * Creates the stream of wakes if it does not exist: a work queue with at most one wake and one alarm for each
 * task. A newer one replaces an older one, so that no wake is lost and none accumulate. An alarm is a message
 * schedule: the server publishes the wake at its time.
 */
export async function ensureWakeStream(jsm: JetStreamManager, subjects: Subjects): Promise<void> {
  try {
    await jsm.streams.add({
      name: subjects.wakeStream,
      description: 'Beaver: tasks that a daemon is to look at, now or later',
      subjects: [...subjects.capturedWakes],
      storage: StorageType.File,
      retention: RetentionPolicy.Workqueue,
      discard: DiscardPolicy.Old,
      max_msgs_per_subject: 1,
      ...(await placeOfJournal(jsm, subjects)),
      allow_direct: true,
      allow_msg_schedules: true,
      duplicate_window: nanos(duplicateWindowMs),
    } as Parameters<typeof jsm.streams.add>[0])
  } catch (cause) {
    const existing = await jsm.streams.info(subjects.wakeStream).catch(() => null)
    if (existing === null)
      throw new BeaverError(
        'start_failed',
        `The stream ${subjects.wakeStream} cannot be created: ${messageOf(cause)}`,
        { cause },
      )
  }
}

/** Within this time the server keeps only one wake of a name. */
const duplicateWindowMs = 5_000

/** Creates the stream of channels if it does not exist: a work queue for messages and dead letters. */
export async function ensureChannelStream(jsm: JetStreamManager, subjects: Subjects): Promise<void> {
  try {
    await jsm.streams.add({
      name: subjects.channelStream,
      description: 'Beaver: messages from and to channels',
      subjects: [...subjects.capturedChannels],
      storage: StorageType.File,
      retention: RetentionPolicy.Workqueue,
      discard: DiscardPolicy.New,
      ...(await placeOfJournal(jsm, subjects)),
      max_consumers: channelConsumersMax,
      max_msgs: channelMessagesMax,
      max_msgs_per_subject: laneMessagesMax,
      discard_new_per_subject: true,
      allow_direct: true,
      duplicate_window: nanos(channelDuplicateMs),
    })
  } catch (cause) {
    const existing = await jsm.streams.info(subjects.channelStream).catch(() => null)
    if (existing === null)
      throw new BeaverError(
        'start_failed',
        `The stream ${subjects.channelStream} cannot be created: ${messageOf(cause)}`,
        { cause },
      )
    await captureAll(jsm, {
      name: subjects.channelStream,
      wanted: subjects.capturedChannels,
      config: existing.config,
    })
  }
}

/** Whether the stream of channels is there. @throws what the server says */
export async function hasChannelStream(nc: NatsConnection, { channelStream }: Subjects): Promise<boolean> {
  return streamExists(await jetstreamManager(nc, { timeout: 3_000 }), channelStream)
}

/** A signed request can be repeated for twice five minutes. Meanwhile each name has one message. */
const channelDuplicateMs = 900_000
/** Each active chat has a consumer for each direction. Without this setting, the server allows 1,000. */
const channelConsumersMax = 100_000
/** How many messages wait in one lane, and in all lanes with the dead letters. More are refused. */
export const laneMessagesMax = 10_000
const channelMessagesMax = 1_000_000
