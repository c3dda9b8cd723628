import { afterEach, expect, it } from 'vitest'
import { overflowWordings, otherWordings } from '@beaver/testing'
import { ask, closeServers, failureOf, json, provider, serve } from '../test/kit.ts'

afterEach(closeServers)

it.each(overflowWordings)('$server says that the conversation is too long, whole and streamed', async ({ body, status }) => {
  const url = await serve(json(body, status))
  const whole = await failureOf(provider(url).chat(ask()))
  const streamed = await failureOf(provider(url).chat(ask({ onText: () => undefined })))
  expect([whole.class, streamed.class]).toEqual(['context_overflow', 'context_overflow'])
})

it.each(otherWordings)('$server is $class', async ({ body, status, class: failureClass }) => {
  expect((await failureOf(provider(await serve(json(body, status))).chat(ask()))).class).toBe(failureClass)
})
