import { expect, it } from 'vitest'
import { z } from 'zod'
import { problemsOf } from './problems.ts'

const schema = z.strictObject({
  text: z.string().max(3),
  list: z.array(z.string()),
  flag: z.boolean(),
  count: z.int(),
  more: z.object({ deep: z.string() }),
  one: z.enum(['a', 'b']).optional(),
})
const told = (input: unknown): string[] =>
  problemsOf(schema.safeParse(input).error?.issues ?? [], input).map(
    ({ path, message }) => `${path} ${message}`,
  )
const good = { text: 'x', list: [], flag: true, count: 1, more: { deep: 'x' } }

it('says what is missing, and of what kind a value must be', () => {
  expect(told(good)).toEqual([])
  expect(told({})).toEqual([
    'text is missing',
    'list is missing',
    'flag is missing',
    'count is missing',
    'more is missing',
  ])
  expect(told({ ...good, text: 1, list: {}, flag: 'yes', count: null, more: [] })).toEqual([
    'text must be a string, not a number',
    'list must be a list, not an object',
    'flag must be true or false, not a string',
    'count must be a number, not null',
    'more must be an object, not a list',
  ])
  expect(told({ ...good, list: [true], more: {} })).toEqual([
    'list.0 must be a string, not true',
    'more.deep is missing',
  ])
  expect(told(null)).toEqual([' must be an object, not null'])
})

it('leaves every other fault as the schema says it, and puts the place of the input before it', () => {
  expect(told({ ...good, text: 'xxxx', one: 'c', two: 2 })).toEqual([
    'text Too big: expected string to have <=3 characters',
    'one Invalid option: expected one of "a"|"b"',
    ' Unrecognized key: "two"',
  ])
  const input = { ...good, more: {}, two: 2 }
  const { error } = schema.safeParse(input)
  expect(problemsOf(error?.issues ?? [], input, 'body').map(({ path }) => path)).toEqual([
    'body.more.deep',
    'body',
  ])
})
