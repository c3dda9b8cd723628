// How clients of OpenAI set the model of the root agent: what is carried, what is refused, and an answer that
// reaches its limit.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import OpenAI from 'openai'
import { cutOff, type SeenRequest } from '../support/fake-provider.ts'
import { protocolScene, type ProtocolScene } from '../support/protocol-scene.ts'

const seen: SeenRequest[] = []
let scene: ProtocolScene
beforeAll(async () => {
  scene = await protocolScene({
    answer: (request) => {
      seen.push(request)
      return request.text.startsWith('long ') ? cutOff('Once upon') : undefined
    },
  })
})
afterAll(() => scene[Symbol.asyncDispose]())
const client = (): OpenAI =>
  new OpenAI({ baseURL: `${scene.gateway.info.url}/v1`, apiKey: scene.tokens.ann, maxRetries: 0 })
const chat = (over: object, content = 'hello') =>
  client().chat.completions.create({
    model: 'beaver',
    messages: [{ role: 'user', content }],
    ...over,
  } as OpenAI.ChatCompletionCreateParamsNonStreaming)
const respond = (over: object, input = 'hello') =>
  client().responses.create({
    model: 'beaver',
    input,
    ...over,
  } as OpenAI.Responses.ResponseCreateParamsNonStreaming)
const sent = (): unknown => JSON.parse(seen.at(-1)?.body ?? '{}')

describe('the settings of a request', () => {
  it('reach the model of the root agent', async () => {
    const settings = { temperature: 0, top_p: 0.5, reasoning_effort: 'low' }
    await chat({ ...settings, max_tokens: 7 })
    expect(sent()).toMatchObject({ ...settings, max_tokens: 7 })
    await chat({ max_tokens: 7, max_completion_tokens: 9 })
    expect(sent()).toMatchObject({ max_tokens: 9 })
    const response = await respond({ temperature: 0.2, max_output_tokens: 11, reasoning: { effort: 'high' } })
    expect(sent()).toMatchObject({ temperature: 0.2, max_tokens: 11, reasoning_effort: 'high' })
    const shown = { temperature: 0.2, top_p: 1, max_output_tokens: 11, reasoning: { effort: 'high' } }
    expect(response).toMatchObject(shown)
    expect(await client().responses.retrieve(response.id)).toMatchObject(shown)
  })

  it.each<[string, object, (over: object) => Promise<unknown>]>([
    ['presence_penalty', { presence_penalty: 0.1 }, chat],
    ['frequency_penalty', { frequency_penalty: -1 }, respond],
    ['service_tier', { service_tier: 'flex' }, chat],
    ['verbosity', { verbosity: 'low' }, chat],
    ['text.verbosity', { text: { verbosity: 'high' } }, respond],
    ['temperature', { temperature: 2.1 }, chat],
    ['max_tokens', { max_tokens: 0 }, chat],
    ['max_tokens', { model: 'workflow:sum_up', max_tokens: 5 }, chat],
  ])('are refused by name if Beaver cannot carry them: %s', async (param, over, ask) => {
    const before = seen.length
    await expect(ask(over)).rejects.toMatchObject({ status: 400, param })
    expect(seen).toHaveLength(before)
  })

  it('may have the default values of OpenAI', async () => {
    const none = { presence_penalty: 0, frequency_penalty: 0, service_tier: 'auto', n: 1, store: true }
    await chat({ ...none, verbosity: 'medium', temperature: null, max_tokens: null, metadata: { a: 'b' } })
    await respond({ service_tier: 'default', text: { verbosity: 'medium' }, reasoning: null })
    expect(sent()).not.toHaveProperty('temperature')
  })
})

describe('an answer that reaches its limit', () => {
  it('has the finish reason length, and what was said', async () => {
    const { choices, usage } = await chat({ max_tokens: 2 }, 'long story')
    expect(choices[0]).toMatchObject({ finish_reason: 'length', message: { content: 'Once upon' } })
    expect(usage?.total_tokens).toBe(15)
    const stream = await client().chat.completions.create({
      model: 'beaver',
      messages: [{ role: 'user', content: 'long story' }],
      stream: true,
    })
    const finishes: unknown[] = []
    let text = ''
    for await (const { choices: each } of stream) {
      text += each[0]?.delta.content ?? ''
      finishes.push(each[0]?.finish_reason)
    }
    expect([text, finishes.at(-1)]).toEqual(['Once upon', 'length'])
  })

  it('is an incomplete response', async () => {
    expect(await respond({ max_output_tokens: 2 }, 'long story')).toMatchObject({
      status: 'incomplete',
      error: null,
      incomplete_details: { reason: 'max_output_tokens' },
      output_text: 'Once upon',
    })
    const events: string[] = []
    for await (const { type } of await client().responses.create({
      model: 'beaver',
      input: 'long story',
      stream: true,
    }))
      events.push(type)
    expect(events.at(-1)).toBe('response.incomplete')
  })
})
