import { defineTool, ToolFailure, z } from '@beaver/agent'
import { describe, expect, it, test } from 'vitest'
import { ownTools } from './own-tools.ts'

const echoName = (name: string, run: () => unknown = () => 'done') => defineTool({ name, description: 'd', input: z.strictObject({ a: z.number() }), run })
const call = { name: 'own', callId: 'c1', arguments: { a: 1 }, run: { workspace: '/w', taskId: 't', sessionId: 's', runId: 'r' } }
const live = (): AbortSignal => new AbortController().signal

describe('a tool of a program', () => {
  it('is offered as plain data, with its schema and its permission', () => {
    const tool = { ...echoName('own'), permission: 'ask' as const }
    const [offered] = ownTools([tool]).tools
    expect(structuredClone(offered)).toMatchObject({ name: 'own', idempotent: false, permission: 'ask', parameters: { required: ['a'] } })
    expect(ownTools([echoName('own')]).tools[0]?.permission).toBe('allow')
  })

  it('gets its arguments and the ids of the call', async () => {
    const tool = defineTool({
      name: 'own',
      description: 'd',
      input: z.strictObject({ a: z.number() }),
      run: ({ a }, { workspace, taskId, sessionId, runId, callId }) => ({ a, workspace, taskId, sessionId, runId, callId }),
    })
    const result = await ownTools([tool]).call(call, live())
    expect(result).toMatchObject({ success: true, error: null })
    expect(JSON.parse(result.content)).toEqual({ a: 1, workspace: '/w', taskId: 't', sessionId: 's', runId: 'r', callId: 'c1' })
  })

  test.each<[string, () => unknown, string, string]>([
    ['throws', () => Promise.reject(new Error('no line')), 'tool_crash', 'own failed: no line'],
    ['tells a failure of its own', () => Promise.reject(new ToolFailure('no_stock', 'None is left.')), 'no_stock', 'None is left.'],
  ])('that %s has a result that the model reads', async (_, run, error, content) => {
    expect(await ownTools([echoName('own', run)]).call(call, live())).toEqual({ success: false, error, content })
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
    expect(() => ownTools(names.map((name) => echoName(name)))).toThrow(expect.objectContaining({ code: 'invalid_configuration' }))
    expect(() => ownTools(names.map((name) => echoName(name)))).toThrow(why)
  })
})
