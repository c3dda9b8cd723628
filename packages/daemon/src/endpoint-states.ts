// Checks the endpoints of a choice: their addresses, and whether they answer. It sends no prompt and logs no
// key. It asks for the list of models or, if the server has none, for an answer without a prompt: a working
// server refuses that request, and no model works on it.
import type { EndpointState } from '@beaver/contracts'
import {
  type ChatChoice,
  askWithoutPrompt,
  type EndpointChoice,
  type GateState,
  gateState,
  openAiBaseUrl,
} from '@beaver/providers'
import { type ModelChoice, noKey } from './model.ts'

const answerMsMax = 3_000

/** @param ask whether the endpoints are asked. Default: no */
export function endpointStates(
  choice: ModelChoice,
  { ask = false }: { readonly ask?: boolean } = {},
): Promise<EndpointState[]> {
  return Promise.all(endpointsOf(choice).map(([name, of]) => stateOf(name, of, { choice, ask })))
}

/** What the gates of the endpoints do now, by the names of the endpoints. Asks nobody. */
export const endpointGates = (choice: ModelChoice): readonly (readonly [name: string, GateState])[] =>
  endpointsOf(choice).map(([name, of]) => [name, gateState(choice, of)])

function endpointsOf(choice: ModelChoice): readonly (readonly [name: string, ChatChoice])[] {
  const named = Object.entries(choice.models ?? {}).map(
    ([name, { endpoint }]) => [`model ${name}`, endpoint] as const,
  )
  const all: readonly (readonly [string, ChatChoice | null])[] = [
    ['model', choice],
    ['fallback', choice.fallback],
    ['auxiliary', choice.auxiliary],
    ['embeddings', choice.embeddings],
    ...named,
  ]
  return all.flatMap(([name, of]) => (of === null ? [] : [[name, of] as const]))
}

async function stateOf(
  name: string,
  of: ChatChoice,
  { choice, ask }: { readonly choice: ModelChoice; readonly ask: boolean },
): Promise<EndpointState> {
  const { provider, model } = of
  const gate = gateState(choice, of)
  const nowhere = 'own' in of || provider === 'simulated'
  return {
    ...{ name, provider, model },
    host: nowhere ? null : new URL(of.baseURL ?? openAiBaseUrl).host,
    key_name: nowhere ? null : of.keyName,
    key_set: !nowhere && (of.apiKey !== noKey || isIdentified(of)),
    protocol: nowhere ? 'chat_completions' : (of.protocol ?? 'chat_completions'),
    circuit_open_ms: gate.openMs,
    wait_ms: gate.waitMs,
    requests_per_minute_max: gate.limits.requestsPerMinuteMax,
    tokens_per_minute_max: gate.limits.tokensPerMinuteMax,
    last_failure: gate.lastFailure,
    answer: nowhere || !ask ? null : await answerOf(of, name),
  }
}

type Answer = NonNullable<EndpointState['answer']>

async function answerOf(choice: EndpointChoice, name: string): Promise<Answer> {
  const signal = AbortSignal.timeout(answerMsMax)
  try {
    if (choice.protocol === 'responses' && choice.variant === undefined)
      return told(await emptyRequest(choice, signal))
    const listed = choice.variant === undefined ? await askForModels(choice, signal) : null
    if (listed !== null && (listed.usable === true || listed.status === 401 || listed.status === 403))
      return listed
    const path =
      name === 'embeddings'
        ? '/embeddings'
        : choice.protocol === 'responses'
          ? '/responses'
          : '/chat/completions'
    const { status, text } = await askWithoutPrompt(choice, path, signal)
    const failsAlways = status >= 500 && (listed?.status ?? 0) >= 500
    return told(status, failsAlways ? false : text === null ? undefined : jsonIn(text) !== undefined)
  } catch (error) {
    return { status: null, reason: reasonOf(error), usable: false }
  }
}

function told(status: number, usable = usableBy(status)): Answer {
  return { status, reason: null, usable }
}

/**
 * Whether the status of a refusal shows a usable endpoint. `null`: a server error may only mean that it does
 * not expect a request without a prompt.
 */
function usableBy(status: number): boolean | null {
  if (status >= 500) return null
  return ![401, 403, 404, 405].includes(status) && (status < 300 || status >= 400)
}

async function askForModels(choice: EndpointChoice, signal: AbortSignal): Promise<Answer> {
  const response = await fetch(`${urlOf(choice)}/models`, {
    headers: headersOf(choice),
    signal,
    redirect: 'manual',
  })
  const list = jsonIn(await response.text())
  const hasList =
    typeof list === 'object' && list !== null && Object.values({ list, ...list }).some(Array.isArray)
  return told(response.status, response.ok && hasList)
}

/** Sends an empty request, which a server of the Responses API refuses. */
async function emptyRequest(choice: EndpointChoice, signal: AbortSignal): Promise<number> {
  const headers = { 'content-type': 'application/json', ...headersOf(choice) }
  const response = await fetch(`${urlOf(choice)}/responses`, {
    method: 'POST',
    body: '{}',
    headers,
    signal,
    redirect: 'manual',
  })
  await response.body?.cancel()
  return response.status
}

const urlOf = ({ baseURL }: EndpointChoice): string => (baseURL ?? openAiBaseUrl).replace(/\/+$/, '')

const headersOf = ({ apiKey, headers, keyHeader }: EndpointChoice): Record<string, string> => ({
  ...headers,
  ...(apiKey === noKey
    ? {}
    : keyHeader === undefined
      ? { authorization: `Bearer ${apiKey}` }
      : { [keyHeader]: apiKey }),
})

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const isIdentified = ({ variant }: EndpointChoice): boolean =>
  variant !== undefined && 'workloadIdentity' in variant

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `no answer within ${answerMsMax / 1000} s`
  if (error instanceof Error && error.name === 'ProviderError') return error.message
  const cause =
    error instanceof Error && error.cause instanceof Error ? (error.cause as NodeJS.ErrnoException) : null
  return cause?.code ?? cause?.message ?? 'no answer'
}
