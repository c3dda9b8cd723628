// What agents can do with the resources and prompts of a server.
import { type RawHttp, rawHttpServer } from '@beaver/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bench } from '../../test/kit.ts'
import { matchesAny } from './own-tools.ts'
import type { McpHttpSpec } from './server-spec.ts'

const cacheable = { ttlMs: 0, cacheScope: 'private' }

async function wiki({
  capabilities = { tools: {}, resources: {}, prompts: {} },
  tools = [],
}: { capabilities?: object; tools?: object[] } = {}): Promise<RawHttp> {
  const server = await rawHttpServer({ capabilities, tools })
  onTestFinished(() => server[Symbol.asyncDispose]())
  Object.assign(server.answers, {
    'resources/list': ({ params }: { params: { cursor?: string } }) => ({
      resources:
        params.cursor === undefined
          ? [{ uri: 'wiki://a', name: 'A', mimeType: 'text/plain', description: 'First.\nSecond.' }]
          : [{ uri: 'secret://b', name: 'B' }],
      ...(params.cursor === undefined ? { nextCursor: '2' } : {}),
      ...cacheable,
    }),
    'resources/templates/list': {
      resourceTemplates: [{ uriTemplate: 'wiki://{page}', name: 'Page' }],
      ...cacheable,
    },
    'resources/read': ({ params }: { params: { uri: string } }) => ({
      contents: [{ uri: params.uri, mimeType: 'text/plain', text: `of ${params.uri}` }],
      ...cacheable,
    }),
    'prompts/list': {
      prompts: [
        {
          name: 'review',
          description: 'Reviews.',
          arguments: [{ name: 'file', required: true }, { name: 'tone' }],
        },
      ],
      ...cacheable,
    },
    'prompts/get': { messages: [{ role: 'user', content: { type: 'text', text: 'Review it.' } }] },
  })
  return server
}

async function connected(server: RawHttp, changes: Partial<McpHttpSpec> = {}) {
  const spec: McpHttpSpec = {
    url: server.url,
    headers: {},
    permission: 'ask',
    timeout_ms: 10_000,
    restarts_max: 0,
    ...changes,
  }
  const connections = await bench({ onTestFinished }).start({ wiki: spec })
  await connections.settled
  const names = connections.tools.map(({ name }) => name)
  const call = (name: string, args: Record<string, string | Record<string, string>> = {}) =>
    connections.call({ name, callId: 'c', arguments: args }, new AbortController().signal)
  return { connections, names, call }
}

describe('a server with resources', () => {
  it('has two tools that read, whose texts are of strangers, with the URI as what rules see', async () => {
    const { connections, names } = await connected(await wiki())
    expect(names).toEqual(['wiki_list_resources', 'wiki_read_resource'])
    expect(connections.tools).toMatchObject([
      { permission: 'ask', reads: 'untrusted', effects: 'reads', sink: 'query' },
      { permission: 'ask', reads: 'untrusted', effects: 'reads', sink: 'query', describes: true },
    ])
    expect(
      await connections.describe?.({
        name: 'wiki_read_resource',
        callId: 'c',
        arguments: { uri: 'wiki://a' },
      }),
    ).toMatchObject({ subject: 'wiki://a' })
    expect(connections.status[0]).toMatchObject({ pinned: 0, changed: [] })
  })

  it('lists all pages and templates, and reads', async () => {
    const { call } = await connected(await wiki())
    expect((await call('wiki_list_resources')).content).toBe(
      'wiki://a · A · text/plain · First. Second.\nsecret://b · B\ntemplate wiki://{page} · Page',
    )
    expect((await call('wiki_read_resource', { uri: 'wiki://x' })).content).toBe(
      '[resource wiki://x, text/plain, 11 characters]\nof wiki://x',
    )
  })

  it('is asked for nothing that the patterns do not name', async () => {
    const server = await wiki()
    const { call } = await connected(server, { resources: ['wiki://*'] })
    expect((await call('wiki_list_resources')).content).not.toContain('secret://')
    expect(await call('wiki_read_resource', { uri: 'secret://b' })).toMatchObject({
      success: false,
      error: 'resource_refused',
    })
    expect(await call('wiki_read_resource', { uri: 'wiki://a' })).toMatchObject({ success: true })
    expect(
      server.requests.filter(({ method }) => method === 'resources/read').map(({ params }) => params['uri']),
    ).toEqual(['wiki://a'])
  })

  it('that answers with something else gave a bad answer', async () => {
    const server = await wiki()
    server.answers['resources/read'] = { contents: [{ uri: 1 }], ...cacheable }
    expect(await (await connected(server)).call('wiki_read_resource', { uri: 'wiki://a' })).toMatchObject({
      success: false,
      error: 'mcp_bad_answer',
    })
  })

  it.each([
    ['the configuration says so', {}, { resources: false }, []],
    ['the configuration selects tools', {}, { tools: [] }, []],
    ['the server has none', { capabilities: { tools: {} } }, {}, []],
    [
      'the server has a tool of that name',
      { tools: [{ name: 'read_resource', inputSchema: { type: 'object' } }] },
      {},
      ['wiki_read_resource', 'wiki_list_resources'],
    ],
  ])('has no such tool if %s', async (_, server, changes, expected) =>
    expect((await connected(await wiki(server), changes)).names).toEqual(expected),
  )
})

it('prompts of a server are read if the configuration says so', async () => {
  const { names, call } = await connected(await wiki(), { resources: false, prompts: true })
  expect(names).toEqual(['wiki_list_prompts', 'wiki_get_prompt'])
  expect((await call('wiki_list_prompts')).content).toBe('review · Reviews. (file, tone?)')
  expect((await call('wiki_get_prompt', { name: 'review', arguments: { file: 'a' } })).content).toBe(
    'Review it.',
  )
})

it.each([
  ['wiki://*', 'wiki://a/b', true],
  ['wiki://a', 'wiki://ab', false],
  ['wiki://*/x', 'wiki://a/x', true],
  ['wiki://a/*a', 'wiki://a/a', true],
  ['ab*ba', 'aba', false],
  ['file:///docs/*', 'file:///docs/../secret', false],
  ['file:///docs/*', 'file:///docs/%2e%2E/secret', false],
  ['file:///docs/*', 'file:///docs/a..b', true],
])('the pattern %s and the URI %s: %s', (pattern, uri, matches) =>
  expect(matchesAny([pattern], uri)).toBe(matches),
)
