// The models of the program, as the loops of a worker thread ask them; the main thread has them
// (serve-own-models.ts). A call has the times of an endpoint: `timeoutMs` as a whole, and `idleMs` between
// two pieces. They are kept here, so that they hold even if the program blocks the main thread. An abandoned
// call aborts the program's signal, and its later answer is dropped.
import type { MessagePort } from 'node:worker_threads'
import {
  type ChatAnswer,
  type ChatProvider,
  type ChatRequest,
  ProviderError,
  type RefusedTool,
  toolNameAtProvider,
} from '@beaver/agent'
import { type ChatMessage, type FailureClass, hasSecret, invariant, maskedData } from '@beaver/core'
import { watchCall } from '../call-watch.ts'
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
  readonly timeoutMs: number
  readonly idleMs: number
}

interface OpenCall {
  readonly resolve: (answer: string) => void
  readonly reject: (error: Error) => void
  readonly onText: (text: string) => void
  /** Returns the tool name for a name on the wire. */
  readonly toolName: (sent: string) => string
}

/** The model in words that follow "The endpoint ". */
export const ownModelInWords = (name: string): string => `of the program's model ${name}`

export class OwnModelCalls {
  readonly #port: MessagePort | null
  readonly #calls = new Map<number, OpenCall>()
  #last = 0

  /** @param port its other end is served. `null`: there is no program, and no model can be asked */
  constructor(port: MessagePort | null) {
    this.#port = port
    port?.on('message', (message: FromProgram) => this.#receive(message))
    port?.once('close', () => this.#closed())
  }

  provider(choice: OwnModelChoice): ChatProvider {
    const { provider: name, model, contextTokens } = choice
    return {
      name,
      model,
      chat: (request) => this.#chat(choice, request),
      ...(contextTokens === undefined ? {} : { contextTokens }),
    }
  }

  async #chat(choice: OwnModelChoice, request: ChatRequest): Promise<ChatAnswer> {
    const { signal } = request
    signal.throwIfAborted()
    const watch = watchCall(signal, choice)
    try {
      const text = await this.#ask(choice, request, watch)
      const answer = parsed(request, text)
      const place = {
        earlierCalls: () => callsIn(request.messages),
        toolName: (wire: string) => toolNameIn(request.tools, wire),
      }
      return { ...answer, toolCalls: withIds(answer.toolCalls, place) }
    } catch (error) {
      signal.throwIfAborted()
      const place = {
        host: ownModelInWords(choice.own),
        model: choice.model,
        keyName: 'its key',
        redact: (text: string) => text,
      }
      throw providerErrorOf(error, {
        ...place,
        timeoutMs: choice.timeoutMs,
        idleMs: choice.idleMs,
        gaveUp: watch.gaveUp(),
      })
    } finally {
      watch.close()
    }
  }

  #ask(
    { own, provider }: OwnModelChoice,
    request: ChatRequest,
    watch: ReturnType<typeof watchCall>,
  ): Promise<string> {
    const port = this.#port
    invariant(port !== null, `No program has the model ${own}.`)
    const { onText, images } = request
    const call = ++this.#last
    const post = (message: ToProgram): void => port.postMessage(message)
    return new Promise<string>((resolve, reject) => {
      const show = (text: string): void => {
        watch.stir()
        onText?.(text)
      }
      this.#calls.set(call, {
        resolve,
        reject,
        onText: show,
        toolName: (sent) => toolNameIn(request.tools, sent),
      })
      watch.controller.signal.addEventListener(
        'abort',
        () => {
          if (this.#calls.delete(call)) post({ kind: 'abandon', call })
          reject(new Error('The call was given up.'))
        },
        { once: true },
      )
      post({
        kind: 'ask',
        call,
        model: own,
        request: sentRequest(request, provider),
        streams: onText !== undefined,
        ...(images === undefined ? {} : { images }),
      })
    })
  }

  #receive(message: FromProgram): void {
    const open = this.#calls.get(message.call)
    if (open === undefined) return
    if (message.kind === 'text') return open.onText(message.text)
    this.#calls.delete(message.call)
    if (message.kind === 'answer') return open.resolve(message.answer)
    const { class: name, message: text, refusedTools, ...details } = message.failure
    const named = refusedTools.map((tool) => ({ ...tool, name: open.toolName(tool.name) }))
    open.reject(new ProviderError(name, text, { ...details, refusedTools: named }))
  }

  #closed(): void {
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    for (const { reject } of calls)
      reject(new ProviderError('provider_unavailable', 'The program with the model has stopped.'))
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

// The messages between the thread of a loop and the main thread. Requests and answers are JSON texts, because
// a value that is no plain data cannot cross.

/** From the thread of a loop. */
export type ToProgram =
  | {
      readonly kind: 'ask'
      readonly call: number
      /** The name that the program gave to the model. */
      readonly model: string
      /** `SentRequest` as JSON. */
      readonly request: string
      readonly images?: ReadonlyMap<string, Uint8Array>
      readonly streams: boolean
    }
  /** Nobody waits for the call any more. */
  | { readonly kind: 'abandon'; readonly call: number }

/** From the main thread. A call ends with one `answer` or one `failed`, and nothing of it follows. */
export type FromProgram =
  | { readonly kind: 'text'; readonly call: number; readonly text: string }
  /** A `ChatAnswer` as JSON. */
  | { readonly kind: 'answer'; readonly call: number; readonly answer: string }
  | { readonly kind: 'failed'; readonly call: number; readonly failure: SentFailure }

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
export type SentRequest = Pick<ChatRequest, 'messages' | 'tools' | 'settings' | 'output' | 'cache'>

/** @param provider the name of the model in events */
function sentRequest({ messages, tools, settings, output, cache }: ChatRequest, provider: string): string {
  const sent: SentRequest = {
    messages: messages.map((message) => sentMessage(message, provider)),
    tools: tools.map((tool) => ({ ...tool, name: toolNameAtProvider(tool.name) })),
    settings,
    ...(output === undefined ? {} : { output }),
    ...(cache === undefined ? {} : { cache }),
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
