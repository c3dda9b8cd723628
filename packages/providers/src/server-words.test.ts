import { describe, expect, it } from 'vitest'
import {
  saysNeverConnected,
  saysNoState,
  saysNoStreamOptions,
  saysOverflow,
  saysQuotaUsedUp,
  statusSaidBy,
} from './server-words.ts'

describe('the error of a server', () => {
  it.each([
    ['context_length_exceeded ', 'x', true],
    ['', 'Input is too long for requested model.', true],
    ['', 'The number of input tokens exceeds the maximum number of tokens', true],
    ['invalid_request_error ', 'The window is closed', false],
  ])('with codes %j and message %j says of an overflow: %j', (codes, message, says) =>
    expect(saysOverflow({ codes, message })).toBe(says),
  )

  it('says that the quota is used up by its exact code, or in words that mean nothing else', () => {
    const says = (codes: string, message = 'x'): boolean => saysQuotaUsedUp({ codes, message })
    expect(
      ['insufficient_quota ', ' insufficient_quota', 'insufficient_quota_soon '].map((codes) => says(codes)),
    ).toEqual([true, true, false])
    expect(
      ['Insufficient Balance', 'limit: 0', 'You exceeded your current quota, limit: 50'].map((message) =>
        says('', message),
      ),
    ).toEqual([true, false, false])
  })

  it('without a status has that of its codes, or none', () => {
    expect(
      ['rate_limit_exceeded ', ' overloaded_error', 'odd '].map((codes) => statusSaidBy({ codes })),
    ).toEqual([429, 500, null])
  })

  it('refuses the options of a stream by name, in the parameter or in the message', () => {
    const says = (param: string, message: string): boolean => saysNoStreamOptions({ param, message })
    expect([says('stream_options', 'x'), says('', 'unknown: include_usage'), says('stream', 'x')]).toEqual([
      true,
      true,
      false,
    ])
  })

  it('does not want a field back only if it says that it does not know it', () => {
    const says = (message: string): boolean => saysNoState({ param: '', message })
    expect(says("'messages.2': property 'reasoning_content' is unsupported")).toBe(true)
    expect(says('messages[1].reasoning_details: Extra inputs are not permitted')).toBe(true)
    expect(says('The `reasoning_content` in the thinking mode must be passed back to the API.')).toBe(false)
  })

  it('came before there was a connection, or after', () => {
    expect(['ECONNREFUSED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ECONNRESET', ''].map(saysNeverConnected)).toEqual(
      [true, true, false, false],
    )
  })
})
