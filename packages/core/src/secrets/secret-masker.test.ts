import { expect, it } from 'vitest'
import { SecretMasker } from './secret-masker.ts'

const value = 'c4n4ry/V4lue+with=signs"and\\more'
const masker = new SecretMasker([
  { name: 'MY_KEY', value },
  { name: 'WORD', value: 'ollama' },
  { name: 'PLAIN_KEY', value: 'q8Zk2mPx7LwA' },
  { name: 'UMLAUT', value: 'Üb3r-gehe1m' },
])
const base64 = (text: string): string => Buffer.from(text).toString('base64')

it.each([
  ['as it is', `before ${value} after`],
  ['in JSON', JSON.stringify({ key: value })],
  ['in JSON within JSON', JSON.stringify({ arguments: JSON.stringify({ key: value }) })],
  ['in a URL', `https://a.example/?k=${encodeURIComponent(value)}&b=1`],
  ['in a URL with small digits', encodeURIComponent(value).replace(/%../g, (code) => code.toLowerCase())],
  ['in base64', base64(value)],
  ['in base64 after one byte', base64(`x${value}yz`)],
  ['in base64 after two bytes', base64(`xy${value}z`)],
  ['in base64 for URLs', Buffer.from(`user:${value}`).toString('base64url')],
  ['in hexadecimal digits', Buffer.from(value).toString('hex')],
  ['at an odd place', `a${value}`],
  ['at once after itself', `${value}${value}`],
])('hides a known value %s', (_, text) => {
  const masked = masker.mask(text)
  expect(masked).toContain('[secret:MY_KEY]')
  expect(masked).not.toContain('c4n4ry')
  expect(masked).not.toMatch(/V4lue|Y0bjRyeS/)
  expect(masker.mask(masked)).toBe(masked)
})

it('hides a value that does not begin with ASCII', () =>
  expect(masker.mask('es ist Üb3r-gehe1m.')).toBe('es ist [secret:UMLAUT].'))
it('leaves a value that is a word', () => expect(masker.mask('ask ollama')).toBe('ask ollama'))
it('finds a secret wherever it stands in a long text', () => {
  for (let before = 0; before < 50; before++)
    expect(masker.mask(`${'-'.repeat(before)}q8Zk2mPx7LwA${'.'.repeat(before)}`)).toContain(
      '[secret:PLAIN_KEY]',
    )
})
it('returns a text without a secret as it is', () => {
  const text = 'a plain text about keys, tokens and task-lists'
  expect(masker.mask(text)).toBe(text)
})

const random = 'aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d'
it.each([
  ['openai_key', `sk-proj-${random}T3BlbkFJ${random}`],
  ['openai_key', `sk-${random}`],
  ['anthropic_key', `sk-ant-api03-${random}${random}-AA`],
  ['aws_access_key', 'AKIAIOSFODNN7EXAMPLE'],
  ['aws_secret_key', 'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
  ['aws_secret_key', '{"SecretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}'],
  ['github_token', `ghp_${random.slice(0, 36)}`],
  ['github_token', `github_pat_${random}${random}`],
  ['gitlab_token', `glpat-${random.slice(0, 20)}`],
  ['slack_token', `xoxb-123456789012-${random.slice(0, 24)}`],
  ['slack_webhook', `https://hooks.slack.com/services/T00000000/B00000000/${random.slice(0, 24)}`],
  ['google_key', `AIza${random.slice(0, 35)}`],
  ['google_secret', `GOCSPX-${random.slice(0, 28)}`],
  ['stripe_key', `sk_live_${random.slice(0, 24)}`],
  ['sendgrid_key', `SG.${random.slice(0, 22)}.${random}`],
  ['npm_token', `npm_${random.slice(0, 36)}`],
  ['hugging_face_token', `hf_${random.slice(0, 34)}`],
  ['nats_seed', `SUA${'ABCDEFGHIJK234567MNOPQRSTUVWXYZ234567ABCDEFGHIJK234567M'.slice(0, 55)}`],
  [
    'jwt',
    `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${Buffer.from('{"sub":"1234"}').toString('base64url')}.${random}`,
  ],
  ['private_key', `-----BEGIN RSA PRIVATE KEY-----\n${random}\n${random}\n-----END RSA PRIVATE KEY-----`],
  ['private_key', JSON.stringify(`-----BEGIN PRIVATE KEY-----\n${random}\n-----END PRIVATE KEY-----\n`)],
  ['private_key', `-----BEGIN OPENSSH PRIVATE KEY-----\n${random}\n${random.slice(0, 20)}`],
  ['url_credentials', 'postgres://admin:hunter2@db.example:5432/app'],
  ['bearer_token', `curl -H "authorization: bearer ${random}"`],
  ['basic_auth', `Authorization: Basic ${base64('admin:hunter2')}`],
  ['assigned_secret', 'DB_PASSWORD="Tr0ub4dor&3-x9"'],
])('hides the shape of a %s', (name, text) => {
  const masked = masker.mask(`(${text})`)
  expect(masked).toContain(`[secret:${name}]`)
  expect(masked).not.toContain(random.slice(0, 16))
  expect(masker.mask(masked)).toBe(masked)
  expect(masker.mask(JSON.stringify({ output: `line\n${text}` }))).toContain(`[secret:${name}]`)
})
