// Which annotations of a schema become headers, and which make a tool invalid.
import { rawHttpServer } from '@beaver/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bench, call } from '../../test/kit.ts'
import { headersOfCall, mirroredHeaders } from './mirrored-headers.ts'
import type { McpHttpSpec } from './server-spec.ts'

const tool = (name: string, properties: object) => ({
  name,
  description: '',
  inputSchema: { type: 'object', properties },
})
const region = { type: 'string', 'x-mcp-header': 'Region' }
const spec = (url: string): McpHttpSpec => ({
  url,
  headers: {},
  permission: 'allow',
  timeout_ms: 10_000,
  restarts_max: 0,
})

describe('an annotation', () => {
  it.each([
    ['is not on a property', { ...region, type: 'object' }, 'is not on a plain property'],
    [
      'is below a list',
      { properties: { a: { type: 'array', items: region } } },
      'its x-mcp-header at a.items is not on a plain property',
    ],
    ['is below a choice', { anyOf: [{ properties: { a: region } }] }, 'is not on a plain property'],
    ['is in the definitions', { $defs: { a: region } }, 'is not on a plain property'],
    [
      'is no text',
      { properties: { a: { type: 'string', 'x-mcp-header': 1 } } },
      'is not the name of a header',
    ],
    [
      'is empty',
      { properties: { a: { type: 'string', 'x-mcp-header': '' } } },
      'is not the name of a header',
    ],
    [
      'adds a header',
      { properties: { a: { type: 'string', 'x-mcp-header': 'A\r\nB: c' } } },
      'is not the name of a header',
    ],
    [
      'is on a number',
      { properties: { a: { type: 'number', 'x-mcp-header': 'A' } } },
      'is on a value that is no string',
    ],
    [
      'is on several types',
      { properties: { a: { type: ['string', 'null'], 'x-mcp-header': 'A' } } },
      'is on a value that is no string',
    ],
    [
      'has the name of another',
      { properties: { a: region, b: { ...region, 'x-mcp-header': 'REGION' } } },
      'names the header REGION, which another property has',
    ],
  ])('that %s makes the tool invalid', (_, schema, reason) => {
    expect(mirroredHeaders(schema)).toEqual({
      kind: 'invalid',
      reason: expect.stringContaining(reason) as string,
    })
  })

  it('that is the name of an argument, or in a default, is none', () => {
    const schema = {
      properties: {
        'x-mcp-header': { type: 'string' },
        properties: { type: 'object', properties: { a: region } },
        b: { default: region },
      },
    }
    expect(mirroredHeaders(schema)).toEqual({
      kind: 'valid',
      mirrored: [{ path: ['properties', 'a'], header: 'Region' }],
    })
  })

  it.each([
    ['eu', 'eu'],
    ['a b', 'a b'],
    [true, 'true'],
    [-7, '-7'],
    ['', '=?base64??='],
    [' a', '=?base64?IGE=?='],
    ['é', '=?base64?w6k=?='],
    ['a\r\nAuthorization: x', '=?base64?YQ0KQXV0aG9yaXphdGlvbjogeA==?='],
    ['=?base64?YQ==?=', '=?base64?PT9iYXNlNjQ/WVE9PT89?='],
  ])('sends %j as %s', (value, header) => {
    expect(headersOfCall([{ path: ['a'], header: 'A' }], { a: value })).toEqual({ 'Mcp-Param-A': header })
  })

  it.each([[undefined], [null], [1.5], [2 ** 60], [{ b: 1 }], [['x']]])('sends nothing for %j', (value) => {
    expect(headersOfCall([{ path: ['a'], header: 'A' }], { a: value })).toEqual({})
  })
})

describe('a server over HTTP', () => {
  it('gets the arguments as headers; a tool whose annotation is invalid is left out with the reason', async () => {
    const tools = [
      tool('good', { where: { type: 'object', properties: { region } } }),
      tool('bad', { a: { ...region, type: 'number' } }),
    ]
    await using server = await rawHttpServer({ tools })
    const connections = await bench({ onTestFinished }).start({ web: spec(server.url) })
    await connections.settled
    expect(connections.tools.map(({ name }) => name)).toEqual(['web_good'])
    expect(connections.status[0]?.leftOut).toEqual([
      { tool: 'bad', reason: 'its x-mcp-header at a is on a value that is no string, integer or boolean' },
    ])
    const never = new AbortController().signal
    await connections.call({ name: 'web_good', callId: 'c', arguments: { where: { region: 'eu' } } }, never)
    expect(server.requests.at(-1)).toMatchObject({
      method: 'tools/call',
      headers: { 'mcp-param-region': 'eu' },
    })
    await connections.close()
  })

  it.each([
    ['no content', { structuredContent: { a: 1 } }],
    ['no content at all', {}],
    ['content that is no list', { content: 'called' }],
    ['something else', { hello: 1 }],
  ])('that gives a result with %s in the protocol of 2026 gave a bad answer', async (_, result) => {
    await using server = await rawHttpServer({ tools: [tool('t0', {})] })
    server.answers['tools/call'] = result
    await using connections = await bench({ onTestFinished }).start({ web: spec(server.url) })
    await connections.settled
    expect(await call(connections, 'web_t0')).toMatchObject({ success: false, error: 'mcp_bad_answer' })
  })
})

describe('a result', () => {
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  /** What the model reads of an answer of a tool with this schema. */
  async function read(answer: object, schema: object | null = outputSchema): Promise<string> {
    await using server = await rawHttpServer({
      tools: [{ ...tool('t0', {}), ...(schema === null ? {} : { outputSchema: schema }) }],
    })
    server.answers['tools/call'] = answer
    await using connections = await bench({ onTestFinished }).start({ web: spec(server.url) })
    await connections.settled
    const { success, content } = await call(connections, 'web_t0')
    expect(success).toBe(true)
    return content
  }
  const text = { type: 'text', text: 'good' }

  it.each([
    [{ type: 'smell', text: 'x' }, '[content of the kind "smell", which Beaver cannot read]'],
    [{ type: 'image', data: 7 }, '[content of the kind "image", which Beaver cannot read]'],
    [null, '[content of the kind unknown, which Beaver cannot read]'],
  ])('with a piece that cannot be read loses only this piece: %j', async (piece, shown) => {
    expect(await read({ content: [text, piece, text] }, null)).toBe(`good\n${shown}\ngood`)
  })

  it.each([
    ['fits', { content: [text], structuredContent: { n: 1 } }, 'good\n{"n":1}'],
    [
      'does not fit',
      { content: [text], structuredContent: { n: 'one' } },
      /^good\n\{"n":"one"\}\n\[Beaver: the structured content does not fit its JSON Schema: n: .*expected number.*\]$/,
    ],
    [
      'is not there',
      { content: [text] },
      'good\n[Beaver: the structured content is missing, although the tool has an output schema]',
    ],
  ])('whose structured content %s is marked if it breaks the output schema', async (_, answer, shown) => {
    const content = await read(answer)
    if (typeof shown === 'string') expect(content).toBe(shown)
    else expect(content).toMatch(shown)
  })

  it('of a failed call, and one whose schema Beaver cannot check, have no mark', async () => {
    expect(
      await read({ content: [text], structuredContent: { n: 'one' } }, { type: 'object', not: {} }),
    ).toBe('good\n{"n":"one"}')
    expect(await read({ content: [text] }, { type: 'text' })).toBe('good')
  })
})

describe('a program', () => {
  it.each([
    ['no content', { structuredContent: { a: 1 } }],
    ['no content at all', {}],
  ])('that gives a result with %s in the protocol of 2025 gave a bad answer', async (_, result) => {
    const test = bench({ onTestFinished })
    await using connections = await test.start({ raw: test.raw({ RAW_RESULT: JSON.stringify(result) }) })
    await connections.settled
    expect(await call(connections, 'raw_t0')).toMatchObject({ success: false, error: 'mcp_bad_answer' })
  })

  it('has no headers, so an annotation does not matter', async () => {
    const test = bench({ onTestFinished })
    await using connections = await test.start({
      raw: test.raw({ RAW_LIST: JSON.stringify([tool('t0', { a: { ...region, type: 'number' } })]) }),
    })
    await connections.settled
    expect(connections.tools.map(({ name }) => name)).toEqual(['raw_t0'])
  })
})
