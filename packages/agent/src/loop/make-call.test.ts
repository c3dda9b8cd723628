// Given a call that tells how far it is, when it does so too often, too much or too late, then what people
// hear of it is little and harmless.
import type { LiveProgress } from '@beaver/core'
import { protectSecrets } from '@beaver/core/secrets'
import { calls, memoryHost, rootSpec, says, virtualClock } from '@beaver/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { begin } from '../../test/loop-kit.ts'
import { defineTool, type ToolProgress } from '../tools/tool.ts'
import { callProgress } from './make-call.ts'

const watched = () => {
  const clock = virtualClock(0)
  const sent: unknown[] = []
  return {
    clock,
    sent,
    call: callProgress(clock, (update) => void sent.push({ at: clock.now(), ...update })),
  }
}
const update = (at: number, progress: number, more: Partial<LiveProgress> = {}) => ({
  at,
  progress,
  total: null,
  message: null,
  ...more,
})

describe('the progress of a call', () => {
  it('is passed on at once, then at most every 250 ms, and always the newest', () => {
    const { clock, sent, call } = watched()
    for (const progress of [1, 2, 3]) call.tell({ progress, total: 9 })
    clock.advance(249)
    expect(sent).toEqual([update(0, 1, { total: 9 })])
    clock.advance(1)
    expect(sent.slice(1)).toEqual([update(250, 3, { total: 9 })])
    clock.advance(1_000)
    call.tell({ progress: 4, message: ' Reads.\n' })
    expect(sent.slice(2)).toEqual([update(1_250, 4, { message: 'Reads.' })])
  })

  it('is passed on again every 5 s while the call runs, for who comes later', () => {
    const { clock, sent, call } = watched()
    call.tell({ progress: 1 })
    clock.advance(5_000)
    call.tell({ progress: 2 })
    clock.advance(10_000)
    expect(sent).toEqual([update(0, 1), update(5_000, 1), update(5_250, 2), update(10_250, 2)])
    call.end()
    clock.advance(20_000)
    expect(sent).toHaveLength(4)
  })

  it('ends with the call', () => {
    const { clock, sent, call } = watched()
    call.tell({ progress: 1 })
    call.tell({ progress: 2 })
    call.end()
    call.tell({ progress: 3 })
    clock.advance(1_000)
    expect(sent).toEqual([update(0, 1)])
  })

  it('has a bound and no secret', () => {
    onTestFinished(protectSecrets([{ name: 'DEMO_KEY', value: 'k3y-of-the-demo' }]))
    const { sent, call } = watched()
    call.tell({ progress: 1, message: `${'x'.repeat(195)}k3y-of-the-demo` })
    expect(sent).toEqual([update(0, 1, { message: `${'x'.repeat(195)}[secr` })])
  })

  it.each<unknown>([
    undefined,
    null,
    {},
    { progress: 'half' },
    { progress: Number.NaN },
    { progress: Infinity },
  ])('is nothing if it is %j', (given) => {
    const { sent, call } = watched()
    call.tell(given as ToolProgress)
    expect(sent).toEqual([])
  })

  it('without a sound total or message has none', () => {
    const { sent, call } = watched()
    call.tell({ progress: 1, total: Number.NaN, message: 7 } as unknown as ToolProgress)
    expect(sent).toEqual([update(0, 1)])
  })
})

describe('a tool that tells its progress', () => {
  const counter = (pure: boolean) =>
    defineTool({
      name: 'counter',
      description: 'Counts.',
      input: z.strictObject({}),
      pure,
      async run(_, { progress }) {
        progress({ progress: 1, total: 2, message: 'Half.' })
        return 'counted'
      },
    })

  it.each([
    [
      'is heard, with its call',
      false,
      [{ call_id: 'c1', tool_name: 'counter', progress: 1, total: 2, message: 'Half.' }],
    ],
    ['is not heard if it is pure', true, []],
  ])('%s', async (_, pure, expected) => {
    const heard: unknown[] = []
    const host = memoryHost({ services: { progress: (each) => void heard.push(each) } })
    const loop = begin({
      replies: [calls(['counter', {}, 'c1']), says('done')],
      tools: [counter(pure)],
      spec: rootSpec(),
      host,
    })
    expect((await loop.end).status).toBe('completed')
    expect(heard).toEqual(expected)
    expect(JSON.stringify(host.events)).not.toContain('Half.')
  })
})
