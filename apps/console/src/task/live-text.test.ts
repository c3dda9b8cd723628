import { expect, it } from 'vitest'
import { evolveLive, type LiveMessage, type LiveState, nothingLive } from './live-text.ts'

const delta = (offset: number, text: string, run_id = 'r'): LiveMessage => ({
  event: 'delta',
  data: JSON.stringify({ run_id, agent_name: 'writer', node_id: null, call: 1, offset, text }),
})
const event = (type: string, data: object = {}, runId = 'r'): LiveMessage => ({
  event: type,
  data: JSON.stringify({ type, runId, data, taskseq: 3 }),
})
const after = (...messages: readonly LiveMessage[]): LiveState => evolveLive(nothingLive, messages)
const text = (state: LiveState, run = 'r'): string | undefined => {
  const writing = state.writing.get(run)
  return writing === undefined ? undefined : `${writing.isPart ? '…' : ''}${writing.text}`
}

it('adds the pieces of an answer until the journal has it', () => {
  expect(text(after(delta(0, 'Hello '), delta(6, 'you')))).toBe('Hello you')
  for (const type of ['assistant_message_added', 'provider_call_failed', 'run_failed'])
    expect(text(after(delta(0, 'Hello '), event(type)))).toBeUndefined()
  const others = after(delta(0, 'a'), delta(0, 'b', 's'), event('assistant_message_added'))
  expect([text(others), text(others, 's')]).toEqual([undefined, 'b'])
})

it('begins again at the first character, and says if a piece is lost', () => {
  expect(text(after(delta(0, 'Hello '), delta(0, 'No')))).toBe('No')
  expect(text(after(delta(0, 'Hello '), delta(9, 'there'), delta(14, '!')))).toBe('…there!')
  expect(text(after(delta(7, 'in the middle')))).toBe('…in the middle')
})

it('keeps the end of a long text', () => {
  const state = after(delta(0, 'a'.repeat(19_999)), delta(19_999, 'bc'))
  expect([text(state)?.length, text(state)?.endsWith('abc')]).toEqual([20_001, true])
  expect(text(evolveLive(state, [delta(20_001, 'd')]))?.endsWith('abcd')).toBe(true)
})

it('has the progress of a call until it has a result', () => {
  const progress: LiveMessage = {
    event: 'progress',
    data: JSON.stringify({
      ...{ run_id: 'r', agent_name: 'a', node_id: null, call_id: 'c', tool_name: 'build' },
      ...{ progress: 2, total: 5, message: 'compiles' },
    }),
  }
  expect(after(progress).progress.get('r/c')).toMatchObject({ tool_name: 'build', progress: 2 })
  expect(after(progress, event('tool_result_recorded', { call_id: 'c' })).progress.size).toBe(0)
})
