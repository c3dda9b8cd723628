// Finds the questions of a task that wait for an answer, from the events that a follower of the task has.
// O1. A question is open from `question_asked` until it is answered, or until its call, its run or the task ends without an answer.
import { isTerminalTaskEvent } from '../events/catalog.ts'
import type { RecordedEvent } from '../journal/record.ts'
import { askUserTool, type Question } from './question.ts'

/** A question that waits for an answer. */
export interface OpenQuestion {
  readonly runId: string | undefined
  readonly callId: string
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
 * const question = { message: 'Why?' }
 * const asked = { type: 'question_asked', data: { call_id: 'c', tool_name: 'ask_user', question_index: 0, question }, taskseq: 7 } as RecordedEvent
 * openQuestions([], asked)[0]?.callId // => 'c'
 */
export function openQuestions(open: readonly OpenQuestion[], { type, data, runId, taskseq }: RecordedEvent): readonly OpenQuestion[] {
  switch (type) {
    case 'question_asked': {
      const { call_id: callId, tool_name: tool, question_index: index, question } = data
      return [...open.filter((each) => !isOf(each, runId, callId)), { runId, callId, tool, index, question, taskseq }]
    }
    case 'question_answered':
    case 'tool_result_recorded':
      return open.length === 0 ? open : open.filter((each) => !isOf(each, runId, data.call_id))
    case 'run_completed':
    case 'run_failed':
    case 'run_cancelled':
      return open.length === 0 ? open : open.filter((each) => each.runId !== runId)
    default:
      return isTerminalTaskEvent(type) ? [] : open
  }
}

/** A call has one open question at a time. */
const isOf = (each: OpenQuestion, runId: string | undefined, callId: string): boolean => each.runId === runId && each.callId === callId

/**
 * The name of a call that asks, in an answer or a decision: `<run>/<call>`.
 *
 * @example
 * askingCall({ runId: 'r', callId: 'c' }) // => 'r/c'
 */
export const askingCall = ({ runId, callId }: Pick<OpenQuestion, 'runId' | 'callId'>): string => (runId === undefined ? callId : `${runId}/${callId}`)

/**
 * Whether the agent itself asks. The answer is then words of the user to the agent, as a text that steers it. What another tool asks may permit
 * something, so its answer needs the right to decide about calls.
 *
 * @example
 * agentAsks({ tool: 'ask_user' }) // => true
 */
export const agentAsks = ({ tool }: Pick<OpenQuestion, 'tool'>): boolean => tool === askUserTool
