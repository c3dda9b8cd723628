import { describe, expect, it } from 'vitest'
import { decisionIn } from './decision.ts'
import {
  answerIdOf,
  channelOfSession,
  codeOf,
  isTaskOfChat,
  questionCodeOf,
  sessionIdOf,
  taskIdOf,
} from './message-ids.ts'

const message = { channel: 'web', chat_id: 'a', message_id: 'm', user: { name: 'ada' } }

describe('the ids of a message', () => {
  it('are the same for the same message, and others for any other', () => {
    const others = [
      { ...message, channel: 'mail' },
      { ...message, chat_id: 'b' },
      { ...message, message_id: 'n' },
      { ...message, user: { name: 'ben' } },
      { ...message, channel: 'we', chat_id: 'ba' },
      { ...message, chat_id: 'a","ada', message_id: '' },
    ]
    expect(taskIdOf({ ...message })).toBe(taskIdOf(message))
    expect(new Set([message, ...others].map(taskIdOf)).size).toBe(others.length + 1)
    expect(
      new Set([
        answerIdOf(message, 'answer'),
        answerIdOf(message, 'error'),
        answerIdOf(message, 'approval', 'x'),
      ]).size,
    ).toBe(3)
    expect(new Set([message, ...others].map((each) => answerIdOf(each, 'answer'))).size).toBe(
      others.length + 1,
    )
    expect(sessionIdOf(message)).toBe('web:a')
    expect([taskIdOf(message), 'chat_1', `x${taskIdOf(message)}`].map(isTaskOfChat)).toEqual([
      true,
      false,
      false,
    ])
    expect(['web:a', 'console-ada:ada', 'web', 'a b:c', ':a'].map(channelOfSession)).toEqual([
      'web',
      'console-ada',
      null,
      null,
      null,
    ])
  })

  it('name a call by a code that changes with its arguments', () => {
    const call = { task_id: 't', run_id: 'r', call_id: 'c', call_hash: 'h' }
    expect(codeOf(call)).toMatch(/^[0-9a-z]{3}-[0-9a-z]{3}$/)
    expect(new Set([call, { ...call, call_hash: 'i' }, { ...call, run_id: null }].map(codeOf)).size).toBe(3)
    expect(decisionIn(`approve ${codeOf(call)}`)).toEqual({ verb: 'approve', code: codeOf(call), rest: '' })
    const codes = [0, 1].map((index) => questionCodeOf({ ...call, index }))
    expect(new Set([codeOf(call), ...codes]).size).toBe(3)
  })
})
