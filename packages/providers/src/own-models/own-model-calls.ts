// The models of the program, as the loops of a worker thread ask them; the main thread has them
// (serve-own-models.ts). A call has the times of an endpoint: `timeoutMs` as a whole, and `idleMs` between
// two pieces. They are kept here, so that they hold even if the program blocks the main thread. A call that is
// given up aborts the program's signal, and its later answer is dropped.
import type { MessagePort } from 'node:worker_threads'
import {
  brokenOffUsage,
  cancelledCall,
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  ProviderError,
  type RefusedTool,
  toolNameAtProvider,
  unlessAborted,
} from '@beaver/agent'
import { type ChatMessage, invariant } from '@beaver/core'
import { hasSecret, maskedData } from '@beaver/core/secrets'
import type { FailureClass } from '@beaver/core/supervision'
import { PortCalls } from '@beaver/core/port-calls'
import { type CallWatch, watchCall } from '../call-watch.ts'
import { withIds } from '../chat-completion.ts'
import { callsIn } from '../model-call.ts'
import { providerErrorOf } from '../provider-failure.ts'
import { objectText, toolNameIn } from '../request-body.ts'

/** A model of the program, as plain data. */
export interface OwnModelChoice {
  /** Its name in journals and reports. */
  readonly provider: string
  /** The name that the program gave to the model. */
  readonly own: string
  readonly model: string
  readonly contextTokens?: number
  readonly outputTokensMax?: number
  readonly timeoutMs: number
  readonly idleMs: number
}

/** The model in words that follow "The endpoint ". */
export const ownModelInWords = (name: string): string => `of the program's model ${name}`

export class OwnModelCalls {
  readonly #program: OwnModels | null

  /** @param port its other end is served. `null`: there is no program, and no model can be asked */
  constructor(port: MessagePort | null) {
    const calls = port === null ? null : new PortCalls(port)
    port?.once('close', () =>
      calls?.close(new ProviderError('provider_unavailable', 'The program with the model has stopped.')),
    )
    this.#program = calls?.remote<OwnModels>(ownModels, {}) ?? null
  }

  provider(choice: OwnModelChoice): ChatProvider {
    const { provider: name, model, contextTokens, outputTokensMax } = choice
    return {
      name,
      model,
      chat: (request) => this.#chat(choice, request),
      ...(contextTokens === undefined ? {} : { contextTokens }),
      ...(outputTokensMax === undefined ? {} : { outputTokensMax }),
    }
  }

  async #chat(choice: OwnModelChoice, request: ChatRequest): Promise<ChatAnswer> {
    const { signal } = request
    signal.throwIfAborted()
    const watch = watchCall(signal, choice)
    let receivedBytes = 0
    const hear = (text: string): void => {
      receivedBytes += Buffer.byteLength(text)
      request.onText?.(text)
    }
    /** The program says nothing of a call that it does not answer. */
    const paid = () => ({ usage: brokenOffUsage(request, receivedBytes), model: choice.model })
    try {
      const text = await this.#ask(choice, request, { ...watch, hear })
      const answer = parsed(request, text)
      const place = {
        earlierCalls: () => callsIn(request.messages),
        toolName: (wire: string) => toolNameIn(request.tools, wire),
      }
      return { ...answer, toolCalls: withIds(answer.toolCalls, place) }
    } catch (error) {
      if (signal.aborted) throw cancelledCall(paid(), signal.reason)
      const place = {
        host: ownModelInWords(choice.own),
        model: choice.model,
        keyName: 'its key',
        redact: (text: string) => text,
      }
      const failure = providerErrorOf(error, {
        ...place,
        timeoutMs: choice.timeoutMs,
        idleMs: choice.idleMs,
        gaveUp: watch.gaveUp(),
      })
      if (receivedBytes > 0 || watch.gaveUp() !== null) failure.paid ??= paid()
      throw failure
    } finally {
      watch.close()
    }
  }

  async #ask(
    { own, provider }: OwnModelChoice,
    request: ChatRequest,
    { controller: { signal }, stir, hear }: CallWatch & { readonly hear: (text: string) => void },
  ): Promise<string> {
    invariant(this.#program !== null, `No program has the model ${own}.`)
    const { onText, images, tools } = request
    const asked: AskedModel = {
      model: own,
      request: sentRequest(request, provider),
      ...(images === undefined ? {} : { images }),
    }
    const show = async (text: string): Promise<void> => {
      if (signal.aborted) return
      stir()
      hear(text)
    }
    const outcome = await unlessAborted(
      this.#program.chat(asked, signal, onText === undefined ? null : show),
      signal,
    )
    if (outcome === null) throw new Error('The call was given up.')
    if ('answer' in outcome) return outcome.answer
    const { class: name, message, refusedTools, ...details } = outcome.failure
    const named = refusedTools.map((tool) => ({ ...tool, name: toolNameIn(tools, tool.name) }))
    throw new ProviderError(name, message, { ...details, refusedTools: named })
  }
}

/** A large answer may fill a heap. */
function parsed({ onRead }: ChatRequest, text: string): ChatAnswer {
  const over = onRead?.()
  try {
    return JSON.parse(text) as ChatAnswer
  } finally {
    over?.()
  }
}

// The calls between the thread of a loop and the main thread. Requests and answers are JSON texts, because a
// value that is no plain data cannot cross.

/** The number under which the main thread serves the models. */
export const ownModels = 1

/** What the main thread does for the thread of a loop. */
export interface OwnModels {
  /**
   * Asks a model once.
   * @param onText gets the pieces of the answer; `null`: the answer is wanted as a whole
   */
  chat(
    asked: AskedModel,
    signal: AbortSignal,
    onText: ((text: string) => Promise<void>) | null,
  ): Promise<ModelOutcome>
}

export interface AskedModel {
  /** The name that the program gave to the model. */
  readonly model: string
  /** `SentRequest` as JSON. */
  readonly request: string
  readonly images?: ReadonlyMap<string, Uint8Array>
}

/** `answer`: a `ChatAnswer` as JSON. */
export type ModelOutcome = { readonly answer: string } | { readonly failure: SentFailure }

/** A `ProviderError` as data. */
export interface SentFailure {
  readonly class: FailureClass
  readonly message: string
  readonly status: number | null
  readonly retryAfterMs: number | null
  readonly refusedTools: readonly RefusedTool[]
}

// A request as the program's model gets it: as an HTTP endpoint would, so that a program can pass it on. Tool
// names fit providers (tool-name.ts), arguments of earlier calls are JSON objects, messages have only this
// model's own state, and secrets are masked.

/** The part of a request that crosses as text. */
export type SentRequest = Pick<
  ChatRequest,
  'messages' | 'tools' | 'settings' | 'output' | 'cache' | 'mustCall' | 'trace'
>

/** @param provider the name of the model in events */
function sentRequest(
  { messages, tools, settings, output, cache, mustCall, trace }: ChatRequest,
  provider: string,
): string {
  const sent: SentRequest = {
    messages: messages.map((message) => sentMessage(message, provider)),
    tools: tools.map((tool) => ({ ...tool, name: toolNameAtProvider(tool.name) })),
    settings,
    ...(output === undefined ? {} : { output }),
    ...(cache === undefined ? {} : { cache }),
    ...(mustCall === undefined ? {} : { mustCall }),
    ...(trace === undefined ? {} : { trace }),
  }
  const text = JSON.stringify(sent)
  return hasSecret(text) ? JSON.stringify(maskedData(sent)) : text
}

function sentMessage(message: ChatMessage, provider: string): ChatMessage {
  if (message.role !== 'assistant' || message.tool_calls === undefined) return message
  const { provider_state: state, tool_calls: calls, ...said } = message
  const own = state?.provider === provider
  return {
    ...said,
    tool_calls: calls.map(({ extra_content: extra, ...call }) => ({
      ...call,
      name: toolNameAtProvider(call.name),
      arguments: objectText(call.arguments),
      ...(own && extra !== undefined ? { extra_content: extra } : {}),
    })),
    ...(own ? { provider_state: state } : {}),
  }
}

/** The messages with only the state of this model. */
export const ownedMessages = (messages: readonly ChatMessage[], name: string): ChatMessage[] =>
  messages.map((message) =>
    message.role === 'assistant' && message.provider_state !== undefined
      ? { ...message, provider_state: { ...message.provider_state, provider: name } }
      : message,
  )
