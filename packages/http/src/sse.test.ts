import { BeaverError } from '@beaver/core'
import { until } from '@beaver/testing'
import { expect, it } from 'vitest'
import { HttpProblem, problemOf } from './problem.ts'
import { eventStream, type ServerSentEvent } from './sse.ts'

const readerOf = (answer: Response) => answer.body?.pipeThrough(new TextDecoderStream()).getReader()

it('asks for the next message when the reader took the one before, and ends them when the reader goes away', async () => {
  let asked = 0
  let over = false
  async function* messages(): AsyncGenerator<ServerSentEvent> {
    try {
      for (;;) yield { id: String(++asked), event: 'e', data: { text: 'a\nb' } }
    } finally {
      over = true
    }
  }
  const reader = readerOf(eventStream(messages()))
  const first = await reader?.read()
  expect(first?.value).toBe('id: 1\nevent: e\ndata: {"text":"a\\nb"}\n\n')
  expect(asked).toBe(1)
  await reader?.cancel()
  await until('they are ended', () => over)
})

it('sends a comment while nothing happens', async () => {
  async function* silent(): AsyncGenerator<ServerSentEvent> {
    await new Promise(() => {})
    yield { event: 'never', data: null }
  }
  const reader = readerOf(eventStream(silent(), { heartbeatMs: 5 }))
  for (let i = 0; i < 2; i++) expect((await reader?.read())?.value).toBe(': still here\n\n')
})

it('ends with a problem if it cannot go on, or if its reader may not read any more, and says that it has ended', async () => {
  async function* broken(): AsyncGenerator<ServerSentEvent> {
    yield { event: 'e', data: 1 }
    throw new BeaverError('unreachable', 'NATS is away.')
  }
  let ends = 0
  const ended = (): void => void ends++
  const problem = (code: string, detail: string): unknown =>
    expect.stringMatching(
      new RegExp(`^event: error\ndata: {.*"detail":"${detail}","code":"${code}".*}\n\n$`, 's'),
    )
  const [, ...rest] = (await eventStream(broken(), { ended }).text()).split(/(?<=\n\n)/)
  expect(rest).toEqual([problem('unreachable', 'NATS is away.')])
  async function* silent(): AsyncGenerator<ServerSentEvent> {
    await new Promise(() => {})
    yield { event: 'never', data: null }
  }
  const mayRead = (): never => {
    throw new HttpProblem('unauthorized', 'It is revoked.')
  }
  expect(await eventStream(silent(), { heartbeatMs: 5, mayRead, ended }).text()).toEqual(
    problem('unauthorized', 'It is revoked.'),
  )
  expect(ends).toBe(2)
})

it('that its reader left while it waited has not failed', async () => {
  const { promise: said, resolve: say } = Promise.withResolvers<void>()
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>()
  async function* waiting(): AsyncGenerator<ServerSentEvent> {
    isAsked()
    await said
    yield { event: 'late', data: null }
  }
  const [failures, ends]: [unknown[], string[]] = [[], []]
  const failed = (error: unknown) => (failures.push(error), problemOf(error).details)
  const reader = eventStream(waiting(), { failed, ended: () => ends.push('ended') }).body?.getReader()
  const read = reader?.read()
  await asked
  const left = reader?.cancel()
  say()
  await Promise.all([read, left])
  await new Promise((resolve) => setImmediate(resolve))
  expect([failures, ends]).toEqual([[], ['ended']])
})
