import fc from 'fast-check'
import { embedAll, type EmbeddingProvider } from '@beaver/agent'
import { afterEach, expect, it, test } from 'vitest'
import { apiKey, closeServers, failureOf, type Handler, json, serve } from '../test/kit.ts'
import { openAiEmbeddings, readEmbeddings } from './provider-bundle.ts'

afterEach(closeServers)

const signal = new AbortController().signal
const embedder = (baseURL: string, timeoutMs = 10_000): EmbeddingProvider =>
  openAiEmbeddings({ name: 'test', baseURL, apiKey, model: 'e', timeoutMs })
const failure = async (handler: Handler): ReturnType<typeof failureOf> =>
  failureOf(embedder(await serve(handler)).embed(['a', 'b'], signal))
const place = { host: 'h', model: 'e', keyName: 'K', redact: (text: string) => text.slice(0, 100) }

/** As many vectors as texts; the first number is the text's length. */
const lengths: Handler = (request, response, body) => {
  const { input } = JSON.parse(body) as { input: string[] }
  json({ data: input.map((text, index) => ({ index, embedding: [text.length, 0.5] })) })(
    request,
    response,
    body,
  )
}

it('gives a vector for each text, in their order, asking for at most 64 at once and for plain numbers', async () => {
  const sent: { count: number; format: unknown }[] = []
  const url = await serve((request, response, body) => {
    const asked = JSON.parse(body) as { input: string[]; encoding_format: unknown }
    sent.push({ count: asked.input.length, format: asked.encoding_format })
    lengths(request, response, body)
  })
  const texts = Array.from({ length: 130 }, (_, i) => 'x'.repeat(i + 1))
  expect((await embedAll(embedder(url), texts, signal)).map(([length]) => length)).toEqual(
    texts.map((text) => text.length),
  )
  expect(sent).toEqual([64, 64, 2].map((count) => ({ count, format: 'float' })))
})

it('asks for fewer at once where the server takes fewer, and remembers it', async () => {
  const sent: number[] = []
  const url = await serve((request, response, body) => {
    const { input } = JSON.parse(body) as { input: string[] }
    sent.push(input.length)
    const refusal = {
      error: {
        message: 'Value error, batch size is invalid, it should not be larger than 10.: input.contents',
        type: 'InvalidParameter',
      },
    }
    if (input.length > 10) json(refusal, 400)(request, response, body)
    else lengths(request, response, body)
  })
  const texts = Array.from({ length: 20 }, (_, i) => 'x'.repeat(i + 1))
  const asking = embedder(url)
  for (let i = 0; i < 2; i++)
    expect((await embedAll(asking, texts, signal)).map(([length]) => length)).toEqual(
      texts.map((text) => text.length),
    )
  expect(sent).toEqual([20, 10, 10, 10, 10])
})

it('does not ask again where the refusal is another one, or where one text is too much', async () => {
  let requests = 0
  const refusing = async (message: string, count: number): Promise<number> => {
    requests = 0
    const url = await serve((request, response, body) => {
      requests++
      json({ error: { message } }, 400)(request, response, body)
    })
    await failureOf(embedder(url).embed(Array(count).fill('a'), signal))
    return requests
  }
  expect(await refusing('There is no such model.', 64)).toBe(1)
  expect(await refusing('batch too large', 64)).toBe(7)
})

it('of no texts asks nothing, and of an empty text something', async () => {
  const url = await serve(lengths)
  expect(await embedAll(embedder(url), [], signal)).toEqual([])
  expect((await embedder(url).embed([''], signal)).vectors).toEqual([[1, 0.5]])
})

it('says what the server counted; a count of the input is all of it', async () => {
  const data = [{ embedding: [1] }]
  const counted = async (answer: object): Promise<unknown> =>
    (await embedder(await serve(json({ data, ...answer }))).embed(['a'], signal)).usage
  const usage = { input_tokens: 5, output_tokens: 0, calls: 1 }
  expect(await counted({ usage: { prompt_tokens: 5, total_tokens: 5 } })).toEqual(usage)
  expect(await counted({ usage: { prompt_tokens: 5 } })).toEqual(usage)
  // What nobody counted is all that was sent.
  const sent = { ...usage, input_tokens: 17, estimated_calls: 1 }
  expect(await counted({})).toEqual(sent)
  expect(await counted({ usage: { prompt_tokens: 0, total_tokens: 0 } })).toEqual(sent)
})

it('costs all that was sent if the server answers too late, or nothing that can be read', async () => {
  const sent = { model: 'e', usage: { input_tokens: 34, output_tokens: 0, calls: 1, estimated_calls: 1 } }
  const silent = embedder(await serve(() => {}), 50)
  expect(await failureOf(silent.embed(['a', 'b'], signal))).toMatchObject({
    ...{ class: 'provider_timeout', paid: sent },
  })
  expect(await failure(json({}))).toMatchObject({ class: 'malformed_output', paid: sent })
  expect(await failure(json({ error: { message: 'no' } }, 400))).toMatchObject({ paid: null })
})

it('puts vectors in the order of their index', async () => {
  const data = [
    { index: 1, embedding: [2] },
    { index: 0, embedding: [1] },
  ]
  expect(await embedAll(embedder(await serve(json({ data }))), ['a', 'b'], signal)).toEqual([[1], [2]])
})

test.each<[string, unknown]>([
  ['HTML', '<html></html>'],
  ['nothing', ''],
  ['no data', {}],
  ['data an object', { data: {} }],
  ['too few', { data: [{ embedding: [1] }] }],
  ['too many', { data: [{ embedding: [1] }, { embedding: [1] }, { embedding: [1] }] }],
  ['of two lengths', { data: [{ embedding: [1] }, { embedding: [1, 2] }] }],
  ['empty', { data: [{ embedding: [] }, { embedding: [] }] }],
  ['in base64', { data: [{ embedding: 'AACAPw==' }, { embedding: 'AACAPw==' }] }],
  ['with null in them', { data: [{ embedding: [1, null] }, { embedding: [1, 2] }] }],
  ['with text in them', { data: [{ embedding: ['1'] }, { embedding: ['2'] }] }],
  ['beyond any number', '{"data":[{"embedding":[1e999]},{"embedding":[1]}]}'],
  [
    'with one index twice',
    {
      data: [
        { index: 0, embedding: [1] },
        { index: 0, embedding: [1] },
      ],
    },
  ],
  [
    'with an index outside',
    {
      data: [
        { index: 0, embedding: [1] },
        { index: 2, embedding: [1] },
      ],
    },
  ],
  [
    'with an index that is text',
    {
      data: [
        { index: 'length', embedding: [1] },
        { index: 1, embedding: [1] },
      ],
    },
  ],
  ['null', { data: [null, null] }],
])('vectors that are %s are malformed output', async (_, body) =>
  expect((await failure(json(body))).class).toBe('malformed_output'),
)

test.each<[number, unknown, string]>([
  [401, { error: { message: 'no' } }, 'provider_refused'],
  [404, { error: { message: 'no such model' } }, 'provider_refused'],
  [429, { error: { message: 'x' } }, 'rate_limited'],
  [500, '<html>', 'provider_unavailable'],
])('status %d is %3$s, as in chat', async (status, body, failureClass) => {
  expect(await failure(json(body, status))).toMatchObject({ class: failureClass, status })
})

it('ends in time when the server does not answer, and with the reason when its caller aborts', async () => {
  const url = await serve(() => undefined)
  expect((await failureOf(embedder(url, 50).embed(['a'], signal))).class).toBe('provider_timeout')
  const controller = new AbortController()
  const reason = new Error('cancelled')
  const waiting = embedder(url).embed(['a'], controller.signal)
  controller.abort(reason)
  expect(await failureOf(waiting)).toMatchObject({ class: 'cancelled', cause: reason, paid: { model: 'e' } })
})

it('of whatever else a server sends is refused as malformed, never a crash', () => {
  const odd = fc.oneof(
    fc.json(),
    fc.string(),
    fc
      .array(fc.record({ index: fc.jsonValue({ maxDepth: 1 }), embedding: fc.jsonValue({ maxDepth: 2 }) }), {
        maxLength: 3,
      })
      .map((data) => JSON.stringify({ data })),
  )
  fc.assert(
    fc.property(odd, fc.integer({ min: 1, max: 3 }), (body, count) => {
      try {
        const { vectors } = readEmbeddings(body, count, place)
        return vectors.length === count && vectors.every((vector) => vector.every(Number.isFinite))
      } catch (error) {
        return (error as { class?: unknown }).class === 'malformed_output'
      }
    }),
    { numRuns: 3_000 },
  )
})
