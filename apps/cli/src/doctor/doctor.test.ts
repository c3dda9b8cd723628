import { tokensFile } from '@beaver/gateway'
import { TokenStore } from '@beaver/http'
import { loadConfig } from '@beaver/platform'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { checkCheckpointsElsewhere } from './check-checkpoints.ts'
import { checkLoaded, faultLines } from './check-loaded.ts'
import { checkDisk, checkLoopback, checkNode } from '../commands/doctor.ts'
import { checkModels, type ModelsConfig } from './check-model.ts'

const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

/** How an endpoint answers when it is asked for its models, and when it is called. */
type Says = (asked: 'list' | 'call') => [status: number, text: string]

/** The requests that the endpoints received. */
const asked: string[] = []

async function endpoint(status: number | Says): Promise<string> {
  const says: Says = typeof status === 'number' ? () => [status, '{}'] : status
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      asked.push(`${request.method} ${request.url} ${body}`)
      const [answered, text] = says(request.method === 'GET' ? 'list' : 'call')
      response.writeHead(answered).end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

const plain = { settings: {}, headers: {} }
const config = (base_url: string | undefined, apiKey: string | null, more: object = {}) =>
  ({
    apiKey,
    apiKeys: { fallback: null, auxiliary: null, embeddings: null },
    provider_limit_ms_max: 1_000,
    model: {
      ...plain,
      name: 'm',
      timeout_ms: 1_000,
      idle_ms: 1_000,
      circuit_failures_max: 5,
      circuit_open_ms: 1_000,
      ...(base_url === undefined ? {} : { base_url }),
      ...more,
    },
  }) as unknown as ModelsConfig
const checkModel = async (...of: Parameters<typeof config>) => (await checkModels(config(...of)))[0]

test('without key and endpoint the model is simulated, and that is said', async () => {
  expect(await checkModel(undefined, null)).toMatchObject({
    status: 'warn',
    says: expect.stringContaining('simulated') as string,
  })
})

test('an endpoint that answers is fine; one that refuses the key is not; the key is never shown', async () => {
  expect(await checkModel(await endpoint(200), 'sk-secret')).toMatchObject({ status: 'ok' })
  const refused = await checkModel(await endpoint(401), 'sk-secret')
  expect(refused).toMatchObject({
    status: 'fail',
    says: expect.stringContaining('refuses the key') as string,
  })
  expect(JSON.stringify(refused)).not.toContain('sk-secret')
})

test.each<[string, 'ok' | 'warn' | 'fail', string, Says]>([
  [
    'lists its models',
    'ok',
    'answers',
    (it) => (it === 'list' ? [200, '{"object":"list","data":[]}'] : [500, '']),
  ],
  [
    'has no list, and refuses a call without a prompt',
    'ok',
    'answers',
    (it) => (it === 'list' ? [404, 'no'] : [400, '{"error":{}}']),
  ],
  [
    'has a list that fails, and refuses a call without a prompt',
    'ok',
    'answers',
    (it) => (it === 'list' ? [500, ''] : [422, '{"detail":[]}']),
  ],
  [
    'has no list, and cannot take a call without a prompt',
    'warn',
    'answers with HTTP 500',
    (it) => (it === 'list' ? [404, ''] : [500, '{}']),
  ],
  ['fails always', 'fail', 'answers with HTTP 500', () => [500, '{"error":{"message":"x"}}']],
  [
    'knows neither the path nor the model',
    'fail',
    'does not have the model or the path (HTTP 404)',
    () => [404, '{"error":{"code":"model_not_found"}}'],
  ],
  ['is a page', 'fail', 'its answer is not JSON (HTTP 200)', () => [200, '<!doctype html>']],
  [
    'sends everybody to a login',
    'fail',
    'it sends calls elsewhere, which Beaver does not follow (HTTP 302)',
    () => [302, ''],
  ],
])('an endpoint that %s: %s', async (_, status, says, answers) => {
  expect(await checkModel(await endpoint(answers), null)).toMatchObject({
    status,
    says: expect.stringContaining(says) as string,
  })
  expect(asked.filter((each) => each.includes('prompt') || each.includes('messages'))).toEqual([])
})

test('embeddings are asked for at their own path', async () => {
  const url = await endpoint((it) => (it === 'list' ? [404, ''] : [400, '{}']))
  const beside = { embeddings: { ...plain, base_url: url, name: 'e' } }
  expect((await checkModels(config(await endpoint(200), null, beside))).map(({ status }) => status)).toEqual([
    'ok',
    'ok',
  ])
  expect(asked).toContain('POST /v1/embeddings {"model":"e"}')
})

test('an endpoint of the Responses API is asked with a request that has nothing in it, and must know the path', async () => {
  const asking = async (status: number) =>
    checkModel(await endpoint(status), 'sk-secret', { protocol: 'responses' })
  expect(await asking(400)).toMatchObject({ status: 'ok' })
  expect(asked.at(-1)).toBe('POST /v1/responses {}')
  expect(await asking(404)).toMatchObject({
    status: 'fail',
    says: expect.stringContaining('does not have the Responses API') as string,
  })
  expect(await asking(401)).toMatchObject({
    status: 'fail',
    says: expect.stringContaining('refuses the key') as string,
  })
})

test('an endpoint nobody serves fails with what to do', async () => {
  const url = await endpoint(200)
  closing.splice(0).forEach((close) => close())
  expect(await checkModel(url, null)).toMatchObject({
    status: 'fail',
    says: expect.stringContaining('ECONNREFUSED') as string,
  })
})

test('the machine is checked', async () => {
  expect(checkNode('20.11.0').status).toBe('fail')
  expect(checkNode('26.1.0').status).toBe('ok')
  expect((await checkLoopback()).status).toBe('ok')
  expect((await checkDisk(join(tmpdir(), 'not', 'there', 'yet'))).status).not.toBe('fail')
})

test('the endpoints beside the main one are checked where they are configured; a main key goes to its own endpoint only', async () => {
  const [good, bad] = [await endpoint(200), await endpoint(401)]
  const beside = {
    fallback: { ...plain, base_url: bad, name: 'f' },
    auxiliary: { ...plain, base_url: good, name: 'a' },
    embeddings: { ...plain, base_url: bad, name: 'e' },
  }
  const models = {
    deep: { ...plain, base_url: bad, name: 'd', key: 'DEEP_KEY' },
    near: { ...plain, name: 'n' },
  }
  const found = await checkModels({
    ...config(good, 'sk-secret', beside),
    apiKeys: { fallback: 'sk-fallback', auxiliary: null, embeddings: null },
    models: models as unknown as ModelsConfig['models'],
    modelKeys: { DEEP_KEY: 'sk-deep' },
  } as ModelsConfig)
  expect(found.map(({ status, name }) => `${status} ${name}`)).toEqual([
    'ok model',
    'warn fallback',
    'ok auxiliary',
    'warn embeddings',
    'warn model deep',
    'ok model near',
  ])
  expect(found.map(({ says }) => /key (?:not )?set/.exec(says)?.[0])).toEqual([
    'key set',
    'key set',
    'key set',
    'key not set',
    'key set',
    'key set',
  ])
  expect(found.map(({ todo }) => /Set (\w+) to/.exec(todo ?? '')?.[1] ?? null)).toEqual([
    null,
    'BEAVER_FALLBACK_API_KEY',
    null,
    'BEAVER_EMBEDDINGS_API_KEY',
    'DEEP_KEY',
    null,
  ])
  expect(JSON.stringify(found)).not.toMatch(/sk-/)
})

test('what a daemon would load is counted, each fault told with its file; MCP servers are named', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beaver-doctor-'))
  closing.push(() => rmSync(folder, { recursive: true }))
  await mkdir(join(folder, 'skills', 'broken'), { recursive: true })
  await writeFile(join(folder, 'skills', 'broken', 'SKILL.md'), 'no front matter')
  await writeFile(join(folder, 'profile.json'), '{')
  await writeFile(
    join(folder, 'beaver.config.json'),
    JSON.stringify({
      profiles: ['profile.json'],
      mcp: {
        files: { command: 'no such mcp-files' },
        web: { url: 'http://127.0.0.1:9/mcp', headers: { authorization: '$NOT_SET_ANYWHERE' } },
        node: { command: process.execPath },
      },
    }),
  )
  const home = join(folder, '.beaver')
  await mkdir(join(home, 'run'), { recursive: true })
  const pin = {
    server: 'web',
    tool: 'mail',
    hash: '',
    definition: '',
    pinned_at: '',
    changed: { hash: 'h', definition: '{}', seen_at: '' },
  }
  await writeFile(join(home, 'mcp-pins.json'), JSON.stringify({ version: 1, pins: [pin] }))
  const leftOut = Array.from({ length: 100 }, (_, i) => ({
    tool: `t${200 + i}`,
    reason: 'is beyond the bound',
  }))
  const server = {
    name: 'files',
    state: 'connected',
    tools: 200,
    changed: 0,
    left_out: 800,
    left_out_tools: leftOut,
    reason: null,
  }
  const own = {
    ...server,
    name: 'node',
    left_out: 0,
    left_out_tools: [],
    is_beaver: true,
    workflows: ['GraphWorkflow'],
  }
  await writeFile(join(home, 'run', 'mcp.json'), JSON.stringify({ pid: process.pid, servers: [server, own] }))
  const found = await checkLoaded(loadConfig({ trust: true }, {}, folder))
  expect(found.map(({ status, says }) => [status, says.replaceAll(folder, '')])).toEqual([
    ['ok', expect.stringMatching(/^\d+ skills?, \d+ tools, 0 workflow definitions, 0 profiles$/)],
    ['warn', expect.stringContaining('/skills/broken/SKILL.md: ')],
    ['warn', expect.stringContaining('/profile.json: It is not JSON')],
    ['ok', 'text of strangers from: web_fetch; after it, these ask or are refused: web_fetch, memory'],
    [
      'ok',
      expect.stringMatching(
        /^3 servers configured: files \(no such mcp-files\), web \(127\.0\.0\.1:9\), node /,
      ),
    ],
    ['warn', 'There is no program "no such mcp-files"'],
    ['warn', expect.stringContaining('NOT_SET_ANYWHERE is not set')],
    ['warn', '1 tool changed or appeared and is withheld: mail'],
    [
      'warn',
      'Agents do not get 800 tools of files: t200 (is beyond the bound), t201 (is beyond the bound), t202 (is beyond the bound), and 797 more tools',
    ],
    ['ok', expect.stringMatching(/^It is Beaver's own server\..* GraphWorkflow$/)],
  ])
  await writeFile(
    join(folder, 'beaver.config.json'),
    JSON.stringify({ egress: { policy: { memory: { untrusted: 'allow' } } } }),
  )
  expect(
    (await checkLoaded(loadConfig({ trust: true }, {}, folder))).find(({ name }) => name === 'egress'),
  ).toMatchObject({
    status: 'warn',
    says: expect.stringContaining('Weaker than the default: memory') as string,
  })
  await writeFile(join(folder, 'beaver.config.json'), JSON.stringify({ profile: 'gone' }))
  expect((await checkLoaded(loadConfig({ trust: true }, {}, folder)))[0]).toMatchObject({
    status: 'fail',
    says: expect.stringContaining('gone') as string,
  })
})

test('a tool that replaces a built-in one is told, and there is nothing to do about it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beaver-doctor-'))
  closing.push(() => rmSync(folder, { recursive: true }))
  const tool = `import { defineTool } from '@beaver/agent'
import { z } from 'zod'
export const fetched = defineTool({ name: 'web_fetch', description: 'Fetches.', input: z.strictObject({}), effects: 'reads', reads: 'untrusted', run: () => 'a page' })`
  await writeFile(join(folder, 'tools.ts'), tool)
  await writeFile(join(folder, 'beaver.config.json'), JSON.stringify({ tools: ['tools.ts'] }))
  const lines = faultLines(await checkLoaded(loadConfig({ trust: true }, {}, folder)))
  expect(lines).toEqual([expect.stringMatching(/web_fetch replaces the built-in tool\. Beaver uses it\.$/)])
  await writeFile(join(folder, 'broken.ts'), 'export const none = ')
  await writeFile(join(folder, 'beaver.config.json'), JSON.stringify({ tools: ['broken.ts'] }))
  expect(faultLines(await checkLoaded(loadConfig({ trust: true }, {}, folder)))).toEqual([
    expect.stringContaining('broken.ts: '),
    expect.stringMatching(/^What to do: .*doctor$/),
  ])
})

test('a permission rule that can never hold is a thing to know, and no failure', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beaver-doctor-'))
  closing.push(() => rmSync(folder, { recursive: true }))
  const rules = [
    { tool: 'read_file', pattern: '/etc/*', decision: 'deny' },
    { tool: 'run_command', pattern: 'git push*', decision: 'deny' },
    { tool: 'tracker_delete', decision: 'deny' },
    { tool: 'write_file', decision: 'ask' },
    { tool: 'write_file', pattern: '*.env', decision: 'deny' },
  ]
  await writeFile(
    join(folder, 'beaver.config.json'),
    JSON.stringify({ permissions: { rules }, mcp: { tracker: { command: 'true' } } }),
  )
  const found = await checkLoaded(loadConfig({ trust: true }, {}, folder))
  expect(
    found.filter(({ name }) => name === 'permissions').map(({ status, says }) => `${status}: ${says}`),
  ).toEqual([
    'warn: Permission rule 1 (deny read_file /etc/*) never holds: paths are relative to the workspace. Write the pattern without the beginning, or with "*/".',
    'warn: Permission rule 2 (deny run_command git push*) never holds: run_command is off. "run_command.enabled" of the configuration turns it on.',
    'warn: Permission rule 5 (deny write_file *.env) never holds: rule 4 (ask write_file) comes first and covers it.',
  ])
})

test('on a system of several people it offers to keep checkpoints elsewhere', async () => {
  const home = await mkdtemp(join(tmpdir(), 'beaver-doctor-'))
  closing.push(() => rmSync(home, { recursive: true }))
  const look = (set: object = {}) =>
    checkCheckpointsElsewhere({ ...loadConfig({ set }, {}, import.meta.dirname), home })
  const store = new TokenStore(tokensFile(home))
  await store.create('laptop', { roles: ['submit'], userId: 'ada', now: new Date(0) })
  await store.create('phone', { roles: ['submit'], userId: 'ada', now: new Date(0) })
  expect(look()).toEqual([])
  await store.create('desk', { roles: ['submit'], userId: 'ben', now: new Date(0) })
  expect(look()).toMatchObject([
    {
      status: 'warn',
      says: expect.stringContaining('has tokens for 2 people, and no checkpoint is kept elsewhere') as string,
      todo: expect.stringContaining('"checkpoints": { "folder": ') as string,
    },
  ])
  expect(look({ checkpoints: { folder: '/mnt/elsewhere' } })).toMatchObject([
    { status: 'ok', says: 'each is kept in /mnt/elsewhere, too' },
  ])
})
