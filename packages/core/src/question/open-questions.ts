// Finds the questions of a task that wait for an answer, from the events that a follower of the task has.
import type { EventType } from '../events/catalog.ts'
import type { RecordedEvent } from '../journal/record.ts'
import { askUserTool, type Question } from './question.ts'
import { stillWaiting, type WaitingPlace, without } from './still-waiting.ts'

/** A question that waits for an answer. */
export interface OpenQuestion extends WaitingPlace {
  /** The name of the agent or the node that calls. Empty: its run is not known. */
  readonly agent: string
  readonly tool: string
  /** The number of the question in its call, from 0. */
  readonly index: number
  readonly question: Question
  /** The place of the event `question_asked` in the log of the task. */
  readonly taskseq: number
}

/**
 * The open questions after the next event of the task, in the order in which they were asked.
 *
 * @example
 * const question = { message: 'Why?' } const asked = { type: 'question_asked', data: { call_id: 'c',
 * tool_name: 'ask_user', question_index: 0, question }, taskseq: 7 } as RecordedEvent openQuestions([],
 * asked)[0]?.callId // => 'c'
 */
export function openQuestions(open: readonly OpenQuestion[], event: RecordedEvent): readonly OpenQuestion[] {
  if (event.type !== 'question_asked') return stillWaiting(open, event, answers)
  const { data, runId, taskseq } = event
  const asked = {
    runId,
    callId: data.call_id,
    agent: '',
    tool: data.tool_name,
    index: data.question_index,
    question: data.question,
    taskseq,
  }
  return [...without(open, asked), asked]
}

const answers: ReadonlySet<EventType> = new Set(['question_answered'])

/**
 * The name of a call that asks, in an answer or a decision: `<run>/<call>`.
 *
 * @example
 * askingCall({ runId: 'r', callId: 'c' }) // => 'r/c'
 */
export const askingCall = ({ runId, callId }: Pick<OpenQuestion, 'runId' | 'callId'>): string =>
  runId === undefined ? callId : `${runId}/${callId}`

/**
 * Whether the agent itself asks. The answer is then words of the user to the agent, as a text that steers it.
 * What another tool asks may permit something, so its answer needs the right to decide about calls.
 *
 * @example
 * agentAsks({ tool: 'ask_user' }) // => true
 */
export const agentAsks = ({ tool }: Pick<OpenQuestion, 'tool'>): boolean => tool === askUserTool
