// The official client of OpenAI against the gateway on a real port, in front of real daemons.
import { until } from '@beaver/testing'
import OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { keptEditor } from '../support/acp.ts'
import { say } from '../support/fake-provider.ts'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only, type TestSystem } from '../support/system.ts'

let scene: ProtocolScene
let system: TestSystem
beforeAll(async () => {
  scene = await keptScene()
  system = scene.system
})

const clientOf = (name: keyof ProtocolScene['tokens'], options: object = {}): OpenAI =>
  new OpenAI({
    baseURL: `${scene.gateway.info.url}/v1`,
    apiKey: scene.tokens[name],
    maxRetries: 0,
    ...options,
  })
const client = (): OpenAI => clientOf('admin')

const user = (content: string): { role: 'user'; content: string } => ({ role: 'user', content })
const taskOf = (id: string): string => id.replace(/^(resp_|chatcmpl-)/, '')

describe('chat.completions', () => {
  it('are answered with the text, its end and the usage', async () => {
    const { data, request_id } = await client()
      .chat.completions.create({ model: 'beaver', messages: [user('hello')] })
      .withResponse()
    expect(data).toMatchObject({
      object: 'chat.completion',
      model: 'beaver',
      choices: [
        { index: 0, message: { role: 'assistant', content: 'You said: hello' }, finish_reason: 'stop' },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    })
    expect([data.id, data.created > 1_700_000_000]).toEqual([`chatcmpl-${request_id}`, true])
  })

  it('give the agent the earlier messages in their roles, and what the system and the developer say as instructions', async () => {
    const messages = [
      { role: 'system', content: 'Speak like a pirate.' },
      user('My name is Ann.'),
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Hello ' },
          { type: 'text', text: 'Ann.' },
        ],
      },
      { role: 'developer', content: 'Be brief.' },
      user('all'),
    ] as OpenAI.ChatCompletionMessageParam[]
    const answered = await client().chat.completions.create({ model: 'beaver', messages })
    expect(answered.choices[0]?.message.content).toBe(
      'user: My name is Ann. | assistant: Hello \nAnn. | user: all',
    )
    const events = await system.events(taskOf(answered.id))
    expect(only(events, 'task_submitted')[0]?.data.request).toMatchObject({
      text: 'all',
      instructions: 'Speak like a pirate.\n\nBe brief.',
    })
    expect(only(events, 'system_prompt_snapshotted')[0]?.data.content).toMatch(
      /<instruction mark="\w+">\nSpeak like a pirate\.\n\nBe brief\.\n<\/instruction/,
    )
  })

  it('are streamed in pieces, with the usage if it is asked for', async () => {
    const stream = await client().chat.completions.create({
      model: 'beaver',
      messages: [user('pieces')],
      stream: true,
      stream_options: { include_usage: true },
    })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)
    expect(chunks[0]?.choices[0]?.delta).toMatchObject({ role: 'assistant', content: '' })
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Word by word.')
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop')
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { total_tokens: expect.any(Number) as number },
    })
    expect(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size).toBe(1)
  })

  it('work with the helper that collects a stream', async () => {
    const runner = client().chat.completions.stream({ model: 'clerk', messages: [user('pieces')] })
    expect(await runner.finalContent()).toBe('Word by word.')
  })

  it('ask a profile, or a workflow by its one text or its arguments', async () => {
    const ask = async (model: string, content: string): Promise<string | null | undefined> =>
      (await client().chat.completions.create({ model, messages: [user(content)] })).choices[0]?.message
        .content
    expect(await ask('clerk', 'system')).toContain('You are the clerk.')
    expect(await ask('workflow:sum_up', 'a text')).toContain('Sum up: a text')
    expect(await ask('workflow:two', '{"text": "a text", "tone": "dry"}')).toContain('Sum up: a text')
    await expect(ask('workflow:two', 'a text')).rejects.toMatchObject({ status: 400, param: 'messages' })
  })

  it('have the JSON that was asked for, or none', async () => {
    const ask = (type: string, content: string) =>
      client().chat.completions.create({
        model: 'beaver',
        messages: [user(content)],
        response_format: {
          type: 'json_schema',
          json_schema: {
            name: 'x',
            schema: { type: 'object', properties: { total: { type } }, required: ['total'] },
          },
        },
      })
    expect((await ask('integer', 'json')).choices[0]?.message.content).toBe('{"total":3}')
    // The text was paid for.
    const unfit_output = expect.stringContaining(
      'You said: Your answer does not fit the JSON Schema',
    ) as string
    await expect(ask('string', 'json')).rejects.toMatchObject({
      status: 422,
      code: 'output_invalid',
      error: { unfit_output },
    })
    const format = {
      type: 'json_schema' as const,
      name: 'x',
      schema: { type: 'object', properties: { total: { type: 'string' } }, required: ['total'] },
    }
    const failed = await client().responses.create({ model: 'beaver', input: 'json', text: { format } })
    expect([failed.status, failed.error]).toMatchObject(['failed', { unfit_output }])
  })

  it('have the form of the profile or the workflow, and the form that was asked for', async () => {
    const form = (properties: object) => ({
      type: 'json_schema' as const,
      json_schema: { name: 'x', schema: { type: 'object', properties, required: Object.keys(properties) } },
    })
    const ask = async (
      model: string,
      response_format?: OpenAI.ChatCompletionCreateParams['response_format'],
      stream = false,
    ): Promise<string> => {
      const asked = {
        model,
        messages: [user('json')],
        ...(response_format === undefined ? {} : { response_format }),
      }
      if (!stream) return (await client().chat.completions.create(asked)).choices[0]?.message.content ?? ''
      return (await client().chat.completions.stream(asked).finalContent()) ?? ''
    }
    // A profile: the form of the request wins, any object leaves its own form, and without a form of the
    // request it answers in its own.
    const asked = async (...of: Parameters<typeof ask>): Promise<unknown> => {
      const before = system.provider.about('json').length
      const said = await ask(...of)
      const prompt = system.provider
        .about('json')
        .slice(before)
        .map(({ messages }) => messages[0]?.content ?? '')
      return [
        said,
        prompt.map((text) => /<output_schema[^>]*>\n(.*?)\n<\/output_schema/s.exec(text)?.[1] ?? null),
      ]
    }
    const own = '{"type":"object","properties":{"total":{"type":"integer"}},"required":["total"]}'
    expect(await asked('counter')).toEqual(['{"total":3}', [own]])
    expect(await asked('counter', undefined, true)).toEqual(['{"total":3}', [own]])
    expect(await asked('counter', { type: 'json_object' })).toEqual(['{"total":3}', [own]])
    expect(await asked('counter', form({ total: { type: 'number' } }))).toEqual([
      '{"total":3}',
      [expect.stringContaining('"number"')],
    ])

    // A workflow: its agent writes its own form, and the answer must fit both.
    expect(await ask('workflow:count')).toBe('{"total":3}')
    expect(await ask('workflow:count', { type: 'json_object' })).toBe('{"total":3}')
    expect(await ask('workflow:count', form({ total: { type: 'number' } }))).toBe('{"total":3}')
    await expect(
      ask('workflow:count', form({ total: { type: 'number', minimum: 4 } })),
    ).rejects.toMatchObject({ status: 422 })
    // No answer fits both: nothing is asked.
    system.provider.forget()
    await expect(ask('workflow:count', form({ total: { type: 'string' } }))).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('at /total, one wants number, the other string'),
    })
    expect(system.provider.about('Count: ')).toEqual([])
  })

  it('show images that are larger than a message of NATS, and refuse what is too large with its limit', async () => {
    const head = Buffer.from('89504e470d0a1a0a0000000d4948445200000003000000020802000000', 'hex')
    const png = (bytes: number): Buffer =>
      Buffer.concat([head, Buffer.alloc(bytes - head.length, 'pixels of a picture')])
    const asks = (text: string, ...images: readonly Buffer[]) =>
      client().chat.completions.create({
        model: 'beaver',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text },
              ...images.map((image) => ({
                type: 'image_url' as const,
                image_url: { url: `data:image/png;base64,${image.toString('base64')}` },
              })),
            ],
          },
        ],
      })
    const large = png(2_000_000)
    expect((await asks('Look at two megabytes', large)).choices[0]?.message.content).toMatch(
      /^You said: Look at two megabytes\n\[image 3×2 png 2.0 MB\]$/,
    )
    const [, sent = ''] =
      /"url":"data:image\/png;base64,([^"]+)"/.exec(
        system.provider.about('Look at two megabytes').at(-1)?.body ?? '',
      ) ?? []
    expect(Buffer.from(sent, 'base64').equals(large)).toBe(true)

    await expect(asks('x', png(5_000_001))).rejects.toMatchObject({
      status: 413,
      code: 'too_large',
      message: expect.stringContaining('at most 5000000 bytes'),
    })
    await expect(asks('x', ...Array<Buffer>(11).fill(png(100)))).rejects.toMatchObject({
      status: 413,
      message: expect.stringContaining('at most 10 images'),
    })
  })

  it('that failed are errors which no client sends again', async () => {
    system.provider.forget()
    const again = clientOf('admin', { maxRetries: 2 })
    await expect(
      again.chat.completions.create({ model: 'beaver', messages: [user('fail')] }),
    ).rejects.toMatchObject({ status: 422, type: 'server_error' })
    const stream = await again.chat.completions.create({
      model: 'beaver',
      messages: [user('fail')],
      stream: true,
    })
    const read = async (): Promise<void> => {
      for await (const _ of stream);
    }
    await expect(read()).rejects.toMatchObject({ type: 'server_error' })
    expect(system.provider.about('fail')).toHaveLength(2)
  })
})

describe('responses', () => {
  it('are answered, read again by their id, and go on by it', async () => {
    const first = await client().responses.create({
      model: 'clerk',
      input: 'one',
      instructions: 'Be brief.',
      metadata: { a: 'b' },
    })
    expect(first).toMatchObject({
      object: 'response',
      status: 'completed',
      output_text: 'You said: one',
      model: 'clerk',
      metadata: { a: 'b' },
      error: null,
    })
    const { metadata: _, ...same } = JSON.parse(JSON.stringify(first)) as Record<string, unknown>
    expect(await client().responses.retrieve(first.id)).toMatchObject({
      ...same,
      output_text: 'You said: one',
    })
    const second = await client().responses.create({
      model: 'beaver',
      input: 'all',
      previous_response_id: first.id,
    })
    expect([second.output_text, second.previous_response_id]).toEqual([
      'user: one | assistant: You said: one | user: all',
      first.id,
    ])
    const sessions = await Promise.all(
      [first, second].map(
        async ({ id }) => only(await system.events(taskOf(id)), 'task_submitted')[0]?.data.session_id,
      ),
    )
    expect(sessions[1]).toBe(sessions[0])
  })

  it('are a tree: one goes on from any other, as if those after it had not been', async () => {
    const input = [user('zero'), { role: 'assistant' as const, content: 'nought' }, user('one')]
    const first = await client().responses.create({ model: 'beaver', input })
    const second = await client().responses.create({
      model: 'beaver',
      input: 'two',
      previous_response_id: first.id,
    })
    const branch = await client().responses.create({
      model: 'beaver',
      input: 'all',
      previous_response_id: first.id,
    })
    const said = 'user: zero | assistant: nought | user: one | assistant: You said: one'
    expect(branch.output_text).toBe(`${said} | user: all`)
    const third = await client().responses.create({
      model: 'beaver',
      input: 'all',
      previous_response_id: second.id,
    })
    expect(third.output_text).toBe(`${said} | user: two | assistant: You said: two | user: all`)
    const read = await client().responses.retrieve(third.id)
    expect(read.previous_response_id).toBe(second.id)
    const sessions = await Promise.all(
      [first, branch, third].map(
        async ({ id }) => only(await system.events(taskOf(id)), 'task_submitted')[0]?.data.session_id,
      ),
    )
    expect(new Set(sessions).size).toBe(1)
  })

  it('are streamed as the events of the standard, numbered without gaps', async () => {
    const stream = await client().responses.create({ model: 'beaver', input: 'pieces', stream: true })
    const events: OpenAI.Responses.ResponseStreamEvent[] = []
    for await (const event of stream) events.push(event)
    expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_, i) => i))
    expect(events.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1])).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
    const text = events
      .map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''))
      .join('')
    const last = events.at(-1)
    expect([text, last?.type === 'response.completed' && last.response.output[0]]).toMatchObject([
      'Word by word.',
      { type: 'message', phase: 'final_answer', content: [{ type: 'output_text', text: 'Word by word.' }] },
    ])
  })

  it('show the calls of tools as calls that the server made', async () => {
    const runner = clientOf('ann').responses.stream({ model: 'beaver', input: 'look' })
    const types: string[] = []
    for await (const { type } of runner) types.push(type)
    const { output, output_text } = await runner.finalResponse()
    expect([output.map(({ type }) => type), output_text]).toEqual([
      ['mcp_call', 'message'],
      'There are files.',
    ])
    expect(output[0]).toMatchObject({
      server_label: 'beaver',
      name: 'list_files',
      arguments: '{"path":"."}',
      output: expect.stringContaining('clerk.json') as string,
    })
    expect(types).toEqual(
      expect.arrayContaining([
        'response.mcp_call.in_progress',
        'response.mcp_call_arguments.done',
        'response.mcp_call.completed',
      ]),
    )
    const hidden = await clientOf('writer').responses.create({ model: 'beaver', input: 'look' })
    expect(hidden.output[0]).toMatchObject({ type: 'mcp_call', status: 'completed', output: null })
  })

  it('are parsed by the helper for schemas', async () => {
    const format = zodTextFormat(z.object({ total: z.number() }), 'total')
    const { output_parsed } = await client().responses.parse({
      model: 'beaver',
      input: 'json',
      text: { format },
    })
    expect(output_parsed).toEqual({ total: 3 })
  })

  it('that failed are responses with an error', async () => {
    expect(await client().responses.create({ model: 'beaver', input: 'fail' })).toMatchObject({
      status: 'failed',
      output: [],
      error: { code: 'server_error', message: expect.stringContaining('provider_refused') as string },
    })
    const stream = await client().responses.create({ model: 'beaver', input: 'fail', stream: true })
    const types: string[] = []
    for await (const { type } of stream) types.push(type)
    expect(types).toEqual(['response.created', 'response.in_progress', 'response.failed'])
  })

  it('in the background come at once, are asked for again, and are cancelled', async () => {
    const done = await client().responses.create({ model: 'beaver', input: 'one', background: true })
    expect(['queued', 'in_progress', 'completed']).toContain(done.status)
    await until(
      'it is completed',
      async () => (await client().responses.retrieve(done.id)).status === 'completed',
    )
    const long = await client().responses.create({ model: 'beaver', input: 'wait oac_one', background: true })
    expect((await client().responses.cancel(long.id)).status).toBe('cancelled')
    scene.answer('oac_one', say('late'))
    expect((await client().responses.cancel(done.id)).output).toHaveLength(1)
    // Who may not read is not told what a response says.
    expect(await clientOf('writer').responses.cancel(done.id)).toMatchObject({
      status: 'completed',
      output: [],
    })
    await expect(clientOf('writer').responses.retrieve(done.id)).rejects.toMatchObject({ status: 403 })
    await expect(clientOf('reader').responses.create({ model: 'beaver', input: 'x' })).rejects.toMatchObject({
      status: 403,
    })
  })

  it('that are not stored are not found again', async () => {
    const answered = await client().responses.create({ model: 'beaver', input: 'one', store: false })
    const { id } = answered
    expect(answered).toMatchObject({ store: false })
    await expect(client().responses.retrieve(id)).rejects.toMatchObject({ status: 404 })
    await expect(
      client().responses.create({ model: 'beaver', input: 'x', previous_response_id: id }),
    ).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
    })
  })

  it('of one user do not exist for another', async () => {
    const { id } = await clientOf('ann').responses.create({ model: 'beaver', input: 'my secret' })
    const bob = clientOf('bob')
    await expect(bob.responses.retrieve(id)).rejects.toMatchObject({ status: 404 })
    await expect(bob.responses.cancel(id)).rejects.toMatchObject({ status: 404 })
    await expect(
      bob.responses.create({ model: 'beaver', input: 'all', previous_response_id: id }),
    ).rejects.toMatchObject({ status: 400 })
    await expect(bob.responses.create({ model: 'beaver', input: 'x', user: 'ann' })).rejects.toMatchObject({
      status: 403,
    })
    const mine = await clientOf('ann').responses.create({
      model: 'beaver',
      input: 'all',
      previous_response_id: id,
    })
    expect(mine.output_text).toContain('my secret')
    expect(
      (await client().responses.create({ model: 'beaver', input: 'all', previous_response_id: id })).user,
    ).toBe('ann')
  })
})

describe('models', () => {
  it('are the default profile, the profiles and the workflows', async () => {
    const names: string[] = []
    for await (const { id } of clientOf('writer').models.list()) names.push(id)
    expect(names).toEqual(['beaver', 'clerk', 'counter', 'workflow:count', 'workflow:sum_up', 'workflow:two'])
    expect(await client().models.retrieve('workflow:sum_up')).toMatchObject({
      id: 'workflow:sum_up',
      object: 'model',
      owned_by: 'beaver',
    })
    await expect(client().models.retrieve('gpt-5')).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    })
  })
})

describe('a client that goes away', () => {
  const cancelled = async (text: string): Promise<boolean> => {
    const [seen] = system.provider.about(text)
    return seen?.abandoned === true
  }

  it('cancels its completion, streamed or not', async () => {
    for (const [text, stream] of [
      ['wait oac_two', true],
      ['wait oac_three', false],
    ] as const) {
      const gone = new AbortController()
      const asked = clientOf('admin')
        .chat.completions.create({ model: 'beaver', messages: [user(text)], stream }, { signal: gone.signal })
        .then(
          async (answered) => {
            if (Symbol.asyncIterator in answered) for await (const _ of answered);
          },
          () => {},
        )
      await until('the model is asked', () => system.provider.about(text).length > 0)
      gone.abort()
      await asked
      await until('the model is not asked any more', () => cancelled(text))
    }
  })

  it('does not cancel what has an Idempotency-Key: the same request again gets its answer, and the work is done once', async () => {
    const gone = new AbortController()
    const headers = { 'Idempotency-Key': 'oac 1' }
    const body = { model: 'beaver', messages: [user('wait oac_four')] }
    const first = client()
      .chat.completions.create(body, { headers, signal: gone.signal })
      .catch(() => 'gone')
    await until('the model is asked', () => system.provider.about('wait oac_four').length > 0)
    gone.abort()
    expect(await first).toBe('gone')
    const again = client().chat.completions.create(body, { headers })
    scene.answer('oac_four', say('once'))
    expect((await again).choices[0]?.message.content).toBe('once')
    expect(system.provider.about('wait oac_four')).toHaveLength(1)
    await expect(
      client().chat.completions.create({ ...body, messages: [user('other')] }, { headers }),
    ).rejects.toMatchObject({ status: 409 })
  })

  it('gets the same response for the same key, also when the conversation went on', async () => {
    const first = await client().responses.create({ model: 'beaver', input: 'one' })
    const headers = { 'Idempotency-Key': 'oac 2' }
    const ask = () =>
      client().responses.create(
        { model: 'beaver', input: 'two', previous_response_id: first.id },
        { headers },
      )
    const second = await ask()
    expect((await ask()).id).toBe(second.id)
    await client().responses.create({ model: 'beaver', input: 'three', previous_response_id: second.id })
    expect((await ask()).id).toBe(second.id)
  })
})

it('a daemon that dies in the middle costs time, not the answer: neither of a stream nor of a prompt in an editor', async () => {
  const editor = await keptEditor(scene)
  const sessions = await Promise.all(Array.from({ length: 4 }, () => editor.session(system.workspace)))
  const dying = await system.daemon()
  const asked = Array.from({ length: 4 }, async () => {
    const stream = await client().responses.create({ model: 'beaver', input: 'wait oac_five', stream: true })
    let text = ''
    for await (const event of stream)
      if (event.type === 'response.completed') text = JSON.stringify(event.response.output)
    return text
  })
  const prompted = sessions.map((session) => editor.prompt(session, 'wait oac_five'))
  await until('the model is asked', () => system.provider.about('wait oac_five').length >= 8)
  await system.kill(dying)
  scene.answer('oac_five', say('at last'))
  for (const text of await Promise.all(asked)) expect(text).toContain('at last')
  expect(new Set(await Promise.all(prompted))).toEqual(new Set(['end_turn']))
  for (const session of sessions) {
    editor.look(session)
    expect(editor.said()).toBe('at last')
  }
})
