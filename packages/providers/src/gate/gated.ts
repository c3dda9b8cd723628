// Puts a provider behind the gate of its endpoint: a call waits for its slot, fails at once while the circuit
// is open, and tells the gate how it ended.
// A call waits here for at most `waitMsMax`. A caller that can wait itself does so if the wait is longer than
// `heldMsMax`, for at most `turnMsMax` if that is more. It keeps its reserved slot and comes back with
// `admitted` (docs/decisions/0030). If the wait would be longer, the call fails at once; if the caller
// aborts, the slot is given back.
import {
  type ChatProvider,
  type ChatRequest,
  type EmbeddingProvider,
  ProviderError,
  type ToolSchema,
  type TurnWait,
  wasDropped,
} from '@beaver/agent'
import { type Clock, pause, type Usage } from '@beaver/core'
import { imageTokens } from '@beaver/core/images'
import type { Reservation } from './call-slots.ts'
import type { EndpointGate, Ticket } from './endpoint-gate.ts'
import type { Nanoseconds } from './gcra.ts'

const waitMsMax = 300_000
/** The thread itself waits for a nearer turn. */
const heldMsMax = 1_000
/** A `Retry-After` holds an endpoint for at most this long. */
const holdMsMax = 60_000
/** A call that found the queue too long may try again after this time. */
const queueMs = 60_000

/** @param clock must give the same time in all threads that share the gate */
export function gatedChat(provider: ChatProvider, gate: EndpointGate, clock: Clock): ChatProvider {
  const limited = gate.limits.tokensPerMinuteMax !== null
  const { name, model, contextTokens, outputTokensMax } = provider
  return {
    name,
    model,
    ...(contextTokens === undefined ? {} : { contextTokens }),
    ...(outputTokensMax === undefined ? {} : { outputTokensMax }),
    chat: (request) =>
      through(gate, clock, {
        tokens: limited ? estimateTokens(request) : 0,
        signal: request.signal,
        admitted: request.admitted ?? false,
        waitTurn: request.waitTurn ?? null,
        call: () => provider.chat(request),
        used: (answer) => tokensOf(answer.usage),
      }),
  }
}

export function gatedEmbeddings(
  provider: EmbeddingProvider,
  gate: EndpointGate,
  clock: Clock,
): EmbeddingProvider {
  return {
    name: provider.name,
    model: provider.model,
    get textsMax() {
      return provider.textsMax
    },
    embed: (texts, signal) =>
      through(gate, clock, {
        tokens: texts.reduce((sum, text) => sum + tokensIn(text), 0),
        signal,
        admitted: false,
        waitTurn: null,
        call: () => provider.embed(texts, signal),
        used: ({ usage }) => tokensOf(usage),
      }),
  }
}

interface Entrant {
  /** The estimated number of tokens. */
  readonly tokens: number
  readonly signal: AbortSignal
  /** Whether it has its slot already. */
  readonly admitted: boolean
  /** How the caller waits. `null` means that the call waits here. */
  readonly waitTurn: ((wait: TurnWait) => Promise<void>) | null
}

interface Call<Answer> extends Entrant {
  readonly call: () => Promise<Answer>
  /** The tokens that it used, or `null` if unknown. */
  readonly used: (answer: Answer) => number | null
}

async function through<Answer>(
  gate: EndpointGate,
  clock: Clock,
  { call, used, ...entrant }: Call<Answer>,
): Promise<Answer> {
  const { signal } = entrant
  signal.throwIfAborted()
  const { reservation, ticket } = await enter(gate, clock, entrant)
  let answer: Answer
  try {
    answer = await call()
  } catch (error) {
    if (signal.aborted || !(error instanceof ProviderError)) gate.released(ticket, nowNs(clock))
    else reportError(gate, error, { reservation, ticket, now: nowNs(clock) })
    throw error
  }
  gate.succeeded(ticket)
  const taken = used(answer)
  if (taken !== null) gate.settle(reservation, taken)
  return answer
}

/** Waits for the call's turn, and for a hold that begins in the meantime. @throws {ProviderError} */
async function enter(
  gate: EndpointGate,
  clock: Clock,
  entrant: Entrant,
): Promise<{ reservation: Reservation; ticket: Ticket }> {
  const { tokens, signal, waitTurn } = entrant
  const longestMs = waitTurn === null ? waitMsMax : Math.max(waitMsMax, gate.limits.turnMsMax)
  let now = nowNs(clock)
  let { admitted } = entrant
  const latest = now + BigInt(longestMs) * 1_000_000n
  for (;;) {
    // An admitted call took its slot before its wait. A slot that is useless now is given back.
    const had: Reservation | null = admitted ? { start: now, tokens } : null
    admitted = false
    if (had !== null && (gate.openForNs(now) > 0n || gate.heldUntil() > now)) gate.giveBack(had)
    if (gate.openForNs(now) > 0n) throw circuitOpen(gate, now)
    const reservation = had !== null && gate.heldUntil() <= now ? had : gate.reserve(tokens, now, latest)
    if (reservation === null) throw tooMany(gate, longestMs)
    const since = now
    for (; now < reservation.start; now = nowNs(clock)) {
      const ms = msOf(reservation.start - now)
      const elsewhere = waitTurn !== null && ms > heldMsMax
      if (elsewhere)
        await waitTurn({
          ms,
          reason: `The call must wait for its turn, because the rate of ${gate.endpoint} is limited.`,
        })
      else await pause(clock, ms, signal)
      if (!signal.aborted) continue
      const goesOn = elsewhere && wasDropped(signal)
      if (!goesOn) gate.giveBack(reservation)
      // A call that was dropped comes back at its turn, and then does not wait here.
      gate.waited((goesOn ? reservation.start : nowNs(clock)) - since)
      signal.throwIfAborted()
    }
    if (now > since) gate.waited(now - since)
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

/** Tells the gate whether the endpoint is down, is too busy, or is up and refused the call. */
function reportError(
  gate: EndpointGate,
  error: ProviderError,
  { reservation, ticket, now }: { reservation: Reservation; ticket: Ticket; now: Nanoseconds },
): void {
  switch (error.class) {
    case 'provider_timeout':
      // The endpoint may have worked on the call, so the tokens count.
      return gate.failed(ticket, now, error.message)
    case 'provider_unavailable':
      gate.settle(reservation, error.paid === null ? 0 : (tokensOf(error.paid.usage) ?? reservation.tokens))
      return gate.failed(ticket, now, error.message)
    case 'rate_limited':
      gate.settle(reservation, 0)
      if (error.retryAfterMs !== null && error.retryAfterMs > 0)
        gate.hold(now + BigInt(Math.ceil(Math.min(error.retryAfterMs, holdMsMax))) * 1_000_000n)
      return gate.succeeded(ticket)
    default:
      if (error.status !== null) gate.settle(reservation, 0)
      return gate.succeeded(ticket)
  }
}

function circuitOpen(gate: EndpointGate, now: Nanoseconds): ProviderError {
  const retryAfterMs = msOf(gate.openForNs(now))
  const pauses = `failed ${gate.limits.circuitFailuresMax} times in a row, so Beaver pauses before it asks it again.`
  const last = gate.lastFailure()
  // The reason comes first, because screens show the beginning. The pause is left out: it is read later.
  const message =
    last === null
      ? `The endpoint ${gate.endpoint} ${pauses}`
      : `${/[.!?]$/.test(last) ? last : `${last}.`} The endpoint ${pauses}`
  return new ProviderError('provider_unavailable', message, { retryAfterMs })
}

function tooMany(gate: EndpointGate, longestMs: number): ProviderError {
  return new ProviderError(
    'rate_limited',
    `Many calls wait for the endpoint ${gate.endpoint}, so this one would wait longer than ${longestMs / 1_000} s. The limits are model.requests_per_minute_max and model.tokens_per_minute_max.`,
    { retryAfterMs: queueMs },
  )
}

/** A double holds the microseconds of any clock exactly. */
const nowNs = (clock: Clock): Nanoseconds => BigInt(Math.floor(clock.now() * 1_000)) * 1_000n

const msOf = (ns: Nanoseconds): number => Number((ns + 999_999n) / 1_000_000n)

/** `null` if the provider did not tell. */
const tokensOf = (usage: Usage): number | null =>
  usage.estimated_calls === undefined ? usage.input_tokens + usage.output_tokens || null : null

/** The tokens that an answer is estimated to need. */
const answerTokens = 256

/** Four bytes of UTF-8 are about one token. */
const tokensIn = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)

function estimateTokens({ messages, tools }: ChatRequest): number {
  let tokens = answerTokens + toolTokens(tools)
  for (const message of messages) {
    tokens += tokensIn(message.content ?? '')
    if (message.role === 'user' || message.role === 'tool')
      for (const image of message.images ?? []) tokens += imageTokens(image)
    if (message.role === 'assistant')
      for (const call of message.tool_calls ?? []) tokens += tokensIn(call.arguments)
  }
  return tokens
}

/** The tools of a loop are the same in every call, so they are counted once. */
const knownTools = new WeakMap<readonly ToolSchema[], number>()

function toolTokens(tools: readonly ToolSchema[]): number {
  const known = knownTools.get(tools)
  if (known !== undefined) return known
  const tokens = tools.length === 0 ? 0 : tokensIn(JSON.stringify(tools))
  knownTools.set(tools, tokens)
  return tokens
}
