import { until } from '@beaver/testing'
import { expect, it } from 'vitest'
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
