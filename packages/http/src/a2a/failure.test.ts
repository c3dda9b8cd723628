import { TaskNotFoundError } from '@a2a-js/sdk/errors'
import { BeaverError } from '@beaver/core'
import { expect, it } from 'vitest'
import { HttpProblem } from '../problem.ts'
import { InvalidParams, isForHttp, rpcFailure } from './failure.ts'

it.each<[string, unknown, number, number, string]>([
  ['an error of A2A', new TaskNotFoundError('no task'), 200, -32001, 'TASK_NOT_FOUND'],
  [
    'params that are not valid',
    new InvalidParams('no', [{ path: 'params.id', message: 'is missing' }]),
    200,
    -32602,
    'params.id',
  ],
  ['a request that Beaver refuses', new BeaverError('unknown_profile', 'no such profile'), 200, -32602, ''],
  ['no daemon', new BeaverError('no_daemon', 'nobody is there'), 503, -32603, 'NO_DAEMON'],
  ['a defect', new TypeError('the inside'), 500, -32603, 'INTERNAL'],
])('%s has its code', (_, error, status, code, about) => {
  const failure = rpcFailure(error)
  expect([failure.status, failure.error.code]).toEqual([status, code])
  expect(JSON.stringify(failure.error.data ?? '')).toContain(about)
  expect(JSON.stringify(failure)).not.toContain('the inside')
})

it('a host that is not there says when to come again', () =>
  expect(rpcFailure(new BeaverError('no_daemon', 'x')).headers).toEqual({ 'retry-after': '2' }))

it('HTTP answers for a token that may not', () => {
  expect(
    [
      new HttpProblem('not_allowed', 'x'),
      new HttpProblem('too_large', 'x'),
      new BeaverError('not_allowed', 'x'),
    ].map(isForHttp),
  ).toEqual([true, false, false])
})
