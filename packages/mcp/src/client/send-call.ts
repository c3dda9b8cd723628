// Sends an admitted call (admit-call.ts) to a connected server: of its own tool, or of one that Beaver made.
// The time of a call stops while a person is asked. Progress does not prolong it. Questions that could not be
// asked are noted in the result.
import type { AskPerson, ExternalResult, ToolContext } from '@beaver/agent'
import { type Clock, type JsonObject, messageOf } from '@beaver/core'
import { type Client, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { CallInputs } from '../elicitation/call-inputs.ts'
import { failed, failureOf, resultOf } from './call-result.ts'
import { callOwnTool, callTool, isOwnTool } from './own-tools.ts'
import { isForgotten, isInSession, type Link } from './link.ts'
import type { ListedTool } from './list-tools.ts'
import type { McpServerSpec } from './server-spec.ts'

export interface SentCall {
  readonly server: string
  readonly spec: McpServerSpec
  readonly definition: ListedTool
  readonly args: JsonObject
}

export interface SendOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** `null`: the call may not ask. */
  readonly ask: AskPerson | null
  readonly progress: ToolContext['progress']
  readonly trace?: ToolContext['trace']
}

export type AskedBy = Omit<SendOptions, 'clock'>

/** A call whose session the server forgot. */
export interface ForgottenCall {
  readonly at: Link
  /** The client that sent it. */
  readonly client: Client
  readonly tool: string
  readonly args: JsonObject
}

export interface CallOutcome {
  readonly result: ExternalResult
  /** Whether the connection is unusable. `forgotten`: the server forgot the session, and has done nothing. */
  readonly lost:
    | { readonly kind: 'no' | 'perhaps' | 'forgotten' }
    | { readonly kind: 'yes'; readonly reason: string }
}

/** Never rejects. */
export async function sendCall(
  { client, calls }: Pick<Link, 'client' | 'calls'>,
  call: SentCall,
  { clock, signal, ask, progress, trace }: SendOptions,
): Promise<CallOutcome> {
  const { server, spec, definition, args } = call
  const hadSession = isInSession(client)
  const over = new AbortController()
  const time = new CallTime(clock, spec.timeout_ms, () =>
    over.abort(new SdkError(SdkErrorCode.RequestTimeout, 'Request timed out')),
  )
  const both = AbortSignal.any([signal, over.signal])
  const onFailure = (): void => over.abort(new Error('its answer is that of another question'))
  const inputs = new CallInputs({ server, ask, signal: both, onWait: () => time.stop(), onFailure })
  const ended = calls.begin(inputs)
  const options = { clock, signal: both, inputs, progress, trace }
  const patterns = Array.isArray(spec.resources) ? (spec.resources as readonly string[]) : null
  try {
    const result = isOwnTool(definition)
      ? await callOwnTool(client, definition.act, args, { ...options, patterns })
      : resultOf(await callTool(client, definition, args, options), definition.outputSchema)
    return { result: withNotes(result, inputs), lost: { kind: 'no' } }
  } catch (error) {
    if (inputs.failure !== null && !signal.aborted)
      return { result: failed(inputs.failure.code, inputs.failure.message), lost: { kind: 'no' } }
    const { result, lost } = failureOf(error, {
      server,
      tool: definition.name,
      timeoutMs: spec.timeout_ms,
      signal,
    })
    if (isForgotten(error, hadSession)) return { result, lost: { kind: 'forgotten' } }
    return {
      result: withNotes(result, inputs),
      lost: lost === 'yes' ? { kind: lost, reason: messageOf(error) } : { kind: lost },
    }
  } finally {
    ended()
    time.end()
    over.abort()
  }
}

function withNotes(result: ExternalResult, { notes }: CallInputs): ExternalResult {
  return notes.length === 0
    ? result
    : { ...result, content: [result.content, ...notes.map((note) => `[Beaver: ${note}]`)].join('\n') }
}

/** The time that a call has left. It stops while a person is asked. */
class CallTime {
  readonly #begin: () => void
  #timer: { cancel(): void } | null = null
  #asked = 0

  constructor(clock: Clock, timeoutMs: number, onLate: () => void) {
    this.#begin = () => (this.#timer = clock.after(timeoutMs, onLate))
    this.#begin()
  }

  stop(): () => void {
    this.#asked++
    this.#timer?.cancel()
    return () => {
      if (--this.#asked === 0 && this.#timer !== null) this.#begin()
    }
  }

  end(): void {
    this.#timer?.cancel()
    this.#timer = null
  }
}
