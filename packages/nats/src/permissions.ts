// What each role of Beaver may publish and receive at a NATS server, for the embedded server and `beaver
// nats-config`. A role gets nothing outside its tenant, and no requests in another caller's name. Only a
// daemon writes task logs. Only the operator may change, purge or delete a stream, delete a message of it, or
// make a consumer that Beaver does not need.
import type { Subjects } from './subjects.ts'

/**
 * - `client`: submits tasks, decides, reads. It changes no profile.
 * - `daemon`: the daemon.
 * - `projector`: the projector.
 * - `gateway`: the HTTP interface. A client that may ask on behalf of the users of its tokens.
 * - `operator`: a person who looks after the system.
 */
export const roles = ['client', 'daemon', 'projector', 'gateway', 'operator'] as const
export type Role = (typeof roles)[number]

export interface Permissions {
  readonly publish: readonly string[]
  /** Exceptions from `publish`. Default: none. */
  readonly denied?: readonly string[]
  readonly subscribe: readonly string[]
  /** Whether the user may answer each received message once, without a right to publish the answer. */
  readonly answers: boolean
}

/** @param subjects the subjects of the user's tenant, with the user's name as the caller */
export function permissionsOf(role: Role, subjects: Subjects, inbox: string): Permissions {
  const { stream, wakeStream } = subjects
  const blobs = `OBJ_${subjects.blobBucket}`
  const memory = `KV_${subjects.memoryBucket}`
  const budgets = `KV_${subjects.budgetBucket}`
  const receive = [`${inbox}.>`]
  const asks = [subjects.service('>'), subjects.query('>'), subjects.presenceQuestion]
  const hears = [
    subjects.logs,
    subjects.system('keys'),
    subjects.anyEnded,
    subjects.anyLive,
    subjects.changed,
  ]
  switch (role) {
    case 'client':
      return {
        publish: [...asks, ...reads(stream), ...reads(blobs)],
        denied: [subjects.service('profile.>')],
        subscribe: [...receive, ...hears],
        answers: false,
      }
    case 'gateway':
      return {
        publish: [
          ...asks,
          subjects.behalf('>'),
          ...reads(stream),
          ...reads(blobs),
          ...servesChannels(subjects),
          // It shows how the servers hold each stream.
          ...[wakeStream, memory, budgets].map(looksAt),
        ],
        subscribe: [...receive, ...hears, ...subjects.capturedChannels],
        answers: false,
      }
    case 'operator':
      return {
        publish: [
          ...asks,
          subjects.systemLogs,
          subjects.behalf('>'),
          `$O.${subjects.blobBucket}.>`,
          '$JS.API.INFO',
          ...subjects.capturedChannels,
          ...[stream, wakeStream, blobs, memory, budgets, subjects.channelStream].flatMap(administers),
        ],
        subscribe: [...receive, ...hears],
        answers: false,
      }
    case 'projector':
      return {
        publish: [
          subjects.system('checkpoints'),
          subjects.system('keys'),
          subjects.changed,
          '$JS.API.INFO',
          creates(stream),
          ...reads(stream),
          ...reads(blobs),
        ],
        subscribe: [...receive, subjects.queries('>'), subjects.logs],
        answers: true,
      }
    case 'daemon':
      return {
        publish: [
          ...[
            subjects.logs,
            ...subjects.capturedWakes,
            subjects.anyEnded,
            subjects.anyLive,
            subjects.anyDaemon,
            subjects.presence,
          ],
          ...[
            subjects.system('keys'),
            subjects.query('>'),
            `$O.${subjects.blobBucket}.>`,
            `$KV.${subjects.memoryBucket}.>`,
            `$KV.${subjects.budgetBucket}.>`,
            '$JS.API.INFO',
          ],
          ...[stream, wakeStream, blobs, memory, budgets].flatMap((each) => [creates(each), ...reads(each)]),
          ...[stream, wakeStream].flatMap(consumes),
          ...[
            `$JS.API.CONSUMER.CREATE.${memory}.>`,
            `$JS.API.CONSUMER.DELETE.${memory}.*`,
            `$JS.API.CONSUMER.INFO.${memory}.*`,
          ],
        ],
        subscribe: [
          ...[
            ...receive,
            subjects.services('>'),
            subjects.behalves('>'),
            subjects.anyDaemon,
            subjects.presence,
            subjects.presenceQuestion,
          ],
          ...[subjects.logs, subjects.system('keys'), subjects.anyEnded, `$KV.${subjects.memoryBucket}.>`],
        ],
        answers: true,
      }
    default:
      return role satisfies never
  }
}

/** Every request about a stream and its consumers, and the pieces of its snapshots. */
const administers = (stream: string): string[] => [
  `$JS.API.STREAM.*.${stream}`,
  `$JS.API.STREAM.LEADER.STEPDOWN.${stream}`,
  `$JS.API.STREAM.PEER.REMOVE.${stream}`,
  `$JS.API.STREAM.MSG.*.${stream}`,
  `$JS.API.DIRECT.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}.>`,
  `$JS.API.CONSUMER.*.${stream}`,
  `$JS.API.CONSUMER.*.${stream}.>`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.*`,
  `$JS.SNAPSHOT.*.${stream}.>`,
]

const creates = (stream: string): string => `$JS.API.STREAM.CREATE.${stream}`

const looksAt = (stream: string): string => `$JS.API.STREAM.INFO.${stream}`

const reads = (stream: string): string[] => [
  looksAt(stream),
  `$JS.API.STREAM.MSG.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}.>`,
]

/** The rights to use the daemons' durable consumer. */
const consumes = (stream: string): string[] => [
  `$JS.API.CONSUMER.CREATE.${stream}.${queueConsumer}`,
  `$JS.API.CONSUMER.CREATE.${stream}.${queueConsumer}.>`,
  `$JS.API.CONSUMER.INFO.${stream}.${queueConsumer}`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.${queueConsumer}`,
  `$JS.ACK.${stream}.${queueConsumer}.>`,
  `$JS.ACK.*.*.${stream}.${queueConsumer}.>`,
]

/** The rights of a gateway on the stream of channels. Each chat has its own consumer. */
const servesChannels = ({ capturedChannels, channelStream }: Subjects): string[] => [
  ...capturedChannels,
  '$JS.API.INFO',
  creates(channelStream),
  ...reads(channelStream),
  `$JS.API.STREAM.MSG.DELETE.${channelStream}`,
  `$JS.API.CONSUMER.CREATE.${channelStream}.>`,
  `$JS.API.CONSUMER.INFO.${channelStream}.*`,
  `$JS.API.CONSUMER.MSG.NEXT.${channelStream}.*`,
  `$JS.ACK.${channelStream}.>`,
  `$JS.ACK.*.*.${channelStream}.>`,
]

/** The durable consumer of the journal stream, and of the stream of wakes. */
export const queueConsumer = 'daemons'
