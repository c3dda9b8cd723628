import { expect, it, test } from 'vitest'
import { cleaner } from './clean.ts'

const key = 'pl4nted/key+of="this"-run'
const clean = cleaner({
  key,
  keyName: 'PLANTED',
  baseURL:
    'https://some-user:p4ssw0rd%21@models.acme.example:8443/v1/acc0unt-of-acme/openai?api-key=qu3ry-secret',
})

test.each([
  ['the key', `401 for ${key}`, '401 for [secret:PLANTED]'],
  ['the key in JSON', JSON.stringify({ key }), '{"key":"[secret:PLANTED]"}'],
  ['the key in a URL', encodeURIComponent(key), '[secret:PLANTED]'],
  ['another key in its usual form', 'got sk-abcdef0123456789', 'got [secret:key]'],
  ['a login', 'Authorization: Bearer abc.def', 'Authorization: Bearer [secret:bearer_token]'],
  ['a secret of the query', 'no qu3ry-secret', 'no [secret:base_url]'],
  ['a password of the address', 'p4ssw0rd! p4ssw0rd%21', '[secret:base_url] [secret:base_url]'],
  ['the host', 'at models.acme.example:8443 and models.acme.example', 'at [server] and [server]'],
  ['a path with an account', 'no /v1/acc0unt-of-acme/openai/x', 'no [server]/x'],
  [
    'members that name accounts',
    '{"user_id":"u1","organization":"acme","project_number": 12345,"role":"user"}',
    '{"user_id":null,"organization":null,"project_number": null,"role":"user"}',
  ],
  [
    'the same in a text in JSON',
    String.raw`{"raw":"{\"user_id\": \"u1\"}"}`,
    String.raw`{"raw":"{\"user_id\": null}"}`,
  ],
  [
    'an organisation in words',
    'in organization org-AbCdEf123456 on tokens',
    'in organization [account] on tokens',
  ],
  ['a project of Google', 'consumer projects/1234567890', 'consumer projects/[account]'],
  [
    'a model that an account made',
    'ft:gpt-4o-mini-2024-07-18:acme::AbC123',
    'ft:gpt-4o-mini-2024-07-18:[account]',
  ],
  ['a resource of AWS', 'arn:aws:bedrock:us-east-1:123456789012:model/x', '[account]'],
  ['an address of a person', 'ask jane.doe@acme.example', 'ask [address]'],
  ['an IP address', 'from 203.0.113.7', 'from [ip]'],
  ['a file of the machine', '"/data/models/llama.gguf"', '"[folder]/llama.gguf"'],
  ['the folder of a person', '/home/me/llama.gguf, "/Users/jane"', '[folder]/llama.gguf, "[folder]"'],
  ['a file of Windows', String.raw`C:\Users\jane\llama.gguf`, String.raw`[folder]\llama.gguf`],
])('removes %s', (_, text, without) => {
  expect(clean(text)).toBe(without)
})

test.each([
  '{"role":"user","content":"It is 23 °C."}',
  '127.0.0.1 and gpt-5-mini-2025-08-07',
  'https://platform.openai.com/docs/api-reference',
  'call_AbCdEf1234567890',
])('leaves %s as it is', (text) => {
  expect(clean(text)).toBe(text)
})

it('leaves JSON that can be read', () => {
  const told = JSON.stringify({
    error: { message: `${key} of "org-AbCdEf123456" at C:\\Users\\jane "A:"`, user_id: 'u"1' },
  })
  expect(JSON.parse(clean(told))).toMatchObject({
    error: { message: expect.stringContaining('[secret:PLANTED]') },
  })
})
