// Hostile and hasty clients of the OpenAI interface.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { type Gateway, startGateway, tokensFile } from '@beaver/gateway'
import { createApp, tokenAccess, tokenHash, TokenStore } from '@beaver/http'
import { loadConfig } from '@beaver/platform'
import { AgentService } from '@beaver/service'
import { until } from '@beaver/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { say } from '../support/fake-provider.ts'
import { testServer } from '../support/nats.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only, testSystem, type TestSystem } from '../support/system.ts'

let scene: ProtocolScene
let system: TestSystem
beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
})

const post = (
  path: string,
  body: unknown,
  at: Gateway = scene.gateway,
  init: RequestInit = {},
): Promise<Response> =>
  fetch(`${at.info.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${scene.tokens.admin}`, 'content-type': 'application/json' },
    body: (typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)) as string,
    ...init,
  })
const user = (content: unknown): object => ({ role: 'user', content })
const chat = (over: object): object => ({ model: 'beaver', messages: [user('x')], ...over })
const respond = (over: object): object => ({ model: 'beaver', input: 'x', ...over })
const completions = '/v1/chat/completions'
const responses = '/v1/responses'

describe('a request that is refused', () => {
  it.each<[string, string, unknown, number, string, string | null]>([
    ['an unknown model', completions, chat({ model: 'gpt-5' }), 404, 'model_not_found', 'model'],
    ['an unknown workflow', completions, chat({ model: 'workflow:none' }), 404, 'model_not_found', 'model'],
    [
      'a workflow of the inventory',
      completions,
      chat({ model: 'workflow:GraphWorkflow' }),
      404,
      'model_not_found',
      'model',
    ],
    ['a model with a line break', completions, chat({ model: 'a\nb' }), 404, 'model_not_found', 'model'],
    ['a model named __proto__', completions, chat({ model: '__proto__' }), 404, 'model_not_found', 'model'],
    [
      'a model named constructor',
      responses,
      respond({ model: 'workflow:constructor' }),
      404,
      'model_not_found',
      'model',
    ],
    ['an endless model', completions, chat({ model: 'x'.repeat(300) }), 400, 'invalid_arguments', 'model'],
    ['no model', completions, { messages: [user('x')] }, 400, 'invalid_arguments', 'model'],
    ['no messages', completions, chat({ messages: [] }), 400, 'invalid_arguments', 'messages'],
    ['messages that are none', completions, chat({ messages: 'x' }), 400, 'invalid_arguments', 'messages'],
    [
      'a message without a role',
      completions,
      chat({ messages: [{ content: 'x' }] }),
      400,
      'invalid_arguments',
      'messages[0].role',
    ],
    [
      'a message of nobody',
      completions,
      chat({ messages: [{ role: 'critic', content: 'x' }] }),
      400,
      'invalid_value',
      'messages[0].role',
    ],
    [
      'only a system',
      completions,
      chat({ messages: [{ role: 'system', content: 'x' }] }),
      400,
      'invalid_value',
      'messages',
    ],
    [
      'an empty message',
      completions,
      chat({ messages: [user(' \n ')] }),
      400,
      'invalid_value',
      'messages[0].content',
    ],
    [
      'a message without content',
      completions,
      chat({ messages: [user(null)] }),
      400,
      'invalid_value',
      'messages[0].content',
    ],
    [
      'a last word of the assistant',
      completions,
      chat({ messages: [user('x'), { role: 'assistant', content: 'y' }] }),
      400,
      'invalid_value',
      'messages[1]',
    ],
    [
      'an image somewhere else',
      completions,
      chat({ messages: [user([{ type: 'image_url', image_url: { url: 'x' } }])] }),
      400,
      'unsupported_value',
      'messages[0].content[0].image_url',
    ],
    [
      'a sound',
      completions,
      chat({ messages: [user([{ type: 'input_audio' }])] }),
      400,
      'unsupported_value',
      'messages[0].content[0].type',
    ],
    [
      'a result of a tool without its call',
      completions,
      chat({ messages: [user('x'), { role: 'tool', content: 'y' }] }),
      400,
      'invalid_value',
      'messages[1].tool_call_id',
    ],
    [
      'a result of a call that nobody made',
      completions,
      chat({ messages: [user('x'), { role: 'tool', tool_call_id: 'call_9_task_x', content: 'y' }] }),
      400,
      'invalid_value',
      'messages[1]',
    ],
    [
      'a result of an old function',
      completions,
      chat({ messages: [user('x'), { role: 'function', name: 'f', content: 'y' }] }),
      400,
      'unsupported_value',
      'messages[1].role',
    ],
    ['a seed', completions, chat({ seed: 0 }), 400, 'unsupported_parameter', 'seed'],
    [
      'a voice',
      completions,
      chat({ modalities: ['text', 'audio'] }),
      400,
      'unsupported_parameter',
      'modalities',
    ],
    [
      'functions',
      completions,
      chat({ functions: [{ name: 'f' }] }),
      400,
      'unsupported_parameter',
      'functions',
    ],
    ['several answers', completions, chat({ n: 2 }), 400, 'unsupported_parameter', 'n'],
    ['a place to stop', completions, chat({ stop: ['x'] }), 400, 'unsupported_parameter', 'stop'],
    ['probabilities', completions, chat({ logprobs: true }), 400, 'unsupported_parameter', 'logprobs'],
    [
      'a format of its own',
      completions,
      chat({ response_format: { type: 'grammar' } }),
      400,
      'invalid_value',
      'response_format.type',
    ],
    [
      'a schema that is missing',
      completions,
      chat({ response_format: { type: 'json_schema' } }),
      400,
      'invalid_value',
      'response_format',
    ],
    ['a user with a line break', completions, chat({ user: 'a\nb' }), 400, 'invalid_arguments', 'user'],
    ['broken JSON', completions, '{"model":', 400, 'invalid_arguments', null],
    [
      'a body that is no UTF-8',
      completions,
      new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]),
      400,
      'invalid_arguments',
      null,
    ],
    ['a list', completions, [], 400, 'invalid_arguments', null],
    [
      'too many messages',
      completions,
      chat({ messages: Array.from({ length: 2_001 }, () => user('x')) }),
      400,
      'invalid_arguments',
      'messages',
    ],
    [
      'a body that is too large',
      completions,
      chat({ messages: [user('x'.repeat(8_700_000))] }),
      413,
      'too_large',
      null,
    ],
    ['no input', responses, { model: 'beaver' }, 400, 'invalid_arguments', 'input'],
    ['an empty input', responses, respond({ input: '' }), 400, 'invalid_value', 'input'],
    [
      'a file',
      responses,
      respond({ input: [user([{ type: 'input_file', file_id: 'f' }])] }),
      400,
      'unsupported_value',
      'input[0].content[0].type',
    ],
    [
      'a result of a function without its call',
      responses,
      respond({ input: [{ type: 'function_call_output', output: 'x' }] }),
      400,
      'invalid_value',
      'input[0].call_id',
    ],
    [
      'a reference to nothing',
      responses,
      respond({ input: [{ type: 'item_reference', id: 'x' }] }),
      400,
      'invalid_value',
      'input[0].id',
    ],
    [
      'a conversation',
      responses,
      respond({ conversation: 'conv_1' }),
      400,
      'unsupported_parameter',
      'conversation',
    ],
    ['a prompt', responses, respond({ prompt: { id: 'p' } }), 400, 'unsupported_parameter', 'prompt'],
    [
      'an unknown previous response',
      responses,
      respond({ previous_response_id: 'resp_none' }),
      400,
      'previous_response_not_found',
      'previous_response_id',
    ],
    [
      'a background that is not stored',
      responses,
      respond({ background: true, store: false }),
      400,
      'invalid_value',
      'background',
    ],
    [
      'an image without content in a response',
      responses,
      respond({ input: [user([{ type: 'input_image', image_url: 'data:image/png;base64,' }])] }),
      400,
      'unsupported_value',
      'input[0].content[0].image_url',
    ],
    ['a path that is not there', '/v1/embeddings', {}, 404, 'not_found', null],
  ])('%s is an error of OpenAI', async (_, path, body, status, code, param) => {
    const answer = await post(path, body)
    expect([answer.status, answer.headers.get('content-type'), await answer.json()]).toEqual([
      status,
      'application/json',
      {
        error: {
          message: expect.stringMatching(/^(?!.*(\n {4}at |\/src\/))/s) as string,
          type: 'invalid_request_error',
          param,
          code,
        },
      },
    ])
  })

  it('is too large without saying so', async () => {
    let left = 90
    const piece = new TextEncoder().encode('x'.repeat(100_000))
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => (left-- > 0 ? controller.enqueue(piece) : controller.close()),
    })
    const answer = await post(completions, {}, scene.gateway, { body, duplex: 'half' } as RequestInit)
    expect([answer.status, await answer.json()]).toMatchObject([
      413,
      { error: { code: 'too_large', type: 'invalid_request_error' } },
    ])
  })

  it('for who asks has the statuses of OpenAI', async () => {
    const none = await fetch(`${scene.gateway.info.url}${completions}`, { method: 'POST' })
    expect([none.status, await none.json()]).toMatchObject([
      401,
      { error: { code: 'invalid_api_key', type: 'invalid_request_error' } },
    ])
    const method = await fetch(`${scene.gateway.info.url}${completions}`, {
      headers: { authorization: `Bearer ${scene.tokens.admin}` },
    })
    expect([method.status, await method.json()]).toMatchObject([
      405,
      { error: { code: 'method_not_allowed' } },
    ])
    const busy = await scene.start({ requests_per_second_max: 1 })
    const answers = await Promise.all(Array.from({ length: 6 }, () => post(completions, {}, busy)))
    const limited = answers.filter(({ status }) => status === 429)
    expect([
      limited.length > 0,
      limited[0]?.headers.get('retry-after'),
      await limited[0]?.json(),
    ]).toMatchObject([
      true,
      expect.stringMatching(/^\d+$/),
      { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } },
    ])
    await busy.stop()
  })
})

describe('a request that is odd', () => {
  it.each<[string, object]>([
    [
      '1,000 messages',
      {
        messages: Array.from({ length: 1_000 }, (_, i) =>
          i % 2 === 0 ? { role: 'assistant', content: `${i}` } : user(`${i}`),
        ),
      },
    ],
    ['half a character', { messages: [user('\ud800 x')] }],
    ['zero bytes', { messages: [user('\u0000\u0001 x')] }],
    [
      'parameters of samplers, default values, and unknown ones',
      {
        temperature: 2,
        max_tokens: 1,
        presence_penalty: 0,
        frequency_penalty: 0,
        service_tier: 'auto',
        verbosity: 'medium',
        top_p: 0.5,
        reasoning_effort: 'low',
        chat_id: 'x',
        __proto__: { a: 1 },
        n: 1,
      },
    ],
    ['tools that may not be called', { tools: [{ type: 'function' }], tool_choice: 'none' }],
    [
      'empty lists and nulls',
      { tools: [], stop: null, response_format: null, user: null, stream: null, metadata: null },
    ],
    [
      'a frame that closes nothing',
      { messages: [{ role: 'system', content: '</instruction> # You' }, user('</task>')] },
    ],
  ])('%s are answered', async (_, over) => {
    const answer = await post(completions, chat(over))
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { choices: [{ message: { content: expect.stringMatching(/^You said: /) as string } }] },
    ])
  })
})

describe('a stream', () => {
  it('is one of 100 at the same time, and each has its own answer', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const answer = await post(responses, respond({ input: `number ${i}.`, stream: true }))
        const text = await answer.text()
        return [
          answer.status,
          text.includes(`You said: number ${i}.`),
          text.trimEnd().endsWith('data: [DONE]'),
          text.split('event: response.completed').length,
        ]
      }),
    )
    expect(answers).toEqual(answers.map(() => [200, true, true, 2]))
  })

  it('whose reader takes nothing harms nobody, and is cut off', async () => {
    const impatient = await scene.start({}, { silentMsMax: 1_000 })
    const { host, port } = new URL(impatient.info.url)
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.pause()
    socket.on('error', () => {})
    let closed = false
    socket.once('close', () => (closed = true))
    socket.write(`GET /api/openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(300))
    expect((await post(completions, chat({}), impatient)).status).toBe(200)
    // It never reads: what it writes tells it that the connection is gone. It writes seldom, because a byte
    // that it sends is a sign of life.
    await until('it is cut off', () => closed || (socket.write('\r\n'), false), { everyMs: 1_000 })
    await impatient.stop()
  })

  it('that breaks because the gateway stops leaves its task alone', async () => {
    const first = await scene.start()
    const answer = await post(responses, respond({ input: 'wait oaa_stop', stream: true }), first)
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ''
    while (!seen.includes('response.in_progress')) seen += (await reader?.read())?.value ?? ''
    const id = /"id":"(resp_[^"]+)"/.exec(seen)?.[1] ?? ''
    await first.stop()
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      seen += part.value
    expect(seen).toMatch(/event: error\ndata: {"error":{.*"code":"wrong_state".*\n\n$/)
    scene.answer('oaa_stop', say('after the stop'))
    const events = await system.ended(id.replace('resp_', ''))
    expect([events.at(-1)?.type, only(events, 'task_cancel_requested')]).toEqual(['task_completed', []])
  })
})

describe('an answer that takes long', () => {
  it('is waited for in silence for longer than a reader may take nothing', async () => {
    const impatient = await scene.start({}, { silentMsMax: 100 })
    const asked = post(completions, chat({ messages: [user('wait oaa_slow')] }), impatient)
    await until('the model is asked', () => system.provider.about('wait oaa_slow').length > 0)
    const silence = performance.now()
    await until('it has been silent for long', () => performance.now() - silence > 400)
    scene.answer('oaa_slow', say('at last'))
    expect(await (await asked).json()).toMatchObject({ choices: [{ message: { content: 'at last' } }] })
    await impatient.stop()
  })

  /**
   * Asks as a client does that sends a request again after 504. Returns the texts of all answers, of which
   * the last one is none of these.
   */
  async function insisting(path: string, body: object, at: Gateway): Promise<readonly string[]> {
    const said: string[] = []
    for (let status = 504; status === 504;) {
      const answer = await post(path, body, at)
      ;({ status } = answer)
      said.push(`${status} ${answer.headers.get('x-should-retry')} ${await answer.text()}`)
    }
    return said
  }

  it.each([
    ['a completion', completions, chat({ messages: [user('wait oaa_late')] }), 'oaa_late'],
    ['a response', responses, respond({ input: 'wait oaa_later' }), 'oaa_later'],
  ])('is found again by the same request when one may take no longer: %s', async (_, path, body, gate) => {
    const short = await scene.start({ wait_ms_max: 1_000 })
    const first = await post(path, body, short)
    // Many clients send it again by themselves after this status.
    expect([first.status, first.headers.get('x-should-retry'), await first.json()]).toMatchObject([
      504,
      null,
      {
        error: {
          type: 'server_error',
          code: 'timeout',
          message: expect.stringMatching(/did not end within 1 s\. Send the same request again/) as string,
        },
      },
    ])
    scene.answer(gate, say('at last'))
    expect((await insisting(path, body, short)).at(-1)).toMatch(/^200 .*at last/)
    expect(system.provider.about(`wait ${gate}`)).toHaveLength(1)
    // The answer was given, so the next one is another question.
    await insisting(path, body, short)
    expect(system.provider.about(`wait ${gate}`)).toHaveLength(2)
    await short.stop()
  })

  it('because it waits for a person says so, waits on, and is found again after the decision', async () => {
    const short = await scene.start({ wait_ms_max: 1_000 })
    const body = chat({ messages: [user('write oaa_waits')] })
    const waits =
      /The task (\S+) waits for a person: \\"beaver approve \1\\" shows for what\. Send the same request again/
    const waiting = async (): Promise<string> =>
      until(
        'it says for whom it waits',
        async () => waits.exec(await (await post(completions, body, short)).text())?.[1] ?? false,
      )
    const taskId = await waiting()
    expect(await waiting()).toBe(taskId)
    await system.client.decide(taskId, { callId: 'call_0', approved: true })
    expect((await insisting(completions, body, short)).at(-1)).toContain(`"id":"chatcmpl-${taskId}"`)
    await short.stop()
  })

  it('is found by one of two equal requests, and the other one begins its own task', async () => {
    const short = await scene.start({ wait_ms_max: 1_000 })
    const body = respond({ input: 'wait oaa_twin' })
    expect((await post(responses, body, short)).status).toBe(504)
    const both = Promise.all([insisting(responses, body, short), insisting(responses, body, short)])
    await until('both tasks have asked the model', () => system.provider.about('wait oaa_twin').length === 2)
    scene.answer('oaa_twin', say('of two'))
    expect((await both).map((said) => said.at(-1)?.includes('of two'))).toEqual([true, true])
    expect(system.provider.about('wait oaa_twin')).toHaveLength(2)
    await short.stop()
  })

  it('ends its stream with the reason, and one that has a key goes on', async () => {
    const short = await scene.start({ wait_ms_max: 200 })
    const keyed = {
      headers: {
        authorization: `Bearer ${scene.tokens.admin}`,
        'content-type': 'application/json',
        'idempotency-key': 'oaa 1',
      },
    }
    const blocks = (
      await (await post(responses, respond({ input: 'wait oaa_goes_on', stream: true }), short, keyed)).text()
    )
      .trimEnd()
      .split('\n\n')
    const events = blocks.slice(0, -1).map((block) => {
      const [event, data] = block.split('\n')
      const read = JSON.parse(data?.slice('data: '.length) ?? '') as { type: string; sequence_number: number }
      expect([event, read.sequence_number]).toEqual([`event: ${read.type}`, expect.any(Number)])
      return read
    })
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'error',
      'response.failed',
    ])
    const id = /GET \/v1\/responses\/(resp_\w+)/.exec(JSON.stringify(events))?.[1] ?? ''
    scene.answer('oaa_goes_on', say('after all'))
    await until('it is completed', async () => {
      const answer = await fetch(`${scene.gateway.info.url}/v1/responses/${id}`, {
        headers: { authorization: `Bearer ${scene.tokens.admin}` },
      })
      return ((await answer.json()) as { status?: string }).status === 'completed'
    })
    await short.stop()
  })
})

describe('the address of an image', () => {
  const picture = Buffer.from('89504e470d0a1a0a0000000d4948445200000003000000020802000000', 'hex')
  let images: Server
  let asked: string[]
  let open: Gateway
  beforeAll(async () => {
    images = createServer(({ url = '' }, answer) => {
      asked.push(url)
      if (url.startsWith('/moved')) answer.writeHead(302, { location: '/picture.png' }).end()
      else if (url === '/large') answer.end(Buffer.alloc(5_000_001))
      else if (url === '/cut')
        answer.writeHead(200, { 'content-length': 100 }).write('x', () => answer.destroy())
      else answer.writeHead(url.startsWith('/picture.png') ? 200 : 404).end(picture)
    }).listen(0, '127.0.0.1')
    await once(images, 'listening')
    open = await scene.start({ image_origins: [originOf(images)] })
  })
  beforeEach(() => void (asked = []))
  afterAll(async () => {
    await open.stop()
    images.closeAllConnections()
    images.close()
  })

  const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const looking = (...urls: readonly string[]): object =>
    chat({
      messages: [
        user([
          { type: 'text', text: 'Look there' },
          ...urls.map((url) => ({ type: 'image_url', image_url: { url } })),
        ]),
      ],
    })
  const refusal = async (url: string, at: Gateway): Promise<unknown> => {
    const answer = await post(completions, looking(url), at)
    const { error } = (await answer.json()) as { error: { code: string; message: string; param: string } }
    return [
      answer.status,
      error.code,
      error.message.replaceAll(originOf(images), 'http://images'),
      error.param,
    ]
  }

  it('is fetched from an origin that the operator allows, and the model gets these bytes', async () => {
    const answer = await post(completions, looking(`${originOf(images)}/picture.png?size=large`), open)
    expect([answer.status, asked]).toEqual([200, ['/picture.png?size=large']])
    expect(system.provider.about('Look there').at(-1)?.body).toContain(
      `data:image/png;base64,${picture.toString('base64')}`,
    )
    const input = [
      user([
        { type: 'input_text', text: 'Look there again' },
        { type: 'input_image', image_url: `${originOf(images)}/picture.png` },
      ]),
    ]
    expect((await post(responses, respond({ input }), open)).status).toBe(200)
    expect(asked).toEqual(['/picture.png?size=large', '/picture.png'])
    const twice = `${originOf(images)}/picture.png?twice`
    expect((await post(completions, looking(twice, twice), open)).status).toBe(200)
    expect(asked.slice(2)).toEqual(['/picture.png?twice'])
  })

  it('is refused everywhere else, and nothing is fetched', async () => {
    const origin = originOf(images)
    const elsewhere = (from: string): string =>
      `It fetches none from ${from}: the operator names the origins from which it does in "gateway.image_origins".`
    const at = 'messages[0].content[1].image_url'
    const refused = (words: string): unknown => [400, 'unsupported_value', expect.stringContaining(words), at]
    expect(await refusal(`${origin}/picture.png`, scene.gateway)).toEqual(refused(elsewhere('http://images')))
    expect(await refusal(`${origin.replace('127.0.0.1', 'localhost')}/picture.png`, open)).toEqual(
      refused('"gateway.image_origins"'),
    )
    expect(await refusal(`${origin}@127.0.0.1:1/picture.png`, open)).toEqual(
      refused(elsewhere('http://127.0.0.1:1')),
    )
    expect(await refusal(origin.replace('//', '//ann:secret@'), open)).toEqual(
      refused('must have no user name and no password'),
    )
    expect(await refusal('file:///etc/passwd', open)).toEqual(refused('a data URL such as'))
    expect(asked).toEqual([])
  })

  it('that gives no image is an error with its reason', async () => {
    const [origin, at] = [originOf(images), 'messages[0].content[1].image_url']
    const failed = (path: string, why: string): unknown => [
      400,
      'invalid_image_url',
      `The image at http://images${path} cannot be fetched: ${why}.`,
      at,
    ]
    expect(await refusal(`${origin}/moved?key=secret`, open)).toEqual(
      failed('/moved', 'it leads to another address, which is not followed'),
    )
    expect(await refusal(`${origin}/none`, open)).toEqual(failed('/none', 'the answer is 404'))
    expect(await refusal(`${origin}/cut`, open)).toEqual([
      400,
      'invalid_image_url',
      expect.stringContaining('cannot be fetched'),
      at,
    ])
    expect(await refusal(`${origin}/large`, open)).toEqual([
      413,
      'too_large',
      expect.stringContaining('at most 5000000 bytes'),
      at,
    ])
  })
})

it('without a daemon, a request says so, and when to come again', async () => {
  await using server = await testServer()
  const lonely = await testSystem(server)
  const config = loadConfig({ home: join(lonely.workspace, '.beaver') }, {}, lonely.workspace)
  const key = await new TokenStore(tokensFile(config.home)).create('test', {
    roles: ['admin'],
    now: new Date(),
  })
  const alone = await startGateway(
    { ...config, namespace: lonely.subjects.namespace, gateway: { ...config.gateway, port: 0 } },
    { url: server.url, login: {} },
  )
  const answer = await post(completions, chat({}), alone, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  expect([answer.status, answer.headers.get('retry-after'), await answer.json()]).toMatchObject([
    503,
    '2',
    { error: { type: 'server_error', code: 'no_daemon' } },
  ])
  await alone.stop()
  await lonely[Symbol.asyncDispose]()
})

it('an app whose service does not run says so in the shape of OpenAI, and boots nothing', async () => {
  const service = new AgentService()
  const access = tokenAccess(() => [{ name: 'ops', sha256: tokenHash('ops-token'), roles: ['admin'] }])
  const stopped = createApp({ host: service, access, hosts: () => ['beaver.test'] })
  for (const [method, path] of [
    ['POST', '/v1/chat/completions'],
    ['POST', '/v1/responses'],
    ['GET', '/v1/models'],
  ] as const) {
    const body =
      method === 'GET'
        ? {}
        : {
            body: JSON.stringify({
              model: 'beaver',
              input: 'x',
              messages: [{ role: 'user', content: 'x' }],
              stream: true,
            }),
          }
    const headers = {
      host: 'beaver.test',
      authorization: 'Bearer ops-token',
      'content-type': 'application/json',
    }
    const answer = await stopped.fetch(new Request(`http://beaver.test${path}`, { method, headers, ...body }))
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      { error: { type: 'server_error', code: 'wrong_state' } },
    ])
  }
  expect(service.state).toBe('idle')
})
