import type { SessionId, TaskId } from '@beaver/core'
import { describe, expect, it } from 'vitest'
import { checkCampaign } from '../faults/check.ts'
import type { TaskLog } from '../faults/logs.ts'
import type { Asked } from '../faults/model.ts'

const log: TaskLog = {
  id: { tenant: 'default', session: 's1' as SessionId, task: 't1' as TaskId },
  end: 'task_completed',
  failure: null,
  owner: null,
  claims: 2,
  calls: new Map(),
  answers: [{ responseId: 'answer-1', time: 1_000 }],
  asking: new Set(),
  types: ['task_submitted', 'assistant_message_added', 'task_completed'],
  times: [0, 1_000, 4_000],
}

/** What is found if one question was asked at these times, and stopped daemons went on at those. */
function askedAt(times: readonly number[], thaws: readonly number[] = []): string[] {
  const asked = times.map((at, i): Asked => ({ question: 'q', at, responseId: `answer-${i + 1}` }))
  const model = {
    answered: new Map(asked.map((each) => [each.responseId, each])),
    byQuestion: new Map([['q', asked]]),
  }
  return checkCampaign({ smallMessages: false, logs: [log], expected: [], ledger: [], model, thaws }).map(
    ({ what }) => what,
  )
}

describe('a question whose answer is in the journal', () => {
  it('is a violation, told with the log', () =>
    expect(askedAt([900, 2_900])).toEqual([
      'answer-1 was in the journal when answer-2 was asked for, 1900 ms later: task_submitted@0 assistant_message_added@1000 task_completed@4000',
    ]))

  it('is none while the answer was on its way there', () => expect(askedAt([900, 1_200])).toEqual([]))

  it('is none if a stopped daemon went on at that moment: once for each stop', () => {
    expect(askedAt([900, 2_900], [2_890])).toEqual([])
    expect(askedAt([900, 2_900, 2_901], [2_890])).toHaveLength(1)
    expect(askedAt([900, 2_900, 2_901], [2_890, 2_895])).toEqual([])
  })

  it('is one if the stop was at another time', () => {
    expect(askedAt([900, 2_900], [2_901])).toHaveLength(1)
    expect(askedAt([900, 2_900], [1_800])).toHaveLength(1)
  })
})
