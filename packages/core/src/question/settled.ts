// Finds in the events of a task what people decided about calls and answered to questions, and says that it
// cannot be done again. `<run>/<call>` names a call whose id occurs in several runs.
import { BeaverError } from '../errors.ts'
import type { DomainEvent } from '../events/catalog.ts'
import { canonicalJson } from '../canonical-json.ts'
import { type Doer, whoDid } from '../telling/doer.ts'
import type { QuestionAnswer } from './question.ts'

/** The event of a decision about a call. */
export type Decided = Extract<DomainEvent, { type: 'approval_granted' | 'approval_denied' }>
/** The event of an answer to a question of a call. */
export type Answered = Extract<DomainEvent, { type: 'question_answered' }>

const names = (callId: string | undefined, runId: string | undefined, id: string): boolean =>
  callId === undefined || callId === id || callId === `${runId}/${id}`

/**
 * Whether the event is a decision about this call.
 *
 * @param callId absent: about any call
 * @example
 * const denied = event('approval_denied', { call_id: 'c', by: 'ada', reason: '' }, 'r')
 * isDecision(denied, 'r/c') // => true
 * isDecision(denied, 'other') // => false
 */
export const isDecision = <Event extends DomainEvent>(
  event: Event,
  callId?: string,
): event is Event & Decided =>
  (event.type === 'approval_granted' || event.type === 'approval_denied') &&
  names(callId, event.runId, event.data.call_id)

/**
 * Whether the event is an answer to this question.
 *
 * @param asked `callId` absent: of any call; `index` absent: any question of the call
 * @example
 * const answered = event('question_answered', { call_id: 'c', question_index: 1, answer: { action: 'decline' }, by: 'ada' }, 'r')
 * isAnswer(answered, { callId: 'c' }) // => true
 * isAnswer(answered, { callId: 'c', index: 0 }) // => false
 */
export const isAnswer = <Event extends DomainEvent>(
  event: Event,
  { callId, index }: { readonly callId?: string | undefined; readonly index?: number | undefined } = {},
): event is Event & Answered =>
  event.type === 'question_answered' &&
  names(callId, event.runId, event.data.call_id) &&
  (index === undefined || index === event.data.question_index)

/** What a person says about a call that asks: a decision, or an answer to a question. */
export type Said =
  | { readonly approved: boolean; readonly arguments?: string | undefined }
  | { readonly answer: QuestionAnswer }

/**
 * Whether a person says what was said already. A request that is sent again is then no second answer.
 *
 * @example
 * const granted = event('approval_granted', { call_id: 'c', by: 'ada' }, 'r') as Decided
 * saysTheSame(granted, { approved: true }) // => true
 * saysTheSame(granted, { approved: true, arguments: '{}' }) // => false
 * saysTheSame(granted, { approved: false }) // => false
 */
export function saysTheSame({ type, data }: Decided | Answered, said: Said): boolean {
  if (type === 'question_answered')
    return 'answer' in said && canonicalJson(data.answer) === canonicalJson(said.answer)
  if ('answer' in said || said.approved !== (type === 'approval_granted')) return false
  return type === 'approval_denied' || data.arguments === said.arguments
}

const words = {
  granted: 'allowed',
  denied: 'refused',
  accept: 'answered',
  decline: 'declined',
  cancel: 'cancelled',
} as const

/** What was done about a call or a question, and who did it. */
export interface Settled extends Doer {
  readonly call_id: string
  /** A decision about a call, or the action of an answer to its question. */
  readonly state: keyof typeof words
  /** RFC 3339. `null`: it is not known. */
  readonly time: string | null
}

/**
 * Whether a call or a question with this state was decided or answered, according to the read model.
 *
 * @example
 * isSettled('granted') // => true
 * isSettled('waiting') // => false
 */
export const isSettled = (state: string): state is Settled['state'] => Object.hasOwn(words, state)

/**
 * The refusal of a second decision about a call, or of a second answer to a question. It says who was first.
 *
 * @param first an event, with its `time` if it is known, or what the read model knows
 * @example
 * const denied = event('approval_denied', { call_id: 'c', by: 'gateway', user_id: 'bob', reason: '' }, 'r') as Decided
 * alreadySettled(denied).code // => 'conflict'
 * alreadySettled({ call_id: 'c', state: 'granted', by: 'ada', time: '2026-01-01T09:00:00Z' }).message // => 'The call c was already allowed by ada at 2026-01-01T09:00:00Z.'
 */
export function alreadySettled(
  first: Settled | ((Decided | Answered) & { readonly time?: string }),
): BeaverError {
  const { state, call_id: id, time, ...doer } = 'type' in first ? settledIn(first) : first
  const subject =
    state === 'granted' || state === 'denied' ? `The call ${id}` : `The question of the call ${id}`
  return new BeaverError(
    'conflict',
    `${subject} was already ${words[state]} by ${whoDid(doer)}${time === null ? '' : ` at ${time}`}.`,
  )
}

function settledIn({
  type,
  data,
  time = null,
}: (Decided | Answered) & { readonly time?: string | null }): Settled {
  const { call_id, by, user_id } = data
  const state =
    type === 'question_answered' ? data.answer.action : type === 'approval_granted' ? 'granted' : 'denied'
  return { call_id, by, user_id, state, time }
}
