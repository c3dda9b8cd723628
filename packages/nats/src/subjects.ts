// Builds all NATS subjects and stream names. No other file does.
// N1. A foreign id becomes exactly one token, and decodes to the same id.
// N2. No raw id is ever part of a subject.
// The tenant is the fourth token of every subject, and each tenant has its own streams and buckets, so that
// the permissions of a NATS user can confine it to one tenant (docs/decisions/0049). A request names its
// caller in the subject, so that a NATS server with a subject for each user guarantees the name. A subject
// that only decodes to the ids of a log belongs to no log, because strangers may publish it.
import { hash } from 'node:crypto'
import { BeaverError, isSystemLogName, type LogId, type SessionId, type SystemLogName } from '@beaver/core'

/** Keeps letters, digits, `-` and `_`. Every other byte of the UTF-8 text becomes `=XX`. */
export function encodeToken(id: string): string {
  if (/^[A-Za-z0-9_-]*$/.test(id)) return id
  return id.replace(/[^A-Za-z0-9_-]/gu, (char) =>
    [...Buffer.from(char)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  )
}

/** The inverse of `encodeToken`. */
export function decodeToken(token: string): string {
  if (/^[A-Za-z0-9_-]*$/.test(token)) return token
  return Buffer.from(
    token.replace(/=([0-9A-F]{2})|[^=]/g, (char, hex: string | undefined) =>
      hex === undefined ? char : String.fromCharCode(Number.parseInt(hex, 16)),
    ),
    'latin1',
  ).toString()
}

export interface Subjects {
  readonly namespace: string
  readonly tenant: string
  /** In whose name this process sends requests. */
  readonly caller: string
  /** The tenant's name in the namespace, in a form for file names. */
  readonly fileName: string
  readonly stream: string
  readonly wakeStream: string
  readonly blobBucket: string
  readonly memoryBucket: string
  readonly budgetBucket: string
  /** The stream of the messages from and to channels. */
  readonly channelStream: string
  readonly capturedChannels: readonly string[]
  /** A lane of a queue of the channels: one chat, one kind. */
  channelLane(queue: string, channel: string, chat: string, kind: string): string
  channelLanes(queue: string, channel: string): string
  channelDead(queue: string, channel: string, id: string): string
  readonly channelDeaths: string
  /** The note that a try to send a message began. */
  channelBegun(channel: string, id: string): string
  /** The count of messages with an unknown outcome in a channel (uncertain-store.ts). */
  channelUncertain(channel: string): string
  readonly channelUncertains: string
  /** The names in a lane or a dead letter: `queue`, `channel`, then the chat and the kind, or the id. */
  channelNames(subject: string): readonly string[]
  readonly captured: readonly string[]
  readonly capturedWakes: readonly string[]
  readonly entries: readonly string[]
  /** Everything in all logs. */
  readonly logs: string
  /** The entries of a system log, which belongs to no task. */
  system(name: SystemLogName): string
  readonly systemLogs: string
  /** The system log of a subject; `null` for every other subject. */
  systemNameOf(subject: string): SystemLogName | null
  /** The log of an entry's subject; `null` if it is not the exact subject of an entry. */
  entryLog(subject: string): LogId | null
  /** Whether only a stranger publishes on this subject of the journal stream. */
  isStray(subject: string): boolean
  /** The log of a wake's subject; `null` if it is not the exact subject of a wake. */
  wakeLog(subject: string): LogId | null
  /** The first entries of all logs. Daemons take tasks from them, in the order of acceptance. */
  readonly acceptances: string
  /** The first entry of a log: the task's acceptance. It also gives the task its place in its session. */
  accepted(log: LogId): string
  /** All later entries of a log. */
  events(log: LogId): string
  log(log: LogId): string
  sessionAccepted(tenant: string, session: SessionId): string
  /** Everything in a session, and everything that claims the session's name as a task's id. */
  session(tenant: string, session: SessionId): string
  /** The entry that claims a task's id for a session of another name. */
  taskId(tenant: string, task: string): string
  /** All claims on a task's id: the entry of `taskId`, or the log of a task in the session of its name. */
  taskIdClaims(tenant: string, task: string): string
  /** A wake, which tells a daemon to look at a task. */
  wake(log: LogId): string
  readonly wakes: string
  /** The schedule of a task's next wake. */
  alarm(log: LogId): string
  /** A request of this process to any daemon: `task.submit`, `task.cancel`. */
  service(name: string): string
  /** The same request from any caller. */
  services(name: string): string
  /** A request of this process to one daemon, for which each daemon has a subject: `actors`, `status`. */
  serviceOf(daemon: string, name: string): string
  /** The same request from any caller. */
  servicesOf(daemon: string, name: string): string
  /** A request to any daemon on behalf of the user that its content names. */
  behalf(name: string): string
  /** The same request from any caller. */
  behalves(name: string): string
  /** A request of this process to the projector. */
  query(name: string): string
  /** The same request from any caller. */
  queries(name: string): string
  /** A request to one daemon, such as a command about a task that it owns, or a ping. */
  daemon(id: string): string
  readonly anyDaemon: string
  /** Daemons announce themselves here. Core NATS. */
  readonly presence: string
  /** Anybody asks here which daemons are present. Core NATS. */
  readonly presenceQuestion: string
  /** Announces that a task ended. Core NATS: it is a hint, not a fact. */
  ended(log: LogId): string
  readonly anyEnded: string
  /** The projector tells here which rows changed. Core NATS: it is a hint, not a fact. */
  readonly changed: string
  /** Live output of a task's loops. Core NATS: it is not journaled. */
  live(log: LogId): string
  readonly anyLive: string
  /** The same for any session of the task. */
  liveAnySession(tenant: string, task: string): string
}

/** This tenant's streams have the short names. */
const tenantDefault = 'local'

/**
 * The names of a tenant in a namespace.
 *
 * @param namespace 1 to 32 characters of `a-z A-Z 0-9 _ -`, without `__`
 * @param of `tenant`: default `local`; `caller`: who asks, default `anonymous`
 * @throws {BeaverError} `invalid_configuration`
 */
export function subjectsOf(
  namespace: string,
  of: { readonly tenant?: string; readonly caller?: string } = {},
): Subjects {
  const { tenant, caller } = checkedNames(namespace, of)
  const root = `beaver.${namespace}`
  const own = encodeToken(tenant)
  const by = encodeToken(caller)
  const fileName = `${namespace}${tenant === tenantDefault ? '' : `__${streamToken(tenant)}`}`
  const name = `BEAVER_${fileName}`
  const session = (tenant: string, id: string): string => `${encodeToken(tenant)}.${encodeToken(id)}`
  const task = (log: LogId): string => `${session(log.tenant, log.session)}.${encodeToken(log.task)}`
  const entryLog = (subject: string): LogId | null => {
    const log = logOf(subject)
    return subject === `${root}.log.${task(log)}.accepted` || subject === `${root}.log.${task(log)}.events`
      ? log
      : null
  }
  const systemNameOf = (subject: string): SystemLogName | null =>
    systemNameAfter(`${root}.system.${own}.`, subject)
  return {
    namespace,
    tenant,
    caller,
    fileName,
    stream: name,
    wakeStream: `${name}_WAKE`,
    blobBucket: `${name}_BLOBS`,
    memoryBucket: `${name}_MEMORY`,
    budgetBucket: `${name}_BUDGETS`,
    channelStream: `${name}_CHANNELS`,
    ...channelSubjects(`${root}.channel.${own}`),
    captured: [`${root}.log.${own}.>`, `${root}.system.${own}.>`],
    capturedWakes: [`${root}.wake.${own}.>`, `${root}.alarm.${own}.>`],
    entries: [`${root}.log.${own}.*.*.accepted`, `${root}.log.${own}.*.*.events`],
    logs: `${root}.log.${own}.>`,
    system: (log) => `${root}.system.${own}.${log}`,
    systemLogs: `${root}.system.${own}.>`,
    systemNameOf,
    entryLog,
    isStray: (subject) =>
      entryLog(subject) === null && systemNameOf(subject) === null && !subject.endsWith('.id.claimed'),
    wakeLog: (subject) => {
      const log = logOf(subject)
      return subject === `${root}.wake.${task(log)}` && !subject.includes('..') && !subject.endsWith('.')
        ? log
        : null
    },
    acceptances: `${root}.log.${own}.*.*.accepted`,
    accepted: (log) => `${root}.log.${task(log)}.accepted`,
    events: (log) => `${root}.log.${task(log)}.events`,
    log: (log) => `${root}.log.${task(log)}.*`,
    sessionAccepted: (of, id) => `${root}.log.${session(of, id)}.*.accepted`,
    session: (of, id) => `${root}.log.${session(of, id)}.>`,
    // It has one token more than an entry, so that it is never taken for an entry.
    taskId: (of, id) => `${root}.log.${session(of, id)}.${encodeToken(id)}.id.claimed`,
    taskIdClaims: (of, id) => `${root}.log.${session(of, id)}.${encodeToken(id)}.>`,
    wake: (log) => `${root}.wake.${task(log)}`,
    wakes: `${root}.wake.${own}.>`,
    alarm: (log) => `${root}.alarm.${task(log)}`,
    service: (request) => `${root}.service.${own}.${by}.${request}`,
    services: (request) => `${root}.service.${own}.*.${request}`,
    serviceOf: (id, request) => `${root}.service.${own}.${by}.${request}.${encodeToken(id)}`,
    servicesOf: (id, request) => `${root}.service.${own}.*.${request}.${encodeToken(id)}`,
    behalf: (request) => `${root}.behalf.${own}.${by}.${request}`,
    behalves: (request) => `${root}.behalf.${own}.*.${request}`,
    query: (request) => `${root}.query.${own}.${by}.${request}`,
    queries: (request) => `${root}.query.${own}.*.${request}`,
    daemon: (id) => `${root}.daemon.${own}.${encodeToken(id)}`,
    anyDaemon: `${root}.daemon.${own}.*`,
    presence: `${root}.presence.${own}.here`,
    presenceQuestion: `${root}.presence.${own}.who`,
    ended: (log) => `${root}.ended.${task(log)}`,
    anyEnded: `${root}.ended.${own}.>`,
    changed: `${root}.changed.${own}`,
    anyLive: `${root}.live.${own}.>`,
    liveAnySession: (of, id) => `${root}.live.${encodeToken(of)}.*.${encodeToken(id)}`,
    live: (log) => `${root}.live.${task(log)}`,
  }
}

function channelSubjects(root: string) {
  return {
    capturedChannels: [
      `${root}.inbound.*.*.*`,
      `${root}.outbound.*.*.*`,
      `${root}.dead.*.*.*`,
      `${root}.begun.*.*`,
      `${root}.uncertain.*`,
    ],
    channelLane: (queue: string, channel: string, chat: string, kind: string) =>
      `${root}.${queue}.${encodeToken(channel)}.${encodeToken(chat)}.${kind}`,
    channelLanes: (queue: string, channel: string) => `${root}.${queue}.${encodeToken(channel)}.*.*`,
    channelDead: (queue: string, channel: string, id: string) =>
      `${root}.dead.${queue}.${encodeToken(channel)}.${encodeToken(id)}`,
    channelDeaths: `${root}.dead.*.*.*`,
    channelBegun: (channel: string, id: string) => `${root}.begun.${encodeToken(channel)}.${encodeToken(id)}`,
    channelUncertain: (channel: string) => `${root}.uncertain.${encodeToken(channel)}`,
    channelUncertains: `${root}.uncertain.*`,
    channelNames(subject: string): readonly string[] {
      const names = subject.split('.').slice(4).map(decodeToken)
      return names[0] === 'dead' ? names.slice(1) : names
    },
  }
}

function checkedNames(
  namespace: string,
  { tenant = tenantDefault, caller = 'anonymous' }: { readonly tenant?: string; readonly caller?: string },
) {
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(namespace) || namespace.includes('__')) {
    throw new BeaverError(
      'invalid_configuration',
      `The namespace ${JSON.stringify(namespace)} must be 1 to 32 letters, digits, "-" or "_", without "__".`,
    )
  }
  if (tenant === '' || caller === '')
    throw new BeaverError('invalid_configuration', 'The names of a tenant and of a caller must not be empty.')
  return { tenant, caller }
}

/**
 * Keeps letters and digits. Every other byte of the UTF-8 text becomes `-XX`, because bucket names allow no
 * `=`. A long text becomes `-H` and its SHA-256, because file names are limited.
 */
function streamToken(id: string): string {
  const token = escaped(id)
  return token.length <= streamTokenCharsMax ? token : `-H${hash('sha256', id)}`
}

const streamTokenCharsMax = 100

function escaped(id: string): string {
  return id.replace(/[^A-Za-z0-9]/gu, (char) =>
    [...Buffer.from(char)].map((byte) => `-${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  )
}

function systemNameAfter(prefix: string, subject: string): SystemLogName | null {
  const name = subject.startsWith(prefix) ? subject.slice(prefix.length) : ''
  return isSystemLogName(name) ? name : null
}

export function callerOf(subject: string): string {
  return decodeToken(subject.split('.')[4] ?? '')
}

export function logOf(subject: string): LogId {
  const [tenant = '', session = '', task = ''] = subject.split('.').slice(3, 6).map(decodeToken)
  return { tenant, session, task } as LogId
}
