// Providers behind their endpoint's gate: a call waits for its slot, fails at once while the circuit is open, and tells the gate
// how it ended.
// A1. Waiting ends at once when the caller aborts, and its slot is given back. A2. Nobody waits longer than `waitMsMax`: who
//     would, is told so at once. A3. A failure of the gate's own is no failure of the endpoint.
import { type ChatProvider, type ChatRequest, type EmbeddingProvider, ProviderError, type ToolSchema } from '@beaver/agent'
import { type Clock, pause, type Usage } from '@beaver/core'
import type { EndpointGate, Reservation, Ticket } from './endpoint-gate.ts'
import type { Nanoseconds } from './gcra.ts'

const waitMsMax = 300_000
/** The longest `Retry-After` that holds an endpoint. */
const holdMsMax = 60_000

/**
 * @param clock of the same time in all threads that share the gate
 */
export function gatedChat(provider: ChatProvider, gate: EndpointGate, clock: Clock): ChatProvider {
  const limited = gate.limits.tokensPerMinuteMax !== null
  return {
    name: provider.name,
    model: provider.model,
    chat: (request) =>
      through(gate, clock, {
        tokens: limited ? estimateTokens(request) : 0,
        signal: request.signal,
        call: () => provider.chat(request),
        used: (answer) => tokensOf(answer.usage),
      }),
  }
}

export function gatedEmbeddings(provider: EmbeddingProvider, gate: EndpointGate, clock: Clock): EmbeddingProvider {
  return {
    name: provider.name,
    model: provider.model,
    embed: (texts, signal) =>
      through(gate, clock, {
        tokens: texts.reduce((sum, text) => sum + tokensIn(text), 0),
        signal,
        call: () => provider.embed(texts, signal),
        used: () => null,
      }),
  }
}

interface Call<Answer> {
  /** An estimate. */
  readonly tokens: number
  readonly signal: AbortSignal
  readonly call: () => Promise<Answer>
  /** What it took in fact; `null` when that is not known. */
  readonly used: (answer: Answer) => number | null
}

async function through<Answer>(gate: EndpointGate, clock: Clock, { tokens, signal, call, used }: Call<Answer>): Promise<Answer> {
  signal.throwIfAborted()
  const { reservation, ticket } = await enter(gate, clock, { tokens, signal })
  let answer: Answer
  try {
    answer = await call()
  } catch (error) {
    if (signal.aborted || !(error instanceof ProviderError)) gate.released(ticket, nowNs(clock))
    else told(gate, error, { reservation, ticket, now: nowNs(clock) })
    throw error
  }
  gate.succeeded(ticket)
  const taken = used(answer)
  if (taken !== null) gate.settle(reservation, taken)
  return answer
}

/** Waits for the call's turn. A hold that came meanwhile is waited for as well. @throws {ProviderError} */
async function enter(
  gate: EndpointGate,
  clock: Clock,
  { tokens, signal }: { tokens: number; signal: AbortSignal },
): Promise<{ reservation: Reservation; ticket: Ticket }> {
  let now = nowNs(clock)
  const latest = now + BigInt(waitMsMax) * 1_000_000n
  for (;;) {
    if (gate.openForNs(now) > 0n) throw circuitOpen(gate, now)
    const reservation = gate.reserve(tokens, now, latest)
    if (reservation === null) throw tooMany(gate)
    for (; now < reservation.start; now = nowNs(clock)) {
      await pause(clock, msOf(reservation.start - now), signal)
      if (!signal.aborted) continue
      gate.giveBack(reservation)
      signal.throwIfAborted()
    }
    if (gate.heldUntil() > now) {
      gate.giveBack(reservation)
      continue
    }
    const ticket = gate.admit(now)
    if (ticket !== null) return { reservation, ticket }
    gate.giveBack(reservation)
    throw circuitOpen(gate, now)
  }
}

/** What a failure says about the endpoint: it is down, it is too busy, or it is there and refused. */
function told(gate: EndpointGate, error: ProviderError, { reservation, ticket, now }: { reservation: Reservation; ticket: Ticket; now: Nanoseconds }): void {
  switch (error.class) {
    case 'provider_timeout':
      // It may have been at work: its tokens count.
      return gate.failed(ticket, now)
    case 'provider_unavailable':
      gate.settle(reservation, 0)
      return gate.failed(ticket, now)
    case 'rate_limited':
      gate.settle(reservation, 0)
      if (error.retryAfterMs !== null && error.retryAfterMs > 0) gate.hold(now + BigInt(Math.ceil(Math.min(error.retryAfterMs, holdMsMax))) * 1_000_000n)
      return gate.succeeded(ticket)
    default:
      if (error.status !== null) gate.settle(reservation, 0)
      return gate.succeeded(ticket)
  }
}

function circuitOpen(gate: EndpointGate, now: Nanoseconds): ProviderError {
  const retryAfterMs = msOf(gate.openForNs(now))
  return new ProviderError(
    'provider_unavailable',
    `The endpoint ${gate.endpoint} failed ${gate.limits.circuitFailuresMax} times in a row and is not asked for another ${retryAfterMs} ms.`,
    { retryAfterMs },
  )
}

function tooMany(gate: EndpointGate): ProviderError {
  return new ProviderError(
    'rate_limited',
    `So many calls wait for the endpoint ${gate.endpoint} that this one would wait longer than ${waitMsMax / 1_000} s. The limits are model.requests_per_minute_max and model.tokens_per_minute_max.`,
  )
}

/** In microseconds the time of any clock is a whole number that a double holds. */
const nowNs = (clock: Clock): Nanoseconds => BigInt(Math.floor(clock.now() * 1_000)) * 1_000n

const msOf = (ns: Nanoseconds): number => Number((ns + 999_999n) / 1_000_000n)

const tokensOf = (usage: Usage): number | null => usage.input_tokens + usage.output_tokens || null

/** An answer is not known before it is there. */
const answerTokens = 256

/** Four bytes of UTF-8 are about a token. */
const tokensIn = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)

function estimateTokens({ messages, tools }: ChatRequest): number {
  let tokens = answerTokens + toolTokens(tools)
  for (const message of messages) {
    tokens += tokensIn(message.content ?? '')
    if (message.role === 'assistant') for (const call of message.tool_calls ?? []) tokens += tokensIn(call.arguments)
  }
  return tokens
}

/** The tools of a loop are the same at every call. */
const knownTools = new WeakMap<readonly ToolSchema[], number>()

function toolTokens(tools: readonly ToolSchema[]): number {
  const known = knownTools.get(tools)
  if (known !== undefined) return known
  const tokens = tools.length === 0 ? 0 : tokensIn(JSON.stringify(tools))
  knownTools.set(tools, tokens)
  return tokens
}
