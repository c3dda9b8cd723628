import { toolContext, virtualClock } from '@beaver/testing'
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { executeTool, type ToolResult } from './execute-tool.ts'
import { defineTool, type Tool, ToolFailure, ToolInputError } from './tool.ts'

const context = toolContext({ workspace: '/w', taskId: 't', sessionId: 's', runId: 'r', callId: 'c' })
const tool = (invoke: Tool['invoke']): Tool => ({ name: 'probe', description: '', parameters: {}, idempotent: false, invoke })

function execute(of: Tool | undefined, args = '{}', { timeoutMs = 1_000, clock = virtualClock(), cancel = new AbortController() } = {}): Promise<ToolResult> {
  return executeTool(of, { name: 'probe', arguments: args }, context, { timeoutMs, clock, signal: cancel.signal })
}

describe('a call that succeeds', () => {
  it('has the tool, no error, and what the tool gave', async () => {
    expect(await execute(tool(async () => 'text'))).toEqual({ success: true, tool_name: 'probe', error: null, content: 'text' })
  })

  it('hands the tool its parsed arguments and where it runs', async () => {
    let seen: unknown
    await execute(
      tool(async (args, given) => ((seen = { args, ...given, signal: given.signal.aborted }), '')),
      '{"a":[1]}',
    )
    expect(seen).toEqual({ args: { a: [1] }, ...context, signal: false })
  })

  test.each(['', '  \n'])('takes no arguments (%j) as an empty object', async (args) => {
    expect(
      await execute(
        tool(async (given) => JSON.stringify(given)),
        args,
      ),
    ).toMatchObject({ success: true, content: '{}' })
  })

  it('with a result that is too long is cut, and says how much is missing', async () => {
    const { content } = await execute(tool(async () => 'x'.repeat(200_001)))
    expect(content.length).toBeLessThan(200_100)
    expect(content.endsWith('[cut: 1 more characters]')).toBe(true)
    expect((await execute(tool(async () => 'x'.repeat(200_000)))).content).toHaveLength(200_000)
  })

  it('leaves no timer and no listener behind', async () => {
    const clock = virtualClock()
    let stopped: AbortSignal | null = null
    const cancel = new AbortController()
    await execute(
      tool(async (_, { signal }) => ((stopped = signal), '')),
      '{}',
      { clock, cancel },
    )
    clock.advance(10_000)
    cancel.abort()
    expect((stopped as AbortSignal | null)?.aborted).toBe(false)
  })
})

describe('a call that fails has a result, and never throws', () => {
  const failing = (thrown: unknown): Tool => tool(() => Promise.reject(thrown as Error))

  test.each<[string, Tool | undefined, string, string, string]>([
    ['no tool', undefined, '{}', 'tool_not_available', 'probe'],
    ['arguments that are not JSON', tool(async () => ''), '{"a":', 'invalid_arguments', 'not JSON'],
    ['an input error', failing(new ToolInputError('a must be a number')), '{}', 'invalid_arguments', 'a must be a number'],
    ['a failure with its own code', failing(new ToolFailure('not_found', 'no such file')), '{}', 'not_found', 'no such file'],
    ['an error', failing(new Error('boom')), '{}', 'tool_crash', 'probe failed: boom'],
    ['an error of the system', failing(Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })), '{}', 'tool_crash', 'EACCES'],
    ['a text thrown', failing('boom'), '{}', 'tool_crash', 'boom'],
    ['nothing thrown', failing(undefined), '{}', 'tool_crash', 'undefined'],
    ['null thrown', failing(null), '{}', 'tool_crash', 'null'],
    [
      'a synchronous throw',
      tool(() => {
        throw new Error('at once')
      }),
      '{}',
      'tool_crash',
      'at once',
    ],
  ])('%s', async (_, of, args, error, words) => {
    const result = await execute(of, args)
    expect(result).toMatchObject({ success: false, tool_name: 'probe', error })
    expect(JSON.parse(result.content)).toEqual({ error, message: expect.stringContaining(words) as string })
  })

  test.each(['1', '"text"', 'null', '[]', 'true'])('arguments %s reach a tool of defineTool as a fault of shape', async (args) => {
    const strict = defineTool({ name: 'probe', description: '', input: z.strictObject({}), run: () => 'ran' })
    expect(await execute(strict, args)).toMatchObject({ success: false, error: 'invalid_arguments' })
  })

  it('extra fields are refused by name', async () => {
    const strict = defineTool({ name: 'probe', description: '', input: z.strictObject({ a: z.number() }), run: () => 'ran' })
    expect((await execute(strict, '{"a":1,"b":2}')).content).toContain('b')
  })

  it('a prototype in the arguments is data', async () => {
    const open = defineTool({ name: 'probe', description: '', input: z.looseObject({}), run: (input) => Object.keys(input) })
    await execute(open, '{"__proto__":{"polluted":true}}')
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('time', () => {
  const hanging = (seen: { signal?: AbortSignal }): Tool => tool((_, { signal }) => ((seen.signal = signal), new Promise(() => {})))

  it('a tool that ignores its signal is stopped at the deadline, not before', async () => {
    const clock = virtualClock()
    const seen: { signal?: AbortSignal } = {}
    const running = execute(hanging(seen), '{}', { clock, timeoutMs: 2_000 })
    clock.advance(1_999)
    expect(seen.signal?.aborted).toBe(false)
    clock.advance(1)
    expect(await running).toMatchObject({ success: false, error: 'tool_timeout', content: expect.stringContaining('within 2 s') as string })
    expect(seen.signal?.aborted).toBe(true)
  })

  it('a cancel stops it at once', async () => {
    const cancel = new AbortController()
    const seen: { signal?: AbortSignal } = {}
    const running = execute(hanging(seen), '{}', { cancel })
    cancel.abort('enough')
    expect(await running).toMatchObject({ success: false, error: 'cancelled' })
    expect(seen.signal?.reason).toBe('enough')
  })

  it('a call begun after the cancel has its signal aborted already', async () => {
    const cancel = new AbortController()
    cancel.abort('enough')
    expect(await execute(hanging({}), '{}', { cancel })).toMatchObject({ success: false, error: 'cancelled' })
  })

  it('what a stopped tool does afterwards changes nothing', async () => {
    const clock = virtualClock()
    const { promise, reject } = Promise.withResolvers<string>()
    const running = execute(
      tool(() => promise),
      '{}',
      { clock },
    )
    clock.advance(1_000)
    const result = await running
    reject(new Error('too late')) // an unhandled rejection would fail the test file
    expect(result.error).toBe('tool_timeout')
  })
})
