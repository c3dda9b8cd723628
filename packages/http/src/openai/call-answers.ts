// The answers to calls of the client's tools in a conversation: messages of the role "tool", and
// function_call_output. They find the task that waits by the ids of its calls (client-calls.ts), and the task
// goes on. The conversation before them is not read again, because the journal has it.
// A message of the user after the answers is for the same task: it steers the task. If the calls do not wait
// any more, because the user stopped the answer, the message begins a new task with the whole conversation.
import { createHash } from 'node:crypto'
import { doneFor } from '../access.ts'
import { answerClientCalls, type ClientCallsAnswered } from '../client-calls.ts'
import type { Asker } from '../host.ts'
import { choiceAfterAnswers, mustFitTask, type toolParameters } from './client-tools.ts'
import { answerText, invalid, type Turn } from './conversation.ts'
import { OpenAiError } from './openai-error.ts'
import type { Resumed } from './open-question.ts'
import type { z } from 'zod'

/** Answers at the end of a conversation. */
export interface CallAnswers {
  readonly answers: readonly { readonly id: string; readonly content: string; readonly at: string }[]
  /** The calls that the conversation has with them. `undefined`: it has none. */
  readonly shown: readonly string[] | undefined
  /** What the user says after them. `null`: nothing. */
  readonly said: { readonly text: string; readonly at: string } | null
}

const isOfCalls = ({ calls = [], answers }: Turn): boolean => calls.length > 0 || answers !== undefined

/**
 * The answers at the end of a conversation. `null`: it ends with no answer.
 *
 * @throws {OpenAiError} `invalid_value` if a call of the conversation has no answer, or one at the end has two
 */
export function callAnswersIn(turns: readonly Turn[]): CallAnswers | null {
  mustAnswerAll(turns)
  const last = turns.findLastIndex(isOfCalls)
  if (last === -1 || turns[last]?.answers === undefined) return null
  const after = turns.slice(last + 1)
  if (after.some(({ role }) => role === 'assistant')) return null
  const first = turns.findLastIndex((turn, i) => i < last && !isOfCalls(turn)) + 1
  const block = turns.slice(first, last + 1)
  const shown = block.flatMap(({ calls = [] }) => calls.map(({ id }) => id))
  const answers = block.flatMap((turn) =>
    turn.answers === undefined ? [] : [{ id: turn.answers, content: answerText(turn), at: turn.at }],
  )
  const twice = answers.find(({ id }, i) => answers.findIndex((each) => each.id === id) !== i)
  if (twice !== undefined)
    throw invalid(twice.at, `${twice.at} answers the call ${twice.id} a second time. Answer it once.`)
  return {
    answers,
    shown: shown.length === 0 ? undefined : shown,
    said: after.length === 0 ? null : saidIn(after),
  }
}

function mustAnswerAll(turns: readonly Turn[]): void {
  const answered = new Set(turns.map(({ answers }) => answers))
  for (const { calls = [], at } of turns) {
    const missing = calls.filter(({ id }) => !answered.has(id)).map(({ id }) => id)
    if (missing.length > 0) throw missingError(missing, at)
  }
}

const missingError = (ids: readonly string[], param: string): OpenAiError =>
  invalid(
    param,
    `No tool output found for ${ids.length === 1 ? 'function call' : 'function calls'} ${ids.join(', ')}. Each call must be followed by its answer: send one for all calls of a turn in one request.`,
  )

const saidCharsMax = 10_000

function saidIn(turns: readonly Turn[]): NonNullable<CallAnswers['said']> {
  const [{ at } = { at: '' }] = turns
  const text = turns.map(answerText).join('\n\n')
  if (text.trim() === '') throw invalid(at, `${at} is empty. Say what to do, or leave it out.`)
  if (text.length > saidCharsMax)
    throw invalid(
      at,
      `The messages after the answers of calls have ${text.length} characters. They may have ${saidCharsMax}. Send the answers first, and the rest when the task has ended.`,
    )
  return { text, at }
}

/** What a request that answers calls asks for. */
export interface AnsweringRequest {
  readonly model: string
  readonly tools?: z.infer<(typeof toolParameters)['tools']> | undefined
  readonly tool_choice?: unknown
  readonly parallel_tool_calls?: boolean | null | undefined
  readonly user?: string | null | undefined
}

/**
 * Answers the calls.
 *
 * @returns the task that goes on. `null`: the calls do not wait any more, and the message after them begins a
 * new task
 * @throws {OpenAiError}
 */
export async function resumedByCalls(
  { answers, shown, said }: CallAnswers,
  body: AnsweringRequest,
  asker: Asker,
  { param, ...format }: Parameters<typeof mustFitTask>[2] & { readonly param: string },
): Promise<Resumed | null> {
  const { host, caller } = asker
  const answered = await answerClientCalls(answers, asker, {
    shown,
    partly: body.parallel_tool_calls === false,
    choice: (submitted) => choiceAfterAnswers(body, submitted),
    may: (submitted) => {
      const { request } = submitted
      if (body.user !== undefined && body.user !== null && body.user !== request.user_id) return false
      if (said === null) mustFitTask(body, submitted, format)
      return true
    },
    async first({ submitted, said: texts }, waits) {
      if (said === null) return true
      if (submitted === null || !waits)
        return texts.some(({ by, text }) => by === 'user' && text === said.text)
      mustFitTask(body, submitted, format)
      const ids = answers.map(({ id }) => id)
      const requestId = createHash('sha256')
        .update(JSON.stringify([ids, said.text]))
        .digest('hex')
        .slice(0, 32)
      await host
        .client()
        .steer(submitted.task_id, said.text, { requestId: `said_${requestId}`, userId: doneFor(caller) })
      return true
    },
  })
  if (answered.kind === 'answered') return answered
  if (said !== null && (answered.kind === 'unknown' || answered.kind === 'over')) return null
  throw notAnswered(answered, (id) => answers.find((each) => each.id === id)?.at ?? param)
}

function notAnswered(
  answered: Exclude<ClientCallsAnswered, { kind: 'answered' }>,
  placeOf: (id: string) => string,
): OpenAiError {
  switch (answered.kind) {
    case 'missing':
      return missingError(answered.ids, placeOf(''))
    case 'unknown':
    case 'other_task': {
      const [id = ''] = answered.ids
      const why =
        answered.kind === 'unknown'
          ? 'Beaver did not make it for you, or its task is not there any more. To begin a new task, send the result in a message of the user.'
          : 'It belongs to another task than the first call. Answer the calls of one task in one request.'
      return new OpenAiError(
        400,
        'invalid_value',
        `No tool call found for the output with the call id ${JSON.stringify(id)}. ${why}`,
        { param: placeOf(id) },
      )
    }
    case 'over': {
      const { id, taskId, status, why } = answered
      const state = status === null ? `The task ${taskId} goes on.` : `The task ${taskId} is ${status}.`
      return new OpenAiError(
        409,
        'conflict',
        `The call ${JSON.stringify(id)} takes no answer any more. ${why} ${state} To begin a new task, end the conversation with a message of the user.`,
        { param: placeOf(id), again: false },
      )
    }
    default:
      return answered satisfies never
  }
}
