// The one place that builds NATS subjects and stream names.
// N1. A foreign id becomes exactly one token and comes back unchanged. N2. No raw id is ever part of a subject.
import { BeaverError, type LogId, type SessionId } from '@beaver/core'

/** Letters, digits, `-` and `_` stay; every other byte of the UTF-8 text becomes `=XX`. */
export function encodeToken(id: string): string {
  if (/^[A-Za-z0-9_-]*$/.test(id)) return id
  return id.replace(/[^A-Za-z0-9_-]/gu, (char) => [...Buffer.from(char)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''))
}

/** The inverse of `encodeToken`. */
export function decodeToken(token: string): string {
  return Buffer.from(
    token.replace(/=([0-9A-F]{2})|[^=]/g, (char, hex: string | undefined) => (hex === undefined ? char : String.fromCharCode(Number.parseInt(hex, 16)))),
    'latin1',
  ).toString()
}

export interface Subjects {
  readonly namespace: string
  readonly stream: string
  readonly blobBucket: string
  readonly memoryBucket: string
  /** Everything the journal stream holds. */
  readonly captured: readonly string[]
  /** All logs. */
  readonly journals: string
  /** The order of acceptance, all sessions: what daemons take tasks from. */
  readonly acceptances: string
  journal(log: LogId): string
  /** A session's logs. */
  sessionJournals(tenant: string, session: SessionId): string
  /** A task's log whatever its session. */
  taskAnySession(tenant: string, task: string): string
  accepted(tenant: string, session: SessionId): string
  /** A request to any daemon: `task.submit`, `task.cancel`. */
  service(name: string): string
  /** A request to the projector. */
  query(name: string): string
  /** A request to one daemon, about a task it owns. */
  daemon(id: string): string
  /** Told when a task of the session ended. Core NATS: a hint, not a fact. */
  sessionIdle(tenant: string, session: SessionId): string
  readonly anySessionIdle: string
  /** Live output of a task's loops. Core NATS, not journaled. */
  live(log: LogId): string
  /** The same, whatever the task's session. */
  liveAnySession(tenant: string, task: string): string
}

/** @param namespace 1 to 32 of `a-z A-Z 0-9 _ -` */
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
    blobBucket: `BEAVER_${namespace}_BLOBS`,
    memoryBucket: `BEAVER_${namespace}_MEMORY`,
    captured: [`${root}.journal.>`, `${root}.accepted.>`],
    journals: `${root}.journal.>`,
    acceptances: `${root}.accepted.>`,
    journal: (log) => `${root}.journal.${task(log)}`,
    sessionJournals: (tenant, id) => `${root}.journal.${session(tenant, id)}.*`,
    taskAnySession: (tenant, id) => `${root}.journal.${encodeToken(tenant)}.*.${encodeToken(id)}`,
    accepted: (tenant, id) => `${root}.accepted.${session(tenant, id)}`,
    service: (name) => `${root}.service.${name}`,
    query: (name) => `${root}.query.${name}`,
    daemon: (id) => `${root}.daemon.${encodeToken(id)}`,
    sessionIdle: (tenant, id) => `${root}.idle.${session(tenant, id)}`,
    anySessionIdle: `${root}.idle.>`,
    liveAnySession: (tenant, id) => `${root}.live.${encodeToken(tenant)}.*.${encodeToken(id)}`,
    live: (log) => `${root}.live.${task(log)}`,
  }
}

/** The log a journal subject belongs to. */
export function logOf(subject: string): LogId {
  const [tenant = '', session = '', task = ''] = subject.split('.').slice(3).map(decodeToken)
  return { tenant, session, task } as LogId
}
