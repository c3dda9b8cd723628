import { describe, expect, it } from 'vitest'
import type { RecordedEvent } from '../journal/record.ts'
import { agentAsks, askingCall, type OpenQuestion, openQuestions } from './open-questions.ts'

let taskseq = 0
const happened = (type: string, data: object, runId = 'r'): RecordedEvent =>
  ({ type, data, runId, taskseq: ++taskseq }) as unknown as RecordedEvent
const asks = (call_id: string, question_index = 0, runId = 'r', tool_name = 'ask_user'): RecordedEvent =>
  happened('question_asked', { call_id, tool_name, question_index, question: { message: 'Which?' } }, runId)
const answered = (call_id: string, runId = 'r'): RecordedEvent =>
  happened('question_answered', { call_id, question_index: 0, answer: {}, by: 'ada' }, runId)
const open = (...events: readonly RecordedEvent[]): string[] => {
  const none: readonly OpenQuestion[] = []
  return events.reduce(openQuestions, none).map((each) => `${askingCall(each)} ${each.index}`)
}

describe('the questions that wait', () => {
  it('are those that nobody has answered, oldest first, by their runs', () => {
    expect(open(asks('a'), asks('a', 0, 's'), asks('b'))).toEqual(['r/a 0', 's/a 0', 'r/b 0'])
    expect(open(asks('a'), asks('a', 0, 's'), answered('a'))).toEqual(['s/a 0'])
    expect(open(asks('a'), answered('a'), asks('a', 1))).toEqual(['r/a 1'])
    expect(open(answered('a'))).toEqual([])
  })

  it.each([
    ['its call has a result', happened('tool_result_recorded', { call_id: 'a' })],
    ['its run fails', happened('run_failed', {})],
    ['its run is cancelled', happened('run_cancelled', {})],
    ['the task ends', happened('task_cancelled', {}, undefined as never)],
  ])('have none any more when %s', (_, end) => expect(open(asks('a'), end)).toEqual([]))

  it('stay when another run ends, when the task is suspended, and when another daemon claims it', () => {
    const events = [
      happened('run_completed', {}, 's'),
      happened('task_suspended', {}),
      happened('task_claimed', {}),
    ]
    expect(open(asks('a'), ...events)).toEqual(['r/a 0'])
  })

  it('are of the agent itself, or of another tool', () => {
    const ofTools = [asks('a'), asks('b', 0, 'r', 'deploy')].reduce(
      openQuestions,
      [] as readonly OpenQuestion[],
    )
    expect(ofTools.map(agentAsks)).toEqual([true, false])
    expect(askingCall({ runId: undefined, callId: 'a' })).toBe('a')
  })
})
