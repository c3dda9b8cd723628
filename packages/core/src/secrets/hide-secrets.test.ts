import { expect, it } from 'vitest'
import { hideSecrets } from './hide-secrets.ts'

const clean = hideSecrets([
  { name: 'KEY', value: 's3cr"et value' },
  { name: 'SHORT', value: 'tiny' },
])

it.each([
  ['a secret as it is', 'refused: s3cr"et value!', 'refused: [secret:KEY]!'],
  ['a secret in JSON', JSON.stringify({ key: 's3cr"et value' }), '{"key":"[secret:KEY]"}'],
  ['a secret in a URL', `?key=${encodeURIComponent('s3cr"et value')}`, '?key=[secret:KEY]'],
  ['a secret in base64', Buffer.from('s3cr"et value').toString('base64'), '[secret:KEY]'],
  ['a key nobody named', 'Incorrect API key: sk-abc****wxyz.', 'Incorrect API key: [secret:key]'],
  ['a bearer token', 'Authorization: Bearer abc.def', 'Authorization: Bearer [secret:bearer_token]'],
  [
    'the user of a URL',
    'nats://admin:hunter2@10.0.0.1:4222',
    'nats://[secret:url_credentials]@10.0.0.1:4222',
  ],
  ['nothing of a placeholder', 'a tiny key', 'a tiny key'],
])('hides %s', (_, text, expected) => expect(clean(text)).toBe(expected))
