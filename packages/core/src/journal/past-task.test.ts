import { expect, it } from 'vitest'
import { visibleAnswer } from './past-task.ts'

const failure = { class: 'provider_refused', message: 'The key was refused.' } as const

it('is the output if there is one, even for a task that did not complete', () => {
  expect(visibleAnswer({ final_output: '42', failure: null })).toBe('42')
  expect(visibleAnswer({ final_output: '# What there is', failure })).toBe('# What there is')
})

it('is otherwise the reason why there is none, with a mark', () => {
  expect(visibleAnswer({ final_output: '', failure })).toBe('[No answer: The key was refused.]')
})

it('is empty if there is neither', () => expect(visibleAnswer({ final_output: '', failure: null })).toBe(''))

it('is bounded, and well-formed where it is cut', () => {
  const answer = visibleAnswer({
    final_output: '',
    failure: { ...failure, message: `x${'😀'.repeat(5_000)}` },
  })
  expect(answer.length).toBeLessThan(1_020)
  expect(answer.isWellFormed()).toBe(true)
})
