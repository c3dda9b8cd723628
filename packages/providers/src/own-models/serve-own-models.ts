// The models of the program, in the main thread: makes the calls that one worker thread asks for. Each call
// ends once, with a checked answer or a classified failure; later words of the program are dropped. When the
// thread is gone or the port closes, the signals of its calls abort.
import type { MessagePort } from 'node:worker_threads'
import { type ChatAnswer, type ChatProvider, ProviderError } from '@beaver/agent'
import { jsonObject, partsOfUsage, toolCall, type Usage, type UsagePart, usageParts } from '@beaver/core'
import { PortCalls } from '@beaver/core/port-calls'
import { z } from 'zod'
import { bodyBytesMax } from '../response-body.ts'
import { wireTokens } from '../wire-shapes.ts'
import {
  type AskedModel,
  type ModelOutcome,
  ownedMessages,
  ownModelInWords,
  ownModels,
  type OwnModels,
  type SentRequest,
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
  const served: OwnModels = {
    chat: (asked, signal, onText) => chat(asked, { ...options, signal, onText }),
  }
  const calls = new PortCalls(port, { served: (target) => (target === ownModels ? served : undefined) })
  const stop = (): void => calls.close(new Error('The models are not served any more.'))
  port.once('close', stop)
  return () => {
    stop()
    port.close()
  }
}

interface Asking extends ServeOptions {
  readonly signal: AbortSignal
  readonly onText: ((text: string) => Promise<void>) | null
}

async function chat(asked: AskedModel, asking: Asking): Promise<ModelOutcome> {
  const { model } = asked
  const provider = asking.models.get(model)
  const request = JSON.parse(asked.request) as SentRequest
  const where = ownModelInWords(model)
  try {
    if (provider === undefined) throw new TypeError(`The program has no model ${model}.`)
    return { answer: ownAnswerText(await answerOf(provider, { asked, request, where }, asking), where) }
  } catch (error) {
    if (!asking.signal.aborted) tellDefect(asking, model, error)
    const {
      class: name,
      message,
      status,
      retryAfterMs,
      refusedTools,
    } = providerErrorFrom(error, {
      where,
      model: provider?.model ?? model,
      keyName: 'the key that the program uses',
      tools: request.tools,
    })
    return { failure: { class: name, message, status, retryAfterMs, refusedTools } }
  }
}

function tellDefect({ onDefect }: ServeOptions, model: string, error: unknown): void {
  try {
    if (isDefect(error)) onDefect?.(model, error)
  } catch {
    // It is told as a failure of the call all the same.
  }
}

/** Rejects if the caller gives the call up, and if the model sends a piece that is no text, or too much. */
async function answerOf(
  provider: ChatProvider,
  {
    asked: { images },
    request,
    where,
  }: { readonly asked: AskedModel; readonly request: SentRequest; readonly where: string },
  { signal, onText }: Asking,
): Promise<unknown> {
  const refused = Promise.withResolvers<never>()
  refused.promise.catch(() => {})
  const stop = new AbortController()
  const end = (error: unknown): void => {
    refused.reject(error)
    stop.abort()
  }
  if (signal.aborted) end(signal.reason)
  else signal.addEventListener('abort', () => end(signal.reason), { once: true })
  let chars = 0
  const hear = (text: unknown): void => {
    if (stop.signal.aborted) return
    if (typeof text !== 'string') return end(malformed(where, 'with a piece that is no text'))
    chars += text.length
    if (chars > bodyBytesMax) return end(malformed(where, `of more than ${bodyBytesMax} characters`))
    if (text !== '') void onText?.(text)
  }
  const answer = provider.chat({
    ...request,
    messages: ownedMessages(request.messages, provider.name),
    signal: stop.signal,
    ...(images === undefined ? {} : { images }),
    ...(onText === null ? {} : { onText: hear }),
  })
  return Promise.race([answer, refused.promise])
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
function ownUsage(reportedUsage: unknown): Usage {
  const read: Readonly<Record<string, unknown>> = attempt(() => reported.parse(reportedUsage)) ?? {}
  const countOf = (name: string): number => (typeof read[name] === 'number' ? read[name] : 0)
  const hasCounts = typeof read['input_tokens'] === 'number' && typeof read['output_tokens'] === 'number'
  const [input, output] = [countOf('input_tokens'), countOf('output_tokens')]
  const calls = { unknown_calls: 1, estimated_calls: 1 }
  const partLimits = { reasoning_tokens: output, audio_output_tokens: output, ...calls } as const
  const partOf = (part: UsagePart): number =>
    part === 'unknown_calls' && !hasCounts
      ? 1
      : Math.min(countOf(part), part in partLimits ? partLimits[part as keyof typeof partLimits] : input)
  return { input_tokens: input, output_tokens: output, calls: 1, ...partsOfUsage(partOf) }
}

/**
 * The answer as JSON.
 *
 * @param where the model, in words
 * @throws {ProviderError} `malformed_output`
 */
function ownAnswerText(returned: unknown, where: string): string {
  const parsed = attempt(() => chatAnswer.safeParse(returned))
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
