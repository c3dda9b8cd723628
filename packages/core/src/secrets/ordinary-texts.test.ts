// What must stay as it is: texts of every kind that agents read and write, in which a hasty rule would see
// secrets.
import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { SecretMasker } from './secret-masker.ts'

const masker = new SecretMasker([{ name: 'OPENAI_API_KEY', value: 'sk-0Yb7Qk2LxW9dRt5' }])
const root = join(import.meta.dirname, '../../../..')

it.each([
  'commit 9fceb02d0ae598e95dc970b74767f19372d61af8',
  'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  'integrity sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==',
  '"id": "3f2504e0-4f89-41d3-9a0c-0305e9a2c0de"',
  'task_01k4w9v9p2q3r4s5t6u7v8w9xy and run_01M83FK3MXCCE0YSWYWJPGRKS3',
  'a risk-averse, task-oriented desk-bound sk-learn-like-pipeline-for-everyone',
  'sk-estimator-with-a-very-long-kebab-case-name',
  'Bearer authentication, a bearer token, Bearer of-the-bad-news',
  'basic understanding; Basic authentication',
  'git@github.com:owner/repo.git, ssh://git@github.com/owner/repo, https://user@example.com/',
  'postgres://user:password@localhost/db, https://<user>:<password>@host, redis://:$REDIS_PASSWORD@host, amqp://me:${PASS}@h',
  'http://example.com:8080/a@b, http://[::1]:3000/x, see https://a.example/path:with@sign',
  'OPENAI_API_KEY=your-key-here, API_TOKEN=$TOKEN, SECRET=changeme-please, DB_PASSWORD=<password>, KEY=/etc/ssl/private/key.pem',
  '-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----',
  'The file begins with "-----BEGIN PRIVATE KEY-----" and ends with "-----END PRIVATE KEY-----".',
  'eyJhbGciOiJIUzI1NiJ9 alone is no token',
  'hf_transfer, npm_config_registry, gsk_ and SG. are prefixes',
  'SUAVE SAALBAU SNAPSHOT SCALE SOAP; AKIA and ASIA are continents',
  'UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4',
  'Die Straße heißt „Am Schlüssel“; 密钥在环境变量里；ключ',
])('leaves %j', (text) => expect(masker.mask(text)).toBe(text))

it('leaves images in base64, hashes and ids', () => {
  /** Bytes that look random, the same in each run. */
  const bytes = (name: string, length: number): Buffer =>
    Buffer.concat(
      Array.from({ length: Math.ceil(length / 64) }, (_, i) => hash('sha512', `${name} ${i}`, 'buffer')),
    ).subarray(0, length)
  for (let i = 0; i < 10; i++) {
    const id = bytes(`id ${i}`, 16)
      .toString('hex')
      .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-a$4-$5')
    const text = `data:image/png;base64,${bytes(`a ${i}`, 30_000).toString('base64')} ${bytes(`b ${i}`, 30_000).toString('base64url')} ${bytes(`c ${i}`, 32).toString('hex')} ${id}`
    expect(masker.find(text)).toEqual([])
  }
})

const textsBelow = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter(
      (each) =>
        each.isFile() &&
        /\.(?:md|ts|json|yaml)$/.test(each.name) &&
        !each.parentPath.includes('node_modules'),
    )
    .map((each) => join(each.parentPath, each.name))

it("leaves this repository's sources, documentation and lock file, but for the tests about secrets", () => {
  const files = [
    ...['docs', 'packages', 'skills', 'examples'].flatMap(textsBelow),
    join(root, 'pnpm-lock.yaml'),
    join(root, 'README.md'),
  ]
  const hit = files.flatMap((file) => {
    const text = readFileSync(file, 'utf8')
    return masker
      .find(text)
      .map(
        ({ name, from, to }) =>
          `${file.slice(root.length + 1)}: ${name} ${text.slice(from, Math.min(to, from + 40))}`,
      )
  })
  expect(files.length).toBeGreaterThan(500)
  expect(
    hit.filter((line) => !/secrets?|hide-|redact|canary|journal\/record/.test(line.split(':')[0] ?? '')),
  ).toEqual([])
})
