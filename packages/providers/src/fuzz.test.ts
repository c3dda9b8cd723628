import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import { brokenStream, brokenWhole, fuzzCases, fuzzRequests, outcomeOf, outcomeOfCall } from '../test/fuzz.ts'
import { ask, closeServers, provider, serve, sse } from '../test/kit.ts'
import { type AnswerPlace, readChatCompletion } from './chat-completion.ts'
import { chatStream } from './chat-stream.ts'

afterEach(closeServers)

const place: AnswerPlace = {
  host: 'fuzz',
  model: 'm',
  keyName: 'OPENAI_API_KEY',
  redact: (text) => text.slice(0, 100),
  earlierCalls: () => 0,
  toolName: (name) => name,
}

it('an answer with wrong types in any field is read or refused, never a crash', () => {
  const outcomes = new Set<string>()
  fc.assert(
    fc.property(brokenWhole, (body) => void outcomes.add(outcomeOf(() => readChatCompletion(body, place)))),
    { numRuns: fuzzCases / 2 },
  )
  // The cases reach each of them.
  expect([...outcomes]).toEqual(
    expect.arrayContaining(['answer', 'malformed_output', 'refusal', 'rate_limited']),
  )
})

it('a stream with wrong types in any field is read or refused, never a crash', () => {
  const outcomes = new Set<string>()
  const read = (events: readonly unknown[]): void => {
    const stream = chatStream(place)
    const outcome = outcomeOf(() => {
      for (const value of events)
        if (typeof stream.take({ kind: 'data', value }) !== 'string') throw new Error('no text')
      return stream.end()
    })
    outcomes.add(outcome)
  }
  fc.assert(fc.property(brokenStream, read), { numRuns: fuzzCases / 2 })
  expect([...outcomes]).toEqual(
    expect.arrayContaining(['answer', 'malformed_output', 'provider_unavailable', 'refusal']),
  )
})

it('over HTTP each ends as an answer or a classified failure', async () => {
  let body: string | readonly unknown[] = ''
  const url = await serve((request, response, sent) => {
    if (typeof body === 'string') {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(body)
    } else sse(body)(request, response, sent)
  })
  const asking = provider(url)
  const outcomes = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.oneof(brokenWhole, brokenStream), fc.boolean(), async (answered, streamed) => {
      body = answered
      outcomes.add(
        await outcomeOfCall(
          asking.chat(ask(streamed || typeof answered !== 'string' ? { onText: () => undefined } : {})),
        ),
      )
    }),
    { numRuns: fuzzRequests },
  )
  expect([...outcomes]).toEqual(
    expect.arrayContaining(['answer', 'malformed_output', 'provider_unavailable']),
  )
})
