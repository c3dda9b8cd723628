// Runs a task for a client of OpenAI, and tells what its root agent says meanwhile.
// W1. A client that goes away, or that has waited for as long as a request may take, cancels its task: nobody could read the answer, and the client
//     sends the request again by itself, which would do the work twice at the same time. That is OpenAI's contract, too.
// W2. A task goes on without its client if the request is in the background or has an `Idempotency-Key`: the client can come again.
// W3. An app that is being closed cancels nothing.
import type { SubmittedTask, SubmitTask } from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import type { AgentRunResult } from '@beaver/service'
import { keyedId } from '../idempotency.ts'
import type { Asked, RequestParts } from '../route.ts'
import { told } from '../told.ts'
import { AgentOutput, type Step } from '../agent-output.ts'
import { createdAt } from './created-at.ts'
import { openAiFailure, OpenAiError } from './openai-error.ts'
import { responseId, ResponseView } from './response-object.ts'

/** `begun` comes first, and `result` last. `view` is the response of the task as it is now. */
export type Told =
  | { readonly begun: SubmittedTask & { readonly created: number }; readonly view: ResponseView }
  | { readonly step: Step }
  | { readonly result: AgentRunResult; readonly output: AgentOutput; readonly view: ResponseView; readonly created: number }

export interface Work {
  readonly task: SubmitTask
  /** Whether the task goes on without its client. */
  readonly goesOn: boolean
  /** Whether pieces of answers are told live. */
  readonly live: boolean
  /** Whether only the final text is told. Default: false. */
  readonly whole?: boolean
}

type Place = Pick<Asked<RequestParts>, 'host' | 'options' | 'signal' | 'caller'>

/** What a stream says when it cannot go on. */
export const streamFailure = (error: unknown): object => ({ error: openAiFailure(error).error })

/** The fields of a task that say who asks, and that a repeated request is the same. */
export function whoAsks(
  { caller }: Pick<Place, 'caller'>,
  { userId, key }: { readonly userId: string | undefined; readonly key: string | undefined },
): Pick<SubmitTask, 'user_id' | 'source' | 'task_id'> {
  return {
    ...(userId === undefined ? {} : { user_id: userId }),
    source: `http:${caller.name}`,
    ...(key === undefined ? {} : { task_id: keyedId(caller, key) }),
  }
}

/** Nothing that is told may be left out: the pieces of a text are the text. */
export const toldOf = (place: Place, work: Work): AsyncGenerator<Told> =>
  told<Told>(
    (tell) => carryOut(place, work, tell),
    () => false,
  )

/** The end of a task, for a client that waits for it. */
export async function ended(place: Place, work: Work): Promise<Extract<Told, { result: unknown }>> {
  let last: Extract<Told, { result: unknown }> | null = null
  const tell = (item: Told): void => {
    if ('result' in item) last = item
  }
  await carryOut(place, work, tell)
  if (last === null) throw new BeaverError('internal', 'A task ended without a result.')
  return last
}

/** `signal` of the place aborts when the client goes away, also one that reads a stream. */
async function carryOut({ host, options, signal }: Place, { task, goesOn, live, whole = false }: Work, tell: (item: Told) => void): Promise<void> {
  const output = new AgentOutput({ whole })
  const view = new ResponseView()
  let created = 0
  let submitted: SubmittedTask | null = null
  const tellSteps = (steps: readonly Step[]): void => {
    for (const step of steps) tell({ step })
  }
  try {
    const result = await host.run(task, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(options.runMsMax)]),
      onSubmitted: (at) => void (submitted = at),
      onEvent(event) {
        view.add(event)
        if (created === 0 && submitted !== null) {
          created = createdAt(event.time)
          tell({ begun: { ...submitted, created }, view })
        }
        tellSteps(output.event(event))
      },
      ...(live ? { onDelta: (piece) => tellSteps(output.piece(piece)) } : {}),
    })
    tellSteps(output.end(result))
    tell({ result, output, view, created })
  } catch (error) {
    if (submitted === null) throw error
    const { task_id: taskId } = submitted as SubmittedTask
    const waitedTooLong = error instanceof BeaverError && error.code === 'timeout'
    if (!waitedTooLong) throw notRepeated(error)
    if (!goesOn && !options.closing())
      await host
        .client()
        .cancel(taskId, signal.aborted ? 'The client went away.' : 'The client waited too long.', { userId: task.user_id })
        .catch(() => {})
    throw lateError(taskId, { goesOn, seconds: options.runMsMax / 1_000 })
  }
}

const lateError = (taskId: string, { goesOn, seconds }: { readonly goesOn: boolean; readonly seconds: number }): OpenAiError =>
  new OpenAiError(
    504,
    'timeout',
    goesOn
      ? `The task ${taskId} did not end within ${seconds} s. It goes on: ask for it with GET /v1/responses/${responseId(taskId)}.`
      : `The task ${taskId} did not end within ${seconds} s and was cancelled. Use POST /v1/responses with "background": true for work that takes longer.`,
    { again: false },
  )

/** The task exists: the same request again would make another one. */
function notRepeated(error: unknown): OpenAiError {
  const { status, error: said } = openAiFailure(error)
  return new OpenAiError(status, said.code, said.message, { again: false })
}
