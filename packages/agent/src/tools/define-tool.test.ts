import { toolContext } from '@beaver/testing'
import { describe, expect, it, test } from 'vitest'
import { z } from 'zod'
import { defineTool, type ToolDefinition } from './tool.ts'

const good = {
  name: 'add',
  description: 'Adds.',
  input: z.strictObject({ a: z.number() }),
  run: ({ a }: { a: number }) => a,
} as const
const define = (over: Record<string, unknown>) =>
  defineTool({ ...good, ...over } as ToolDefinition<typeof good.input>)

describe('a definition that no model could call is refused, by name', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'a name with a space',
      { name: 'two words' },
      /The tool "two words" cannot be defined: its name must be 1 to 64 of/,
    ],
    ['a name that is too long', { name: 'x'.repeat(65) }, /its name must be/],
    ['no name', { name: undefined }, /The tool undefined cannot be defined/],
    ['an empty description', { description: ' \n' }, /its description is empty/],
    ['no function', { run: 'return 1' }, /"run" must be a function/],
    [
      'an unknown isolation',
      { isolation: 'container' },
      /"isolation" is "container", but must be "inline", "thread" or "process"/,
    ],
    ['a pure that is no boolean', { pure: 'yes' }, /"pure" is "yes", but must be true or false/],
    ['pure, and not to be run again', { pure: true, idempotent: false }, /it is "pure" and not "idempotent"/],
    ['pure, in a cell', { pure: true, isolation: 'thread' }, /it is "pure" and runs in a thread of its own/],
    ['an unknown kind of subject', { subjectKind: 'file' }, /"subjectKind" is "file"/],
    ['an unknown permission', { permission: 'maybe' }, /"permission" is "maybe"/],
    ['a time of nothing', { timeoutMs: 0 }, /"timeoutMs" is 0/],
    ['a time without end', { timeoutMs: Infinity }, /"timeoutMs" is Infinity/],
    ['an input that is text', { input: z.string() }, /its input must be an object at the top/],
    [
      'an input that is a union',
      { input: z.union([z.strictObject({ a: z.number() }), z.strictObject({ b: z.number() })]) },
      /must be an object at the top/,
    ],
    [
      'an input without a JSON schema',
      { input: z.strictObject({ at: z.date() }) },
      /its input has no JSON schema/,
    ],
    ['an input of something else', { input: { a: 'number' } }, /its input has no JSON schema/],
  ])('%s', (_, over, message) => {
    expect(() => define(over)).toThrow(
      expect.objectContaining({
        code: 'invalid_configuration',
        message: expect.stringMatching(message) as string,
      }) as Error,
    )
  })
})

describe('a tool', () => {
  it('has what its definition says, and defaults else', () => {
    const { invoke: _, subject: __, inputFault: ___, ...plain } = define({})
    expect(plain).toEqual({
      name: 'add',
      description: 'Adds.',
      idempotent: false,
      parameters: {
        type: 'object',
        properties: { a: { type: 'number' } },
        required: ['a'],
        additionalProperties: false,
      },
    })
    expect(define({ isolation: 'thread', permission: 'ask', timeoutMs: 5, idempotent: true })).toMatchObject({
      isolation: 'thread',
      permission: 'ask',
      timeoutMs: 5,
      idempotent: true,
    })
    expect(define({ pure: true, isolation: 'inline' })).toMatchObject({ pure: true, idempotent: true })
  })

  it('has a subject of arguments that fit, and none of others', () => {
    const tool = define({ subject: ({ a }: { a: number }) => `a is ${a}` })
    expect([tool.subject?.({ a: 1 }), tool.subject?.({ a: 'x' }), tool.subject?.(null)]).toEqual([
      'a is 1',
      null,
      null,
    ])
  })

  test.each([
    ['text', 'text'],
    [undefined, 'null'],
    [{ a: [1, undefined] }, '{"a":[1,null]}'],
    [null, 'null'],
  ])('that returns %j has the result %j', async (value, text) => {
    expect(await define({ run: async () => value }).invoke({ a: 1 }, toolContext())).toBe(text)
  })
})
