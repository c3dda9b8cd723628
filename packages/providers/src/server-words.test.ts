import { describe, expect, it } from 'vitest'
import { saysNeverConnected, saysNoStreamOptions, saysOverflow, saysQuotaUsedUp, statusSaidBy } from './server-words.ts'

describe('the error of a server', () => {
  it.each([
    ['context_length_exceeded ', 'x', true],
    ['', 'Input is too long for requested model.', true],
    ['', 'The number of input tokens exceeds the maximum number of tokens', true],
    ['invalid_request_error ', 'The window is closed', false],
  ])('with codes %j and message %j says of an overflow: %j', (codes, message, says) => expect(saysOverflow({ codes, message })).toBe(says))

  it('says that the quota is used up only by its exact code', () => {
    expect(['insufficient_quota ', ' insufficient_quota', 'insufficient_quota_soon '].map((codes) => saysQuotaUsedUp({ codes }))).toEqual([true, true, false])
  })

  it('without a status has that of its codes, or none', () => {
    expect(['rate_limit_exceeded ', ' overloaded_error', 'odd '].map((codes) => statusSaidBy({ codes }))).toEqual([429, 500, null])
  })

  it('refuses the options of a stream by name, in the parameter or in the message', () => {
    expect([saysNoStreamOptions('stream_options', 'x'), saysNoStreamOptions('', 'unknown: include_usage'), saysNoStreamOptions('stream', 'x')]).toEqual([
      true,
      true,
      false,
    ])
  })

  it('came before there was a connection, or after', () => {
    expect(['ECONNREFUSED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ECONNRESET', ''].map(saysNeverConnected)).toEqual([true, true, false, false])
  })
})
