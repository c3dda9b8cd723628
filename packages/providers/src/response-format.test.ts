// A server is asked for the form of an answer, and what it does not do is learned from its refusals.
import { formWordings } from '@beaver/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { apiKey, ask, closeServers, failureOf, json, serve } from '../test/kit.ts'
import { openAiChatProvider } from './openai-chat.ts'
import { fitsStrictMode, type StructuredOutput } from './response-format.ts'

afterEach(closeServers)

const good = {
  model: 'm-1',
  choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: '{"n":1}' } }],
}
const schema = {
  type: 'object',
  properties: { n: { type: 'number' } },
  required: ['n'],
  additionalProperties: false,
}
const output = { name: 'answer', schema }
const tools = [{ name: 'echo', description: 'e', parameters: { type: 'object' } }]
const native = { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } }

type Format = { type: string } | undefined

/** A server that refuses some forms. `formats` has the form of each request that it got. */
async function server(
  refusal: (format: Format, hasTools: boolean) => { body: unknown; status: number } | null,
) {
  const formats: Format[] = []
  const url = await serve((request, response, body) => {
    const { response_format: format, tools: sent } = JSON.parse(body) as {
      response_format?: { type: string }
      tools?: unknown[]
    }
    formats.push(format)
    const refused = refusal(format, sent !== undefined)
    json(refused?.body ?? good, refused?.status ?? 200)(request, response, body)
  })
  const asking = (structuredOutput?: StructuredOutput) =>
    openAiChatProvider({
      name: 'test',
      baseURL: url,
      apiKey,
      model: 'm',
      timeoutMs: 60_000,
      ...(structuredOutput === undefined ? {} : { structuredOutput }),
    })
  return { formats, asking }
}

describe('an endpoint is asked for the form', () => {
  it('in requests without tools, because several servers call no tool while they keep to a form', async () => {
    const { formats, asking } = await server(() => null)
    await asking().chat(ask({ output }))
    await asking().chat(ask({ output, tools }))
    await asking().chat(ask())
    expect(formats).toEqual([native, undefined, undefined])
  })

  it('always or never, if the configuration says so', async () => {
    const { formats, asking } = await server(() => null)
    await asking('native').chat(ask({ output, tools }))
    await asking('prompt').chat(ask({ output }))
    expect(formats).toEqual([native, undefined])
  })
})

describe('what a server refuses is left out, from then on', () => {
  it.each(formWordings.filter(({ refuses }) => refuses === 'form'))(
    '$server has no schemas',
    async ({ body, status }) => {
      const { formats, asking } = await server((format) =>
        format?.type === 'json_schema' ? { body, status } : null,
      )
      const provider = asking()
      for (let i = 0; i < 2; i++) expect((await provider.chat(ask({ output }))).content).toBe('{"n":1}')
      expect(formats.map((format) => format?.type)).toEqual(['json_schema', 'json_object', 'json_object'])
    },
  )

  it.each(formWordings.filter(({ refuses }) => refuses === 'beside_tools'))(
    '$server has no form beside tools',
    async ({ body, status }) => {
      const { formats, asking } = await server((format, hasTools) =>
        format !== undefined && hasTools ? { body, status } : null,
      )
      const provider = asking('native')
      for (let i = 0; i < 2; i++) await provider.chat(ask({ output, tools }))
      await provider.chat(ask({ output }))
      expect(formats).toEqual([native, undefined, undefined, native])
    },
  )

  it.each(formWordings.filter(({ refuses }) => refuses === 'schema'))(
    '$server cannot write by this schema, but by others',
    async ({ body, status }) => {
      const { formats, asking } = await server((format) =>
        JSON.stringify(format)?.includes('minItems') ? { body, status } : null,
      )
      const provider = asking()
      const odd = {
        name: 'odd',
        schema: { type: 'object', properties: { l: { type: 'array', minItems: 1 } } },
      }
      for (const each of [odd, odd, output]) await provider.chat(ask({ output: each }))
      expect(formats.map((format) => format?.type)).toEqual([
        'json_schema',
        undefined,
        undefined,
        'json_schema',
      ])
    },
  )

  it('asks a server that refuses each form without one, and not again', async () => {
    const { formats, asking } = await server((format) =>
      format === undefined ? null : { body: { error: 'response_format is not supported' }, status: 400 },
    )
    const provider = asking()
    for (let i = 0; i < 2; i++) await provider.chat(ask({ output }))
    expect(formats.map((format) => format?.type)).toEqual([
      'json_schema',
      'json_object',
      undefined,
      undefined,
    ])
  })

  it('does not repeat a request that was refused for another reason', async () => {
    const { formats, asking } = await server(() => ({
      body: { error: 'temperature must be below 1' },
      status: 400,
    }))
    expect((await failureOf(asking().chat(ask({ output })))).class).toBe('provider_refused')
    expect(formats).toEqual([native])
  })

  // https://github.com/vercel/ai/issues/8990 and others quote it.
  it('reads that a model missed the form as an answer that is malformed, which is asked for again', async () => {
    const body = {
      error: {
        message:
          "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.",
        code: 'json_validate_failed',
      },
    }
    const { asking } = await server(() => ({ body, status: 400 }))
    expect((await failureOf(asking().chat(ask({ output })))).class).toBe('malformed_output')
  })
})

describe('the strict mode', () => {
  it.each([
    [true, schema],
    [true, { ...schema, properties: { n: { anyOf: [{ type: 'number' }, { type: 'null' }] } } }],
    [false, { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }],
    [false, { ...schema, required: [] }],
    [false, { ...schema, properties: { n: { type: 'object', properties: {} } } }],
    [false, { type: 'array', items: schema }],
    [
      false,
      { ...schema, properties: { n: { type: 'array', items: { type: 'string' }, uniqueItems: true } } },
    ],
    [false, { ...schema, properties: { n: true } }],
  ])('is %s for %j', (strict, each) => expect(fitsStrictMode(each)).toBe(strict))
})
