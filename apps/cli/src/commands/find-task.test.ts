import type { RecordedEvent } from '@beaver/core'
import { expect, it } from 'vitest'
import { askedInTask } from './find-task.ts'

const happened = (type: string, data: object): RecordedEvent => ({ type, data, runId: 'r', taskseq: 1 }) as unknown as RecordedEvent
const asksToCall = happened('approval_requested', { call_id: 'c' })
const asksQuestion = happened('question_asked', { call_id: 'c', tool_name: 'ask_user', question_index: 0, question: { message: 'Which?' } })

/** What is found in a task with these events, if the read model knows nothing at first; and how often it is asked. */
async function found(what: 'call' | 'question', events: readonly RecordedEvent[], nothing: null | readonly [] = []) {
  let asks = 0
  const log = async function* (): AsyncGenerator<RecordedEvent> {
    yield* events
  }
  const names = await askedInTask({ client: { events: log } }, 't', what, {
    ask: () => Promise.resolve(++asks < 3 ? nothing : ['c']),
    isEmpty: (known) => (known ?? []).length === 0,
  })
  return { names, asks }
}

it.each([
  ['call', asksToCall, null],
  ['call', asksToCall, []],
  ['question', asksQuestion, null],
] as const)('a %s that waits in the journal is waited for until the read model knows it', async (what, asks, nothing) => {
  expect(await found(what, [asks], nothing)).toEqual({ names: ['c'], asks: 3 })
})

it.each([
  ['the other kind waits', 'call', [asksQuestion]],
  ['it was decided', 'call', [asksToCall, happened('approval_granted', { call_id: 'c' })]],
  ['there is no such task', 'question', []],
] as const)('nothing is waited for if %s', async (_, what, events) => {
  expect(await found(what, events)).toEqual({ names: [], asks: 1 })
})
