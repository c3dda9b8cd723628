// CallInputs: what one call asks the person for its server, in either protocol. Nothing here rejects or
// hangs: a question that nobody can answer gets `cancel`, as does each one beyond the bound, and a forbidden
// question gets `decline`. If a recorded answer belongs to another question, the call fails, because the
// server would get an answer to something else.
import { type AskPerson, ToolFailure } from '@beaver/agent'
import { messageOf } from '@beaver/core'
import { questionBounds } from '@beaver/core/question'
import { type ElicitationAnswer, readElicitation } from './read-elicitation.ts'

export interface CallInputsOptions {
  /** The server's name in the configuration. */
  readonly server: string
  /** `null`: the call may not ask. */
  readonly ask: AskPerson | null
  /** Aborts when the call has its result or is stopped. */
  readonly signal: AbortSignal
  /** A question waits for the person. The returned function reports that it was answered. */
  onWait(): () => void
  /** The call cannot go on. */
  onFailure(): void
}

const cancelled: ElicitationAnswer = { action: 'cancel' }
const declined: ElicitationAnswer = { action: 'decline' }

export class CallInputs {
  readonly #options: CallInputsOptions
  readonly #notes = new Set<string>()
  #asked = 0
  #failure: ToolFailure | null = null

  constructor(options: CallInputsOptions) {
    this.#options = options
  }

  /** What nobody was asked, and why, in sentences for the model. */
  get notes(): readonly string[] {
    return [...this.#notes]
  }

  get failure(): ToolFailure | null {
    return this.#failure
  }

  /** @param params those of `elicitation/create` */
  async answer(params: unknown): Promise<ElicitationAnswer> {
    const { server, ask, signal, onWait } = this.#options
    if (signal.aborted) return cancelled
    if (ask === null)
      return this.#not(
        cancelled,
        `The MCP server ${server} asked a question, and this call cannot ask a person.`,
      )
    if (this.#asked >= questionBounds.ofCall)
      return this.#not(
        cancelled,
        `The MCP server ${server} asked more than ${questionBounds.ofCall} questions. Nobody was asked the rest.`,
      )
    const read = readElicitation(server, params)
    if (read.kind === 'refused') return this.#not(declined, read.why)
    this.#asked++
    const answered = onWait()
    try {
      const questionAnswer = await unlessAborted(ask(read.question), signal)
      if (questionAnswer === null) return cancelled
      const answer = read.answerOf(questionAnswer)
      return (
        answer ??
        this.#not(
          cancelled,
          `The answer to a question of the MCP server ${server} does not fit the question, so it was not sent.`,
        )
      )
    } catch (error) {
      return this.#unanswered(error)
    } finally {
      answered()
    }
  }

  #unanswered(error: unknown): ElicitationAnswer {
    const { server, onFailure } = this.#options
    if (error instanceof ToolFailure && error.code === 'question_changed') {
      this.#failure = error
      onFailure()
      return cancelled
    }
    return this.#not(cancelled, `A question of the MCP server ${server} has no answer: ${messageOf(error)}`)
  }

  /** @param why a sentence for the model */
  note(why: string): void {
    this.#notes.add(why)
  }

  #not(answer: ElicitationAnswer, why: string): ElicitationAnswer {
    this.note(why)
    return answer
  }
}

async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value | null> {
  const { promise: aborted, resolve } = Promise.withResolvers<null>()
  const onAbort = (): void => resolve(null)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
