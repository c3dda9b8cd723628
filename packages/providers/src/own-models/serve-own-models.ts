// The models of the program, in the main thread: makes the calls that one worker thread asks for, and sends
// the outcomes back. Each call ends once, with a checked answer or a classified failure; later words of the
// program are dropped. When the thread is gone or the port closes, the signals of its calls abort.
import type { MessagePort } from 'node:worker_threads'
import { type ChatAnswer, type ChatProvider, ProviderError } from '@beaver/agent'
import { jsonObject, partsOfUsage, toolCall, type Usage, type UsagePart, usageParts } from '@beaver/core'
import { z } from 'zod'
import { bodyBytesMax } from '../response-body.ts'
import { wireTokens } from '../wire-shapes.ts'
import {
  type FromProgram,
  ownedMessages,
  ownModelInWords,
  type SentFailure,
  type SentRequest,
  type ToProgram,
} from './own-model-calls.ts'
import { isDefect, providerErrorFrom } from './thrown-error.ts'

export interface ServeOptions {
  /** The models by the names that the program gave them. */
  readonly models: ReadonlyMap<string, ChatProvider>
  /** Hears of errors that are defects of the program's code. Default: nothing does. */
  readonly onDefect?: (model: string, error: unknown) => void
}

/** Serves the calls of one thread until the port closes or the returned function is called. */
export function serveOwnModels(port: MessagePort, options: ServeOptions): () => void {
  const calls = new ServedCalls(port, options)
  port.on('message', (message: ToProgram) => calls.receive(message))
  port.once('close', () => calls.stop())
  return () => {
    calls.stop()
    port.close()
  }
}

type Asked = Extract<ToProgram, { kind: 'ask' }>

interface Making {
  readonly asked: Asked
  readonly request: SentRequest
  readonly provider: ChatProvider | undefined
  readonly stop: AbortController
}

class ServedCalls {
  readonly #post: (message: FromProgram) => void
  readonly #options: ServeOptions
  readonly #open = new Map<number, AbortController>()

  constructor(port: MessagePort, options: ServeOptions) {
    this.#post = (message) => port.postMessage(message)
    this.#options = options
  }

  receive(message: ToProgram): void {
    if (message.kind === 'ask') return void this.#make(message)
    const stop = this.#open.get(message.call)
    this.#open.delete(message.call)
    stop?.abort()
  }

  stop(): void {
    const open = [...this.#open.values()]
    this.#open.clear()
    for (const stop of open) stop.abort()
  }

  async #make(asked: Asked): Promise<void> {
    const { call, model } = asked
    const provider = this.#options.models.get(model)
    const request = JSON.parse(asked.request) as SentRequest
    const place = {
      where: ownModelInWords(model),
      model: provider?.model ?? model,
      keyName: 'the key that the program uses',
      tools: request.tools,
    }
    const stop = new AbortController()
    this.#open.set(call, stop)
    try {
      const answer = await this.#ask({ asked, request, provider, stop })
      if (this.#open.has(call))
        this.#end({ kind: 'answer', call, answer: ownAnswerText(answer, place.where) })
    } catch (error) {
      if (!this.#open.has(call)) return
      this.#tellDefect(model, error)
      const { class: name, message, status, retryAfterMs, refusedTools } = providerErrorFrom(error, place)
      const failure: SentFailure = { class: name, message, status, retryAfterMs, refusedTools }
      this.#end({ kind: 'failed', call, failure })
    }
  }

  #tellDefect(model: string, error: unknown): void {
    try {
      if (isDefect(error)) this.#options.onDefect?.(model, error)
    } catch {
      // It is told as a failure of the call all the same.
    }
  }

  async #ask({ asked: { call, model, images, streams }, request, provider, stop }: Making): Promise<unknown> {
    if (provider === undefined) throw new TypeError(`The program has no model ${model}.`)
    const tooMuch = Promise.withResolvers<never>()
    tooMuch.promise.catch(() => {})
    let chars = 0
    const onText = (text: unknown): void => {
      if (!this.#open.has(call)) return
      chars += typeof text === 'string' ? text.length : Infinity
      if (typeof text !== 'string' || chars > bodyBytesMax) {
        tooMuch.reject(
          malformed(
            ownModelInWords(model),
            typeof text === 'string'
              ? `of more than ${bodyBytesMax} characters`
              : `with a piece that is no text`,
          ),
        )
        stop.abort()
      } else if (text !== '') this.#post({ kind: 'text', call, text })
    }
    const answer = provider.chat({
      ...request,
      messages: ownedMessages(request.messages, provider.name),
      signal: stop.signal,
      ...(images === undefined ? {} : { images }),
      ...(streams ? { onText } : {}),
    })
    return Promise.race([answer, tooMuch.promise])
  }

  #end(message: Extract<FromProgram, { kind: 'answer' | 'failed' }>): void {
    this.#open.delete(message.call)
    this.#post(message)
  }
}

// Checks the answer before it leaves the main thread. Its type promises a form, but the program may be
// JavaScript, or pass on a server's data.

const chatAnswer = z.object({
  content: z.string().nullable(),
  toolCalls: z.array(toolCall.extend({ name: z.string().min(1) })),
  finishReason: z.string(),
  usage: z.unknown().transform(ownUsage),
  model: z.string().min(1),
  responseId: z.string().nullable(),
  state: jsonObject.optional(),
})

const reported = z
  .looseObject({
    input_tokens: wireTokens,
    output_tokens: wireTokens,
    ...Object.fromEntries(usageParts.map((part) => [part, wireTokens])),
  })
  .catch({ input_tokens: null, output_tokens: null })

/** A paid answer is kept even if its count makes no sense: the count is then unknown. */
function ownUsage(given: unknown): Usage {
  const read: Readonly<Record<string, unknown>> = attempt(() => reported.parse(given)) ?? {}
  const countOf = (name: string): number => (typeof read[name] === 'number' ? read[name] : 0)
  const isTold = typeof read['input_tokens'] === 'number' && typeof read['output_tokens'] === 'number'
  const [input, output] = [countOf('input_tokens'), countOf('output_tokens')]
  const of = { reasoning_tokens: output, audio_output_tokens: output, unknown_calls: 1 } as const
  const partOf = (part: UsagePart): number =>
    part === 'unknown_calls' && !isTold
      ? 1
      : Math.min(countOf(part), part in of ? of[part as keyof typeof of] : input)
  return { input_tokens: input, output_tokens: output, calls: 1, ...partsOfUsage(partOf) }
}

/**
 * The answer as JSON.
 *
 * @param where the model, in words
 * @throws {ProviderError} `malformed_output`
 */
function ownAnswerText(given: unknown, where: string): string {
  const parsed = attempt(() => chatAnswer.safeParse(given))
  if (parsed === null) throw malformed(where, 'that cannot be read')
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw malformed(
      where,
      `that is no ChatAnswer: ${issue?.path.join('.') || 'the whole'}: ${issue?.message}`,
    )
  }
  const answer = parsed.data as ChatAnswer
  const text = attempt(() => JSON.stringify(answer))
  if (text === null) throw malformed(where, 'that is no JSON')
  if (text.length > bodyBytesMax) throw malformed(where, `of more than ${bodyBytesMax} characters`)
  return text
}

const malformed = (where: string, what: string): ProviderError =>
  new ProviderError('malformed_output', `The endpoint ${where} gave an answer ${what}.`)

/** A value may have a getter that throws, or contain itself. */
function attempt<Value>(read: () => Value): Value | null {
  try {
    return read()
  } catch {
    return null
  }
}
