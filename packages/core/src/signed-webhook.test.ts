import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { secretBytes, signatureFault, signatureOf, signedHeaders } from './signed-webhook.ts'

// The example of the document "Standard Webhooks", and of its libraries.
const secret = secretBytes(['whsec', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'].join('_'), '$S')
const signed = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: '1614265330', body: '{"test": 2432232314}' }
const nowMs = 1_614_265_330_000

const faultOf = (over: Record<string, string> = {}, at = nowMs, body = signed.body): string | null =>
  signatureFault(secret, {
    headers: new Headers({ ...signedHeaders(secret, { id: signed.id, body: signed.body, nowMs }), ...over }),
    body,
    nowMs: at,
  })

describe('the signature of a webhook', () => {
  it('is the one of Standard Webhooks', () => {
    expect(signatureOf(secret, signed)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
    expect(faultOf()).toBeNull()
  })

  it('holds for five minutes in both directions', () => {
    expect([-300_000, 300_000].map((away) => faultOf({}, nowMs + away))).toEqual([null, null])
    expect([-300_001, 300_001, 1e13].map((away) => faultOf({}, nowMs + away))).toEqual(
      Array(3).fill(expect.stringContaining('5 minutes')),
    )
  })

  it.each([
    ['of another body', {}, '{"test": 2432232315}'],
    ['of another id', { 'webhook-id': 'other' }, signed.body],
    ['of another time', { 'webhook-timestamp': '1614265331' }, signed.body],
    [
      'of another version',
      { 'webhook-signature': signatureOf(secret, signed).replace('v1,', 'v1a,') },
      signed.body,
    ],
    ['that is cut', { 'webhook-signature': 'v1,g0hM9SsE' }, signed.body],
    [
      'behind too many others',
      { 'webhook-signature': `${'v1,x '.repeat(10)}${signatureOf(secret, signed)}` },
      signed.body,
    ],
    [
      'with another secret',
      { 'webhook-signature': `v1,${createHmac('sha256', 'x').update('y').digest('base64')}` },
      signed.body,
    ],
  ])('%s does not count', (_, over, body) => expect(faultOf(over, nowMs, body)).toContain('is wrong'))

  it('counts beside one of another secret, while a secret is replaced', () => {
    expect(faultOf({ 'webhook-signature': `v1,AAAA ${signatureOf(secret, signed)}` })).toBeNull()
  })

  it.each(['', ' ', '-1', '1e9', 'now', '99999999999999'])('does not count with the time %j', (timestamp) =>
    expect(faultOf({ 'webhook-timestamp': timestamp })).not.toBeNull(),
  )

  it('needs a secret that is there and long', () => {
    for (const short of [null, '', 'x'.repeat(23), 'whsec_', 'whsec_c2hvcnQ='])
      expect(() => secretBytes(short, '$S')).toThrow(
        expect.objectContaining({ code: 'invalid_configuration' }) as Error,
      )
    expect(secretBytes('x'.repeat(24), '$S')).toHaveLength(24)
  })
})
