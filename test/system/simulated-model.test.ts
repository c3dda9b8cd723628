// The simulated model as Beaver's own provider sees it: the two packages do not know each other.
import type { ChatRequest } from '@beaver/agent'
import { gateBuffer, type ProviderChoices, providerBundle } from '@beaver/providers'
import { simulatedModelName, startSimulatedModelProcess } from '@beaver/simulated-model'
import { expect, test } from 'vitest'

const order =
  '<instruction>\nCall `echo` with {"text": "中文 🦫 and a longer text, so that it needs more than one chunk on its way: 🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫🦫"}.\n</instruction>'

const choices = (baseURL: string): ProviderChoices => ({
  provider: 'simulated',
  baseURL,
  apiKey: 'none',
  keyName: 'none',
  model: simulatedModelName,
  timeoutMs: 10_000,
  idleMs: 10_000,
  gateIndex: 0,
  fallback: null,
  auxiliary: null,
  embeddings: null,
  gate: gateBuffer(1),
  limits: {
    requestsPerMinuteMax: null,
    tokensPerMinuteMax: null,
    circuitFailuresMax: 3,
    circuitOpenMs: 60_000,
    turnMsMax: 60_000,
  },
})

test('the provider gets text, calls and usage from the simulated model', async () => {
  await using stop = new AsyncDisposableStack()
  const model = await startSimulatedModelProcess()
  stop.defer(() => model.close())
  const { main: provider } = providerBundle(choices(`${model.url}/v1`))
  const opening: ChatRequest = {
    messages: [{ role: 'user', content: order }],
    tools: [{ name: 'echo', description: '', parameters: {} }],
    signal: new AbortController().signal,
  }
  const first = await provider.chat(opening)
  expect(first).toMatchObject({
    content: null,
    finishReason: 'tool_calls',
    model: simulatedModelName,
    toolCalls: [{ name: 'echo', arguments: expect.stringContaining('中文 🦫') }],
  })
  expect(first.usage.input_tokens).toBeGreaterThan(0)
  const messages: ChatRequest['messages'] = [
    ...opening.messages,
    { role: 'assistant', content: null, tool_calls: first.toolCalls },
    { role: 'tool', tool_call_id: first.toolCalls[0]?.id ?? '', content: '{"text":"x"}' },
  ]
  expect(await provider.chat({ ...opening, messages })).toMatchObject({
    toolCalls: [],
    finishReason: 'stop',
    content: expect.stringContaining('{"text":"x"}'),
  })
})
