import {
  type AskPerson,
  type ExternalCall,
  type ExternalResult,
  type LoopHost,
  ToolFailure,
} from '@beaver/agent'
import { expect, it } from 'vitest'
import { ExternalCalls } from './external-calls.ts'

const external = { callId: 'c', name: 'x', arguments: {} } as unknown as ExternalCall
const done: ExternalResult = { success: true, content: 'done' } as ExternalResult
type Act = (ask: AskPerson, signal: AbortSignal) => Promise<ExternalResult>
const hostOf = (act: Act): LoopHost =>
  ({
    callExternal: (_: ExternalCall, signal: AbortSignal, ask: AskPerson) => act(ask, signal),
  }) as unknown as LoopHost
const main = { action: 'accept' as const, answers: ['main'] }
const content = (text: string): ExternalResult => ({ success: true, content: text }) as ExternalResult

it('gives the result of a call that asks nothing', async () => {
  expect(
    await new ExternalCalls().begin(
      hostOf(async () => done),
      external,
    ),
  ).toEqual(done)
})

it('gives each question to the loop, one after the other, and then the result', async () => {
  const calls = new ExternalCalls()
  const both: Act = async (ask) => {
    const [one, two] = await Promise.all([ask({ message: 'One?' }), ask({ message: 'Two?' })])
    return content(`${one.action} ${two.action}`)
  }
  expect(await calls.begin(hostOf(both), external)).toEqual({ asks: { message: 'One?' } })
  expect(await calls.told('c', main)).toEqual({ asks: { message: 'Two?' } })
  expect(await calls.told('c', { action: 'decline' })).toEqual(content('accept decline'))
  expect(await calls.told('c', main)).toMatchObject({ success: false, error: 'cancelled' })
})

it('tells the call why it may not ask', async () => {
  const calls = new ExternalCalls()
  const act: Act = (ask) => ask({ message: '' }).then(() => done, (error: ToolFailure) => content(`${error.code}: ${error.message}`)) // prettier-ignore
  await calls.begin(hostOf(act), external)
  expect(
    await calls.told('c', { refused: { code: 'invalid_question', message: 'The question has no text.' } }),
  ).toEqual(content('invalid_question: The question has no text.'))
})

it('stops a call, and refuses what it asks, if nobody waits for its answers any more', async () => {
  const calls = new ExternalCalls()
  const seen: string[] = []
  const act: Act = async (ask, signal) => {
    const asked = ['One?', 'Two?'].map((message) =>
      ask({ message }).catch((error: ToolFailure) => void seen.push(error.code)),
    )
    await Promise.all(asked)
    seen.push(signal.aborted ? 'aborted' : 'goes on')
    return done
  }
  await calls.begin(hostOf(act), external)
  expect(await calls.told('c', null)).toEqual(done)
  expect(seen).toEqual(['cancelled', 'cancelled', 'aborted'])
})

it('stops one call or all, and passes on how they fail', async () => {
  const calls = new ExternalCalls()
  const untilStopped: Act = (_, signal) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(new ToolFailure('stopped', 'It was stopped.'))),
    )
  for (const stop of [() => calls.stop('c'), () => calls.stopAll()]) {
    const ended = calls.begin(hostOf(untilStopped), external)
    await Promise.resolve()
    stop()
    await expect(ended).rejects.toMatchObject({ code: 'stopped' })
  }
  calls.stop('nobody')
})
