// Which call gets the question of a server that does not name the call.
import type { AskPerson } from '@beaver/agent'
import { virtualClock } from '@beaver/testing'
import { expect, it } from 'vitest'
import { CallInputs } from '../elicitation/call-inputs.ts'
import { OpenCalls } from './link.ts'

const params = {
  message: 'Well?',
  requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
}

function scene() {
  const clock = virtualClock()
  const calls = new OpenCalls(clock)
  const asked: string[] = []
  const call = (name: string) => {
    const ask: AskPerson = async () => {
      asked.push(name)
      return { action: 'accept', answers: ['yes'] }
    }
    return calls.begin(
      new CallInputs({
        server: 'shop',
        ask,
        signal: new AbortController().signal,
        onWait: () => () => {},
        onFailure: () => {},
      }),
    )
  }
  return { clock, calls, asked, call }
}

it('goes to the only open call', async () => {
  const { calls, asked, call } = scene()
  call('a')
  expect(await calls.answer(params)).toEqual({ action: 'accept', content: { ok: true } })
  expect(asked).toEqual(['a'])
})

it('goes to nobody outside of all calls', async () => {
  const { calls, call } = scene()
  call('a')()
  expect(await calls.answer(params)).toEqual({ action: 'cancel' })
})

it('waits until the other calls have ended, and is not given to one that began later', async () => {
  const { calls, asked, call } = scene()
  call('a')
  const endB = call('b')
  const answer = calls.answer(params)
  call('later')
  await Promise.resolve()
  expect(asked).toEqual([])
  endB()
  expect(await answer).toMatchObject({ action: 'accept' })
  expect(asked).toEqual(['a'])
})

it('goes to nobody if several calls stay open', async () => {
  const { clock, calls, asked, call } = scene()
  call('a')
  call('b')
  const answer = calls.answer(params)
  clock.advance(10_000)
  expect(await answer).toEqual({ action: 'cancel' })
  expect(asked).toEqual([])
})
