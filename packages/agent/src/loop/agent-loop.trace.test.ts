// Given a task with a trace, when its run calls models and tools, then each of them is told the id of the span
// that will be made of the call.
import { contextIn, type SpanKey, taskTrace } from '@beaver/core/trace'
import { calls, rootSpec, says, toolSpec } from '@beaver/testing'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { add, advanceUntilSettled, begin, resumed } from '../../test/loop-kit.ts'
import { ProviderError } from '../provider/chat-provider.ts'
import { defineTool, type Tool, type ToolContext } from '../tools/tool.ts'

const submitted = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=1' }
const trace = taskTrace('main', { tenant: 'local', session: 's', task: 'task1' } as never, submitted)
const told = (key: SpanKey) => contextIn(trace, key)
const model = (number: number) => told({ kind: 'model', run: 'run1', number })

/** A tool that keeps what it was told. */
function listener(pure = false): Tool & { readonly heard: ToolContext['trace'][] } {
  const heard: ToolContext['trace'][] = []
  const tool = defineTool({
    name: 'listen',
    description: 'Listens.',
    input: z.strictObject({}),
    pure,
    run: (_, { trace: context }) => (heard.push(context), 'heard'),
  })
  return { ...tool, heard }
}

it('each try of a model has the id of its own span, and each call of a tool that of the call', async () => {
  const tool = listener()
  const loop = begin({
    spec: rootSpec({ trace }),
    replies: [
      new ProviderError('provider_unavailable', 'late'),
      calls(['listen', {}]),
      calls(['listen', {}], ['add', { a: 1, b: 2 }]),
      says('done'),
    ],
    tools: [tool, add],
  })
  await advanceUntilSettled(loop)
  expect(loop.provider.requests.map(({ trace: each }) => each)).toEqual([0, 1, 2, 3].map(model))
  const asked = loop.host.events.flatMap(({ type, data, taskseq: seq }) =>
    type === 'assistant_message_added' && data.tool_calls[0] !== undefined
      ? [told({ kind: 'call', run: 'run1', seq, call: data.tool_calls[0].id })]
      : [],
  )
  expect(tool.heard).toEqual(asked)
  expect(tool.heard[0]?.traceparent).not.toBe(tool.heard[1]?.traceparent)
})

it('a run that goes on in another process counts on', async () => {
  const first = begin({ replies: [calls(['add', { a: 1, b: 2 }]), says('3')] })
  await first.end
  const { provider, end } = resumed(first.host.entries.slice(0, 3), {
    spec: rootSpec({ trace }),
    replies: [says('3')],
  })
  await end
  expect(provider.requests.map(({ trace: each }) => each)).toEqual([model(1)])
})

it('a tool node has the id of its call', async () => {
  const tool = listener()
  const { end } = begin({ spec: toolSpec({ trace, part: { tool: 'listen' } }), replies: [], tools: [tool] })
  expect((await end).status).toBe('completed')
  expect(tool.heard.map((each) => each?.traceparent.split('-')[1])).toEqual([trace.traceId])
})

it('a pure tool is told nothing, and without a trace nobody is', async () => {
  const [tool, other] = [listener(true), listener()]
  await begin({
    spec: rootSpec({ trace }),
    replies: [calls(['listen', {}]), says('done')],
    tools: [tool],
  }).end
  const { provider, end } = begin({ replies: [calls(['listen', {}]), says('done')], tools: [other] })
  await end
  expect([...tool.heard, ...other.heard]).toEqual([undefined, undefined])
  expect(provider.requests.map((request) => 'trace' in request)).toEqual([false, false])
})

it('a context that is passed on is the same for all', async () => {
  const tool = listener()
  const { provider, end } = begin({
    spec: rootSpec({ trace: submitted }),
    replies: [calls(['listen', {}]), says('done')],
    tools: [tool],
  })
  await end
  expect([...provider.requests.map(({ trace: each }) => each), ...tool.heard]).toEqual(
    Array.from({ length: 3 }, () => submitted),
  )
})
