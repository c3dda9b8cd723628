// Looks at the endpoints of a choice: their addresses, and whether they answer. It sends no prompt and tells no key.
import type { EndpointState } from '@beaver/contracts'
import { type ChatChoice, circuitOpenMs, type EndpointChoice, openAiBaseUrl, statusOfEndpoint } from '@beaver/providers'
import { type ModelChoice, noKey } from './model.ts'

const answerMsMax = 3_000

/** @param ask whether the endpoints are asked. Default: no */
export function endpointStates(choice: ModelChoice, { ask = false }: { readonly ask?: boolean } = {}): Promise<EndpointState[]> {
  const named = Object.entries(choice.models ?? {}).map(([name, { endpoint }]) => [`model ${name}`, endpoint] as const)
  const all: readonly (readonly [string, ChatChoice | null])[] = [
    ['model', choice],
    ['fallback', choice.fallback],
    ['auxiliary', choice.auxiliary],
    ['embeddings', choice.embeddings],
    ...named,
  ]
  return Promise.all(all.flatMap(([name, of]) => (of === null ? [] : [stateOf(name, of, { choice, ask })])))
}

async function stateOf(name: string, of: ChatChoice, { choice, ask }: { readonly choice: ModelChoice; readonly ask: boolean }): Promise<EndpointState> {
  const { provider, model } = of
  const nowhere = 'own' in of || provider === 'simulated'
  return {
    ...{ name, provider, model },
    host: nowhere ? null : new URL(of.baseURL ?? openAiBaseUrl).host,
    key_name: nowhere ? null : of.keyName,
    key_set: !nowhere && (of.apiKey !== noKey || isIdentified(of)),
    protocol: nowhere ? 'chat_completions' : (of.protocol ?? 'chat_completions'),
    circuit_open_ms: circuitOpenMs(choice, of),
    answer: nowhere || !ask ? null : await answerOf(of),
  }
}

/** A request without a model and without a prompt is refused, but by a server that knows the path. */
async function answerOf(choice: EndpointChoice): Promise<NonNullable<EndpointState['answer']>> {
  try {
    const signal = AbortSignal.timeout(answerMsMax)
    return { status: await (choice.variant === undefined ? statusOf(choice, signal) : statusOfEndpoint(choice, signal)), reason: null }
  } catch (error) {
    return { status: null, reason: reasonOf(error) }
  }
}

const isIdentified = ({ variant }: EndpointChoice): boolean => variant !== undefined && 'workloadIdentity' in variant

async function statusOf({ baseURL, apiKey, headers, keyHeader, protocol }: EndpointChoice, signal: AbortSignal): Promise<number> {
  const responses = protocol === 'responses'
  const response = await fetch(`${(baseURL ?? openAiBaseUrl).replace(/\/+$/, '')}/${responses ? 'responses' : 'models'}`, {
    ...(responses ? { method: 'POST', body: '{}' } : {}),
    headers: {
      ...(responses ? { 'content-type': 'application/json' } : {}),
      ...headers,
      ...(apiKey === noKey ? {} : keyHeader === undefined ? { authorization: `Bearer ${apiKey}` } : { [keyHeader]: apiKey }),
    },
    signal,
    redirect: 'manual',
  })
  await response.body?.cancel()
  return response.status
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${answerMsMax / 1000} s`
  if (error instanceof Error && error.name === 'ProviderError') return error.message
  const cause = error instanceof Error && error.cause instanceof Error ? (error.cause as NodeJS.ErrnoException) : null
  return cause?.code ?? cause?.message ?? 'no answer'
}
