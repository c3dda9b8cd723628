import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ToolFailure } from '@beaver/agent/tool-kit'
import { toolContext } from '@beaver/testing'
import { afterAll, beforeAll, expect, it, test } from 'vitest'
import { type SearchResults, webSearch } from './web-search.ts'

let server: Server
let answer: (response: ServerResponse) => void
const asked: string[] = []
beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '')
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const sends =
  (body: unknown, status = 200) =>
  (response: ServerResponse) =>
    void response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
async function search(args: object, timeoutMs = 5_000): Promise<SearchResults> {
  const { port } = server.address() as AddressInfo
  return JSON.parse(
    await webSearch({ url: `http://127.0.0.1:${port}/search?language=en`, timeoutMs }).invoke(
      args,
      toolContext(),
    ),
  ) as SearchResults
}

it('asks as SearXNG is asked, and gives what it found', async () => {
  answer = sends({
    query: 'x',
    results: [
      { title: 'One', url: 'https://one.example/a b', content: 'first\n  page', engine: 'x', score: 2 },
      { title: 'Two', url: 'https://two.example/', content: 'second' },
    ],
  })
  expect(await search({ query: ' beaver & dam? ' })).toEqual({
    query: 'beaver & dam?',
    results: [
      { title: 'One', url: 'https://one.example/a%20b', snippet: 'first page' },
      { title: 'Two', url: 'https://two.example/', snippet: 'second' },
    ],
  })
  expect(asked.at(-1)).toBe('/search?language=en&q=beaver+%26+dam%3F&format=json')
  expect((await search({ query: 'x', limit: 1 })).results).toHaveLength(1)
})

it('takes other shapes for what they are, and leaves out what has no usable URL', async () => {
  const odd = [
    null,
    7,
    'text',
    [],
    {},
    { url: 7 },
    { url: 'javascript:alert(1)' },
    { url: '/relative' },
    { url: 'file:///etc/passwd', title: 'x' },
  ]
  const good = [
    { link: 'https://a.example/', snippet: 'by another name' },
    { url: 'https://b.example/', title: 7, content: null },
    { url: 'https://c.example/', title: 'x'.repeat(9_999), content: 'y'.repeat(99_999) },
  ]
  answer = sends([...odd, ...good])
  const { results } = await search({ query: 'x' })
  expect(results.slice(0, 2)).toEqual([
    { title: 'https://a.example/', url: 'https://a.example/', snippet: 'by another name' },
    { title: 'https://b.example/', url: 'https://b.example/', snippet: '' },
  ])
  expect([results.length, results[2]?.title.length, results[2]?.snippet.length]).toEqual([3, 300, 1_000])
  answer = sends({ results: [] })
  expect((await search({ query: 'x' })).results).toEqual([])
})

test.each<[string, (response: ServerResponse) => void, string, RegExp]>([
  [
    'that refuses JSON',
    sends('Forbidden', 403),
    'http_error',
    /403 Forbidden\. SearXNG answers like this if "json" is missing/,
  ],
  ['that is broken', sends('oops', 500), 'http_error', /500 Internal Server Error/],
  ['that answers with HTML', sends('<html>'), 'bad_answer', /did not answer with JSON/],
  ['that answers with nothing', sends(''), 'bad_answer', /did not answer with JSON/],
  ['that has no list', sends({ results: { a: 1 } }), 'bad_answer', /no list "results"/],
  ['that says null', sends('null'), 'bad_answer', /no list "results"/],
  ['that answers without end', sends('[' + '1,'.repeat(3_000_000)), 'bad_answer', /more than 4194304 bytes/],
  [
    'that breaks off',
    (response) => (
      response.writeHead(200, { 'content-length': '10' }).flushHeaders(),
      void setImmediate(() => response.destroy())
    ),
    'connection_failed',
    /cannot be reached/,
  ],
  ['that hangs', () => undefined, 'tool_timeout', /within 0.3 s/],
])('an endpoint %s is told as such', async (_, route, code, message) => {
  answer = route
  const thrown: unknown = await search({ query: 'x' }, code === 'tool_timeout' ? 300 : 5_000).catch(
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(ToolFailure)
  expect(thrown).toMatchObject({ code, message: expect.stringMatching(message) as string })
})
