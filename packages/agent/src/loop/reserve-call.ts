// Reserves a call of a model in the budgets before it is made, and says how long its answer may be. The host
// decides; this file says what the call needs at most. A call that was reserved with the events that led to it
// asks nobody again.
import type { ModelSettings, Usage } from '@beaver/core'
import { inputTokensMax, textsTokensMax } from '../provider/call-bound.ts'
import type { ChatProvider, ChatRequest } from '../provider/chat-provider.ts'
import type { EmbeddingProvider } from '../provider/provider-bundle.ts'
import type { NoPlace } from '../skills/skill-assembler.ts'
import type { Granted } from './loop-spec.ts'
import type { LoopWork, ModelCall } from './loop-work.ts'
import { traceOfModelCall } from './told-trace.ts'

type Asked = Pick<ChatRequest, 'messages' | 'tools' | 'output' | 'settings'>

/** What a request to a provider needs at most. */
export function modelCallOf({ reservation }: LoopWork, provider: ChatProvider, asked: Asked): ModelCall {
  return {
    kind: 'model',
    provider: provider.name,
    model: provider.model,
    // Another model counts in another way.
    inputTokensMax: inputTokensMax(
      asked,
      reservation.answered?.provider === provider.name ? reservation.answered : null,
    ),
    outputTokensMax: asked.settings?.output_tokens_max ?? provider.outputTokensMax ?? null,
  }
}

/** Resolves with `null` if nothing bounds the run. */
export async function reserveCall(
  work: LoopWork,
  provider: ChatProvider,
  asked: Asked,
): Promise<Granted | null> {
  const { spec, host, signal, reservation } = work
  if (spec.budgeted === undefined) return null
  const { granted, bound } = reservation
  reservation.granted = null
  reservation.bound = null
  const needs = modelCallOf(work, provider, asked)
  if (granted !== null && bound !== null && covers(bound, needs)) return granted
  return host.reserve(needs, signal)
}

/** Whether a reservation for one call is enough for another. */
const covers = (reserved: ModelCall, needs: ModelCall): boolean =>
  reserved.provider === needs.provider &&
  reserved.model === needs.model &&
  reserved.inputTokensMax >= needs.inputTokensMax &&
  reserved.outputTokensMax === needs.outputTokensMax

/** What a provider counted of a request. `null`: it counted nothing. */
export const knownInput = (
  { messages, tools, output }: Pick<ChatRequest, 'messages' | 'tools' | 'output'>,
  { usage, provider }: { readonly usage: Usage; readonly provider: string },
): LoopWork['reservation']['answered'] =>
  usage.input_tokens === 0 || (usage.unknown_calls ?? 0) > 0
    ? null
    : { messages, tools, output, tokens: usage.input_tokens, provider }

/** The settings with which an answer is no longer than the reservation allows. */
export function boundedSettings(
  settings: ModelSettings | undefined,
  { outputTokensMax }: Extract<Granted, { kind: 'granted' }>,
): ModelSettings | undefined {
  return outputTokensMax === null ? settings : { ...settings, output_tokens_max: outputTokensMax }
}

/**
 * The request that may be made, as its reservation bounds it, or why none may be made.
 *
 * @throws the abort of the run's signal
 */
export async function reservedRequest(
  work: LoopWork,
  provider: ChatProvider,
  request: ChatRequest,
): Promise<ChatRequest | NoPlace> {
  const granted = await reserveCall(work, provider, request)
  const traced = { ...request, ...traceOfModelCall(work) }
  if (granted === null) return traced
  return granted.kind === 'granted'
    ? { ...traced, settings: boundedSettings(request.settings, granted) }
    : noPlace(work, granted)
}

/**
 * Reserves a request for embeddings. Resolves with `null` if it may be made.
 *
 * @throws the abort of the run's signal
 */
export async function reserveEmbedding(
  work: LoopWork,
  { name, model }: EmbeddingProvider,
  texts: readonly string[],
): Promise<NoPlace | null> {
  if (work.spec.budgeted === undefined) return null
  const bound = { inputTokensMax: textsTokensMax(texts), outputTokensMax: 0 }
  const granted = await work.host.reserve({ kind: 'model', provider: name, model, ...bound }, work.signal)
  return granted.kind === 'granted' ? null : noPlace(work, granted)
}

function noPlace({ signal }: LoopWork, granted: Exclude<Granted, { kind: 'granted' }>): NoPlace {
  if (granted.kind === 'refused') return { refused: granted.failure }
  signal.throwIfAborted()
  return { refused: { class: 'cancelled', message: 'The run was cancelled.' } }
}
