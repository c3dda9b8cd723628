import { describe, expect, it } from 'vitest'
import type { RecordedEvent } from '../journal/record.ts'
import { type WaitingCall, waitingCalls } from './waiting-calls.ts'

let taskseq = 0
const happened = (type: string, data: object, runId: string | undefined = 'r'): RecordedEvent =>
  ({ type, data, runId, taskseq: ++taskseq }) as unknown as RecordedEvent
const asks = (call_id: string, runId = 'r', tool_name = 'echo'): RecordedEvent =>
  happened('approval_requested', { call_id, tool_name }, runId)
const fold = (...events: readonly RecordedEvent[]): readonly WaitingCall[] =>
  events.reduce(waitingCalls, [] as readonly WaitingCall[])
const open = (...events: readonly RecordedEvent[]): string[] =>
  fold(...events).map(({ runId, callId }) => `${runId}/${callId}`)

describe('the calls that wait', () => {
  it('are those about which nobody has decided, oldest first, by their runs', () => {
    expect(open(asks('a'), asks('a', 's'), asks('b'))).toEqual(['r/a', 's/a', 'r/b'])
    expect(open(asks('a'), asks('a', 's'), happened('approval_granted', { call_id: 'a' }))).toEqual(['s/a'])
    expect(open(asks('a'), happened('approval_denied', { call_id: 'a' }), asks('b'))).toEqual(['r/b'])
    expect(open(happened('approval_granted', { call_id: 'a' }))).toEqual([])
  })

  it('ask once: a call that asks again counts as it asked last', () => {
    expect(
      fold(asks('a'), asks('b'), asks('a', 'r', 'write_file')).map(({ callId, asked }) => [
        callId,
        asked.tool_name,
      ]),
    ).toEqual([
      ['b', 'echo'],
      ['a', 'write_file'],
    ])
  })

  it.each([
    ['the call has a result', happened('tool_result_recorded', { call_id: 'a' })],
    ['its run fails', happened('run_failed', {})],
    ['its run is cancelled', happened('run_cancelled', {})],
    ['the task ends', happened('task_cancelled', {}, 'another')],
  ])('are none any more when %s', (_, end) => expect(open(asks('a'), end)).toEqual([]))

  it('stay when another run ends, when the task is suspended, and when another daemon claims it', () => {
    expect(
      open(
        asks('a'),
        happened('run_completed', {}, 's'),
        happened('task_suspended', {}),
        happened('task_claimed', {}),
      ),
    ).toEqual(['r/a'])
  })
})
