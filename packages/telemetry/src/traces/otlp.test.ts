// Given a collector, when it answers in all ways that a collector has, then the sink says what became of the
// spans, in plain words, and never waits for ever.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { otlpSink } from './otlp.ts'
import type { TraceSpan } from './trace-span.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const span: TraceSpan = {
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  parentId: null,
  parentIsRemote: false,
  traceState: null,
  name: 'task',
  kind: 'internal',
  beganMs: 1_767_225_600_000,
  endedMs: 1_767_225_600_100,
  attributes: {},
  events: [],
  links: [],
  error: null,
}

/** What became of a span at a collector that answers like this, and how often the collector was asked. */
async function sentTo(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  let asked = 0
  const server = createServer((request, response) => {
    asked++
    request.resume().once('end', () => answer(request, response))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const sink = await otlpSink({ endpoint: `http://127.0.0.1:${port}`, version: '0', resource: {} })
  closing.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { ...(await sink.send([span])), asked }
}

const says =
  (status: number, body: unknown = {}, headers: Record<string, string> = {}) =>
  (_: IncomingMessage, response: ServerResponse): void =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body))

test('a collector that takes all spans has taken them, whatever else it says', async () => {
  for (const body of [
    {},
    { partialSuccess: {} },
    { partialSuccess: { errorMessage: 'deprecated' } },
    '',
    'no JSON',
  ])
    expect(await sentTo(says(200, body))).toEqual({ kind: 'taken', asked: 1 })
  expect(
    await sentTo(
      (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{}')),
    ),
  ).toEqual({ kind: 'taken', asked: 1 })
})

test('a collector that leaves spans out is believed, with its words', async () => {
  const partialSuccess = { rejectedSpans: '3', errorMessage: 'quota\u001B[2J reached' }
  expect(await sentTo(says(200, { partialSuccess }))).toMatchObject({ kind: 'taken', left: { spans: 3 } })
  const { left } = (await sentTo(says(200, { partialSuccess }))) as { left?: { reason: string } }
  expect(left?.reason).toMatch(/^it says: quota.*reached$/)
  expect(left?.reason).not.toContain('\u001B')
  expect(await sentTo(says(200, { partialSuccess: { rejectedSpans: 1 } }))).toMatchObject({
    left: { spans: 1, reason: 'it does not say why' },
  })
})

test.each([
  [400, 'refused'],
  [413, 'refused'],
  [422, 'refused'],
  [401, 'failed'],
  [404, 'failed'],
  [500, 'failed'],
] as const)('a collector that answers %i has %s the spans', async (status, kind) => {
  expect(await sentTo(says(status))).toEqual({
    kind,
    reason: `the collector answers with ${status}`,
    asked: 1,
  })
})

test('a redirect is not followed, because the headers may have a key', async () => {
  const sent = await sentTo(says(307, {}, { location: 'http://127.0.0.1:9/elsewhere' }))
  expect(sent).toEqual({ kind: 'failed', reason: 'the collector answers with 307', asked: 1 })
})

test('a collector that wants much time is asked later by the feed', async () => {
  expect(await sentTo(says(429, {}, { 'retry-after': '3600' }))).toMatchObject({
    kind: 'failed',
    reason: expect.stringContaining('has no room') as string,
    asked: 1,
  })
})

test('a collector that wants a second is asked again after it', async () => {
  let first = true
  const sent = await sentTo((request, response) => {
    says(first ? 503 : 200, {}, { 'retry-after': '1' })(request, response)
    first = false
  })
  expect(sent).toEqual({ kind: 'taken', asked: 2 })
})
