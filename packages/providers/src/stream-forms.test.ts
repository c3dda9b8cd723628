// The forms in which servers send a stream: without its type, packed, in one event, without a last word, with
// thoughts.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import type { ProviderError } from '@beaver/agent'
import { afterEach, describe, expect, it, test } from 'vitest'
import {
  ask,
  call,
  chunk,
  closeServers,
  end,
  failureOf,
  type Handler,
  json,
  provider,
  say,
  serve,
  sse,
  stream,
} from '../test/kit.ts'
import { bodyBytesMax } from './response-body.ts'

afterEach(closeServers)

const failure = async (handler: Handler): Promise<ProviderError> => failureOf(stream(handler))

describe('a streamed answer', () => {
  test.each<[string, readonly unknown[], object]>([
    ['says no reason, only that it is done', [say('whole')], { content: 'whole', finishReason: 'stop' }],
    [
      'says no reason for its call',
      [call(0, { id: 'a', function: { name: 'f', arguments: '{}' } })],
      { finishReason: 'tool_calls' },
    ],
    [
      "says 'null' until it ends",
      [chunk({ content: 'whole' }, 'null'), end()],
      { content: 'whole', finishReason: 'stop' },
    ],
    [
      'is one event with the whole answer',
      [{ id: 'r1', choices: [{ finish_reason: 'stop', message: { content: 'whole' } }] }],
      { content: 'whole', responseId: 'r1' },
    ],
    [
      'has its content in parts',
      [say([{ type: 'thinking', thinking: [] }]), say([{ type: 'text', text: 'who' }]), say('le'), end()],
      { content: 'whole' },
    ],
    [
      'counts its tokens in the choice, as Kimi does',
      [
        say('whole'),
        {
          choices: [
            {
              index: 0,
              delta: {},
              finish_reason: 'stop',
              usage: { prompt_tokens: 9, completion_tokens: 2, cached_tokens: 8 },
            },
          ],
        },
      ],
      { content: 'whole', usage: { input_tokens: 9, output_tokens: 2, calls: 1, cached_input_tokens: 8 } },
    ],
    [
      'counts its tokens in a field of its own, as Groq does',
      [
        say('whole'),
        {
          ...end(),
          x_groq: { id: 'req_1', usage: { prompt_tokens: 9, completion_tokens: 2, total_time: 0.1 } },
        },
      ],
      { content: 'whole', usage: { input_tokens: 9, output_tokens: 2, calls: 1 } },
    ],
    [
      'counts in a way that nobody can read',
      [say('whole'), { ...end(), usage: 'many' }],
      { content: 'whole', usage: { input_tokens: 0 } },
    ],
    [
      'numbers its choices with texts',
      [{ choices: [{ index: '0', delta: { content: 'whole' }, finish_reason: 'stop' }] }],
      { content: 'whole' },
    ],
    [
      'has a name in pieces, as Gemini sends it',
      [
        call(0, { id: 'a', function: { name: 'edit_ex', arguments: '' } }),
        call(0, { function: { name: 'isting_file', arguments: '{}' } }),
        end(),
      ],
      { toolCalls: [{ id: 'a', name: 'edit_existing_file', arguments: '{}' }] },
    ],
    [
      'has the whole name with each piece, as llama.cpp sends it',
      [
        call(0, { id: 'a', function: { name: 'f', arguments: '' } }),
        call(0, { function: { name: 'f', arguments: '{}' } }),
        end(),
      ],
      { toolCalls: [{ id: 'a', name: 'f', arguments: '{}' }] },
    ],
    [
      'has another id with each piece, as LM Studio sends it',
      [
        call(0, { id: '1', function: { name: 'f', arguments: '' } }),
        call(0, { id: '2', function: { name: '', arguments: '{}' } }),
        end(),
      ],
      { toolCalls: [{ id: '1', name: 'f', arguments: '{}' }] },
    ],
    [
      'has a call in the form before tool_calls',
      [
        chunk({ function_call: { name: 'f', arguments: '{"a"' } }),
        chunk({ function_call: { arguments: ':1}' } }),
        end('function_call'),
      ],
      { toolCalls: [{ id: 'call_0', name: 'f', arguments: '{"a":1}' }] },
    ],
    [
      'has arguments that are quoted twice',
      [
        call(0, { id: 'a', function: { name: 'f', arguments: '"{\\"a\\"' } }),
        call(0, { function: { arguments: ':1}"' } }),
        end(),
      ],
      { toolCalls: [{ id: 'a', name: 'f', arguments: '{"a":1}' }] },
    ],
    [
      'has no empty lines between its events',
      [
        `data: ${JSON.stringify(say('who'))}\n`,
        `data: ${JSON.stringify(say('le'))}\n`,
        `data: ${JSON.stringify(end())}\n\n`,
      ],
      { content: 'whole' },
    ],
    [
      'leaves out the last empty line',
      [say('whole'), `data: ${JSON.stringify(end())}`],
      { content: 'whole' },
    ],
  ])('that %s is read', async (_, events, expected) => {
    const cut = typeof events.at(-1) === 'string'
    expect((await stream(sse(events, { cut }))).answer).toMatchObject(expected)
  })

  it.each(['application/json', 'text/plain', 'application/octet-stream'])(
    'is known by its beginning, whatever its type is: %s',
    async (type) => {
      expect((await stream(sse([': hello\n\n', say('a'), end()], { type }))).texts).toEqual(['a'])
      expect((await stream(sse([say('a'), end()], { type }))).answer.content).toBe('a')
    },
  )

  it('that is no stream, although its type says so, is read as it is', async () => {
    const body = JSON.stringify({ choices: [{ finish_reason: 'stop', message: { content: 'whole' } }] })
    expect(await stream(sse([`${body}\n\n`]))).toMatchObject({
      answer: { content: 'whole' },
      texts: ['whole'],
    })
  })

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const)(
    'that is packed with %s although nobody asked for it is unpacked, as a whole answer is',
    async (encoding, packed) => {
      const events = `data: ${JSON.stringify(say('a'))}\n\ndata: ${JSON.stringify(end())}\n\ndata: [DONE]\n\n`
      const sent = (text: string, type: string) => (_: IncomingMessage, response: ServerResponse) =>
        void response.writeHead(200, { 'content-type': type, 'content-encoding': encoding }).end(packed(text))
      expect((await stream(sent(events, 'text/event-stream'))).answer.content).toBe('a')
      const whole = JSON.stringify({ choices: [{ finish_reason: 'stop', message: { content: 'b' } }] })
      expect((await provider(await serve(sent(whole, 'application/json'))).chat(ask())).content).toBe('b')
    },
  )

  it('in an encoding that nobody knows is malformed output', async () => {
    const error = await failure(
      (_, response) => void response.writeHead(200, { 'content-encoding': 'rot13' }).end('x'),
    )
    expect(error).toMatchObject({
      class: 'malformed_output',
      message: expect.stringContaining('"rot13"') as string,
    })
  })

  it('that unpacks to more than an answer may have is malformed output', async () => {
    const bomb = gzipSync(Buffer.alloc(bodyBytesMax * 2, 'x'))
    const error = await failure(
      (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    )
    expect(error).toMatchObject({
      class: 'malformed_output',
      message: expect.stringContaining(`more than ${bodyBytesMax} bytes`) as string,
    })
  })

  it('that stays open after it is done ends with it', async () => {
    const { answer } = await stream(sse([say('a'), end(), 'data: [DONE]\n\n'], { open: true }))
    expect(answer.content).toBe('a')
  })

  it('keeps its connection for the next call', async () => {
    const ports = new Set<number | undefined>()
    const url = await serve((request, response, body) => {
      ports.add(request.socket.remotePort)
      sse([say('a'), end()])(request, response, body)
    })
    const asking = provider(url)
    for (let i = 0; i < 3; i++) {
      await asking.chat(ask({ onText: () => undefined }))
      // The pool has the connection back in the turn after the end of the body.
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(ports.size).toBe(1)
  })

  it('shows no thoughts, in whatever pieces they come', async () => {
    const text = '<think>so <b> it is</think>\n\nSunny.'
    for (const size of [1, 3, 7, 40]) {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
        say(text.slice(i * size, (i + 1) * size)),
      )
      const { answer, texts } = await stream(sse([...pieces, end()]))
      expect([answer.content, texts.join('')]).toEqual(['Sunny.', 'Sunny.'])
    }
    expect((await stream(sse([say('<thi'), say('s> is it'), end()]))).texts.join('')).toBe('<this> is it')
  })

  it('has what goes back, joined from its pieces', async () => {
    const detail = (text: string, more = {}): unknown => ({ type: 'reasoning.text', index: 0, text, ...more })
    const { answer } = await stream(
      sse([
        chunk({ reasoning: 'a', reasoning_details: [detail('a')] }),
        chunk({ reasoning: 'b', reasoning_details: [detail('b', { signature: 's' })] }),
        call(0, {
          id: 'c',
          function: { name: 'f', arguments: '{}' },
          extra_content: { google: { thought_signature: 'g' } },
        }),
        end('tool_calls'),
      ]),
    )
    expect(answer.state).toEqual({
      reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'ab', signature: 's' }],
    })
    expect(answer.toolCalls[0]?.extra_content).toEqual({ google: { thought_signature: 'g' } })
  })

  it('without a call has nothing that goes back', async () => {
    expect(
      (await stream(sse([chunk({ reasoning_content: 'hm' }), say('a'), end()]))).answer,
    ).not.toHaveProperty('state')
  })

  it('of a template that opens the thoughts shows them once, and then never again', async () => {
    const url = await serve(sse([say('so it '), say('is</think>\n\nSun'), say('ny.'), end()]))
    const asking = provider(url)
    const shown = async () => {
      const texts: string[] = []
      const { content } = await asking.chat(ask({ onText: (text) => texts.push(text) }))
      return [content, texts.join('')]
    }
    expect(await shown()).toEqual(['Sunny.', 'so it is</think>\n\nSunny.'])
    expect(await shown()).toEqual(['Sunny.', 'Sunny.'])
  })

  it('without thoughts from such a template is shown at its end, and the next one as it comes', async () => {
    let asked = 0
    const url = await serve((...given) =>
      (++asked === 1 ? sse([say('hm</think>a'), end()]) : sse([say('b'), say('c'), end()]))(...given),
    )
    const asking = provider(url)
    const shown = async () => {
      const texts: string[] = []
      await asking.chat(ask({ onText: (text) => texts.push(text) }))
      return texts
    }
    expect([await shown(), await shown(), await shown()]).toEqual([['hm</think>a'], ['bc'], ['b', 'c']])
  })

  // Gemini: https://ai.google.dev/gemini-api/docs/openai. The others:
  // https://github.com/ggml-org/llama.cpp/tree/master/models/templates.
  it.each(['<thought>|</thought>', '[THINK]|[/THINK]', '<seed:think>|</seed:think>', '◁think▷|◁/think▷'])(
    'has no thoughts between %s',
    async (tags) => {
      const [open = '', close = ''] = tags.split('|')
      const { answer, texts } = await stream(
        sse([...`${open}so${close} Sunny.`].map((letter) => say(letter)).concat(end())),
      )
      expect([answer.content, texts.join('')]).toEqual(['Sunny.', 'Sunny.'])
    },
  )

  it('whose usage is in its choice, or in each event, counts it once', async () => {
    const usage = (tokens: number): object => ({
      prompt_tokens: 20,
      completion_tokens: tokens,
      total_tokens: 20 + tokens,
    })
    const inChoice = { choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: usage(8) }] }
    expect((await stream(sse([say('a'), inChoice]))).answer.usage).toMatchObject({
      input_tokens: 20,
      output_tokens: 8,
    })
    const counted = [1, 2, 3].map((tokens) => chunk({ content: 'a' }, null, { usage: usage(tokens) }))
    expect((await stream(sse([...counted, end()]))).answer.usage).toMatchObject({
      input_tokens: 20,
      output_tokens: 3,
    })
  })

  // https://github.com/vllm-project/vllm/issues/6862 has this form of an error.
  it.each<[string, unknown, string]>([
    [
      'in no member',
      {
        object: 'error',
        message: "This model's maximum context length is 10 tokens.",
        type: 'BadRequestError',
        code: 400,
      },
      'context_overflow',
    ],
    [
      'in no member, with another cause',
      { object: 'error', message: 'Out of memory', type: 'InternalServerError', code: 500 },
      'provider_unavailable',
    ],
    [
      'as a text',
      { error: 'request (9 tokens) exceeds the available context size (8 tokens)' },
      'context_overflow',
    ],
    ['without a status', { error: { message: 'Prompt exceeds max length' } }, 'context_overflow'],
  ])('has an error %s', async (_, event, failureClass) => {
    expect((await failure(sse([event]))).class).toBe(failureClass)
  })

  it('that is an error as a whole has its class', async () => {
    const body = { object: 'error', message: 'Prompt exceeds max length', code: 400 }
    expect((await failureOf(provider(await serve(json(body))).chat(ask()))).class).toBe('context_overflow')
  })
})
