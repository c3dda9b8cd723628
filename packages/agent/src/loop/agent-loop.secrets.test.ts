import { protectSecrets } from '@beaver/core/secrets'
import { calls, memoryHost, rootSpec, says } from '@beaver/testing'
import { beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { begin, results } from '../../test/loop-kit.ts'
import { defineTool } from '../tools/tool.ts'

const value = 'c4n4ry-of-the-l00p'
beforeAll(() => protectSecrets([{ name: 'CANARY', value }]))

const seen: string[] = []
const repeat = defineTool({
  name: 'repeat',
  description: 'Repeats.',
  idempotent: true,
  input: z.strictObject({ text: z.string() }),
  run: ({ text }) => (seen.push(text), `${text} and ${value}`),
})
const pure = defineTool({
  name: 'reverse',
  description: 'Reverses.',
  input: z.strictObject({ text: z.string() }),
  pure: true,
  run: ({ text }) => text.split('').toReversed().join(''),
})

it('a secret that a model repeats or a tool gives is a mark, for tools, for the model, and in the journal', async () => {
  const tools = [repeat, pure]
  const replies = [
    calls(['repeat', { text: `say ${value}` }], ['reverse', { text: value }]),
    says(`It is ${value}.`),
  ]
  const whole = begin({ replies, tools })
  const end = await whole.end
  expect(seen).toEqual(['say [secret:CANARY]'])
  expect(results(whole.host).map(({ content }) => content)).toEqual(
    expect.arrayContaining(['say [secret:CANARY] and [secret:CANARY]']),
  )
  expect(end.facts.outputText).toBe('It is [secret:CANARY].')
  const written = JSON.stringify([whole.host.events, whole.provider.requests.map(({ messages }) => messages)])
  expect(written).not.toContain(value)
  expect(written).not.toContain(value.split('').toReversed().join(''))

  // A loop that is resumed from any prefix of the journal sends what this one sent.
  for (let kept = 1; kept < whole.host.entries.length; kept++) {
    const prefix = whole.host.entries.slice(0, kept)
    const answered = prefix.flat().filter(({ type }) => type === 'assistant_message_added').length
    const again = begin({
      replies: replies.slice(answered),
      tools,
      host: memoryHost({ entries: prefix }),
      spec: rootSpec({ resume: prefix.flat() }),
    })
    expect(await again.end).toMatchObject({
      status: 'completed',
      facts: { outputText: 'It is [secret:CANARY].' },
    })
    const sent = again.provider.requests.map(({ messages }) => messages)
    expect(sent).toEqual(whole.provider.requests.map(({ messages }) => messages).slice(answered))
  }
})
