import { memoryHost, toolContext, toolSpec, until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { add, begin, probe, turns } from '../../test/loop-kit.ts'
import { teamSharedState } from '../tools/team-shared-state.ts'

describe('the run of a tool node', () => {
  it('is one call of its tool; the result is its output, and no model is asked', async () => {
    const loop = begin({ replies: [], spec: toolSpec({ part: { arguments: { a: 2, b: 3 } } }) })
    expect(await loop.end).toMatchObject({
      status: 'completed',
      facts: { outputText: '5', outputSeq: 4 },
      failure: null,
      model: null,
    })
    expect(loop.host.types).toEqual([
      'run_started',
      'tool_call_requested',
      'tool_call_started',
      'tool_result_recorded',
      'run_completed',
    ])
    expect(loop.provider.requests).toEqual([])
    expect(loop.host.events[0]?.data).toMatchObject({ tools: ['add'] })
  })

  it.each([
    ['a tool that throws', { tool: 'breaks', arguments: {} }, 'tool_crash', 'it is broken'],
    [
      'arguments that do not fit',
      { tool: 'add', arguments: { a: 'two' } },
      'tool_crash',
      'The arguments of add do not fit',
    ],
    ['a tool that is not there', { tool: 'nowhere', arguments: {} }, 'tool_crash', 'There is no tool'],
  ])('%s fails it, with the reason', async (_, part, failureClass, message) => {
    const breaks = probe('breaks', () => {
      throw new Error('it is broken')
    })
    const loop = begin({ replies: [], tools: [breaks, add], spec: toolSpec({ part }) })
    expect(await loop.end).toMatchObject({
      status: 'failed',
      failure: { class: failureClass, message: expect.stringContaining(message) },
    })
  })

  it('a tool that hangs fails it as timed out', async () => {
    const hangs = probe('hangs', () => new Promise(() => {}))
    const loop = begin({ replies: [], tools: [hangs], spec: toolSpec({ part: { tool: 'hangs' } }) })
    await until('it runs', () => hangs.calls.length === 1)
    loop.clock.advance(1_000)
    expect(await loop.end).toMatchObject({ status: 'failed', failure: { class: 'tool_timeout' } })
  })

  it('is taken up after its call timed out, and fails as timed out', async () => {
    const hangs = probe('hangs', () => new Promise(() => {}))
    const host = memoryHost()
    const first = begin({ replies: [], tools: [hangs], spec: toolSpec({ part: { tool: 'hangs' } }), host })
    host.hold('run_failed')
    await until('it runs', () => hangs.calls.length === 1)
    first.clock.advance(1_000)
    await until('its end waits', () => host.waiting.length === 1)
    const crashed = memoryHost({ entries: host.entries })
    const again = begin({
      replies: [],
      tools: [hangs],
      host: crashed,
      spec: toolSpec({ part: { tool: 'hangs' }, resume: crashed.events }),
    })
    expect(await again.end).toMatchObject({ status: 'failed', failure: { class: 'tool_timeout' } })
    expect(hangs.calls).toHaveLength(1)
  })

  it('is cancelled while its tool runs', async () => {
    const hangs = probe('hangs', () => new Promise(() => {}))
    const loop = begin({ replies: [], tools: [hangs], spec: toolSpec({ part: { tool: 'hangs' } }) })
    await until('it runs', () => hangs.calls.length === 1)
    loop.cancel('enough')
    expect(await loop.end).toMatchObject({
      status: 'cancelled',
      failure: { class: 'cancelled', message: 'enough' },
    })
  })

  it.each([
    ['an idempotent tool is called again', true, 'completed', 2],
    ['any other is in doubt, and the run fails', false, 'failed', 1],
  ])('taken up after a crash: %s', async (_, idempotent, status, times) => {
    const tool = probe('once', () => 'done', idempotent)
    const host = memoryHost()
    begin({ replies: [], tools: [tool], spec: toolSpec({ part: { tool: 'once' } }), host })
    host.hold('tool_result_recorded')
    await until('its result waits', () => host.waiting.length === 1)
    const crashed = memoryHost({ entries: host.entries })
    const again = begin({
      replies: [],
      tools: [tool],
      host: crashed,
      spec: toolSpec({ part: { tool: 'once' }, resume: crashed.events }),
    })
    const end = await again.end
    expect([end.status, tool.calls.length]).toEqual([status, times])
    if (!idempotent) expect(end.failure?.message).toContain('had begun when its process died')
    await turns()
  })
})

describe('team_shared_state', () => {
  const context = toolContext()
  const seen: unknown[] = []
  const sharedState = (access: unknown) => (
    seen.push(access),
    Promise.resolve({ ok: true as const, state: {}, value: 7 })
  )

  it.each([
    [{ action: 'get' }, { action: 'get', path: '' }],
    [
      { action: 'set', path: 'a.b', value: [1] },
      { action: 'set', path: 'a.b', value: [1] },
    ],
    [
      { action: 'increment', path: 'n' },
      { action: 'increment', path: 'n', by: 1 },
    ],
    [
      { action: 'append', path: 'l', value: null },
      { action: 'append', path: 'l', value: null },
    ],
    [
      { action: 'delete', path: 'l' },
      { action: 'delete', path: 'l' },
    ],
  ])('%j asks for %j and gives the value', async (args, access) => {
    seen.length = 0
    expect(await teamSharedState.invoke(args, { ...context, sharedState })).toBe('{"value":7}')
    expect(seen).toEqual([access])
  })

  it.each([
    [{ action: 'set', path: 'a' }, '"value" is missing'],
    [{ action: 'set', value: 1 }, '"path" is not valid'],
    [{ action: 'turn', path: 'a' }, 'do not fit'],
  ])('%j is refused', async (args, message) => {
    await expect(teamSharedState.invoke(args, { ...context, sharedState })).rejects.toThrow(message)
  })

  it('says what the state refused, and that a team has none', async () => {
    const refuses = () => Promise.resolve({ ok: false as const, message: 'not a number' })
    await expect(
      teamSharedState.invoke({ action: 'increment', path: 'n' }, { ...context, sharedState: refuses }),
    ).rejects.toThrow('not a number')
    await expect(
      teamSharedState.invoke({ action: 'get' }, { ...context, sharedState: null }),
    ).rejects.toThrow('no shared state')
  })
})
