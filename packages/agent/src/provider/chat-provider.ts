// The ChatProvider port: one chat call to a model. The AgentLoop retries by the failure policies; the
// provider does not. A call ends with an answer, with a `ProviderError`, or with the abort of `signal`: with its
// reason, or with a `ProviderError` of the class `cancelled` (its cause is the reason) if the call must be paid. No error
// contains a secret.
import { createHash } from 'node:crypto'
import type { ChatMessage, JsonObject, ModelSettings, ToolCall, Usage } from '@beaver/core'
import type { FailureClass } from '@beaver/core/supervision'
import type { TraceContext } from '@beaver/core/trace'
import { sharedPromptChars } from '../context/context-builder.ts'

/** A tool in the form that a model reads. */
export interface ToolSchema {
  readonly name: string
  readonly description: string
  /** The JSON Schema of the arguments, which is an object. */
  readonly parameters: Record<string, unknown>
}

/** The form that the text of an answer must have: JSON of a schema. */
export interface OutputForm {
  /** A name for people and servers: letters, digits, `_` and `-`, at most 64. */
  readonly name: string
  readonly schema: JsonObject
}

/** One chat call to a model. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolSchema[]
  /**
   * The content of the images that messages have, by SHA-256. An image without content was removed: a text
   * says so in its place. Absent: no message has an image.
   */
  readonly images?: ReadonlyMap<string, Uint8Array> | undefined
  /** How the model is asked, beyond what the provider itself sets. Absent: as the provider sets. */
  readonly settings?: ModelSettings | undefined
  /**
   * The form that the text of the answer must have. The messages say it too, and the AgentLoop checks the
   * text, so a provider asks its endpoint for the form if the endpoint can, and does nothing otherwise.
   * Absent: any text.
   */
  readonly output?: OutputForm | undefined
  /**
   * What this request shares with later ones, so that the endpoint's cache finds it. Absent: nobody asks
   * again with the same beginning.
   */
  readonly cache?: CachedBeginning | undefined
  /**
   * Whether the answer must call one of the tools. The AgentLoop checks it, so a provider asks its endpoint for
   * it. Absent: the model decides.
   */
  readonly mustCall?: true | undefined
  /**
   * The trace to which the call belongs, as headers of W3C Trace Context: `traceparent` names the span of the
   * call. A provider sends them with its request. Absent: nothing is told.
   */
  readonly trace?: TraceContext | undefined
  readonly signal: AbortSignal
  /**
   * Asks for a streamed answer. It is called with each piece of text as it comes. The answer is the same as
   * without it.
   */
  readonly onText?: (text: string) => void
  /**
   * Called before an answer that has come is read at once. The returned function is called after the reading.
   */
  readonly onRead?: () => () => void
  /**
   * Whether the call has its turn under the endpoint's limits already, so that it is not counted again.
   * Default: false.
   */
  readonly admitted?: boolean
  /**
   * Waits for the call's turn, which is reserved at this call: the next request after the wait sets
   * `admitted`. Absent: the provider waits by itself.
   */
  readonly waitTurn?: (wait: TurnWait) => Promise<void>
}

/** How long a call waits for its turn. `reason` is for a person. */
export interface TurnWait {
  readonly ms: number
  readonly reason: string
}

/** The complete answer of a model. */
export interface ChatAnswer {
  /** `null` if the model only called tools. */
  readonly content: string | null
  readonly toolCalls: readonly ToolCall[]
  /** The finish reason in the provider's words: `stop`, `tool_calls`, `length`, `content_filter`, … */
  readonly finishReason: string
  readonly usage: Usage
  /** The model that answered, in the provider's spelling. */
  readonly model: string
  readonly responseId: string | null
  /**
   * Fields of an answer with tool calls that the provider wants to have back with it in the next request,
   * unchanged, such as the thoughts of the model. Absent: none.
   */
  readonly state?: JsonObject
}

/** A chat back end. */
export interface ChatProvider {
  /** `openai`, `simulated`, … */
  readonly name: string
  readonly model: string
  /**
   * The context window of the model. A conversation is shortened before it is longer. Absent: it is not
   * known, and the server says when it is too long.
   */
  readonly contextTokens?: number
  /**
   * How many tokens an answer may have if the settings of a request do not say it. Absent: nobody limits it.
   */
  readonly outputTokensMax?: number
  /** @throws {ProviderError} */
  chat(request: ChatRequest): Promise<ChatAnswer>
}

/** A tool whose schema a server refuses, and what the server says about it. */
export interface RefusedTool {
  readonly name: string
  readonly reason: string
}

/** What the server counted of an answer that is of no use, and which model it was. */
export interface PaidAnswer {
  readonly usage: Usage
  readonly model: string
}

interface ProviderErrorOptions {
  readonly status?: number | null
  readonly retryAfterMs?: number | null
  readonly refusedTools?: readonly RefusedTool[]
  readonly paid?: PaidAnswer | null
  readonly cause?: unknown
}

/**
 * Why a call has no answer. `class` decides what happens next: see `failurePolicies` in core.
 *
 * @example
 * const error = new ProviderError('rate_limited', 'The provider is busy.', { status: 429, retryAfterMs: 2_000 })
 * error.class // => 'rate_limited'
 * error.retryAfterMs // => 2_000
 */
export class ProviderError extends Error {
  readonly class: FailureClass
  /** The HTTP status, if there was a response. */
  readonly status: number | null
  /** The wait that the server asks for, in milliseconds. */
  readonly retryAfterMs: number | null
  /** The tools of the request whose schemas the server refuses. The caller may ask again without them. */
  readonly refusedTools: readonly RefusedTool[]
  /**
   * What is paid although the call has no answer. `null`: the server answered nothing that costs. The reader
   * of the answer adds it.
   */
  paid: PaidAnswer | null

  constructor(failureClass: FailureClass, message: string, options: ProviderErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ProviderError'
    this.class = failureClass
    this.status = options.status ?? null
    this.retryAfterMs = options.retryAfterMs ?? null
    this.refusedTools = options.refusedTools ?? []
    this.paid = options.paid ?? null
  }
}

/**
 * The failure of a call that its caller cancelled.
 *
 * @param reason the reason of the caller's signal
 * @example
 * const usage = { input_tokens: 85, output_tokens: 12, calls: 1, estimated_calls: 1 }
 * cancelledCall({ usage, model: 'm' }, 'The user stopped the task.').class // => 'cancelled'
 */
export const cancelledCall = (paid: PaidAnswer | null, reason: unknown): ProviderError =>
  new ProviderError('cancelled', 'The call was cancelled before its answer was complete.', {
    paid,
    cause: reason,
  })

// What the requests of one conversation share, for the caches that providers keep of the beginnings of
// requests. It follows from the run's start and its session alone, so a run that is resumed is known by the
// same key. No id of a session or of a user can be read in a key.

/** What a request shares with others that begin alike. */
export interface CachedBeginning {
  /** The same for the requests of one agent of a session: 32 characters, letters and digits. */
  readonly key: string
  /**
   * How many characters of the system prompt other tasks and sessions of the agent share. 0: it is not known.
   */
  readonly sharedChars: number
}

/**
 * The beginning of a run's requests. The next task of a session continues the conversation of its root, and a
 * node of the same name has the same work, so both have the key of the task before.
 */
export function beginningOf(
  sessionId: string,
  { node_id: node }: { readonly node_id: string | null },
  messages: readonly ChatMessage[],
): CachedBeginning {
  const key = createHash('sha256')
    .update(JSON.stringify([sessionId, node]))
    .digest('hex')
    .slice(0, 32)
  const [first] = messages
  return { key, sharedChars: first?.role === 'system' ? sharedPromptChars(first.content) : 0 }
}
