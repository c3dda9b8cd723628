// Every event of the system logs: its name, the one log to which it belongs, and the shape of its data. One
// role writes each log. catalog.ts has the events of tasks; the same rules about versions and names hold
// here.
import { z } from 'zod'

/** The names of the system logs. */
export const systemLogNames = ['keys', 'checkpoints', 'redactions'] as const
/**
 * - `keys`: whose signatures count. - `checkpoints`: the heads of all logs at a moment. - `redactions`: what
 * the operator removed or changed on purpose.
 */
export type SystemLogName = (typeof systemLogNames)[number]

/**
 * What a key may sign: `operator` signs `keys` and `redactions`, `daemon` signs the logs of tasks,
 * `projector` signs `checkpoints`.
 */
export const keyRole = z.enum(['operator', 'daemon', 'projector'])
export type KeyRole = z.infer<typeof keyRole>

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hexadecimal digits')
const keyId = z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 lower-case hexadecimal digits')
/** An Ed25519 public key: its 32 bytes in base64url. */
const publicKey = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be 32 bytes in base64url')
/** A SHA-256 in base64url. A list of them is a third shorter than one in hexadecimal digits. */
const shortSha256 = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be a SHA-256 in base64url')

/**
 * Messages of one log that are in an archive. They follow one another in the log; the first and the last
 * message of a log are never among them.
 */
const archivedLog = z.object({
  tenant: z.string(),
  session_id: z.string(),
  task_id: z.string(),
  /** The last record before these messages. */
  after: z.object({ taskseq: z.number().int().positive(), hash: sha256 }),
  /** The last record of these messages. */
  end: z.object({
    taskseq: z.number().int().positive(),
    epoch: z.number().int().nonnegative(),
    hash: sha256,
  }),
  /** The places of the messages in the stream, rising. */
  sequences: z.array(z.number().int().positive()).min(1),
  /**
   * The SHA-256 of the payload of each message. With the place and the subject it gives the leaf of the
   * message in the tree over the journal.
   */
  payloads: z.array(shortSha256).min(1),
})

/** An empty cluster and no tags: any servers. */
const streamPlace = z.object({
  replicas: z.number().int().positive(),
  cluster: z.string(),
  tags: z.array(z.string()),
})

/** The events of each system log, with the shape of their data. */
export const systemEventData = {
  /**
   * Somebody asks for a key to be trusted, or the first operator key is made known. By itself it trusts no
   * key but the first operator key.
   */
  key_announced: z.object({ key_id: keyId, public_key: publicKey, role: keyRole, name: z.string() }),
  /**
   * From this position of the journal on, signatures of the key count. `key_epoch` counts the trusted keys of
   * this log from 1.
   */
  key_trusted: z.object({
    key_id: keyId,
    public_key: publicKey,
    role: keyRole,
    name: z.string(),
    key_epoch: z.number().int().positive(),
  }),
  /** From this position of the journal on, signatures of the key do not count. Earlier ones stay valid. */
  key_revoked: z.object({ key_id: keyId, reason: z.string() }),
  /** The heads of all logs at a moment, as a C2SP checkpoint. */
  checkpoint_made: z.object({ note: z.string() }),
  /**
   * A blob was removed on purpose. Records that refer to it stay as they are; `replacement` names the blob
   * that is read in its place.
   */
  blob_redacted: z.object({
    sha256,
    reason: z.string(),
    replacement: sha256.nullable().optional(),
    by: z.string().optional(),
  }),
  /**
   * The text of this record is not shown any more. It is part of the record, so its bytes stay in the journal
   * and in archives.
   */
  record_redacted: z.object({
    tenant: z.string(),
    session_id: z.string(),
    task_id: z.string(),
    taskseq: z.number().int().positive(),
    hash: sha256,
    replacement: sha256.nullable(),
    reason: z.string(),
    by: z.string(),
  }),
  /**
   * The log of an ended task was written to a file, which was read again and verified. `taskseq` and `hash`:
   * the head of the log.
   */
  task_archived: z.object({
    tenant: z.string(),
    session_id: z.string(),
    task_id: z.string(),
    taskseq: z.number().int().positive(),
    hash: sha256,
    file: z.string(),
    file_sha256: sha256,
    by: z.string(),
  }),
  /**
   * These messages are in a verified file, and nobody needs to find them in the journal any more. Only
   * messages that such an event names may be deleted. From this event on, every reader takes them for
   * deleted, also as long as they are still there.
   */
  messages_archived: z.object({
    file: z.string(),
    file_sha256: sha256,
    logs: z.array(archivedLog).min(1),
    by: z.string(),
  }),
  /** The operator is about to change how many servers of a cluster hold these streams, and which ones. */
  streams_placed: z.object({
    streams: z.array(z.object({ stream: z.string(), from: streamPlace, to: streamPlace })).min(1),
    by: z.string(),
  }),
} as const

/** The type of an event of a system log. */
export type SystemEventType = keyof typeof systemEventData
/** The data of an event of a system log. */
export type SystemDataOf<T extends SystemEventType> = z.infer<(typeof systemEventData)[T]>
/** An event of a system log that is not recorded yet. */
export type SystemEvent = {
  [T in SystemEventType]: { readonly type: T; readonly data: SystemDataOf<T> }
}[SystemEventType]

/** The log to which each event belongs. */
export const systemLogOf: Readonly<Record<SystemEventType, SystemLogName>> = {
  key_announced: 'keys',
  key_trusted: 'keys',
  key_revoked: 'keys',
  checkpoint_made: 'checkpoints',
  blob_redacted: 'redactions',
  record_redacted: 'redactions',
  task_archived: 'redactions',
  messages_archived: 'redactions',
  streams_placed: 'redactions',
}

/**
 * Whether this is the name of a system log.
 *
 * @example
 * isSystemLogName('keys') // => true
 */
export const isSystemLogName = (name: string): name is SystemLogName =>
  (systemLogNames as readonly string[]).includes(name)
