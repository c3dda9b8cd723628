import { afterEach, expect, it } from 'vitest'
import { accountWordings, overflowWordings, otherWordings } from '@beaver/testing'
import { ask, closeServers, failureOf, json, provider, serve } from '../test/kit.ts'

afterEach(closeServers)

it.each(overflowWordings)(
  '$server says that the conversation is too long, whole and streamed',
  async ({ body, status }) => {
    const url = await serve(json(body, status))
    const whole = await failureOf(provider(url).chat(ask()))
    const streamed = await failureOf(provider(url).chat(ask({ onText: () => undefined })))
    expect([whole.class, streamed.class]).toEqual(['context_overflow', 'context_overflow'])
  },
)

it.each(accountWordings)(
  '$server says that the account has nothing left, and is not asked again',
  async ({ body, status }) => {
    const url = await serve(json(body, status))
    const said = {
      class: 'provider_refused',
      message: expect.stringContaining('check its plan and billing') as string,
    }
    expect(await failureOf(provider(url).chat(ask()))).toMatchObject(said)
    expect(await failureOf(provider(url).chat(ask({ onText: () => undefined })))).toMatchObject(said)
  },
)

it.each(otherWordings)('$server is $class', async ({ body, status, class: failureClass }) => {
  expect((await failureOf(provider(await serve(json(body, status))).chat(ask()))).class).toBe(failureClass)
})
