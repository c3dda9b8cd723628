import { BeaverError, type ErrorCode } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { virtualClock } from '@beaver/testing'
import { expect, it } from 'vitest'
import { askedInTask } from './find-task.ts'

const happened = (type: string, data: object): RecordedEvent =>
  ({ type, data, runId: 'r', taskseq: 1 }) as unknown as RecordedEvent
const asksToCall = happened('approval_requested', { call_id: 'c' })
const asksQuestion = happened('question_asked', {
  call_id: 'c',
  tool_name: 'ask_user',
  question_index: 0,
  question: { message: 'Which?' },
})

/**
 * What `askedInTask` finds in a task with these events if the read model knows nothing at first, and how
 * often the read model was asked.
 */
async function found(
  what: 'call' | 'question',
  events: readonly RecordedEvent[],
  { nothing = () => [], named }: { readonly nothing?: () => readonly string[]; readonly named?: string } = {},
) {
  let asks = 0
  const log = async function* (): AsyncGenerator<RecordedEvent> {
    yield* events
  }
  const names = await askedInTask({ client: { events: log } }, 't', {
    ...{ what, named },
    ask: async () => (++asks < 3 ? nothing() : ['c']),
    isEmpty: (known) => known.length === 0,
  })
  return { names, asks }
}

const fails = (code: ErrorCode) => (): never => {
  throw new BeaverError(code, 'x')
}

it.each([
  ['call', asksToCall, undefined],
  ['call', asksToCall, fails('not_found')],
  ['question', asksQuestion, fails('not_found')],
] as const)(
  'a %s that waits in the journal is waited for until the read model knows it',
  async (what, asks, nothing) => {
    expect(await found(what, [asks], nothing === undefined ? {} : { nothing })).toEqual({
      names: ['c'],
      asks: 3,
    })
  },
)

it.each([
  ['the other kind waits', 'call', [asksQuestion]],
  ['it was decided', 'call', [asksToCall, happened('approval_granted', { call_id: 'c' })]],
  ['there is no such task', 'question', []],
] as const)('nothing is waited for if %s', async (_, what, events) => {
  expect(await found(what, events)).toEqual({ names: [], asks: 1 })
})

it('nothing is waited for where no projector answers, or where the call has a name', async () => {
  expect(await found('call', [asksToCall], { nothing: fails('no_daemon') })).toEqual({ names: null, asks: 1 })
  expect(await found('call', [asksToCall], { named: 'c' })).toEqual({ names: [], asks: 1 })
})

it('a read model that stays behind is given up after five seconds', async () => {
  const clock = virtualClock()
  const log = async function* (): AsyncGenerator<RecordedEvent> {
    yield asksToCall
  }
  const given = askedInTask({ client: { events: log } }, 't', {
    ...{ what: 'call', named: undefined, clock },
    async ask() {
      clock.advance(2_000)
      return []
    },
    isEmpty: () => true,
  } as const)
  for (let i = 0; i < 20; i++) {
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(100)
  }
  expect(await given).toEqual([])
})
