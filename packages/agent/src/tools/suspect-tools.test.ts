// A call of a suspect tool runs in a process of its own; a pure one is recorded first.
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { type Clock, systemClock } from '@beaver/core'
import { toolContext, until, virtualClock } from '@beaver/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { callScope } from './call-scope.ts'
import { executeTool } from './execute-tool.ts'
import { loadTools } from './load-tools.ts'
import type { Tool } from './tool.ts'

let tools: readonly Tool[]
beforeAll(async () => {
  tools = (await loadTools([], [fileURLToPath(new URL('../../test/cell-tools.ts', import.meta.url))])).tools
})

const named = (name: string): Tool => tools.find((tool) => tool.name === name) as Tool
const execute = (
  tool: Tool,
  what: string,
  limits: { suspicions?: number; timeoutMs?: number; clock?: Clock } = {},
) =>
  executeTool(
    tool,
    { name: tool.name, arguments: JSON.stringify({ what }) },
    toolContext({ workspace: tmpdir() }),
    {
      timeoutMs: 60_000,
      signal: new AbortController().signal,
      clock: systemClock,
      ...limits,
    },
  )

describe('an inline tool of a module', () => {
  it('runs in this process, and in one of its own with the environment it had once it is suspect', async () => {
    expect((await execute(named('inline'), 'pid')).content).toBe(String(process.pid))
    process.env['BEAVER_TEST_KEY'] = 'of the daemon'
    try {
      const [pid, key] = await Promise.all([
        execute(named('inline'), 'pid', { suspicions: 1 }),
        execute(named('inline'), 'key', { suspicions: 1 }),
      ])
      expect(pid.content).not.toBe(String(process.pid))
      expect(key.content).toBe('of the daemon')
    } finally {
      delete process.env['BEAVER_TEST_KEY']
    }
  })

  it('that exits in its cell is a failed call', async () => {
    expect(await execute(named('inline'), 'exit', { suspicions: 1 })).toMatchObject({
      success: false,
      error: 'tool_crash',
    })
  })

  it('has its whole time there: the start of the cell does not count', async () => {
    const time = virtualClock()
    const deadlines: number[] = []
    const clock: Clock = { now: time.now, after: (ms, act) => (deadlines.push(ms), time.after(ms, act)) }
    const running = execute(named('inline'), 'wait', { suspicions: 1, timeoutMs: 1_000, clock })
    time.advance(5_999)
    await until('the cell has started', () => deadlines.length === 2)
    time.advance(1_000)
    expect(await running).toMatchObject({ error: 'tool_timeout' })
    expect(deadlines).toEqual([6_000, 1_000])
  })
})

describe('a built-in tool', () => {
  const builtin: Tool = {
    name: 'probe',
    description: '',
    parameters: {},
    idempotent: true,
    invoke: async () => 'ran',
  }

  it('has no cell: it runs again after one loss, and is refused after two', async () => {
    expect(await execute(builtin, 'x', { suspicions: 1 })).toMatchObject({ success: true })
    expect(await execute(builtin, 'x', { suspicions: 2 })).toMatchObject({
      success: false,
      error: 'tool_crash',
    })
  })

  it('that only waits for its host is never suspect', async () => {
    expect(await execute({ ...builtin, inHost: true }, 'x', { suspicions: 9 })).toMatchObject({
      success: true,
    })
  })
})

describe('the mark of a call in this thread', () => {
  const context = toolContext()
  const marks = () => {
    const said: string[] = []
    const works = (work: object) => (said.push(`begin ${JSON.stringify(work)}`), () => void said.push('over'))
    return { said, works }
  }

  it('lasts until the tool is done, also when its call has a result before', async () => {
    const { said, works } = marks()
    const clock = virtualClock()
    const { promise, resolve } = Promise.withResolvers<string>()
    const tool: Tool = {
      name: 'probe',
      description: '',
      parameters: {},
      idempotent: true,
      invoke: () => promise,
    }
    const running = executeTool(tool, { name: 'probe', arguments: '{}' }, context, {
      timeoutMs: 1_000,
      signal: new AbortController().signal,
      clock,
      works,
    })
    await Promise.resolve()
    clock.advance(1_000)
    expect(await running).toMatchObject({ error: 'tool_timeout' })
    expect(said).toEqual(['begin {"kind":"tool","tool":"probe","timeoutMs":1000,"own":false}'])
    resolve('late')
    await expect.poll(() => said.at(-1)).toBe('over')
  })

  it('is taken away while a person is asked', async () => {
    const { said, works } = marks()
    const answer = Promise.withResolvers<{ action: 'decline' }>()
    const asking = { ...context, ask: () => answer.promise }
    const tool: Tool = {
      name: 'probe',
      description: '',
      parameters: {},
      idempotent: true,
      invoke: async (_, { ask }) => (await ask({ message: 'Why?' })).action,
    }
    const limits = { timeoutMs: 1_000, signal: new AbortController().signal, clock: systemClock, works }
    const running = executeTool(tool, { name: 'probe', arguments: '{}' }, asking, limits)
    await expect.poll(() => said.length).toBe(2)
    expect(said[1]).toBe('over')
    answer.resolve({ action: 'decline' })
    expect((await running).content).toBe('decline')
    expect(said).toEqual([said[0], 'over', said[0], 'over'])
  })

  it('is not made for a call in a cell, nor for one that waits for its host', async () => {
    const { said, works } = marks()
    const limits = { timeoutMs: 60_000, signal: new AbortController().signal, clock: systemClock, works }
    await executeTool(named('in_thread'), { name: 'in_thread', arguments: '{"what":"x"}' }, context, limits)
    await executeTool(named('inline'), { name: 'inline', arguments: '{"what":"x"}' }, context, {
      ...limits,
      suspicions: 1,
    })
    const host: Tool = {
      name: 'h',
      description: '',
      parameters: {},
      idempotent: true,
      inHost: true,
      invoke: async () => '',
    }
    await executeTool(host, { name: 'h', arguments: '{}' }, context, limits)
    expect(said).toEqual([])
  })
})

it('what a call leaves behind is in its scope, and can end it as long as it has no result', async () => {
  const scopes: unknown[] = []
  const tool: Tool = {
    name: 'probe',
    description: '',
    parameters: {},
    idempotent: true,
    invoke: () =>
      new Promise(() => {
        setTimeout(() => {
          const scope = callScope.current()
          scopes.push(scope?.tool, scope?.callId, scope?.fail(new Error('from a timer')))
          setImmediate(() => scopes.push(callScope.current()?.fail(new Error('too late'))))
        }, 1)
      }),
  }
  expect(await execute(tool, 'x')).toMatchObject({
    error: 'tool_crash',
    content: expect.stringContaining('from a timer') as string,
  })
  expect(callScope.current()).toBeNull()
  await expect.poll(() => scopes).toEqual(['probe', 'call1', true, false])
})
