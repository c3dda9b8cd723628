// External calls that are under way for one loop, in the main thread. Such a call may ask a person, which
// only its loop can do: so each answer to the loop is the result of the call, or a question that the loop
// answers with the next request. A call that nobody waits for any more is stopped. Questions of a call go to
// the loop one after the other, and each has one answer.
import {
  type AskPerson,
  type ExternalCall,
  type ExternalResult,
  type LoopHost,
  ToolFailure,
} from '@beaver/agent'
import type { Question } from '@beaver/core'
import type { ExternalAnswer, ExternalQuestion } from './protocol.ts'

type Next = ExternalResult | ExternalQuestion

interface Asked {
  readonly question: Question
  readonly reply: PromiseWithResolvers<Awaited<ReturnType<AskPerson>>>
}

interface UnderWay {
  readonly stop: AbortController
  readonly result: Promise<ExternalResult>
  /** Questions that the loop has not got. `more` tells that there is one. */
  readonly questions: Asked[]
  more: PromiseWithResolvers<null>
  /** The question that the loop has. */
  open: Asked | null
}

export class ExternalCalls {
  readonly #calls = new Map<string, UnderWay>()

  begin(host: LoopHost, external: ExternalCall): Promise<Next> {
    const stop = new AbortController()
    const questions: Asked[] = []
    const ask: AskPerson = (question) => {
      const asked: Asked = { question, reply: Promise.withResolvers() }
      questions.push(asked)
      call.more.resolve(null)
      return asked.reply.promise
    }
    // The host may ask at once, so it is called when the call is known.
    const result = Promise.resolve().then(() => host.callExternal(external, stop.signal, ask))
    const call: UnderWay = { stop, result, questions, more: Promise.withResolvers(), open: null }
    result.catch(() => {})
    this.#calls.set(external.callId, call)
    return this.#next(external.callId, call)
  }

  /** @returns what the call does next */
  told(callId: string, answer: ExternalAnswer | null): Promise<Next> {
    const call = this.#calls.get(callId)
    if (call === undefined)
      return Promise.resolve({
        success: false,
        error: 'cancelled',
        content: 'The call is not under way any more.',
      })
    const reply = call.open?.reply
    call.open = null
    if (answer === null) {
      call.stop.abort(over())
      for (const each of [reply, ...call.questions.splice(0).map((asked) => asked.reply)])
        each?.reject(over())
    } else if ('refused' in answer)
      reply?.reject(new ToolFailure(answer.refused.code, answer.refused.message))
    else reply?.resolve(answer)
    return this.#next(callId, call)
  }

  stop(callId: string): void {
    this.#calls.get(callId)?.stop.abort()
  }

  stopAll(): void {
    for (const { stop } of this.#calls.values()) stop.abort()
    this.#calls.clear()
  }

  async #next(callId: string, call: UnderWay): Promise<Next> {
    try {
      const result = call.questions.length > 0 ? null : await Promise.race([call.result, call.more.promise])
      call.more = Promise.withResolvers()
      call.open = call.questions.shift() ?? null
      if (call.open !== null) return { asks: call.open.question }
      this.#calls.delete(callId)
      return result ?? (await call.result)
    } catch (error) {
      this.#calls.delete(callId)
      throw error
    }
  }
}

const over = (): ToolFailure => new ToolFailure('cancelled', 'The call ended before anybody answered.')
