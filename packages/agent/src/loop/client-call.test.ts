import type { ClientTool } from '@beaver/core'
import { calls, memoryHost, rootSpec, says, until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { add, begin, type Loop, results, resumed, toolMessages } from '../../test/loop-kit.ts'
import type { LoopSpec } from './loop-spec.ts'

const colour: ClientTool = {
  name: 'colour',
  description: 'Reads a colour.',
  parameters: {
    type: 'object',
    properties: { at: { type: 'string' } },
    required: ['at'],
    additionalProperties: false,
  },
}
const base = rootSpec()
const spec: LoopSpec = {
  ...base,
  part: { ...(base.part as Extract<LoopSpec['part'], { kind: 'root' }>), clientTools: [colour] },
}
const at = (place: string): [string, unknown] => ['colour', { at: place }]
const given = (...made: readonly [string, unknown][]) => ({
  spec,
  tools: [add],
  replies: [calls(...made), says('done')],
})
const about = (loop: Loop): string[] =>
  loop.host.types.filter((type) => /client_call|tool_call|tool_result/.test(type))
const waits = (loop: Loop, ...ids: string[]) =>
  until('it waits for the client', () => loop.host.atClient.join() === ids.join())

describe('a call of a tool of the client', () => {
  it('is durable before the client can answer, and its answer before the model gets it', async () => {
    const host = memoryHost()
    host.hold('client_call_requested')
    const loop = begin({ ...given(at('door')), host })
    await until('the request waits', () => host.waiting.length === 1)
    expect(host.atClient).toEqual([])
    host.settle()
    await waits(loop, 'c1')
    host.answerForClient('c1', { content: 'blue' })
    for (const what of ['the result waits', 'the end waits']) {
      await until(what, () => host.waiting.length === 1)
      host.settle()
    }
    await loop.end
    expect(about(loop)).toEqual([
      'tool_call_started',
      'client_call_requested',
      'client_call_answered',
      'tool_result_recorded',
    ])
    expect(toolMessages(loop.provider)).toEqual([['c1', 'blue']])
  })

  it('is offered after the tools of the daemon, and its result is a text of a stranger', async () => {
    const loop = begin(given(at('door')))
    await waits(loop, 'c1')
    loop.host.answerForClient('c1', { content: 'blue' })
    const end = await loop.end
    expect(loop.provider.requests[0]?.tools?.at(-1)).toEqual(colour)
    expect(results(loop.host)).toMatchObject([{ success: true, content: 'blue' }])
    expect(end.taint?.untrusted).toEqual(['client tool colour'])
  })

  it('waits beside the others of its answer, and each goes on with its own answer', async () => {
    const loop = begin(given(at('door'), ['add', { a: 1, b: 2 }], at('roof')))
    await waits(loop, 'c1')
    loop.host.answerForClient('c1', { content: 'blue' })
    await waits(loop, 'c3')
    loop.host.answerForClient('c3', { content: 'red' })
    await loop.end
    expect(toolMessages(loop.provider)).toEqual([
      ['c1', 'blue'],
      ['c2', '3'],
      ['c3', 'red'],
    ])
  })

  it('two in a row are with the client at once', async () => {
    const loop = begin(given(at('door'), at('roof')))
    await waits(loop, 'c1', 'c2')
    loop.host.answerForClient('c2', { content: 'red' })
    loop.host.answerForClient('c1', { content: 'blue' })
    expect((await loop.end).status).toBe('completed')
  })

  it('that failed at the client tells the model why', async () => {
    const loop = begin(given(at('door')))
    await waits(loop, 'c1')
    loop.host.answerForClient('c1', { content: '', error: 'no camera' })
    const end = await loop.end
    expect(results(loop.host)).toMatchObject([{ success: false, error: 'client_error' }])
    expect(toolMessages(loop.provider)[0]?.[1]).toContain('no camera')
    expect(end.taint?.untrusted).toEqual(['client tool colour'])
  })

  it.each([
    ['do not fit its schema', { at: 7 }],
    ['are no object', []],
  ])('does not reach the client if its arguments %s', async (_, args) => {
    const loop = begin(given(['colour', args]))
    await loop.end
    expect(about(loop)).not.toContain('client_call_requested')
    expect(results(loop.host)).toMatchObject([{ success: false, error: 'invalid_arguments' }])
  })

  it('has no deadline of a tool: it waits for as long as its host does', async () => {
    const loop = begin(given(at('door')))
    await waits(loop, 'c1')
    loop.clock.advance(10 * 60_000)
    expect(loop.host.atClient).toEqual(['c1'])
    loop.host.answerForClient('c1', { content: 'blue' })
    expect((await loop.end).status).toBe('completed')
  })

  it('ends when its run is cancelled', async () => {
    const loop = begin(given(at('door')))
    await waits(loop, 'c1')
    loop.cancel()
    expect((await loop.end).status).toBe('cancelled')
    expect(loop.host.atClient).toEqual([])
    expect(results(loop.host)).toMatchObject([{ success: false, error: 'cancelled' }])
  })

  it('is asked for once, also after the process died, and an answer meanwhile counts', async () => {
    const first = begin(given(at('door')))
    await waits(first, 'c1')
    const next = resumed(first.host.entries, { spec, replies: [says('done')] })
    await waits(next, 'c1')
    next.host.answerForClient('c1', { content: 'blue' })
    await next.end
    expect(about(next).filter((type) => type === 'client_call_requested')).toHaveLength(1)

    const other = begin(given(at('door')))
    await waits(other, 'c1')
    other.host.hold('tool_result_recorded')
    other.host.answerForClient('c1', { content: 'red' })
    const last = resumed(other.host.entries, { spec, replies: [says('done')] })
    await last.end
    expect(toolMessages(last.provider)).toEqual([['c1', 'red']])
  })
})
