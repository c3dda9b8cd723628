import { toolContext, virtualClock } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { executeTool, type ToolResult } from './execute-tool.ts'
import { defineTool, type Tool, ToolFailure, ToolInputError } from './tool.ts'

const context = toolContext({ workspace: '/w', taskId: 't', sessionId: 's', runId: 'r', callId: 'c' })
const tool = (invoke: Tool['invoke']): Tool => ({
  name: 'probe',
  description: '',
  parameters: {},
  idempotent: false,
  invoke,
})

function execute(
  of: Tool | undefined,
  args = '{}',
  { timeoutMs = 1_000, clock = virtualClock(), cancel = new AbortController() } = {},
): Promise<ToolResult> {
  return executeTool(of, { name: 'probe', arguments: args }, context, {
    timeoutMs,
    clock,
    signal: cancel.signal,
  })
}

describe('a call that succeeds', () => {
  it('has the tool, no error, and what the tool gave', async () => {
    expect(await execute(tool(async () => 'text'))).toEqual({
      success: true,
      tool_name: 'probe',
      error: null,
      content: 'text',
    })
  })

  it('hands the tool its parsed arguments and where it runs', async () => {
    let seen: unknown
    await execute(
      tool(async (args, given) => ((seen = { args, ...given, signal: given.signal.aborted }), '')),
      '{"a":[1]}',
    )
    expect(seen).toEqual({ args: { a: [1] }, ...context, ask: expect.any(Function), signal: false })
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
    const { content } = await execute(tool(async () => 'x'.repeat(50_000_000)))
    const [, kept = '', missing] = /^(x+)\n\[cut: (\d+) more characters\]$/.exec(content) ?? []
    expect(content.length).toBeLessThanOrEqual(200_000)
    expect(kept.length + Number(missing)).toBe(50_000_000)
    expect((await execute(tool(async () => 'x'.repeat(200_000)))).content).toBe('x'.repeat(200_000))
  })

  it('with half a character in its result has well-formed text, also where the cut is', async () => {
    expect((await execute(tool(async () => 'a\uD83Db'))).content).toBe('a\uFFFDb')
    expect((await execute(tool(async () => '\uD83D'.repeat(300_000)))).content.isWellFormed()).toBe(true)
    for (const lead of ['', 'x']) {
      const { content } = await execute(tool(async () => lead + '😀'.repeat(150_000)))
      expect(content.isWellFormed()).toBe(true)
      expect(content).not.toContain('\uFFFD')
    }
  })

  it('has the time the tool says, rather than the configured', async () => {
    const clock = virtualClock()
    const running = execute({ ...tool(() => new Promise(() => {})), timeoutMs: 5_000 }, '{}', {
      clock,
      timeoutMs: 1_000,
    })
    const ended: string[] = []
    void running.then(({ error }) => ended.push(error ?? ''))
    clock.advance(4_999)
    await new Promise(setImmediate)
    expect(ended).toEqual([])
    clock.advance(1)
    expect((await running).content).toContain('within 5 s')
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
  const returning = (result: unknown): Tool =>
    defineTool({ name: 'probe', description: 'A probe.', input: z.strictObject({}), run: () => result })
  const failNow = (): never => {
    throw new Error('no!')
  }
  const refusing: object = new Proxy(
    {},
    { get: failNow, getPrototypeOf: failNow, ownKeys: failNow, has: failNow },
  )
  const circular: { self?: object } = {}
  circular.self = circular

  test.each<[string, Tool | undefined, string, string, string]>([
    ['no tool', undefined, '{}', 'tool_not_available', 'probe'],
    ['arguments that are not JSON', tool(async () => ''), '{"a":', 'invalid_arguments', 'not JSON'],
    [
      'an input error',
      failing(new ToolInputError('a must be a number')),
      '{}',
      'invalid_arguments',
      'a must be a number',
    ],
    [
      'a failure with its own code',
      failing(new ToolFailure('not_found', 'no such file')),
      '{}',
      'not_found',
      'no such file',
    ],
    ['an error', failing(new Error('boom')), '{}', 'tool_crash', 'probe failed: boom'],
    [
      'an error of the system',
      failing(Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })),
      '{}',
      'tool_crash',
      'EACCES',
    ],
    ['a text thrown', failing('boom'), '{}', 'tool_crash', 'boom'],
    ['nothing thrown', failing(undefined), '{}', 'tool_crash', 'undefined'],
    ['null thrown', failing(null), '{}', 'tool_crash', 'null'],
    [
      'an object thrown that cannot be shown',
      failing({ toString: () => failNow() }),
      '{}',
      'tool_crash',
      'cannot be shown',
    ],
    ['a proxy thrown that refuses everything', failing(refusing), '{}', 'tool_crash', 'cannot be shown'],
    [
      'an error whose message is a number',
      failing(Object.assign(new Error(), { message: 7 })),
      '{}',
      'tool_crash',
      'cannot be shown',
    ],
    [
      'an error whose message throws',
      failing(Object.defineProperty(new Error(), 'message', { get: failNow })),
      '{}',
      'tool_crash',
      'cannot be shown',
    ],
    ['an error of 50 MB', failing(new Error('x'.repeat(50_000_000))), '{}', 'tool_crash', '[cut]'],
    [
      'a failure of another copy of the class',
      failing(Object.assign(new Error('no'), { name: 'ToolFailure', code: 'own' })),
      '{}',
      'own',
      'no',
    ],
    [
      'a failure whose code is no text',
      failing(Object.assign(new Error('no'), { name: 'ToolFailure', code: 7 })),
      '{}',
      'tool_crash',
      'no',
    ],
    ['a proxy returned that refuses everything', returning(refusing), '{}', 'tool_crash', 'no!'],
    ['a function', returning(() => 1), '{}', 'invalid_result', 'a function'],
    ['a promise of a function', returning(Promise.resolve(() => 1)), '{}', 'invalid_result', 'a function'],
    ['a symbol', returning(Symbol('s')), '{}', 'invalid_result', 'a symbol'],
    ['a BigInt', returning(1n), '{}', 'invalid_result', 'a bigint'],
    ['an object with a BigInt', returning({ a: 1n }), '{}', 'invalid_result', 'no JSON'],
    ['a circular object', returning(circular), '{}', 'invalid_result', 'circular'],
    ['a proxy that refuses everything', returning({ a: refusing }), '{}', 'invalid_result', 'no JSON'],
    [
      'an object whose toJSON gives a function',
      returning({ toJSON: () => failNow }),
      '{}',
      'invalid_result',
      'no JSON',
    ],
    [
      'a tool for a cell that no module is known of',
      { ...tool(async () => ''), isolation: 'thread' },
      '{}',
      'tool_crash',
      'was not run',
    ],
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

  test.each(['1', '"text"', 'null', '[]', 'true'])(
    'arguments %s reach a tool of defineTool as a fault of shape',
    async (args) => {
      const strict = defineTool({
        name: 'probe',
        description: 'A probe.',
        input: z.strictObject({}),
        run: () => 'ran',
      })
      expect(await execute(strict, args)).toMatchObject({ success: false, error: 'invalid_arguments' })
    },
  )

  it('extra fields are refused by name', async () => {
    const strict = defineTool({
      name: 'probe',
      description: 'A probe.',
      input: z.strictObject({ a: z.number() }),
      run: () => 'ran',
    })
    expect((await execute(strict, '{"a":1,"b":2}')).content).toContain('b')
  })

  const open = defineTool({
    name: 'probe',
    description: 'A probe.',
    input: z.looseObject({}),
    run: (input) => input,
  })

  test.each(['{"__proto__":{"polluted":true}}', '{"a":[{"b":{"\\u005f_proto__":1}}]}'])(
    'a prototype in the arguments is refused: %s',
    async (args) => {
      expect(await execute(open, args)).toMatchObject({
        success: false,
        error: 'invalid_arguments',
        content: expect.stringContaining('__proto__') as string,
      })
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    },
  )

  it('fields that objects have by nature reach the tool as its own data', async () => {
    const args = '{"constructor":{"prototype":{"polluted":true}},"toString":1,"hasOwnProperty":"x"}'
    expect(await execute(open, args)).toMatchObject({ success: true, content: args })
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('of a field that is there twice the last counts', async () => {
    expect((await execute(open, '{"a":1,"a":2}')).content).toBe('{"a":2}')
  })

  test.each([
    ['deeply nested', `{"a":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`, 'nested deeper than 100'],
    ['50 MB', `{"a":"${'x'.repeat(50_000_000)}"}`, '50000008 characters long'],
    ['50 MB that are not JSON', 'x'.repeat(50_000_000), '50000000 characters long'],
    ['an array', '[{"a":1}]', 'an array'],
  ])('arguments that are %s never reach a tool', async (_, args, words) => {
    let ran = false
    const result = await execute(
      tool(async () => ((ran = true), '')),
      args,
    )
    expect(result).toMatchObject({
      success: false,
      error: 'invalid_arguments',
      content: expect.stringContaining(words) as string,
    })
    expect([ran, result.content.length < 1_000]).toEqual([false, true])
  })

  it('as deep as is allowed they do', async () => {
    const args = `{"a":${'['.repeat(99)}${']'.repeat(99)}}`
    expect(await execute(open, args)).toMatchObject({ success: true, content: args })
  })

  it('any arguments and any result give a result', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string({ unit: 'binary' }), fc.json()),
        fc.anything({ withBigInt: true, withSparseArray: true, withNullPrototype: true }),
        async (args, value) => {
          const result = await execute(returning(value), args)
          expect([result.content.isWellFormed(), result.content.length <= 200_000]).toEqual([true, true])
        },
      ),
      { numRuns: 50 },
    )
  })
})

describe('time', () => {
  const hanging = (seen: { signal?: AbortSignal }): Tool =>
    tool((_, { signal }) => ((seen.signal = signal), new Promise(() => {})))

  it('a tool that ignores its signal is stopped at the deadline, not before', async () => {
    const clock = virtualClock()
    const seen: { signal?: AbortSignal } = {}
    const running = execute(hanging(seen), '{}', { clock, timeoutMs: 2_000 })
    clock.advance(1_999)
    expect(seen.signal?.aborted).toBe(false)
    clock.advance(1)
    expect(await running).toMatchObject({
      success: false,
      error: 'tool_timeout',
      content: expect.stringContaining('within 2 s') as string,
    })
    expect(seen.signal?.aborted).toBe(true)
  })

  it('at the deadline it is the deadline that is told, also when the tool has its own words for it', async () => {
    const clock = virtualClock()
    const sulking = tool(
      (_, { signal }) =>
        new Promise((__, reject) =>
          signal.addEventListener('abort', () => reject(new Error('AbortError')), { once: true }),
        ),
    )
    const running = execute(sulking, '{}', { clock })
    clock.advance(1_000)
    expect(await running).toMatchObject({
      error: 'tool_timeout',
      content: expect.stringContaining('within 1 s') as string,
    })
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
