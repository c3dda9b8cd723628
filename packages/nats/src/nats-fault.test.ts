import { BeaverError } from '@beaver/core'
import { JetStreamApiError } from '@nats-io/jetstream'
import {
  ClosedConnectionError,
  DrainingConnectionError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
} from '@nats-io/nats-core'
import { expect, it } from 'vitest'
import { natsFault } from './nats-fault.ts'

const apiError = (err_code: number): JetStreamApiError =>
  new JetStreamApiError({ code: 503, err_code, description: 'JetStream refuses' })

it.each([
  [new TimeoutError(), 'timeout'],
  [new RequestError('no responders'), 'unreachable'],
  [
    new RequestError('refused', { cause: new PermissionViolationError('no', 'publish', 'a.b') }),
    'not_allowed',
  ],
  [new ClosedConnectionError(), 'unreachable'],
  // A client that is closed drains its connection first.
  [new DrainingConnectionError(), 'unreachable'],
  // The servers of a cluster elect a leader.
  [apiError(10_008), 'unreachable'],
])('a failure of NATS has a code: %s', (error, code) => {
  expect(natsFault(error)).toMatchObject({ name: 'BeaverError', code, cause: error })
})

it('what is no failure of NATS stays as it is', () => {
  for (const error of [
    new BeaverError('not_found', 'There is no task.'),
    new TypeError('x is not a function'),
    apiError(10_059),
    'text',
  ])
    expect(natsFault(error)).toBe(error)
})
