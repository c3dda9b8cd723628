// What a task asks people: calls that wait for a decision, and questions that wait for an answer. And the
// calls that wait for the client. Each waits until somebody says something, or until its call, its run, its node or the task ends without that.
import type { DataOf, EventType } from '../events/catalog.ts'
import { isTerminalTaskEvent } from '../events/event-kinds.ts'
import type { RecordedEvent } from '../journal/record.ts'
import { askUserTool } from '../question/question-bounds.ts'
import type { Question } from '../question/question.ts'
import { type Answered, type Decided, isAnswer, isDecision } from '../question/settled.ts'

/** The call that waits. A call waits for one thing at a time. */
interface WaitingPlace {
  readonly runId: string | undefined
  readonly callId: string
}

/** A call that waits for a decision. */
export interface AskedCall extends WaitingPlace {
  /** The name of the agent or the node that calls. Empty: its run is not known. */
  readonly agent: string
  /** The arguments as the model wrote them. `null`: the call is not known. */
  readonly written: string | null
  readonly asked: DataOf<'approval_requested'>
  /** The place of the event `approval_requested` in the log of the task. */
  readonly taskseq: number
}

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

/** A call of a tool of the client, which waits for the client. */
export interface ClientCall extends WaitingPlace {
  readonly tool: string
  /** The arguments as the model wrote them. `null`: the call is not known. */
  readonly written: string | null
  /** The place of the event `client_call_requested` in the log of the task. */
  readonly taskseq: number
}

/** What waited for a person, and what a person, or Beaver in place of one, said about it. */
export interface SettledByPerson {
  readonly asked: AskedCall | OpenQuestion
  readonly event: (Decided | Answered) & { readonly time: string }
}

/** What a task asks and has asked, each in the order of the log. */
export interface Asking {
  askedCalls: readonly AskedCall[]
  openQuestions: readonly OpenQuestion[]
  /** The calls that wait for the client. No person is asked about them. */
  clientCalls: readonly ClientCall[]
  readonly settled: SettledByPerson[]
}

/** Takes the next event. `by`: the agent of its run, and the arguments of the call that the event names. */
export function evolveAsking(
  asking: Asking,
  event: RecordedEvent,
  by: { readonly agent: string; readonly written: string | null },
): void {
  const { type, data, runId, taskseq } = event
  if (isDecision(event) || isAnswer(event)) {
    const waited = isAnswer(event) ? asking.openQuestions : asking.askedCalls
    const asked = waited.find((each) => isOf(each, { runId, callId: event.data.call_id }))
    if (asked !== undefined) asking.settled.push({ asked, event })
  }
  asking.askedCalls = stillWaiting(asking.askedCalls, event, decisions)
  asking.openQuestions = stillWaiting(asking.openQuestions, event, answers)
  asking.clientCalls = stillWaiting(asking.clientCalls, event, clientAnswers)
  if (type === 'approval_requested') {
    const call = { runId, callId: data.call_id, ...by, asked: data, taskseq }
    asking.askedCalls = [...without(asking.askedCalls, call), call]
  } else if (type === 'question_asked') {
    const { call_id: callId, tool_name: tool, question_index: index, question } = data
    const asked = { runId, callId, agent: by.agent, tool, index, question, taskseq }
    asking.openQuestions = [...without(asking.openQuestions, asked), asked]
  } else if (type === 'client_call_requested') {
    const { call_id: callId, tool_name: tool } = data
    const call = { runId, callId, tool, written: by.written, taskseq }
    asking.clientCalls = [...without(asking.clientCalls, call), call]
  }
}

const runEnds: ReadonlySet<EventType> = new Set(['run_completed', 'run_failed', 'run_cancelled'])
const decisions: ReadonlySet<EventType> = new Set(['approval_granted', 'approval_denied'])
const answers: ReadonlySet<EventType> = new Set(['question_answered'])
const clientAnswers: ReadonlySet<EventType> = new Set(['client_call_answered'])

/** What still waits after an event. @param settles the events that say what was waited for */
function stillWaiting<Waiting extends WaitingPlace>(
  waiting: readonly Waiting[],
  { type, data, runId }: RecordedEvent,
  settles: ReadonlySet<EventType>,
): readonly Waiting[] {
  if (waiting.length === 0) return waiting
  if (isTerminalTaskEvent(type)) return []
  if (runEnds.has(type)) return withoutRun(waiting, runId)
  if ((type === 'tool_result_recorded' || settles.has(type)) && 'call_id' in data)
    return without(waiting, { runId, callId: String(data.call_id) })
  return waiting
}

/** The same without the calls of a run that has ended. */
export const withoutRun = <Waiting extends WaitingPlace>(
  waiting: readonly Waiting[],
  runId: string | undefined,
): readonly Waiting[] => waiting.filter((each) => each.runId !== runId)

const without = <Waiting extends WaitingPlace>(
  waiting: readonly Waiting[],
  call: WaitingPlace,
): readonly Waiting[] => waiting.filter((each) => !isOf(each, call))

const isOf = (each: WaitingPlace, { runId, callId }: WaitingPlace): boolean =>
  each.runId === runId && each.callId === callId

/**
 * The name of a call that asks, in an answer or a decision: `<run>/<call>`.
 *
 * @example
 * askingCall({ runId: 'r', callId: 'c' }) // => 'r/c'
 */
export const askingCall = ({ runId, callId }: WaitingPlace): string =>
  runId === undefined ? callId : `${runId}/${callId}`

/**
 * Whether the agent itself asks. The answer is then words of the user to the agent, as a text that steers it.
 * What another tool asks may permit something, so its answer needs the right to decide about calls.
 *
 * @example
 * agentAsks({ tool: 'ask_user' }) // => true
 */
export const agentAsks = ({ tool }: Pick<OpenQuestion, 'tool'>): boolean => tool === askUserTool
