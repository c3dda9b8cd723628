import { calls, rootSpec, says } from '@beaver/testing'
import type { ToolChoice } from '@beaver/core'
import { describe, expect, it } from 'vitest'
import { add, begin, lastMessages, probe, resumed } from '../../test/loop-kit.ts'
import type { LoopSpec } from './loop-spec.ts'

const look = probe('look', () => 'seen')
const chosen = (tool_choice: ToolChoice): LoopSpec => {
  const spec = rootSpec()
  return { ...spec, start: { ...spec.start, tool_choice } }
}
const asked = ({ provider }: ReturnType<typeof begin>) =>
  provider.requests.map(({ tools, mustCall }) => [
    tools.map(({ name }) => name).filter((name) => name === 'add' || name === 'look'),
    mustCall ?? false,
  ])

describe('the choice of the tools of a task', () => {
  it('asks the provider for a call until there is one, and narrows the tools until then', async () => {
    const loop = begin({
      spec: chosen({ mode: 'required', names: ['add'] }),
      tools: [add, look],
      replies: [calls(['add', { a: 1, b: 2 }]), says('done')],
    })
    expect((await loop.end).status).toBe('completed')
    expect(asked(loop)).toEqual([
      [['add'], true],
      [['add', 'look'], false],
    ])
  })

  it('asks again once, because small servers ignore it, and also after a crash', async () => {
    const spec = chosen('required')
    const first = begin({ spec, tools: [add], replies: [says('Three.')] })
    await first.end.catch(() => {})
    const rejected = first.host.entries.slice(
      0,
      first.host.entries.findIndex((entry) => entry.some(({ type }) => type === 'output_rejected')) + 1,
    )
    const next = resumed(rejected, {
      spec,
      tools: [add],
      replies: [calls(['add', { a: 1, b: 2 }]), says('done')],
    })
    expect((await next.end).status).toBe('completed')
    expect(asked(next)).toEqual([
      [['add'], true],
      [['add'], false],
    ])
    expect(lastMessages(next.provider).map(({ content }) => content)).toContainEqual(
      expect.stringContaining('Your answer calls no tool'),
    )
  })

  it('fails the run if the model calls none, also after it was asked again', async () => {
    const loop = begin({
      spec: chosen({ mode: 'required', names: ['add'] }),
      tools: [add],
      replies: [says('Three.'), says('I said three.')],
    })
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: { class: 'tool_choice_unmet', message: expect.stringContaining('one of add') as string },
      usage: { calls: 2 },
    })
  })

  it('none: sends no tool, and refuses a call all the same', async () => {
    const loop = begin({
      spec: chosen('none'),
      tools: [look],
      replies: [calls(['look', {}]), says('done')],
    })
    expect((await loop.end).status).toBe('completed')
    expect([asked(loop)[0], look.calls]).toEqual([[[], false], []])
  })

  it('auto with names: narrows every request', async () => {
    const loop = begin({
      spec: chosen({ mode: 'auto', names: ['add'] }),
      tools: [add, look],
      replies: [calls(['add', { a: 1, b: 2 }]), says('done')],
    })
    await loop.end
    expect(asked(loop)).toEqual([
      [['add'], false],
      [['add'], false],
    ])
  })
})
