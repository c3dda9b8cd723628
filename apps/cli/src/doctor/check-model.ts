// Checks the models: which ones are configured, and whether their endpoints answer. It sends them no prompt and never shows a key.
import { type Config, type EndpointConfig, inlineFallback } from '@beaver/platform'
import { type ModelConfig, modelInUse } from '../model.ts'
import { fail, type Finding, ok, warn } from './check.ts'

const answerMsMax = 3_000

export async function checkModel(config: ModelConfig & { readonly model: Endpoint['of'] }): Promise<Finding> {
  const { simulated, baseUrl } = modelInUse(config)
  if (simulated || baseUrl === null)
    return warn(
      'model',
      'simulated: no OPENAI_API_KEY and no OPENAI_BASE_URL is set',
      'Set OPENAI_API_KEY, or OPENAI_BASE_URL for a local server, to use a real model.',
    )
  return verdict(await answerOf({ model: config.model.name, baseUrl, apiKey: config.apiKey, keyName: 'OPENAI_API_KEY', of: config.model }), {
    name: 'model',
    bad: fail,
    unreachable: 'Check OPENAI_BASE_URL and the network; unset both variables to use the simulated model.',
  })
}

const beside = {
  fallback: { key: 'BEAVER_FALLBACK_API_KEY', without: 'Beaver asks it if the main model does not answer.' },
  auxiliary: { key: 'BEAVER_AUXILIARY_API_KEY', without: 'It chooses skills and summarizes conversations that are too long.' },
  embeddings: { key: 'BEAVER_EMBEDDINGS_API_KEY', without: 'Without it, Beaver searches for skills by words and not by meaning.' },
} as const

export interface BesideConfig extends ModelConfig {
  readonly model: ModelConfig['model'] & Readonly<Partial<Pick<Config['model'], keyof typeof beside>>>
  readonly apiKeys: Config['apiKeys']
  readonly models?: Config['models']
  readonly modelKeys?: Config['modelKeys']
}

/** The configured endpoints besides the main one, and the named models. */
export async function checkModelsBeside(config: BesideConfig): Promise<Finding[]> {
  const main = modelInUse(config)
  const besides = (['fallback', 'auxiliary', 'embeddings'] as const).flatMap((name): Beside[] => {
    const of = name === 'fallback' ? inlineFallback(config.model) : config.model[name]
    return of === undefined ? [] : [{ ...beside[name], name, where: `model.${name}`, of, own: config.apiKeys[name] }]
  })
  const named = Object.entries(config.models ?? {}).map(([name, of]): Beside => {
    const key = of.key ?? 'OPENAI_API_KEY'
    return { name: `model ${name}`, where: `models.${name}`, of, key, own: config.modelKeys?.[key] ?? null, without: 'Agents that name it fail without it.' }
  })
  const checks = [...besides, ...named].map(async ({ name, where, of, key, own, without }): Promise<Finding> => {
    const { baseUrl } = modelInUse({ apiKey: '', model: { name: of.name, base_url: of.base_url ?? config.model.base_url } })
    // The main key is never sent to another endpoint.
    const apiKey = own ?? (baseUrl === main.baseUrl ? config.apiKey : null)
    const answer = await answerOf({ model: of.name, baseUrl: baseUrl ?? '', apiKey, keyName: key, of })
    return verdict(answer, { name, bad: warn, unreachable: `Check ${where}.base_url and the network. ${without}` })
  })
  return Promise.all(checks)
}

/** An endpoint besides the main one. */
interface Beside {
  readonly name: string
  /** Its place in the configuration. */
  readonly where: string
  readonly of: EndpointConfig
  /** The variable with its key. */
  readonly key: string
  readonly own: string | null
  readonly without: string
}

interface Endpoint {
  readonly model: string
  readonly baseUrl: string
  readonly apiKey: string | null
  /** The variable that contains the key. */
  readonly keyName: string
  /** How its requests say who asks. */
  readonly of: Partial<Pick<EndpointConfig, 'headers' | 'key_header' | 'protocol'>>
}

interface Answer extends Pick<Endpoint, 'keyName'> {
  readonly said: string
  readonly protocol?: EndpointConfig['protocol'] | undefined
  /** The HTTP status, or why there is none. */
  readonly got: number | string
}

async function answerOf({ model, baseUrl, apiKey, keyName, of }: Endpoint): Promise<Answer> {
  const said = `${model} at ${new URL(baseUrl).host}, key ${apiKey === null ? 'not set' : 'set'}`
  try {
    // A request without a model and without a prompt is refused, but by a server that knows the path.
    const responses = of.protocol === 'responses'
    const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/${responses ? 'responses' : 'models'}`, {
      ...(responses ? { method: 'POST', body: '{}' } : {}),
      headers: {
        ...(responses ? { 'content-type': 'application/json' } : {}),
        ...of.headers,
        ...(apiKey === null ? {} : of.key_header === undefined ? { authorization: `Bearer ${apiKey}` } : { [of.key_header]: apiKey }),
      },
      signal: AbortSignal.timeout(answerMsMax),
      redirect: 'manual',
    })
    await response.body?.cancel()
    return { said, keyName, got: response.status, protocol: of.protocol }
  } catch (error) {
    return { said, keyName, got: reasonOf(error) }
  }
}

function verdict({ said, keyName, got, protocol }: Answer, { name, bad, unreachable }: { name: string; bad: typeof fail; unreachable: string }): Finding {
  if (typeof got === 'string') return bad(name, `${said}: it cannot be reached (${got})`, unreachable)
  if (got === 401 || got === 403) return bad(name, `${said}: it refuses the key (HTTP ${got})`, `Set ${keyName} to a valid key for this endpoint.`)
  if (protocol === 'responses' && (got === 404 || got === 405))
    return bad(name, `${said}: it does not have the Responses API (HTTP ${got})`, 'Check its base_url, or leave out "protocol": "responses".')
  if (got >= 500) return warn(name, `${said}: it answers with HTTP ${got}`, 'The endpoint has a fault. Try again later.')
  return ok(name, `${said}, answers`)
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${answerMsMax / 1000} s`
  const cause = error instanceof Error && error.cause instanceof Error ? (error.cause as NodeJS.ErrnoException) : null
  return cause?.code ?? cause?.message ?? 'no answer'
}
