// Functions of a client over OpenAI's interfaces, with the official client and the AI SDK, in front of a real
// daemon. The model plays turns that the task names: "play [[["colour",{}]],"So: $"]".
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, type LanguageModel, Output, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { say, type SeenRequest, use } from '../support/fake-provider.ts'
import { protocolScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only, type TestSystem, told } from '../support/system.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

type Played = readonly (readonly (readonly [string, unknown])[] | string)[]
const play = (...turns: Played): string => `play ${JSON.stringify(turns)}`
/** A turn for each answer: calls, or a text in which $ stands for the results so far. */
function played({ text, results }: SeenRequest) {
  const turns = JSON.parse(text.slice(5)) as Played
  let calls = 0
  for (const turn of turns) {
    if (typeof turn === 'string') return say(turn.replace('$', results.join(' and ')))
    if (calls >= results.length) return use(...turn)
    calls += turn.length
  }
  return say('over')
}

interface Sent {
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
  readonly tool_choice?: string
}

/** What a model answers to the program of the page. */
function ofThePage({ text, results }: SeenRequest) {
  const at = text.includes('door') ? 'door' : 'roof'
  if (results.length === 0) return use(['colour', { at }])
  return say(at === 'door' ? (results[0] ?? '') : '{"colour": "blue"}')
}

const seen: SeenRequest[] = []
let scene: ProtocolScene
let system: TestSystem
beforeAll(async () => {
  scene = await protocolScene({
    answer: (request) => {
      seen.push(request)
      if (request.text.startsWith('Which colour has the ')) return ofThePage(request)
      return request.text.startsWith('play ') ? played(request) : undefined
    },
  })
  system = scene.system
})
afterAll(() => scene[Symbol.asyncDispose]())

const clientOf = (name: keyof ProtocolScene['tokens']): OpenAI =>
  new OpenAI({ baseURL: `${scene.gateway.info.url}/v1`, apiKey: scene.tokens[name], maxRetries: 0 })
const user = (content: string): { role: 'user'; content: string } => ({ role: 'user', content })
const taskOf = (id: string): string => id.replace(/^(resp_|chatcmpl-)/, '').replace(/~\d+$/, '')

const parameters = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }
const tools: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'colour', description: 'Reads a colour.', parameters } },
]
const functions: OpenAI.Responses.FunctionTool[] = [
  { type: 'function', name: 'colour', description: 'Reads a colour.', parameters, strict: true },
]
const two = [
  ['colour', { at: 'door' }],
  ['colour', { at: 'roof' }],
] as const

type Message = OpenAI.ChatCompletionMessageParam
/** The first answer of a completion, which has calls. */
async function called(content: string, over: object = {}, who: keyof ProtocolScene['tokens'] = 'ann') {
  const completion = await clientOf(who).chat.completions.create({
    model: 'beaver',
    messages: [user(content)],
    tools,
    ...over,
  } as OpenAI.ChatCompletionCreateParamsNonStreaming)
  const message = completion.choices[0]?.message
  const calls = (message?.tool_calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[]
  return { completion, calls, history: [user(content), message as Message] }
}
const answer = (id: string, content: string): Message => ({ role: 'tool', tool_call_id: id, content })
const goOn = (messages: Message[], over: object = {}, who: keyof ProtocolScene['tokens'] = 'ann') =>
  clientOf(who).chat.completions.create({
    model: 'beaver',
    messages,
    tools,
    ...over,
  } as OpenAI.ChatCompletionCreateParamsNonStreaming)

describe('chat.completions with functions of the client', () => {
  it('end with the calls, and the answers in any order let the same task go on, once', async () => {
    const { completion, calls, history } = await called(play(two, 'So: $'))
    expect(completion.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { role: 'assistant', content: null, refusal: null },
    })
    expect(calls.map(({ type, function: { name, arguments: args } }) => [type, name, args])).toEqual([
      ['function', 'colour', '{"at":"door"}'],
      ['function', 'colour', '{"at":"roof"}'],
    ])
    const [door = '', roof = ''] = calls.map(({ id }) => id)
    const answered = [...history, answer(roof, 'red'), answer(door, 'blue')]
    const first = await goOn(answered)
    expect(first.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'So: blue and red' },
    })
    expect(first.id).not.toBe(completion.id)
    expect(taskOf(first.id)).toBe(taskOf(completion.id))
    expect(first.usage?.total_tokens).toBe(30)
    // Again: the same answer, and nothing is asked or recorded twice. The ids of the calls are enough.
    expect(await goOn(answered)).toEqual(first)
    expect(await goOn(answered.slice(2))).toEqual(first)
    const events = await system.events(taskOf(first.id))
    expect(only(events, 'client_call_answered')).toHaveLength(2)
    expect(only(events, 'assistant_message_added')).toHaveLength(2)
    await expect(goOn([...history, answer(door, 'green'), answer(roof, 'red')])).rejects.toMatchObject({
      status: 409,
      code: 'conflict',
    })
  })

  it('want the answers of all calls of a turn, and name those that are missing', async () => {
    const { calls, history } = await called(play(two, 'So: $'))
    const [door = '', roof = ''] = calls.map(({ id }) => id)
    for (const messages of [[...history, answer(door, 'x')], [answer(door, 'x')], history])
      await expect(goOn(messages)).rejects.toMatchObject({
        status: 400,
        code: 'invalid_value',
        message: expect.stringMatching(new RegExp(`No tool output found for function calls? .*${roof}`)),
      })
    await expect(
      goOn([...history, answer(door, 'x'), answer(roof, 'y'), answer(roof, 'z')]),
    ).rejects.toMatchObject({ status: 400, message: expect.stringContaining('a second time') })
    expect((await goOn([...history, answer(door, 'x'), answer(roof, 'y')])).choices[0]?.message.content).toBe(
      'So: x and y',
    )
  })

  it('give one call at a time if the client wants no parallel calls', async () => {
    const over = { parallel_tool_calls: false }
    const { calls, history } = await called(play(two, 'So: $'), over)
    expect(calls.map(({ function: { arguments: args } }) => args)).toEqual(['{"at":"door"}'])
    const next = await goOn([...history, answer(calls[0]?.id ?? '', 'blue')], over)
    const message = next.choices[0]?.message
    const [roof] = (message?.tool_calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[]
    expect(roof?.function.arguments).toBe('{"at":"roof"}')
    const last = await goOn(
      [...history, answer(calls[0]?.id ?? '', 'blue'), message as Message, answer(roof?.id ?? '', 'red')],
      over,
    )
    expect(last.choices[0]?.message.content).toBe('So: blue and red')
  })

  it('are streamed as OpenAI streams them, and the helper of the client reads them', async () => {
    const stream = await clientOf('ann').chat.completions.create({
      model: 'beaver',
      messages: [user(play(two, 'So: $'))],
      tools,
      stream: true,
    })
    const deltas: unknown[] = []
    let finish: string | null = null
    for await (const { choices } of stream) {
      if (choices[0]?.delta.tool_calls !== undefined) deltas.push(...choices[0].delta.tool_calls)
      finish = choices[0]?.finish_reason ?? finish
    }
    const id = expect.stringMatching(/^call_\d+_task_/) as string
    expect([finish, ...deltas]).toEqual([
      'tool_calls',
      { index: 0, id, type: 'function', function: { name: 'colour', arguments: '' } },
      { index: 0, function: { arguments: '{"at":"door"}' } },
      { index: 1, id, type: 'function', function: { name: 'colour', arguments: '' } },
      { index: 1, function: { arguments: '{"at":"roof"}' } },
    ])
    const runner = clientOf('ann').chat.completions.runTools({
      model: 'beaver',
      messages: [user(play(two, [['colour', { at: 'wall' }]], 'So: $'))],
      stream: true,
      tools: [
        {
          type: 'function',
          function: {
            name: 'colour',
            description: 'Reads a colour.',
            parameters,
            parse: JSON.parse as (input: string) => { at: string },
            function: ({ at }: { at: string }) => `${at} is blue`,
          },
        },
      ],
    })
    expect(await runner.finalContent()).toBe('So: door is blue and roof is blue and wall is blue')
  })

  it('have the text of the agent beside the calls, and the form that was asked for at the end', async () => {
    const form = {
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'x',
          schema: { type: 'object', properties: { total: { type: 'integer' } }, required: ['total'] },
        },
      },
    }
    const { calls, history } = await called(play([['colour', { at: 'door' }]], '{"total": $}'), form)
    const answered = [...history, answer(calls[0]?.id ?? '', '3')]
    expect((await goOn(answered, form)).choices[0]?.message.content).toBe('{"total":3}')
    const other = { response_format: { type: 'json_object' } }
    await expect(goOn(answered, other)).rejects.toMatchObject({ status: 400, param: 'response_format' })
  })

  it('never give the client a call whose arguments do not fit', async () => {
    const { calls, history } = await called(
      play([['colour', { at: 1 }]], [['colour', { at: 'door' }]], 'So: $'),
    )
    expect(calls.map(({ function: { arguments: args } }) => args)).toEqual(['{"at":"door"}'])
    const last = await goOn([...history, answer(calls[0]?.id ?? '', 'blue')])
    expect(last.choices[0]?.message.content).toMatch(/^So: .*do not fit.* and blue$/s)
  })

  it('mix with tools of the profile, which the agent calls itself', async () => {
    const { calls, history } = await called(
      play(
        [
          ['list_files', { path: '.' }],
          ['colour', { at: 'door' }],
        ],
        [['list_files', { path: '.' }]],
        'So: $',
      ),
    )
    expect(calls.map(({ function: { name } }) => name)).toEqual(['colour'])
    const last = await goOn([...history, answer(calls[0]?.id ?? '', 'blue')])
    expect(last.choices[0]?.message.content).toMatch(/^So: .* and blue and /s)
  })

  it('give calls that wait behind a call of the agent later', async () => {
    const turn = [
      ['colour', { at: 'door' }],
      ['deploy', { question: 'x' }],
      ['colour', { at: 'roof' }],
    ] as const
    const { calls, history } = await called(play(turn, 'So: $'))
    expect(calls.map(({ function: { arguments: args } }) => args)).toEqual(['{"at":"door"}'])
    const next = await goOn([...history, answer(calls[0]?.id ?? '', 'blue')])
    expect(next.choices[0]?.message.tool_calls).toMatchObject([{ function: { arguments: '{"at":"roof"}' } }])
  })

  it.each<[string, object, boolean]>([
    ['required', { tool_choice: 'required' }, true],
    ['a function', { tool_choice: { type: 'function', function: { name: 'colour' } } }, true],
    [
      'allowed tools',
      {
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'colour' } }] },
        },
      },
      true,
    ],
    ['auto', { tool_choice: 'auto' }, false],
    ['none', { tool_choice: 'none' }, false],
  ])('obey the tool choice %s', async (_, over, must) => {
    const { completion } = await called('Just talk.', over).catch((error: unknown) => ({
      completion: error as { status: number; code: string },
    }))
    if (must) expect(completion).toMatchObject({ status: 422, code: 'tool_choice_unmet' })
    else expect(completion).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
  })

  it('obey the tool choice of a request that answers calls, for the next answer', async () => {
    const size = { type: 'function', function: { name: 'size', parameters } }
    const more = { tools: [...tools, size] }
    const turns = play([['colour', { at: 'door' }]], [['colour', { at: 'roof' }]], 'So: $')
    const only = (mode: string) => ({
      ...more,
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode, tools: [{ type: 'function', function: { name: 'colour' } }] },
      },
    })
    const { calls, history } = await called(turns, only('auto'))
    const [door = ''] = calls.map(({ id }) => id)
    const answered = [...history, answer(door, 'blue')]
    const next = await goOn(answered, { ...more, tool_choice: 'required' })
    expect(next.choices[0]?.finish_reason).toBe('tool_calls')
    const [roof] = next.choices[0]?.message.tool_calls ?? []
    const both = [...answered, next.choices[0]?.message as Message, answer(roof?.id ?? '', 'red')]
    expect((await goOn(both, { ...more, tool_choice: 'none' })).choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'So: blue and red' },
    })
    const asked = seen.slice(-3).map(({ body }) => {
      const { tools: sent = [], tool_choice: choice } = JSON.parse(body) as Sent
      const names = sent.map((each) => each.function.name)
      return [names.filter((name) => ['colour', 'size'].includes(name)), names.length > 2, choice]
    })
    expect(asked).toEqual([
      [['colour'], true, undefined],
      [['colour', 'size'], false, 'required'],
      [[], true, undefined],
    ])
  })

  it('do not give a call that the request does not allow, and fail where one is asked for', async () => {
    const turns = play([['colour', { at: 'door' }]], [['colour', { at: 'roof' }]], 'So: $')
    for (const over of [{ tool_choice: 'none' }, { tools: [] }, { tools: undefined }]) {
      const { calls, history } = await called(turns)
      const last = await goOn([...history, answer(calls[0]?.id ?? '', 'blue')], over)
      expect(last.choices[0]).toMatchObject({
        finish_reason: 'stop',
        message: { content: expect.stringMatching(/^So: blue and .*not allowed in this answer/) as string },
      })
    }
    const { calls, history } = await called(play([['colour', { at: 'door' }]], 'So: $'))
    await expect(
      goOn([...history, answer(calls[0]?.id ?? '', 'blue')], { tool_choice: 'required' }),
    ).rejects.toMatchObject({ status: 422, code: 'tool_choice_unmet' })
  })

  it('carry earlier calls and results to the next task of the conversation', async () => {
    const { calls, history } = await called(play([['colour', { at: 'door' }]], 'So: $'))
    const answered = [...history, answer(calls[0]?.id ?? '', 'blue')]
    const last = await goOn(answered)
    const next = await goOn([...answered, last.choices[0]?.message as Message, user('all')])
    expect(next.choices[0]?.message.content).toBe(
      `user: ${play([['colour', { at: 'door' }]], 'So: $')} | assistant: [colour({"at":"door"}) returned: blue] | assistant: So: blue | user: all`,
    )
    expect(taskOf(next.id)).not.toBe(taskOf(last.id))
  })

  it('give a message after the answers to the task that waits, and to a new task if none waits', async () => {
    const { completion, calls, history } = await called(play([['colour', { at: 'door' }]], 'So: $'))
    const answered = [...history, answer(calls[0]?.id ?? '', 'blue'), user('And be quick.')]
    const first = await goOn(answered)
    expect(taskOf(first.id)).toBe(taskOf(completion.id))
    expect(await goOn(answered)).toEqual(first)
    const events = await system.events(taskOf(first.id))
    expect(only(events, 'task_steer_requested').map(({ data }) => data.text)).toEqual(['And be quick.'])
    const other = await goOn([...answered.slice(0, -1), user('Something else.')])
    expect(taskOf(other.id)).not.toBe(taskOf(first.id))
  })

  it('have errors for calls that nobody waits for, of another user, and of a task that ended', async () => {
    const { completion, calls, history } = await called(play([['colour', { at: 'door' }]], 'So: $'))
    const [id = ''] = calls.map((call) => call.id)
    const answered = [...history, answer(id, 'blue')]
    const unknown = {
      status: 400,
      code: 'invalid_value',
      message: expect.stringContaining('No tool call found'),
    }
    await expect(goOn(answered, {}, 'bob')).rejects.toMatchObject(unknown)
    for (const other of ['call_1', 'call_0_task_none', id.replace(/_\d+_/, '_3_'), `${id}x`])
      await expect(goOn([answer(other, 'blue')])).rejects.toMatchObject(unknown)
    await expect(goOn(answered, { temperature: 0.3 })).rejects.toMatchObject({ param: 'temperature' })
    await expect(goOn(answered, { model: 'clerk' })).rejects.toMatchObject({ status: 400, param: 'model' })
    for (const over of [
      { tool_choice: { type: 'function', function: { name: 'size' } } },
      { tool_choice: 'sometimes' },
      { tool_choice: 'required', tools: [] },
    ]) {
      await expect(goOn(answered, over)).rejects.toMatchObject({ status: 400, param: 'tool_choice' })
      await expect(goOn([...answered, user('Be quick.')], over)).rejects.toMatchObject({ status: 400 })
    }
    const changed = [{ type: 'function', function: { name: 'colour', parameters: { type: 'object' } } }]
    await expect(goOn(answered, { tools: changed })).rejects.toMatchObject({ param: 'tools[0]' })
    const image = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }]
    await expect(
      goOn([...history, { role: 'tool', tool_call_id: id, content: image as never }]),
    ).rejects.toMatchObject({ status: 400, param: 'messages[2].content[0].type' })
    await system.client.cancel(taskOf(completion.id), 'enough')
    const events = await system.ended(taskOf(completion.id))
    expect(told(events)).not.toContain('client_call_answered')
    expect(told(events)).not.toContain('task_steer_requested')
    await expect(goOn(answered)).rejects.toMatchObject({
      status: 409,
      code: 'conflict',
      message: expect.stringMatching(/cancelled.*end the conversation with a message of the user/s),
    })
    // The conversation goes on with a new task.
    expect((await goOn([...answered, user('all')])).choices[0]?.message.content).toContain('returned: blue')
  })

  it('are answered once if two requests answer at the same time, also while the task is cancelled', async () => {
    const { completion, calls, history } = await called(play([['colour', { at: 'door' }]], 'So: $'))
    const answered = [...history, answer(calls[0]?.id ?? '', 'blue')]
    const [a, b] = await Promise.all([goOn(answered), goOn(answered)])
    expect(a).toEqual(b)
    expect(only(await system.events(taskOf(completion.id)), 'client_call_answered')).toHaveLength(1)
    const other = await called(play([['colour', { at: 'door' }]], 'So: $'))
    const task = taskOf(other.completion.id)
    const [, outcome] = await Promise.allSettled([
      system.client.cancel(task, 'enough'),
      goOn([...other.history, answer(other.calls[0]?.id ?? '', 'blue')]),
    ])
    if (outcome.status === 'rejected')
      expect([409, 422]).toContain((outcome.reason as { status: number }).status)
    await system.ended(task)
  })
})

type Input = OpenAI.Responses.ResponseInput
const output = (call_id: string, text: string) => ({
  type: 'function_call_output' as const,
  call_id,
  output: text,
})
const respond = (
  input: string | Input,
  over: object = {},
  who: keyof ProtocolScene['tokens'] = 'ann',
): Promise<OpenAI.Responses.Response> =>
  clientOf(who).responses.create({
    model: 'beaver',
    input,
    tools: functions,
    ...over,
  } as OpenAI.Responses.ResponseCreateParamsNonStreaming)
const callsIn = (response: OpenAI.Responses.Response) =>
  response.output.filter((item) => item.type === 'function_call')

describe('responses with functions of the client', () => {
  it('end with the calls, and go on by the previous response or by the whole history', async () => {
    const first = await respond(play(two, 'So: $'))
    expect(first).toMatchObject({
      status: 'completed',
      tools: functions,
      tool_choice: 'auto',
      parallel_tool_calls: true,
    })
    const calls = callsIn(first)
    expect(calls).toMatchObject([
      { type: 'function_call', name: 'colour', arguments: '{"at":"door"}', status: 'completed' },
      { type: 'function_call', name: 'colour', arguments: '{"at":"roof"}', status: 'completed' },
    ])
    const [door = '', roof = ''] = calls.map(({ call_id }) => call_id)
    const on = { previous_response_id: first.id }
    await expect(respond([output(door, 'blue')], on)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(`No tool output found for function call ${roof}`),
    })
    await expect(respond('And?', on)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(`No tool output found for function call ${door}`),
    })
    const outputs = [output(roof, 'red'), output(door, 'blue')]
    const second = await respond(outputs, on)
    expect([second.output_text, second.previous_response_id]).toEqual(['So: blue and red', first.id])
    expect(second.usage?.total_tokens).toBe(30)
    expect(await respond(outputs, on)).toEqual(second)
    const history = [user(play(two, 'So: $')), ...(first.output as Input), ...outputs]
    expect((await respond(history)).output).toEqual(second.output)
    expect((await clientOf('ann').responses.retrieve(second.id)).output).toEqual(second.output)
    const third = await respond('all', { previous_response_id: second.id })
    expect(third.output_text).toContain('assistant: So: blue and red | user: all')
  })

  it('are streamed as OpenAI streams them, and the helper of the client reads them', async () => {
    const stream = clientOf('ann').responses.stream({
      model: 'beaver',
      input: play([['colour', { at: 'door' }]], 'So: $'),
      tools: functions,
    })
    const events: OpenAI.Responses.ResponseStreamEvent[] = []
    for await (const event of stream) events.push(event)
    const id = expect.stringMatching(/^fc_/) as string
    const call = { type: 'function_call', name: 'colour', call_id: expect.stringMatching(/^call_/) as string }
    expect(events).toMatchObject([
      { type: 'response.created' },
      { type: 'response.in_progress' },
      { type: 'response.output_item.added', item: { ...call, id, arguments: '', status: 'in_progress' } },
      { type: 'response.function_call_arguments.delta', item_id: id, delta: '{"at":"door"}' },
      { type: 'response.function_call_arguments.done', item_id: id, arguments: '{"at":"door"}' },
      {
        type: 'response.output_item.done',
        item: { ...call, id, arguments: '{"at":"door"}', status: 'completed' },
      },
      { type: 'response.completed', response: { status: 'completed' } },
    ])
    const first = await stream.finalResponse()
    const next = clientOf('ann').responses.stream({
      model: 'beaver',
      input: [output(callsIn(first)[0]?.call_id ?? '', 'blue')],
      previous_response_id: first.id,
      tools: functions,
    })
    expect((await next.finalResponse()).output_text).toBe('So: blue')
  })

  it('go on in the background, and read their items by reference', async () => {
    const first = await respond(play([['colour', { at: 'door' }]], 'So: $'), { background: true })
    const task = taskOf(first.id)
    await system.reached(task, 'the call waits', (all) => told(all).includes('client_call_requested'))
    const waits = await clientOf('ann').responses.retrieve(first.id)
    expect(waits.status).toBe('completed')
    const [call] = callsIn(waits)
    const reference = { type: 'item_reference' as const, id: call?.id ?? '' }
    const next = await respond([reference, output(call?.call_id ?? '', 'blue')])
    expect(next.output_text).toBe('So: blue')
    const said = next.output.find(({ type }) => type === 'message')?.id ?? ''
    const later = await respond([{ type: 'item_reference', id: said }, user('all')])
    expect(later.output_text).toBe('assistant: So: blue | user: all')
    await expect(
      respond([{ type: 'item_reference', id: said }, user('all')], {}, 'bob'),
    ).rejects.toMatchObject({ status: 400, param: 'input[0].id' })
  })
})

describe('the AI SDK with another base URL only', () => {
  const models = (): readonly (readonly [string, LanguageModel])[] => {
    const provider = createOpenAI({ baseURL: `${scene.gateway.info.url}/v1`, apiKey: scene.tokens.ann })
    return [
      ['chat', provider.chat('beaver')],
      ['responses', provider('beaver')],
    ]
  }
  const asked: string[] = []
  const sdkTools = {
    colour: tool({
      description: 'Reads a colour.',
      inputSchema: z.object({ at: z.string() }),
      execute: ({ at }) => {
        asked.push(at)
        return { colour: `${at} is blue` }
      },
    }),
  }
  const prompt = play(two, [['colour', { at: 'wall' }]], 'So: $')
  const said = 'So: {"colour":"door is blue"} and {"colour":"roof is blue"} and {"colour":"wall is blue"}'

  it.each([0, 1])('generates and streams text with tools (%i)', async (which) => {
    const [, model] = models()[which] as readonly [string, LanguageModel]
    asked.length = 0
    const generated = await generateText({ model, prompt, tools: sdkTools, stopWhen: stepCountIs(5) })
    expect([generated.text, generated.steps.length, asked]).toEqual([said, 3, ['door', 'roof', 'wall']])
    expect(generated.totalUsage.totalTokens).toBe(45)
    const streamed = streamText({ model, prompt, tools: sdkTools, stopWhen: stepCountIs(5) })
    expect(await streamed.text).toBe(said)
    const messages = [
      { role: 'user' as const, content: prompt },
      ...generated.response.messages,
      { role: 'user' as const, content: 'all' },
    ]
    const next = await generateText({ model, messages, tools: sdkTools })
    expect(next.text).toContain(`assistant: ${said} | user: all`)
  })

  it.each([0, 1])('carries its tool choice in each step (%i)', async (which) => {
    const [, model] = models()[which] as readonly [string, LanguageModel]
    const given = { model, prompt, tools: sdkTools }
    const required = await generateText({ ...given, toolChoice: 'required', stopWhen: stepCountIs(2) })
    expect(required.steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'tool-calls'])
    const none = await generateText({
      ...given,
      prompt: play(two, 'So: $'),
      toolChoice: 'required',
      stopWhen: stepCountIs(5),
      prepareStep: ({ stepNumber }) => (stepNumber > 0 ? { toolChoice: 'none' } : {}),
    })
    expect([none.steps.length, none.text]).toEqual([2, said.replace(/ and [^ ]*wall.*/, '')])
    const idle = await generateText({
      ...given,
      prompt: play(two, 'So: $'),
      stopWhen: stepCountIs(5),
      prepareStep: ({ stepNumber }) => (stepNumber > 0 ? { activeTools: [] } : {}),
    })
    expect(idle.text).toBe(none.text)
  })

  it.each([0, 1])('generates objects, also with tools (%i)', async (which) => {
    const [, model] = models()[which] as readonly [string, LanguageModel]
    const output = Output.object({ schema: z.object({ total: z.number() }) })
    const alone = await generateText({ model, prompt: play('{"total": 3}'), output })
    expect(alone.output).toEqual({ total: 3 })
    const withTools = await generateText({
      model,
      prompt: play([['colour', { at: 'door' }]], '{"total": 4}'),
      tools: sdkTools,
      output,
      stopWhen: stepCountIs(5),
    })
    expect(withTools.output).toEqual({ total: 4 })
  })
})

it('the program of the page prints what the page says', async () => {
  const page = readFileSync(join(root, 'docs/how-to/use-openai-clients.md'), 'utf8')
  const [, code = '', , prints = ''] =
    /## Bring functions\n.*?```js\n(.*?)```\n(.*?)```text\n(.*?)```/s.exec(page) ?? []
  const env = { ...process.env, URL: scene.gateway.info.url, TOKEN: scene.tokens.ann }
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
    cwd: root,
    env,
    timeout: 60_000,
  })
  expect(stdout).toBe(prints)
})
