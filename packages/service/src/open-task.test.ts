import { BeaverError } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { until } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import type { GivenAnswer, OnQuestion } from './options.ts'
import { askQuestions } from './open-task.ts'

interface Sent {
  readonly callId: string
  readonly questionIndex?: number | undefined
  readonly answer: object
}

const happened = (type: string, data: object): RecordedEvent =>
  ({ type, data, runId: 'r', taskseq: 1 }) as unknown as RecordedEvent
const asked = (call_id = 'c', question_index = 0): RecordedEvent =>
  happened('question_asked', {
    call_id,
    tool_name: 'ask_user',
    question_index,
    question: { message: 'Which?' },
  })
const answered = (call_id = 'c'): RecordedEvent =>
  happened('question_answered', { call_id, question_index: 0, answer: {}, by: 'ada' })

function program(ask: OnQuestion, refuse: (sent: Sent) => BeaverError | null = () => null) {
  const sent: Sent[] = []
  const told: string[] = []
  const answer = async (_: string, given: Sent): Promise<void> => {
    sent.push(given)
    const error = refuse(given)
    if (error !== null) throw error
  }
  return {
    sent,
    told,
    questions: askQuestions('t', { answer }, { ask, tell: (message) => told.push(message) }),
  }
}

describe('onQuestion', () => {
  it.each<[GivenAnswer, object]>([
    ['main', { action: 'accept', answers: ['main'] }],
    [['a', 'b'], { action: 'accept', answers: ['a', 'b'] }],
    [null, { action: 'decline' }],
    [{ action: 'cancel' }, { action: 'cancel' }],
    [
      { action: 'accept', content: { name: 'Ada' } },
      { action: 'accept', content: { name: 'Ada' } },
    ],
  ])('may answer with %j', async (given, answer) => {
    const { sent, questions } = program(() => given)
    questions.saw(asked())
    await until('it has answered', () => sent.length === 1)
    expect(sent).toEqual([{ callId: 'r/c', questionIndex: 0, answer }])
    questions.close()
  })

  it('is asked once about each question, and not about one that the journal has an answer for', async () => {
    const seen: string[] = []
    const { sent, questions } = program(
      ({ call_id, question_index }) => (seen.push(`${call_id} ${question_index}`), 'x'),
    )
    for (const event of [asked('old'), answered('old'), asked('a'), asked('b'), asked('b', 1)])
      questions.saw(event)
    await until('it has answered', () => sent.length === 3)
    expect(seen).toEqual(['a 0', 'b 0', 'b 1'])
    questions.saw(asked('later'))
    await until('it has answered again', () => sent.length === 4)
    questions.close()
  })

  it('that fails cancels the question, and the program is told', async () => {
    const { sent, told, questions } = program(() => Promise.reject(new Error('no screen')))
    questions.saw(asked())
    await until('it was answered', () => sent.length === 1)
    expect([sent[0]?.answer, told]).toEqual([
      { action: 'cancel' },
      ['onQuestion failed, so the question of ask_user has no answer: no screen'],
    ])
    questions.close()
  })

  it.each([[undefined], [true], [7], [{ content: {} }], [[1]], [{ action: 'yes' }]])(
    'that returns what is no answer cancels the question: case %#',
    async (given) => {
      const { sent, told, questions } = program(() => given as GivenAnswer)
      questions.saw(asked())
      await until('it was answered', () => sent.length === 1)
      expect([sent[0]?.answer, told]).toEqual([
        { action: 'cancel' },
        [expect.stringMatching(/^onQuestion failed, so the question of ask_user has no answer/)],
      ])
      questions.close()
    },
  )

  it('that answers what does not fit cancels the question, and says so', async () => {
    const refuse = ({ answer }: Sent) =>
      'answers' in answer ? new BeaverError('invalid_arguments', 'Answer with one of: "a".') : null
    const { sent, told, questions } = program(() => 'old', refuse)
    questions.saw(asked())
    await until('it was cancelled', () => sent.length === 2)
    expect([sent[1]?.answer, told]).toEqual([
      { action: 'cancel' },
      [expect.stringContaining('was not delivered: Answer with one of: "a".')],
    ])
    questions.close()
  })

  it.each(['conflict', 'not_found'] as const)('that is too late (%s) says nothing', async (code) => {
    const { sent, told, questions } = program(() => 'a', () => new BeaverError(code, 'x')) // prettier-ignore
    questions.saw(asked())
    await until('it has answered', () => sent.length === 1)
    await Promise.resolve()
    expect(told).toEqual([])
    questions.close()
  })

  it('is told that the task has ended, and its answer is not used', async () => {
    const gate = Promise.withResolvers<string>()
    let signal: AbortSignal | null = null
    const { sent, questions } = program((_, given) => ((signal = given), gate.promise))
    questions.saw(asked())
    await until('it is asked', () => signal !== null)
    questions.close()
    expect((signal as AbortSignal | null)?.aborted).toBe(true)
    gate.resolve('late')
    await gate.promise
    await Promise.resolve()
    expect(sent).toEqual([])
  })
})
