// Hostile and careless functions of clients of the OpenAI interface.
import { beforeAll, describe, expect, it } from 'vitest'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'

let scene: ProtocolScene
beforeAll(async () => void (scene = await keptScene()))

const completions = '/v1/chat/completions'
const responses = '/v1/responses'
const user = (content: unknown): object => ({ role: 'user', content })
const chat = (over: object): object => ({ model: 'beaver', messages: [user('hello')], ...over })
const respond = (over: object): object => ({ model: 'beaver', input: 'hello', ...over })
const fn = (name: string, more: object = {}): object => ({ type: 'function', function: { name, ...more } })
const earlier = (id: string, more: object = {}): object => ({
  role: 'assistant',
  tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' }, ...more }],
})
const result = (id: string, content: unknown = 'y'): object => ({ role: 'tool', tool_call_id: id, content })

const post = (path: string, body: unknown): Promise<Response> =>
  fetch(`${scene.gateway.info.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${scene.tokens.admin}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

describe('a function or a result that is refused', () => {
  it.each<[string, string, object, number, string, string | null]>([
    ['tools that are none', completions, chat({ tools: ['f'] }), 400, 'invalid_arguments', 'tools[0]'],
    [
      'a function without a name',
      completions,
      chat({ tools: [{ type: 'function', function: {} }] }),
      400,
      'invalid_value',
      'tools[0].function.name',
    ],
    [
      'a function that is a text',
      completions,
      chat({ tools: [{ type: 'function', function: 'f' }] }),
      400,
      'invalid_value',
      'tools[0].function',
    ],
    [
      'a function with a name that no model can call',
      completions,
      chat({ tools: [fn('a b')] }),
      400,
      'invalid_value',
      'tools[0].function.name',
    ],
    [
      'two functions of one name',
      completions,
      chat({ tools: [fn('a'), fn('b'), fn('a')] }),
      400,
      'invalid_value',
      'tools',
    ],
    [
      '200 functions',
      completions,
      chat({ tools: Array.from({ length: 200 }, (_, i) => fn(`f${i}`)) }),
      400,
      'invalid_value',
      'tools',
    ],
    [
      'a function with an endless description',
      completions,
      chat({ tools: [fn('a', { description: 'x'.repeat(70_000) })] }),
      400,
      'invalid_value',
      'tools[0].function',
    ],
    [
      'a function whose description is no text',
      completions,
      chat({ tools: [fn('a', { description: 7 })] }),
      400,
      'invalid_value',
      'tools[0].function.description',
    ],
    [
      'a function whose arguments are a list',
      completions,
      chat({ tools: [fn('a', { parameters: { type: 'array' } })] }),
      400,
      'invalid_value',
      'tools[0].function.parameters',
    ],
    [
      'a strict function whose arguments cannot be checked',
      completions,
      chat({ tools: [fn('a', { strict: true, parameters: { type: 'object', $ref: 'http://x/y' } })] }),
      400,
      'invalid_value',
      'tools[0].function.parameters',
    ],
    [
      'a function with a name of the system',
      completions,
      chat({ tools: [fn('a'), fn('read_file')] }),
      400,
      'invalid_arguments',
      'tools[1]',
    ],
    [
      'a function with a name that Beaver needs',
      responses,
      respond({ tools: [{ type: 'function', name: 'ask_user' }] }),
      400,
      'invalid_arguments',
      'tools[0]',
    ],
    [
      'a function for a workflow',
      completions,
      chat({ model: 'workflow:sum_up', tools: [fn('a')] }),
      400,
      'unsupported_parameter',
      'tools',
    ],
    [
      'a tool with a grammar',
      completions,
      chat({ tools: [{ type: 'custom', custom: { name: 'a' } }] }),
      400,
      'unsupported_value',
      'tools[0].type',
    ],
    [
      'a tool of OpenAI',
      responses,
      respond({ tools: [{ type: 'function', name: 'a' }, { type: 'web_search' }] }),
      400,
      'unsupported_value',
      'tools[1].type',
    ],
    [
      'a choice of a tool of OpenAI',
      responses,
      respond({ tools: [{ type: 'function', name: 'a' }], tool_choice: { type: 'file_search' } }),
      400,
      'unsupported_value',
      'tool_choice',
    ],
    [
      'a choice of a function that is not there',
      completions,
      chat({ tools: [fn('a')], tool_choice: { type: 'function', function: { name: 'b' } } }),
      400,
      'invalid_value',
      'tool_choice',
    ],
    [
      'a choice without tools',
      completions,
      chat({ tool_choice: 'required' }),
      400,
      'invalid_value',
      'tool_choice',
    ],
    ['a choice that is none', completions, chat({ tool_choice: [7] }), 400, 'invalid_value', 'tool_choice'],
    [
      'a call without its answer',
      completions,
      chat({
        messages: [
          user('x'),
          {
            role: 'assistant',
            tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
          },
          user('y'),
        ],
      }),
      400,
      'invalid_value',
      'messages[1]',
    ],
    [
      'a call of another type',
      completions,
      chat({ messages: [user('x'), earlier('c', { type: 'custom' }), result('c')] }),
      400,
      'unsupported_value',
      'messages[1].tool_calls[0].type',
    ],
    [
      'a call without an id',
      completions,
      chat({ messages: [user('x'), earlier(''), result('')] }),
      400,
      'invalid_arguments',
      'messages[1].tool_calls[0].id',
    ],
    [
      'an answer with an image',
      completions,
      chat({
        messages: [user('x'), earlier('c'), result('c', [{ type: 'image_url', image_url: { url: 'x' } }])],
      }),
      400,
      'unsupported_value',
      'messages[2].content[0].type',
    ],
    [
      'an answer of a message after which too much is said',
      completions,
      chat({ messages: [user('x'), earlier('c'), result('c'), user('x'.repeat(10_001))] }),
      400,
      'invalid_value',
      'messages[3]',
    ],
    [
      '1,000 answers of calls that nobody made',
      completions,
      chat({ messages: Array.from({ length: 1_000 }, (_, i) => result(`call_${i}_task_x`)) }),
      400,
      'invalid_value',
      'messages[0]',
    ],
    [
      'the calls of two tasks',
      completions,
      chat({ messages: [result('call_1_task_a'), result('call_1_task_b')] }),
      400,
      'invalid_value',
      'messages[1]',
    ],
    [
      'a call of a response without its answer',
      responses,
      respond({ input: [user('x'), { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }] }),
      400,
      'invalid_value',
      'input[1]',
    ],
    [
      'an answer of a response that nobody asked for',
      responses,
      respond({ input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }], stream: true }),
      400,
      'invalid_value',
      'input[0]',
    ],
    [
      'an output of a file',
      responses,
      respond({
        input: [
          { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_file', file_id: 'f' }] },
        ],
      }),
      400,
      'unsupported_value',
      'input[0].content[0].type',
    ],
  ])('%s is an error of OpenAI', async (_, path, body, status, code, param) => {
    const answer = await post(path, body)
    expect([answer.status, await answer.json()]).toEqual([
      status,
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

  it('are words of an earlier conversation if they are not at its end', async () => {
    const messages = [user('x'), earlier('call_0'), result('call_0', 'seen'), user('all')]
    const answer = await post(completions, chat({ messages }))
    const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] }
    expect(choices[0]?.message.content).toBe('user: x | assistant: [f({}) returned: seen] | user: all')
  })
})
