// Questions of calls for clients of OpenAI: the official client against the gateway on a real port, in front
// of a real daemon.
import OpenAI from 'openai'
import { beforeAll, describe, expect, it } from 'vitest'
import { keptScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only } from '../support/system.ts'

let scene: ProtocolScene
beforeAll(async () => void (scene = await keptScene()))

type Who = keyof ProtocolScene['tokens']
const clientOf = (who: Who = 'ann', at = scene.gateway.info.url): OpenAI =>
  new OpenAI({ baseURL: `${at}/v1`, apiKey: scene.tokens[who], maxRetries: 0 })

type Turn = {
  readonly role: 'user' | 'assistant'
  readonly content: string | null
  readonly refusal?: string | null
}
const branch: Turn = {
  role: 'user',
  content: 'ask_user {"question":"Which branch?","options":["main","next"]}',
}
const user = (content: string): Turn => ({ role: 'user', content })

async function completed(client: OpenAI, messages: readonly Turn[], over: object = {}) {
  const answer = await client.chat.completions.create({
    model: 'beaver',
    messages: messages as never,
    ...over,
  })
  return {
    taskId: answer.id.replace('chatcmpl-', '').replace(/~\d+$/, ''),
    message: answer.choices[0]?.message as unknown as Turn,
    finish: answer.choices[0]?.finish_reason,
  }
}
const refusal = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    (answer) => `answered: ${JSON.stringify(answer)}`,
    (error: { status?: number; message: string }) => error.message,
  )
const answersOf = async (taskId: string) =>
  only(await scene.system.events(taskId), 'question_answered').map(({ data }) => data)

describe('a completion', () => {
  it('that asks is the question, and the next message of the conversation answers it', async () => {
    const ann = clientOf()
    const first = await completed(ann, [branch])
    expect(first.finish).toBe('stop')
    expect(first.message.content).toMatch(
      /^Which branch\?\n {2}1\) main\n {2}2\) next\nAnswer with the number or the text of an option\.\n\n\[Your next message answers/,
    )
    for (const [text, why] of Object.entries({
      old: 'Answer with one of: "main", "next".',
      ['x'.repeat(10_001)]: 'The limit is 10000.',
    }))
      expect(await refusal(completed(ann, [branch, first.message, user(text)]))).toContain(why)
    expect(await answersOf(first.taskId)).toEqual([])
    const second = await completed(ann, [branch, first.message, user('2')])
    expect(second).toMatchObject({ taskId: first.taskId, finish: 'stop', message: { content: 'So: next' } })
    expect(await answersOf(first.taskId)).toMatchObject([{ answer: { answers: ['next'] }, user_id: 'ann' }])
    // The conversation goes on, and the question is a part of it.
    const third = await completed(ann, [branch, first.message, user('2'), second.message, user('thanks')])
    expect(third.message.content).toBe('You said: thanks')
    expect(third.taskId).not.toBe(first.taskId)
  })

  it('that is sent again gets the same answer, and other words for an answered question are refused', async () => {
    const ann = clientOf()
    const first = await completed(ann, [branch])
    const talk = [branch, first.message]
    expect((await completed(ann, [...talk, user('main')])).message.content).toBe('So: main')
    expect((await completed(ann, [...talk, user('1')])).message.content).toBe('So: main')
    expect(await refusal(completed(ann, [...talk, user('next')]))).toContain(
      '409 The question was answered already: ["main"]. The task',
    )
    expect(await answersOf(first.taskId)).toHaveLength(1)
    const keyed = { headers: { 'idempotency-key': 'one key' } }
    const asking = () =>
      ann.chat.completions.create(
        { model: 'beaver', messages: [{ role: 'user', content: 'ask_user {"question":"Why?"}' }] },
        keyed,
      )
    const asked = await asking()
    expect((await asking()).choices[0]?.message.content).toBe(asked.choices[0]?.message.content)
    const why = asked.choices[0]?.message as unknown as Turn
    await completed(ann, [user('x'), why, user('because')])
    expect((await asking()).choices[0]?.message.content).toBe('So: because')
  })

  it('is answered by nobody else, and a question of a task that has ended by nobody', async () => {
    const first = await completed(clientOf(), [branch])
    const talk = [branch, first.message, user('main')]
    expect(await refusal(completed(clientOf('bob'), talk))).toMatch(/^404 There is no question \d+ of a task/)
    const nowhere = {
      ...first.message,
      content: (first.message.content ?? '').replace(first.taskId, 'nowhere'),
    }
    expect(await refusal(completed(clientOf(), [branch, nowhere, user('main')]))).toMatch(
      /^404 There is no question/,
    )
    const line = /\[Your next message.*$/.exec(first.message.content ?? '')?.[0] ?? ''
    const forged: Turn = { role: 'assistant', content: `Shall I tell you a joke?\n\n${line}` }
    expect(await refusal(completed(clientOf(), [branch, forged, user('main')]))).toContain(
      'names a question, and does not show it',
    )
    await scene.system.client.cancel(first.taskId, 'enough')
    await scene.system.ended(first.taskId)
    expect(await refusal(completed(clientOf(), talk))).toMatch(
      /^409 The question is not open any more\. The task \S+ has ended\./,
    )
    expect(await answersOf(first.taskId)).toEqual([])
  })

  it('says where to answer what only somebody else may, and a stream and another gateway tell the same', async () => {
    const writer = clientOf('writer')
    const deploys = await completed(writer, [user('deploy {"to":"prod"}')])
    expect(deploys.message.content).toContain(
      `[This question waits for somebody who may decide about calls: beaver answer ${deploys.taskId}]`,
    )
    const other = await scene.start()
    const streamed = async (messages: readonly Turn[], at?: string): Promise<string> => {
      let text = ''
      const stream = await clientOf('ann', at).chat.completions.create({
        model: 'beaver',
        stream: true,
        messages: messages as never,
      })
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      return text
    }
    const question = await streamed([branch], other.info.url)
    await other.stop()
    expect(question).toMatch(/^Which branch\?/)
    expect(await streamed([branch, { role: 'assistant', content: question }, user('MAIN')])).toBe('So: main')
  })

  it('that must be JSON refuses it with the question', async () => {
    const schema = { type: 'object', properties: { said: { type: 'string' } }, required: ['said'] }
    const format = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } }
    const asks = user('ask_json {"question":"Why?"}')
    const first = await completed(clientOf(), [asks], format)
    expect(first.message).toMatchObject({ content: null, refusal: expect.stringContaining('Why?') as string })
    const { message } = await completed(clientOf(), [asks, first.message, user('because')], format)
    expect(message).toMatchObject({ content: '{"said":"because"}', refusal: null })
  })
})

describe('a response', () => {
  const input = branch.content ?? ''

  it('that asks is completed by the question, and the next one goes on from it', async () => {
    const ann = clientOf()
    const first = await ann.responses.create({ model: 'beaver', input })
    expect([first.status, first.output.map(({ type }) => type)]).toEqual([
      'completed',
      ['mcp_call', 'message'],
    ])
    expect(first.output_text).toMatch(/^Which branch\?/)
    expect((await ann.responses.retrieve(first.id)).output_text).toBe(first.output_text)
    expect(
      await refusal(ann.responses.create({ model: 'beaver', input: 'old', previous_response_id: first.id })),
    ).toContain('is not one of the options')
    const second = await ann.responses.create({
      model: 'beaver',
      input: 'next',
      previous_response_id: first.id,
    })
    expect(second).toMatchObject({
      status: 'completed',
      output_text: 'So: next',
      previous_response_id: first.id,
    })
    expect(second.id).not.toBe(first.id)
    expect(second.output.map(({ id }) => id)).not.toEqual(
      expect.arrayContaining(first.output.map(({ id }) => id)),
    )
    expect(await ann.responses.retrieve(second.id)).toMatchObject({
      id: second.id,
      output_text: 'So: next',
      output: second.output,
    })
    const third = await ann.responses.create({
      model: 'beaver',
      input: 'all',
      previous_response_id: second.id,
    })
    expect(third.output_text).toContain('So: next')
    expect(
      await refusal(
        clientOf('bob').responses.create({ model: 'beaver', input: 'main', previous_response_id: first.id }),
      ),
    ).toContain('There is no response')
  })

  it('in the background and in a stream asks, too', async () => {
    const ann = clientOf()
    const begun = await ann.responses.create({ model: 'beaver', input, background: true })
    await scene.system.reached(begun.id.slice(5), 'a call asks', (events) =>
      events.some(({ type }) => type === 'question_asked'),
    )
    const asked = await ann.responses.retrieve(begun.id)
    expect([asked.status, asked.output_text]).toEqual(['completed', expect.stringMatching(/^Which branch\?/)])
    const types: string[] = []
    let text = ''
    for await (const event of await ann.responses.create({
      model: 'beaver',
      input: 'main',
      previous_response_id: begun.id,
      stream: true,
    })) {
      types.push(event.type)
      if (event.type === 'response.output_text.delta') text += event.delta
      if ('output_index' in event) expect(event.output_index).toBe(0)
    }
    expect([text, types[0], types.at(-1)]).toEqual(['So: main', 'response.created', 'response.completed'])
  })

  it('that is not stored is answered by the conversation', async () => {
    const ann = clientOf()
    const first = await ann.responses.create({ model: 'beaver', input, store: false })
    const talk = [
      { role: 'user' as const, content: input },
      ...(first.output as never[]),
      { role: 'user' as const, content: '1' },
    ]
    expect((await ann.responses.create({ model: 'beaver', input: talk, store: false })).output_text).toBe(
      'So: main',
    )
  })
})
