// Builds all NATS subjects and stream names. No other file does.
// N1. A foreign id becomes exactly one token, and decodes to the same id.
// N2. No raw id is ever part of a subject.
import { BeaverError, isSystemLogName, type LogId, type SessionId, type SystemLogName } from '@beaver/core'

/** Keeps letters, digits, `-` and `_`. Every other byte of the UTF-8 text becomes `=XX`. */
export function encodeToken(id: string): string {
  if (/^[A-Za-z0-9_-]*$/.test(id)) return id
  return id.replace(/[^A-Za-z0-9_-]/gu, (char) => [...Buffer.from(char)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''))
}

/** The inverse of `encodeToken`. */
export function decodeToken(token: string): string {
  if (/^[A-Za-z0-9_-]*$/.test(token)) return token
  return Buffer.from(
    token.replace(/=([0-9A-F]{2})|[^=]/g, (char, hex: string | undefined) => (hex === undefined ? char : String.fromCharCode(Number.parseInt(hex, 16)))),
    'latin1',
  ).toString()
}

export interface Subjects {
  readonly namespace: string
  /** The stream of the journal. */
  readonly stream: string
  /** The stream of wakes. */
  readonly wakeStream: string
  readonly blobBucket: string
  readonly memoryBucket: string
  /** Everything the journal stream holds. */
  readonly captured: readonly string[]
  /** Everything the stream of wakes holds. */
  readonly capturedWakes: readonly string[]
  /** The entries of all logs. */
  readonly entries: readonly string[]
  /** Everything in all logs. */
  readonly logs: string
  /** The entries of a system log, which is no task. */
  system(name: SystemLogName): string
  /** Everything in all system logs. */
  readonly systemLogs: string
  /** The name of the system log of a subject; `null` for every other subject. */
  systemNameOf(subject: string): SystemLogName | null
  /** Whether a subject belongs to an entry. */
  isEntry(subject: string): boolean
  /** The first entries of all logs. Daemons take tasks from them, in the order of acceptance. */
  readonly acceptances: string
  /** The first entry of a log: the task's acceptance. It also gives the task its place in its session. */
  accepted(log: LogId): string
  /** All later entries of a log. */
  events(log: LogId): string
  /** The first entry and all later entries of a log. */
  log(log: LogId): string
  /** The first entries of a session's logs. */
  sessionAccepted(tenant: string, session: SessionId): string
  /** Everything in a session, and everything that claims the session's name as a task's id. */
  session(tenant: string, session: SessionId): string
  /** The entry that says to which session the task of this id belongs, if that is not the session of its own name. */
  taskId(tenant: string, task: string): string
  /** Everything that claims a task's id: the entry of `taskId`, or the log of a task in the session of its own name. */
  taskIdClaims(tenant: string, task: string): string
  /** A wake, which tells a daemon to look at a task. */
  wake(log: LogId): string
  readonly wakes: string
  /** The schedule of a task's next wake. */
  alarm(log: LogId): string
  /** A request to any daemon: `task.submit`, `task.cancel`. */
  service(name: string): string
  /** A request to the projector. */
  query(name: string): string
  /** A request to one daemon, such as a command about a task that it owns, or a ping. */
  daemon(id: string): string
  /** Daemons announce themselves here. Core NATS. */
  readonly presence: string
  /** Announces that a task ended. Core NATS: it is a hint, not a fact. */
  ended(log: LogId): string
  readonly anyEnded: string
  /** Live output of a task's loops. Core NATS: it is not journaled. */
  live(log: LogId): string
  /** The same for any session of the task. */
  liveAnySession(tenant: string, task: string): string
}

/** The number of tokens in `beaver.<namespace>.log.<tenant>.<session>.<task>.accepted`. */
const entryTokens = 7

/** @param namespace 1 to 32 characters of `a-z A-Z 0-9 _ -` @throws {BeaverError} `invalid_configuration` */
export function subjectsOf(namespace: string): Subjects {
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(namespace)) {
    throw new BeaverError('invalid_configuration', `The namespace ${JSON.stringify(namespace)} must be 1 to 32 letters, digits, "-" or "_".`)
  }
  const root = `beaver.${namespace}`
  const session = (tenant: string, id: string): string => `${encodeToken(tenant)}.${encodeToken(id)}`
  const task = (log: LogId): string => `${session(log.tenant, log.session)}.${encodeToken(log.task)}`
  return {
    namespace,
    stream: `BEAVER_${namespace}`,
    wakeStream: `BEAVER_${namespace}_WAKE`,
    blobBucket: `BEAVER_${namespace}_BLOBS`,
    memoryBucket: `BEAVER_${namespace}_MEMORY`,
    captured: [`${root}.log.>`, `${root}.system.>`],
    capturedWakes: [`${root}.wake.>`, `${root}.alarm.>`],
    entries: [`${root}.log.*.*.*.accepted`, `${root}.log.*.*.*.events`],
    logs: `${root}.log.>`,
    system: (name) => `${root}.system.${name}`,
    systemLogs: `${root}.system.>`,
    systemNameOf(subject) {
      const name = subject.startsWith(`${root}.system.`) ? subject.slice(`${root}.system.`.length) : ''
      return isSystemLogName(name) ? name : null
    },
    isEntry: (subject) => subject.startsWith(`${root}.log.`) && subject.split('.').length === entryTokens,
    acceptances: `${root}.log.*.*.*.accepted`,
    accepted: (log) => `${root}.log.${task(log)}.accepted`,
    events: (log) => `${root}.log.${task(log)}.events`,
    log: (log) => `${root}.log.${task(log)}.*`,
    sessionAccepted: (tenant, id) => `${root}.log.${session(tenant, id)}.*.accepted`,
    session: (tenant, id) => `${root}.log.${session(tenant, id)}.>`,
    // It has one token more than an entry, so that it is never taken for an entry.
    taskId: (tenant, id) => `${root}.log.${session(tenant, id)}.${encodeToken(id)}.id.claimed`,
    taskIdClaims: (tenant, id) => `${root}.log.${session(tenant, id)}.${encodeToken(id)}.>`,
    wake: (log) => `${root}.wake.${task(log)}`,
    wakes: `${root}.wake.>`,
    alarm: (log) => `${root}.alarm.${task(log)}`,
    service: (name) => `${root}.service.${name}`,
    query: (name) => `${root}.query.${name}`,
    daemon: (id) => `${root}.daemon.${encodeToken(id)}`,
    presence: `${root}.presence`,
    ended: (log) => `${root}.ended.${task(log)}`,
    anyEnded: `${root}.ended.>`,
    liveAnySession: (tenant, id) => `${root}.live.${encodeToken(tenant)}.*.${encodeToken(id)}`,
    live: (log) => `${root}.live.${task(log)}`,
  }
}

/** The log to which the subject of an entry, a wake or an alarm belongs. */
export function logOf(subject: string): LogId {
  const [tenant = '', session = '', task = ''] = subject.split('.').slice(3, 6).map(decodeToken)
  return { tenant, session, task } as LogId
}
