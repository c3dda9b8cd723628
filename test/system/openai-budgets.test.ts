// The official client of OpenAI, and tasks whose budget is used up.
import OpenAI from 'openai'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { say, use } from '../support/fake-provider.ts'
import { budgetedScene, type ProtocolScene } from '../support/protocol-scene.ts'
import { only } from '../support/system.ts'

let scene: ProtocolScene
beforeAll(async () => void (scene = await budgetedScene()))
beforeEach(() => {
  scene.again()
  // The first call uses a tool, and the second one answers.
  scene.system.provider.answerBy(({ results }) =>
    results.length === 0 ? use(['echo', { text: 'apples' }]) : say('Compared.'),
  )
})

const clientOf = (who: keyof ProtocolScene['tokens']): OpenAI =>
  // It sends again by itself what may be sent again.
  new OpenAI({ baseURL: `${scene.gateway.info.url}/v1`, apiKey: scene.tokens[who], maxRetries: 2 })
const asked = (content: string, model = 'beaver') => ({
  model,
  messages: [{ role: 'user' as const, content }],
})
const quota = { code: 'insufficient_quota', type: 'insufficient_quota' }

/** The error of a request, and the task that it names. */
async function refusal(answer: PromiseLike<unknown>) {
  const error = await Promise.resolve(answer).then(
    (given) => expect.fail(`answered: ${JSON.stringify(given)}`),
    (thrown: unknown) => thrown as InstanceType<typeof OpenAI.APIError>,
  )
  return { error, taskId: /The task (\S+)/.exec(error.message)?.[1] ?? '' }
}
/** How many tasks the model was asked for. */
const callsFor = (text: string): number => scene.system.provider.about(text).length

describe('a task that waits for more in a budget', () => {
  it.each([
    ['completion', (ann: OpenAI, text: string) => ann.chat.completions.create(asked(text))],
    ['response', (ann: OpenAI, text: string) => ann.responses.create({ model: 'beaver', input: text })],
  ])('fails its %s with how to give more, and the same request goes on then', async (kind, ask) => {
    const text = `Compare the apples for a ${kind}`
    const ann = clientOf('ann')
    const { error, taskId } = await refusal(ask(ann, text))
    expect(error).toMatchObject({ status: 402, ...quota })
    expect(error.message).toContain(
      `waits: the budget of the task has no place for the next call (used 1 of 1 model call, needed up to 1 model call). "beaver show ${taskId}" says how to give more.`,
    )
    expect((await refusal(ask(ann, text))).taskId).toBe(taskId)
    await scene.system.client.raise(taskId, { model_calls: 5 })
    const answer = (await ask(ann, text)) as {
      id: string
      choices?: OpenAI.ChatCompletion['choices']
      output_text?: string
    }
    expect(answer.id).toContain(taskId)
    expect(answer.choices?.[0]?.message.content ?? answer.output_text).toBe('Compared.')
    expect(callsFor(text)).toBe(2)
  })

  it('ends a stream with the same error', async () => {
    const ann = clientOf('ann')
    const completion = async (): Promise<void> => {
      const stream = await ann.chat.completions.create({ ...asked('Compare the pears'), stream: true })
      for await (const _ of stream);
    }
    const { error, taskId } = await refusal(completion())
    expect(error).toMatchObject(quota)
    const events: OpenAI.Responses.ResponseStreamEvent[] = []
    const response = async (): Promise<void> => {
      const stream = await ann.responses.create({ model: 'beaver', input: 'Compare the figs', stream: true })
      for await (const each of stream) events.push(each)
    }
    const second = await refusal(response())
    expect(second.error).toMatchObject(quota)
    for (const each of [taskId, second.taskId]) await scene.system.client.cancel(each, 'Enough.')
  })

  it('says nothing of what was used to a caller that may only submit, and who raises a shared budget', async () => {
    const first = await refusal(clientOf('writer').chat.completions.create(asked('Compare the plums')))
    expect(first.error.message).toContain(`The task ${first.taskId} waits for more in a budget. When`)
    const second = await refusal(clientOf('ann').chat.completions.create(asked('Compare the nuts', 'clerk')))
    expect(second.error.message).toContain(
      'Only an operator can give more to the budget of the profile clerk for a day',
    )
    for (const each of [first.taskId, second.taskId]) await scene.system.client.cancel(each, 'Enough.')
  })
})

describe('a task that ended at a budget', () => {
  it('is an error that no client sends again, and a response with the same code', async () => {
    const ann = clientOf('ann')
    const { error, taskId } = await refusal(ann.chat.completions.create(asked('Count the nuts', 'counter')))
    expect(error).toMatchObject({ status: 402, ...quota })
    expect(error.message).toContain(`The task ${taskId} failed: The budget of the profile counter for a day`)
    const ended = await scene.system.events(taskId)
    expect(only(ended, 'budget_exceeded')).toHaveLength(1)
    const response = await ann.responses.create({ model: 'counter', input: 'Count the figs' })
    expect(response).toMatchObject({ status: 'failed', error: { code: 'insufficient_quota' } })
    expect(callsFor('Count the')).toBe(0)
  })
})
