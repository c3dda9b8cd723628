import { describe, expect, it } from 'vitest'
import { answerIdOf, changedArguments, codeOf, decisionIn, questionCodeOf, sessionIdOf, taskIdOf } from './message-ids.ts'

const message = { channel: 'web', chat_id: 'a', message_id: 'm' }

describe('the ids of a message', () => {
  it('are the same for the same message, and others for any other', () => {
    const others = [
      { ...message, channel: 'mail' },
      { ...message, chat_id: 'b' },
      { ...message, message_id: 'n' },
      { channel: 'we', chat_id: 'ba', message_id: 'm' },
      { channel: 'web', chat_id: 'a","m', message_id: '' },
    ]
    expect(taskIdOf({ ...message })).toBe(taskIdOf(message))
    expect(new Set([message, ...others].map(taskIdOf)).size).toBe(others.length + 1)
    expect(new Set([answerIdOf(message, 'answer'), answerIdOf(message, 'error'), answerIdOf(message, 'approval', 'x')]).size).toBe(3)
    expect(sessionIdOf(message)).toBe('web:a')
  })

  it('name a call by a code that changes with its arguments', () => {
    const call = { task_id: 't', run_id: 'r', call_id: 'c', call_hash: 'h' }
    expect(codeOf(call)).toMatch(/^[0-9a-z]{3}-[0-9a-z]{3}$/)
    expect(new Set([call, { ...call, call_hash: 'i' }, { ...call, run_id: null }].map(codeOf)).size).toBe(3)
    expect(decisionIn(`approve ${codeOf(call)}`)).toEqual({ verb: 'approve', code: codeOf(call), rest: '' })
    const codes = [0, 1].map((index) => questionCodeOf({ ...call, index }))
    expect(new Set([codeOf(call), ...codes]).size).toBe(3)
  })

  it.each([
    [' DENY K3F-09D  too\nexpensive ', { verb: 'deny', code: 'k3f-09d', reason: 'too\nexpensive' }],
    ['approve k3f-09d', { verb: 'approve', code: 'k3f-09d', rest: '' }],
    ['Answer k3f-09d 2', { verb: 'answer', code: 'k3f-09d', text: '2' }],
    ['answer k3f-09d\na=1\nb=2\n', { verb: 'answer', code: 'k3f-09d', text: 'a=1\nb=2' }],
    ['decline k3f-09d', { verb: 'decline', code: 'k3f-09d', reason: '' }],
    ['answer k3f-09dx', null],
    ['approve k3f-09dx', null],
    ['approve the plan', null],
    ['please approve k3f-09d', null],
    ['', null],
  ])('read %j as a decision only if it is one', (text, read) => expect(decisionIn(text)).toEqual(read))
})

describe('what follows an approval', () => {
  const argumentsIn = (text: string): string | null => {
    const said = decisionIn(text)
    return changedArguments('k3f-09d', said?.verb === 'approve' ? said.rest : '')
  }

  it('is nothing, a signature, or the changed arguments', () => {
    expect(['approve k3f-09d', 'approve k3f-09d \n\n-- \nAda', 'approve k3f-09d\n'].map(argumentsIn)).toEqual([null, null, null])
    expect(argumentsIn('approve k3f-09d {"path": "a"}')).toBe('{"path": "a"}')
    expect(argumentsIn('approve k3f-09d\n{"path":\n"a"}\n-- \nAda')).toBe('{"path":\n"a"}')
  })

  it('may not be anything else, because a condition would be lost', () => {
    expect(() => argumentsIn('approve k3f-09d but only reports/')).toThrow('To allow it as it is, write only "approve k3f-09d".')
  })
})
