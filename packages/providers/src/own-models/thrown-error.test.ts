import { ProviderError } from '@beaver/agent'
import { describe, expect, test } from 'vitest'
import { providerErrorFrom } from './thrown-error.ts'

const place = { where: 'of a test', model: 'm', keyName: 'KEY' }
const withMembers = (members: object, error: Error = new Error('said')): Error =>
  Object.assign(error, members)
const fetchFailed = (code: string): Error =>
  new TypeError('fetch failed', { cause: withMembers({ code }, new Error(code)) })

describe('an error of a client library', () => {
  test.each<[string, unknown, object]>([
    [
      'a ProviderError',
      new ProviderError('context_overflow', 'Too long.'),
      { class: 'context_overflow', message: 'Too long.' },
    ],
    [
      'one of another copy',
      withMembers({ name: 'ProviderError', class: 'refusal' }),
      { class: 'refusal', status: null, retryAfterMs: null, refusedTools: [] },
    ],
    [
      'one with a class that is not for providers',
      new ProviderError('worker_lost', 'x'),
      { class: 'provider_unavailable' },
    ],
    [
      'one whose members are nonsense',
      withMembers({
        name: 'ProviderError',
        class: 'refusal',
        status: 'x',
        retryAfterMs: NaN,
        refusedTools: 7,
      }),
      { status: null, retryAfterMs: null },
    ],
    ['a status', withMembers({ status: 503 }), { class: 'provider_unavailable', status: 503 }],
    [
      'a status and a pause',
      withMembers({ status: 429, headers: new Headers({ 'retry-after': '3' }) }),
      { class: 'rate_limited', retryAfterMs: 3_000 },
    ],
    [
      'headers as an object',
      withMembers({ statusCode: 429, responseHeaders: { 'retry-after-ms': '70' } }),
      { class: 'rate_limited', retryAfterMs: 70 },
    ],
    [
      'a key that is refused',
      withMembers({ statusCode: 401, responseBody: '{"error":{"message":"Bad key."}}' }),
      {
        class: 'provider_refused',
        message: expect.stringContaining('check KEY (HTTP 401). It says: Bad key.') as string,
      },
    ],
    [
      'an overflow in the body',
      withMembers({ status: 400, error: { code: 'context_length_exceeded', message: 'Too long.' } }),
      { class: 'context_overflow' },
    ],
    [
      'an empty purse',
      withMembers({ status: 429, error: { code: 'insufficient_quota' } }),
      { class: 'provider_refused' },
    ],
    [
      'a connection refused behind fetch',
      fetchFailed('ECONNREFUSED'),
      { class: 'provider_unavailable', message: expect.stringContaining('cannot be reached') as string },
    ],
    ['a connection that broke', fetchFailed('UND_ERR_SOCKET'), { class: 'provider_unavailable' }],
    ['a bad argument for fetch', fetchFailed('UND_ERR_INVALID_ARG'), { class: 'provider_refused' }],
    ['a time that is over', new DOMException('late', 'TimeoutError'), { class: 'provider_timeout' }],
    ['an answer that is no JSON', new SyntaxError('Unexpected token'), { class: 'malformed_output' }],
    ['a defect', new ReferenceError('y is not defined'), { class: 'provider_refused' }],
    [
      'an error that says nothing',
      new Error('hm'),
      { class: 'provider_unavailable', message: 'The endpoint of a test failed: hm' },
    ],
    [
      'an error as data',
      { type: 'error', error: { type: 'rate_limit_error', message: 'Slow.' } },
      { class: 'rate_limited' },
    ],
    [
      'the same with a status',
      { statusCode: 529, message: 'Overloaded' },
      {
        class: 'provider_unavailable',
        status: 529,
        message: expect.stringContaining('It says: Overloaded') as string,
      },
    ],
    ['no error at all', 'text', { class: 'provider_unavailable' }],
    [
      'something that cannot be read',
      {
        get status() {
          throw new Error('no')
        },
      },
      { message: expect.stringContaining('cannot be read') as string },
    ],
    ['nothing', undefined, { class: 'provider_unavailable' }],
  ])('%s', (_, thrown, expected) => expect(providerErrorFrom(thrown, place)).toMatchObject(expected))
})
