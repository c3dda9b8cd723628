import type { HttpAnswer, HttpPost } from '@beaver/providers/endpoint'
import { describe, expect, it } from 'vitest'
import { recorder } from './recorder.ts'

const url = new URL('http://127.0.0.1:1/v1/chat/completions?api-key=pl4nted-in-query')
const signal = new AbortController().signal

/** Answers with these pieces. */
const answering =
  (pieces: readonly Uint8Array[], headers: Readonly<Record<string, string>> = {}, status = 200): HttpPost =>
  async (): Promise<HttpAnswer> => ({
    status,
    header: (name) => headers[name] ?? null,
    headers: () => new Headers(headers),
    text: async () => Buffer.concat(pieces).toString(),
    bytes: (async function* () {
      yield* pieces
    })(),
    discard: () => undefined,
  })

async function bytesOf({ bytes }: HttpAnswer): Promise<Buffer> {
  const read: Uint8Array[] = []
  for await (const piece of bytes) read.push(piece)
  return Buffer.concat(read)
}

describe('the recorder', () => {
  it('gives the reader the answer as it came, and keeps it', async () => {
    const cut = Buffer.from('data: 🦫\n\n')
    const { http, take } = recorder(
      answering([cut.subarray(0, 8), cut.subarray(8)], { 'content-type': 'text/event-stream' }),
    )
    expect((await bytesOf(await http(url, {}, '{"a":1}', signal))).toString()).toBe('data: 🦫\n\n')
    expect(take()).toEqual([
      {
        request: '{"a":1}',
        status: 200,
        headers: { 'content-type': 'text/event-stream' },
        body: 'data: 🦫\n\n',
        whole: true,
      },
    ])
    expect(take()).toEqual([])
  })

  it('keeps an answer that is read as a text', async () => {
    const { http, take } = recorder(answering([Buffer.from('{}')], {}, 404))
    expect(await (await http(url, {}, '', signal)).text()).toBe('{}')
    expect(take()).toMatchObject([{ status: 404, body: '{}', whole: true }])
  })

  it('keeps no address, no header of a request, and of an answer only what says how it is read', async () => {
    const headers = {
      'set-cookie': 'c00kie',
      'openai-organization': 'acme',
      'x-request-id': 'r3quest',
      'retry-after': '2',
    }
    const { http, take } = recorder(answering([], headers))
    await bytesOf(
      await http(url, { authorization: 'Bearer pl4nted-in-header', cookie: 'pl4nted' }, '', signal),
    )
    const kept = take()
    expect(kept).toMatchObject([{ headers: { 'retry-after': '2' } }])
    expect(JSON.stringify(kept)).not.toMatch(/pl4nted|c00kie|acme|r3quest|127\.0\.0\.1/)
  })

  it('says that something is missing if an answer is too large, is left early, or does not come', async () => {
    const large = recorder(answering([new Uint8Array(300 * 1024)]))
    expect(await bytesOf(await large.http(url, {}, '', signal))).toHaveLength(300 * 1024)
    expect(large.take()).toMatchObject([{ whole: false, body: '\0'.repeat(256 * 1024) }])
    const left = recorder(answering([Buffer.from('a'), Buffer.from('b')]))
    for await (const _ of (await left.http(url, {}, '', signal)).bytes) break
    expect(left.take()).toMatchObject([{ whole: false, body: 'a' }])
    const none = recorder(() => Promise.reject(new Error('refused')))
    await expect(none.http(url, {}, 'asked', signal)).rejects.toThrow('refused')
    expect(none.take()).toEqual([{ request: 'asked', status: null, headers: {}, body: '', whole: false }])
  })

  it('keeps nothing of a packed answer, because no secret would be found in it', async () => {
    const { http, take } = recorder(answering([Buffer.from('packed')], { 'content-encoding': 'gzip' }))
    await bytesOf(await http(url, {}, '', signal))
    expect(take()).toMatchObject([{ body: '', whole: false, headers: { 'content-encoding': 'gzip' } }])
  })
})
