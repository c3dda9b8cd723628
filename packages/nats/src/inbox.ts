// The subjects at which a connection receives answers. Each identity has its own prefix, so that no other
// identity can be allowed to read them.
import { createInbox, type NatsConnection } from '@nats-io/nats-core'
import { encodeToken } from './subjects.ts'

/** The prefix for a caller: `_INBOX_<caller>`. A connection without a login has the usual `_INBOX`. */
export function inboxPrefix(caller: string | null): string {
  return caller === null ? '_INBOX' : `_INBOX_${encodeToken(caller)}`
}

export function inboxOf(nc: NatsConnection): string {
  // The client's class has this field, but its interface does not.
  return createInbox(
    (nc as NatsConnection & { readonly options?: { readonly inboxPrefix?: string } }).options?.inboxPrefix,
  )
}
