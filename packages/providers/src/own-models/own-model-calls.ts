// The models of the program, as the loops of a thread ask them. The program has them in the main thread
// (serve-own-models.ts). A call has the times of an endpoint: `timeoutMs` as a whole, and `idleMs` between
// two pieces. They are kept here, so they hold although the program keeps the main thread busy, or never
// answers. A call that nobody waits for any more is abandoned: the program's signal aborts. What comes of it
// later is dropped.
import type { MessagePort } from 'node:worker_threads'
import { type ChatAnswer, type ChatProvider, type ChatRequest, ProviderError } from '@beaver/agent'
import { invariant } from '@beaver/core'
import { watchCall } from '../call-watch.ts'
import { withIds } from '../chat-completion.ts'
import { callsIn } from '../model-call.ts'
import { providerErrorOf } from '../provider-failure.ts'
import { toolNameIn } from '../request-body.ts'
import type { FromProgram, ToProgram } from './own-model-messages.ts'
import { sentRequest } from './own-request.ts'

/** A model of the program, as a daemon chose to ask it. Plain data. */
export interface OwnModelChoice {
  /** Its name in journals and reports. */
  readonly provider: string
  /** The name under which the program gave it. */
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
  /** Returns the tool name for a name that the program knows. */
  readonly toolName: (sent: string) => string
}

/** The model in words, after "The endpoint ". */
export const ownModelInWords = (name: string): string => `of the program's model ${name}`

export class OwnModelCalls {
  readonly #port: MessagePort | null
  readonly #calls = new Map<number, OpenCall>()
  #last = 0

  /** @param port its other end is served. `null`: no program is there, and no model is asked */
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
