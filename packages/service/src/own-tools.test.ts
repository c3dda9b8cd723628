import { defineTool, type Tool, ToolFailure, z } from '@beaver/agent'
import type { JsonObject } from '@beaver/core'
import { describe, expect, it, test } from 'vitest'
import { ownTools } from './own-tools.ts'

const echoName = (name: string, run: () => unknown = () => 'done') =>
  defineTool({ name, description: 'd', input: z.strictObject({ a: z.number() }), run })
const call = {
  name: 'own',
  callId: 'c1',
  arguments: { a: 1 },
  run: { workspace: '/w', taskId: 't', sessionId: 's', runId: 'r' },
}
const live = (): AbortSignal => new AbortController().signal

describe('what a tool of a program says about a call', () => {
  const shell = (over: Partial<Tool> = {}): Tool => ({
    ...defineTool({
      name: 'shell',
      description: 'd',
      input: z.strictObject({ line: z.string() }),
      subject: ({ line }) => line,
      run: () => 'ran',
    }),
    ...over,
  })
  const described = (tool: Tool, args: JsonObject = { line: 'rm -rf /' }) =>
    ownTools([tool]).describe?.({ ...call, name: 'shell', arguments: args })

  it('is its subject, what does not fit, and its preview', async () => {
    expect(ownTools([shell()]).tools[0]?.describes).toBe(true)
    expect(await described(shell())).toEqual({
      subject: 'rm -rf /',
      unreadable: null,
      inputFault: null,
      preview: null,
      refused: null,
    })
    expect(await described(shell(), { line: 7 })).toMatchObject({
      subject: null,
      inputFault: expect.stringContaining('line') as string,
    })
    const preview = { effect: 'changes' as const, path: 'a', sha256: null, before: null, diff: '' }
    expect(await described(shell({ preview: async () => preview as never }))).toMatchObject({ preview })
  })

  it('is compared with rules as what the tool says it is', () => {
    expect(ownTools([shell({ subjectKind: 'command' })]).tools[0]?.subjectKind).toBe('command')
  })

  it('is unreadable if it throws or is no text, and then no rule can decide', async () => {
    const throwing = () => {
      throw new Error('no path')
    }
    expect(await described(shell({ subject: throwing }))).toMatchObject({
      subject: null,
      unreadable: 'no path',
    })
    expect(await described(shell({ subject: () => 7 as never }))).toMatchObject({
      unreadable: 'its subject is a number, not text',
    })
    expect(
      await described(shell({ preview: () => Promise.reject(new ToolFailure('gone', 'It is gone.')) })),
    ).toMatchObject({ refused: { code: 'gone' } })
    expect(await ownTools([]).describe?.(call)).toMatchObject({ unreadable: 'there is no tool own here' })
  })

  it('and what it asks while it runs, obeys the rules of the configuration', async () => {
    const asking = defineTool({
      name: 'own',
      description: 'd',
      input: z.looseObject({}),
      run: (_, { permission }) => permission('/etc/passwd').decision,
    })
    expect(
      (await ownTools([asking], [{ tool: 'own', pattern: '/etc/*', decision: 'deny' }]).call(call, live()))
        .content,
    ).toBe('deny')
  })
})

describe('a tool of a program', () => {
  it('is offered as plain data, with its schema and its permission', () => {
    const tool = { ...echoName('own'), permission: 'ask' as const }
    const [offered] = ownTools([tool]).tools
    expect(structuredClone(offered)).toMatchObject({
      name: 'own',
      idempotent: false,
      permission: 'ask',
      parameters: { required: ['a'] },
    })
    expect(ownTools([echoName('own')]).tools[0]?.permission).toBe('allow')
  })

  it('shows images, which are checked at once', async () => {
    const gif = Buffer.from('GIF89a\u0003\0\u0002\0', 'latin1')
    const tool = echoName('own', () => 'here')
    const showing = (content: Uint8Array): Tool => ({
      ...tool,
      invoke: async (_, { showImage }) => (await showImage?.(content, 'a.gif'))?.media_type ?? 'none',
    })
    const images = [{ content: new Uint8Array(gif), name: 'a.gif' }]
    expect(await ownTools([showing(gif)]).call(call, live())).toEqual({
      success: true,
      content: 'image/gif',
      error: null,
      images,
    })
    expect(await ownTools([showing(Buffer.from('<svg>'))]).call(call, live())).toMatchObject({
      success: false,
      error: 'not_an_image',
    })
    expect(await ownTools([tool]).call(call, live())).not.toHaveProperty('images')
  })

  it('gets its arguments and the ids of the call', async () => {
    const tool = defineTool({
      name: 'own',
      description: 'd',
      input: z.strictObject({ a: z.number() }),
      run: ({ a }, { workspace, taskId, sessionId, runId, callId }) => ({
        a,
        workspace,
        taskId,
        sessionId,
        runId,
        callId,
      }),
    })
    const result = await ownTools([tool]).call(call, live())
    expect(result).toMatchObject({ success: true, error: null })
    expect(JSON.parse(result.content)).toEqual({
      a: 1,
      workspace: '/w',
      taskId: 't',
      sessionId: 's',
      runId: 'r',
      callId: 'c1',
    })
  })

  test.each<[string, () => unknown, string, string]>([
    ['throws', () => Promise.reject(new Error('no line')), 'tool_crash', 'own failed: no line'],
    [
      'tells a failure of its own',
      () => Promise.reject(new ToolFailure('no_stock', 'None is left.')),
      'no_stock',
      'None is left.',
    ],
  ])('that %s has a result that the model reads', async (_, run, error, content) => {
    expect(await ownTools([echoName('own', run)]).call(call, live())).toEqual({
      success: false,
      error,
      content,
    })
  })

  it('gets a result that says what is wrong with the arguments', async () => {
    const result = await ownTools([echoName('own')]).call({ ...call, arguments: { a: 'x' } }, live())
    expect(result).toMatchObject({ success: false, error: 'invalid_arguments' })
  })

  it('ends when its call is aborted, even if it hangs', async () => {
    const stop = new AbortController()
    const result = ownTools([echoName('own', () => new Promise(() => {}))]).call(call, stop.signal)
    stop.abort(new Error('enough'))
    expect(await result).toMatchObject({ success: false, error: 'cancelled' })
  })

  it('gives a failed result if it does not exist', async () => {
    expect(await ownTools([]).call(call, live())).toMatchObject({ error: 'tool_not_available' })
  })

  test.each([
    ['not valid', ['not valid']],
    ['called "twice"', ['twice', 'twice']],
    ['a built-in tool', ['read_file']],
    ['a workflow tool', ['GraphWorkflow']],
  ])('is refused if its name is %s', (why, names) => {
    expect(() => ownTools(names.map((name) => echoName(name)))).toThrow(
      expect.objectContaining({ code: 'invalid_configuration' }),
    )
    expect(() => ownTools(names.map((name) => echoName(name)))).toThrow(why)
  })
})
