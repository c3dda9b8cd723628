// A run whose final answer must be JSON of a schema.
import { calls, memoryHost, type MemoryHost, rootSpec, says } from '@beaver/testing'
import type { RecordedEvent } from '@beaver/core/journal'
import { describe, expect, it } from 'vitest'
import { add, begin, sequential, teamResult } from '../../test/loop-kit.ts'

const schema = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] }
const spec = (over: Parameters<typeof rootSpec>[0] = {}) => {
  const root = rootSpec(over)
  return { ...root, start: { ...root.start, output_schema: schema } }
}
const rejected = (host: MemoryHost) =>
  host.events.flatMap((event: RecordedEvent) => (event.type === 'output_rejected' ? [event.data.faults] : []))

describe('a final answer of a schema', () => {
  it('is given to readers as canonical JSON, and recorded as the model said it', async () => {
    const said = '```json\n{ "total": 3, "a": 1 }\n```'
    const loop = begin({ replies: [says(said)], spec: spec() })
    const end = await loop.end
    expect([end.status, end.facts.outputText, end.structured]).toEqual([
      'completed',
      '{"a":1,"total":3}',
      true,
    ])
    expect(loop.host.events.findLast((event) => event.type === 'assistant_message_added')?.data.content).toBe(
      said,
    )
    expect(loop.provider.requests[0]).toMatchObject({ output: { name: 'output', schema } })
    expect(JSON.stringify(loop.provider.requests[0]?.messages[0])).toContain('output_schema')
  })

  it.each<[string, object | undefined, object]>([
    ['its profile, if the task asks for none', undefined, schema],
    ['its profile, if the task asks for any object', { type: 'object' }, schema],
    [
      'the task, if both have one',
      { type: 'object', properties: { total: { type: 'integer' } } },
      { type: 'object', properties: { total: { type: 'integer' } } },
    ],
  ])('is that of %s', async (_, asked, expected) => {
    const own = {
      name: 'p',
      description: null,
      systemPrompt: null,
      maxToolIterations: null,
      toolIds: null,
      outputSchema: schema,
    }
    const root = rootSpec({ part: { profile: 'p' } })
    const loop = begin({
      replies: [says('{"total": 3}')],
      profiles: [own],
      spec:
        asked === undefined
          ? root
          : { ...root, start: { ...root.start, output_schema: asked as typeof schema } },
    })
    expect((await loop.end).status).toBe('completed')
    expect(loop.provider.requests[0]?.output).toEqual({ name: 'output', schema: expected })
  })

  it('is asked for again once, without tools, with what is wrong and where', async () => {
    const loop = begin({
      replies: [calls(['add', { a: 1, b: 2 }]), says('{"total": "3"}'), says('{"total": 3}')],
      tools: [add],
      spec: spec(),
    })
    expect(await loop.end).toMatchObject({
      status: 'completed',
      facts: { outputText: '{"total":3}' },
      usage: { calls: 3 },
    })
    expect(rejected(loop.host)).toEqual([
      [{ path: '/total', message: 'Invalid input: expected number, received string' }],
    ])
    const [, before, again] = loop.provider.requests
    expect([before?.tools.some(({ name }) => name === 'add'), again?.tools]).toEqual([true, []])
    expect(again?.messages.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringContaining('/total: Invalid input: expected number') as string,
    })
  })

  it('fails the run with output_invalid if the second one does not fit either', async () => {
    const loop = begin({ replies: [says('Three.'), says('{"total": null}')], spec: spec() })
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: { class: 'output_invalid', message: expect.stringContaining('/total') as string },
    })
    expect([rejected(loop.host).length, loop.provider.requests.length]).toEqual([1, 2])
  })

  it('is repaired once, also if the process dies after the refusal', async () => {
    const first = begin({ replies: [says('Three.'), says('{"total": 3}')], spec: spec() })
    await first.end
    const resume = first.host.events.slice(0, first.host.types.indexOf('output_rejected') + 1)
    const bad = begin({ replies: [says('Still three.')], spec: { ...spec(), resume } })
    expect(await bad.end).toMatchObject({ status: 'failed', failure: { class: 'output_invalid' } })
    const good = begin({ replies: [says('{"total": 3}')], spec: { ...spec(), resume } })
    expect(await good.end).toMatchObject({ status: 'completed', facts: { outputText: '{"total":3}' } })
    expect(good.provider.requests[0]?.messages).toEqual(first.provider.requests[1]?.messages)
  })

  it('is refused after a death between the answer and the refusal, and the answer is not asked for again', async () => {
    const first = begin({ replies: [says('Three.'), says('{"total": 3}')], spec: spec() })
    await first.end
    const resume = first.host.events.slice(0, first.host.types.indexOf('assistant_message_added') + 1)
    const loop = begin({ replies: [says('{"total": 3}')], spec: { ...spec(), resume } })
    expect(await loop.end).toMatchObject({ status: 'completed' })
    expect(loop.provider.requests).toHaveLength(1)
  })

  it('may look like a tool call', async () => {
    const shaped = {
      type: 'object',
      properties: { name: { type: 'string' }, arguments: { type: 'object' } },
      required: ['name', 'arguments'],
    }
    const root = rootSpec()
    const loop = begin({
      replies: [says('{"name":"add","arguments":{}}')],
      tools: [add],
      spec: { ...root, start: { ...root.start, output_schema: shaped } },
    })
    expect((await loop.end).status).toBe('completed')
  })

  it.each([
    ['cut', { content: '{"total": 3}', finishReason: 'length' }, 'output_truncated'],
    ['empty', { content: ' ' }, 'empty_output'],
    ['a tool call as text', { content: '<tool_call>{"name": "add"}</tool_call>' }, 'malformed_output'],
  ])('that is %s is not asked for again', async (_, reply, failureClass) => {
    const loop = begin({ replies: [{ toolCalls: [], ...reply }], tools: [add], spec: spec() })
    expect(await loop.end).toMatchObject({ status: 'failed', failure: { class: failureClass } })
    expect(rejected(loop.host)).toEqual([])
  })

  it('is not the text of a team that is prose: the root writes the answer from it', async () => {
    const delivered = { ...sequential, deliver: 'user' }
    const team = (final_output: string) =>
      memoryHost({ runTeam: async () => ({ ...teamResult, final_output }) })
    const prose = begin({
      replies: [calls(['SequentialWorkflow', delivered]), says('{"total": 3}')],
      host: team('There are three.'),
      spec: spec(),
    })
    expect((await prose.end).facts.outputText).toBe('{"total":3}')
    expect(rejected(prose.host)).toEqual([])
    const fits = begin({
      replies: [calls(['SequentialWorkflow', delivered])],
      host: team('{ "total": 4 }'),
      spec: spec(),
    })
    expect((await fits.end).facts.outputText).toBe('{"total":4}')
  })
})
