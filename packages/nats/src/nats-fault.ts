// Turns errors of the NATS client into a BeaverError, so that no caller sees an error of a library.
import { BeaverError, messageOf } from '@beaver/core'
import { JetStreamError } from '@nats-io/jetstream'
import {
  ClosedConnectionError,
  DrainingConnectionError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
} from '@nats-io/nats-core'
import { isRefusedWith, noLeader } from './api-refusal.ts'

const lost = [RequestError, ClosedConnectionError, DrainingConnectionError, JetStreamError]

/** `timeout`, `unreachable` or `not_allowed`. An error that is not from NATS is returned as it is. */
export function natsFault(error: unknown): unknown {
  if (error instanceof BeaverError) return error
  if (
    error instanceof Error &&
    (error instanceof PermissionViolationError || error.cause instanceof PermissionViolationError)
  )
    return new BeaverError(
      'not_allowed',
      `This login may not do this at the NATS server: ${messageOf(error)}.`,
      { cause: error },
    )
  if (error instanceof TimeoutError)
    return new BeaverError('timeout', 'The journal did not answer in time.', { cause: error })
  // The servers of a cluster elect a leader: nothing was done, and it soon works again.
  if (lost.some((kind) => error instanceof kind) || isRefusedWith(error, noLeader))
    return new BeaverError('unreachable', `The journal cannot be reached now: ${messageOf(error)}.`, {
      cause: error,
    })
  return error
}
