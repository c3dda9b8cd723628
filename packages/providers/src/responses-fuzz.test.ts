import fc from 'fast-check'
import { expect, it } from 'vitest'
import { brokenResponse, brokenResponseStream, fuzzCases, outcomeOf } from '../test/fuzz.ts'
import type { AnswerPlace } from './chat-completion.ts'
import { readWireResponse } from './responses-answer.ts'
import { responsesStream } from './responses-stream.ts'

const place: AnswerPlace = {
  ...{ host: 'fuzz', model: 'm', keyName: 'OPENAI_API_KEY' },
  redact: (text) => text.slice(0, 100),
  earlierCalls: () => 0,
  toolName: (name) => name,
}

it('a response with wrong types in any field is read or refused, never a crash', () => {
  const outcomes = new Set<string>()
  fc.assert(
    fc.property(brokenResponse, (body) => void outcomes.add(outcomeOf(() => readWireResponse(body, place)))),
    { numRuns: fuzzCases / 2 },
  )
  // The cases reach each of them.
  expect([...outcomes]).toEqual(
    expect.arrayContaining(['answer', 'malformed_output', 'refusal', 'rate_limited']),
  )
})

it('a stream of response events with wrong types in any field is read or refused, never a crash', () => {
  const outcomes = new Set<string>()
  const read = (events: readonly unknown[]): void => {
    const stream = responsesStream(place)
    const outcome = outcomeOf(() => {
      for (const value of events)
        if (typeof stream.take({ kind: 'data', value }) !== 'string') throw new Error('no text')
      stream.take({ kind: 'done' })
      return stream.end()
    })
    outcomes.add(outcome)
  }
  fc.assert(fc.property(brokenResponseStream, read), { numRuns: fuzzCases / 2 })
  expect([...outcomes]).toEqual(
    expect.arrayContaining(['answer', 'malformed_output', 'provider_unavailable', 'refusal']),
  )
})
