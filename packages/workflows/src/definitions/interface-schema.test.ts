import type { JsonObject, JsonValue } from '@beaver/core'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { accepted, content, file, libraryOf, template } from '../../test/definitions.ts'
import { errorOf, refuses } from '@beaver/testing'
import { definitionWorkflow, type Workflow } from '../index.ts'
import { wholeSchema } from '../arguments/tool-schema.ts'

const none = new Map()
const workflowWith = (interfaceInputs: JsonObject, rest: JsonObject = {}): Workflow =>
  definitionWorkflow(accepted('w', content([template('t', 'x')], { interfaceInputs, ...rest })), none)
const propertyOf = (input: JsonObject): JsonValue | undefined =>
  (workflowWith({ p: input }).parameters['properties'] as JsonObject)['p']
/** What the graph of a call holds as inputs. */
function inputsOf(workflow: Workflow, args: unknown): JsonValue | undefined {
  const result = workflow.plan(args)
  if (!result.ok) expect.fail(JSON.stringify(result.error))
  return result.graph.settings?.['inputs']
}

it('the tool of the golden example is exactly that of CT-13', () => {
  const { name, description, parameters } = definitionWorkflow(
    accepted('summarize_text', file('summarize_text')),
    none,
  )
  const golden = `{
    "name": "workflow:summarize_text",
    "description": "对提供的长文本进行摘要。当需要理解大量文本的核心内容时使用。",
    "parameters": {
      "type": "object",
      "properties": {
        "text_to_summarize": { "type": "string", "description": "需要进行摘要处理的原始长文本内容。" },
        "summary_length": { "type": "string", "description": "期望的摘要长度。", "enum": ["简短", "中等", "详细"] }
      },
      "required": ["text_to_summarize"]
    }
  }`
  expect({ name, description, parameters }).toStrictEqual(JSON.parse(golden))
})

it('the schema of what a workflow reads is its parameters', () => {
  const workflow = definitionWorkflow(accepted('summarize_text', file('summarize_text')), none)
  expect(wholeSchema(workflow.input)).toEqual(workflow.parameters)
  expect(z.safeParse(workflow.input, { text_to_summarize: 'x' }).success).toBe(true)
  expect(z.safeParse(workflow.input, { text_to_summarize: 5 }).error?.issues[0]?.path).toEqual([
    'text_to_summarize',
  ])
})

describe('a data type (D-15)', () => {
  const types: readonly [string, JsonObject, { good: JsonValue[]; bad: JsonValue[] }][] = [
    ['STRING', { type: 'string' }, { good: ['', 'x'], bad: [1, null, ['x']] }],
    ['INTEGER', { type: 'integer' }, { good: [0, -3, 2 ** 53 - 1], bad: [1.5, '1', 2 ** 53, true] }],
    ['FLOAT', { type: 'number' }, { good: [0, 1.5], bad: ['1.5', null] }],
    ['BOOLEAN', { type: 'boolean' }, { good: [true, false], bad: ['true', 0] }],
    ['OBJECT', { type: 'object' }, { good: [{}, { a: [1] }], bad: [[], 'x', null] }],
    ['ARRAY', { type: 'array' }, { good: [[], [1, 'a']], bad: [{}, 'x'] }],
    ['WILDCARD', {}, { good: ['x', 1, null, [], {}], bad: [] }],
    ['CONVERTIBLE_ANY', {}, { good: ['x', 1, null, [], {}], bad: [] }],
    [
      'BINARY',
      { type: 'string', contentEncoding: 'base64' },
      { good: ['', 'YWI=', 'YWJj'], bad: ['a', 'ä===', 5] },
    ],
  ]

  it.each(types)('%s is %j', (dataFlowType, schema, { good, bad }) => {
    expect(propertyOf({ dataFlowType })).toStrictEqual(schema)
    const workflow = workflowWith({ p: { dataFlowType, required: true } })
    for (const value of good) expect(inputsOf(workflow, { p: value })).toEqual({ p: value })
    for (const value of bad)
      expect(errorOf(workflow.plan({ p: value }))).toMatchObject({ code: 'invalid_arguments', path: 'p' })
  })

  it.each(types)('several of %s are an array of it', (dataFlowType, items, { good, bad }) => {
    expect(propertyOf({ dataFlowType, multi: true, description: 'd' })).toStrictEqual({
      type: 'array',
      items,
      description: 'd',
    })
    const workflow = workflowWith({ p: { dataFlowType, multi: true, required: true } })
    expect(inputsOf(workflow, { p: good })).toEqual({ p: good })
    expect(inputsOf(workflow, { p: [] })).toEqual({ p: [] })
    for (const value of bad)
      expect(errorOf(workflow.plan({ p: [value] }))).toMatchObject({ code: 'invalid_arguments', path: 'p' })
    expect(errorOf(workflow.plan({ p: 'x' })).message).toContain('an array')
  })
})

describe('the parameters', () => {
  it('always say what is required, even when nothing is', () => {
    expect(workflowWith({}).parameters).toStrictEqual({ type: 'object', properties: {}, required: [] })
    expect(
      workflowWith({ a: { dataFlowType: 'STRING' }, b: { dataFlowType: 'STRING', required: true } })
        .parameters['required'],
    ).toEqual(['b'])
  })

  it.each([
    [{ description: 'a', customDescription: 'b', displayName: 'c' }, 'a'],
    [{ description: ' ', customDescription: 'b', displayName: 'c' }, 'b'],
    [{ displayName: 'c' }, 'c'],
  ])('describe an input by %j', (named, description) => {
    expect(propertyOf({ dataFlowType: 'STRING', ...named })).toStrictEqual({ type: 'string', description })
  })

  it('have an enum only for a ComboOption with suggestions, each value once', () => {
    const combo = { dataFlowType: 'STRING', matchCategories: ['ComboOption', 'Other'] }
    expect(
      propertyOf({
        ...combo,
        config: { suggestions: [{ value: 'a' }, { value: 'b', label: 'B' }, 'a', 'c'] },
      }),
    ).toStrictEqual({
      type: 'string',
      enum: ['a', 'b', 'c'],
    })
    expect(propertyOf({ ...combo, suggestions: [{ value: 'a' }] })).toStrictEqual({
      type: 'string',
      enum: ['a'],
    })
    expect(propertyOf({ ...combo, multi: true, suggestions: ['a'] })).toStrictEqual({
      type: 'array',
      items: { type: 'string', enum: ['a'] },
    })
    expect(propertyOf({ ...combo, config: { suggestions: [] } })).toStrictEqual({ type: 'string' })
    expect(propertyOf({ ...combo, config: { suggestions: [{ label: 'no value' }] } })).toStrictEqual({
      type: 'string',
    })
    expect(propertyOf({ dataFlowType: 'STRING', config: { suggestions: [{ value: 'a' }] } })).toStrictEqual({
      type: 'string',
    })
    expect(
      propertyOf({
        dataFlowType: 'INTEGER',
        matchCategories: ['ComboOption'],
        config: { suggestions: [{ value: 1 }, { value: 2 }] },
      }),
    ).toStrictEqual({
      type: 'integer',
      enum: [1, 2],
    })
  })

  it('tell no default and no stream', () => {
    const workflow = workflowWith({
      a: { dataFlowType: 'STRING', config: { default: 'x' } },
      s: { dataFlowType: 'STRING', isStream: true },
    })
    expect(workflow.parameters).toStrictEqual({
      type: 'object',
      properties: { a: { type: 'string' } },
      required: [],
    })
  })

  it('a workflow without a description uses its name, or its id', () => {
    expect(workflowWith({}, { description: '', name: 'The name' }).description).toBe('The name')
    expect(workflowWith({}, { description: ' ' }).description).toBe('w')
  })
})

describe('the arguments of a call', () => {
  const workflow = workflowWith({
    text: { dataFlowType: 'STRING', required: true, description: 'What to read.' },
    n: { dataFlowType: 'INTEGER', config: { default: 3 } },
    size: {
      dataFlowType: 'STRING',
      matchCategories: ['ComboOption'],
      config: { suggestions: [{ value: 'S' }, { value: 'L' }] },
    },
    tags: { dataFlowType: 'STRING', multi: true },
    s: { dataFlowType: 'STRING', isStream: true },
  })

  it('have the defaults filled in; what is not given is null', () => {
    expect(inputsOf(workflow, { text: 'a' })).toStrictEqual({
      text: 'a',
      n: 3,
      size: null,
      tags: null,
      s: null,
    })
    expect(inputsOf(workflow, { text: 'a', n: 5, size: 'S', tags: ['x'] })).toStrictEqual({
      text: 'a',
      n: 5,
      size: 'S',
      tags: ['x'],
      s: null,
    })
    expect(inputsOf(workflow, { text: 'a', n: undefined })).toMatchObject({ n: 3 })
  })

  it.each<[unknown, string, string[]]>([
    [{}, 'text', ['"text" is missing: give a text. What to read.']],
    [{ txt: 'a' }, 'text', ['was "text" meant?']],
    [{ text: 5 }, 'text', ['"text" is 5, but must be a text.']],
    [{ text: 'a', n: '5' }, 'n', ['"n" is "5", but must be a whole number.', 'JSON text inside a string']],
    [{ text: 'a', n: null }, 'n', ['Or leave the field out.']],
    [{ text: 'a', size: 'M' }, 'size', ['must be one of "S", "L"']],
    [{ text: 'a', tags: 'x' }, 'tags', ['Write an array: ["x"].']],
    [{ text: 'a', tags: '["x"]' }, 'tags', ['JSON text inside a string']],
    [
      { text: 'a', tagz: ['x'] },
      'tagz',
      ['"tagz" is not known', 'Did you mean "tags"?', '"text", "n", "size", "tags"'],
    ],
    [{ text: 'a', s: 'x' }, 's', ['"s" is not known']],
    [{ text: 'a', ['__proto__']: 1 }, '__proto__', ['not known']],
    ['{"text": "a"}', '', ['JSON text inside a string']],
    [null, '', ['must be an object such as {"text": …}']],
    [[], '', ['must be an object']],
  ])('%j is refused', (args, path, parts) => {
    refuses(workflow, args, { code: 'invalid_arguments', path, parts })
  })

  it('of a workflow without inputs are none', () => {
    expect(inputsOf(workflowWith({}), {})).toEqual({})
    refuses(
      workflowWith({}),
      { a: 1 },
      { code: 'invalid_arguments', path: 'a', parts: ['this tool takes no arguments'] },
    )
  })

  it('are not shared with the graph', () => {
    const free = definitionWorkflow(
      [
        ...libraryOf({
          w: content([template('t', 'x')], { interfaceInputs: { o: { dataFlowType: 'OBJECT' } } }),
        }).values(),
      ][0] as never,
      none,
    )
    const args = { o: { a: [1] } }
    const inputs = inputsOf(free, args) as { o: { a: number[] } }
    inputs.o.a.push(2)
    expect(args).toEqual({ o: { a: [1] } })
  })
})
