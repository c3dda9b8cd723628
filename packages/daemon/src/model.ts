// Chooses the models of this daemon: the configured endpoints, or the simulated model if there is neither a key nor a main endpoint.
// How often the simulated model is started again is defined in core's table `supervisors`.
// M1. A key goes only to the endpoint for which it was given. An endpoint without its own key gets OPENAI_API_KEY only if it has the URL of
//     the main endpoint.
// M2. The simulated model is used alone: no fallback, auxiliary or embeddings endpoint is used beside it, and it stands for each named model.
import { type Clock, type Logger, type RunningChild, silentLogger, startSupervision, supervisors, systemClock, systemFacts } from '@beaver/core'
import type { Config, EndpointConfig } from '@beaver/platform'
import { type EndpointChoice, gateBuffer, type GateLimits, openAiBaseUrl, type ProviderChoices } from '@beaver/providers'
import type { SimulatedModelProcess } from '@beaver/simulated-model'

/** This is plain data, because it goes to every worker thread. */
export type ModelChoice = ProviderChoices

export interface ChosenModel {
  /** The main endpoint and the other endpoints. */
  readonly choice: ModelChoice
  /** Rejects if the simulated model cannot be kept alive. It stays pending if the model is not the simulated one. */
  readonly failed: Promise<never>
  close(): Promise<void>
}

type ModelConfig = Pick<Config, 'model' | 'apiKey' | 'apiKeys' | 'provider_limit_ms_max'> & Partial<Pick<Config, 'models' | 'modelKeys'>>

export async function chooseModel(config: ModelConfig, ports: { readonly logger?: Logger; readonly clock?: Clock } = {}): Promise<ChosenModel> {
  if (config.apiKey === null && config.model.base_url === undefined) return keepSimulatedModel(config, { logger: silentLogger, clock: systemClock, ...ports })
  return { choice: configuredChoice(config), failed: new Promise(() => {}), close: async () => {} }
}

/** The endpoints as a daemon here would choose them, without starting one. `null`: the model would be simulated. */
export const endpointsOf = (config: ModelConfig): ModelChoice | null =>
  config.apiKey === null && config.model.base_url === undefined ? null : configuredChoice(config)

/** Local servers need some key, but ignore its value. */
const noKey = 'none'

export function configuredChoice(config: ModelConfig): ModelChoice {
  const { model, apiKey, apiKeys, models = {}, modelKeys = {} } = config
  /** The endpoints. Endpoints with the same URL and model share one place in the gate. */
  const places: string[] = []
  const mainUrl = normalized(model.base_url ?? openAiBaseUrl)

  function endpoint(of: EndpointConfig, own: { key: string | null; name: string; role?: string }): EndpointChoice {
    const baseURL = of.base_url ?? model.base_url ?? null
    const url = normalized(baseURL ?? openAiBaseUrl)
    const key = own.key ?? (url === mainUrl ? apiKey : null)
    const place = `${url} ${of.name}`
    if (!places.includes(place)) places.push(place)
    return {
      // Events name the endpoint that answered. The role makes the names of two endpoints of one kind differ.
      provider: `${baseURL === null ? 'openai' : 'openai-compatible'}${own.role === undefined ? '' : `:${own.role}`}`,
      baseURL,
      apiKey: key ?? noKey,
      keyName: own.key === null && url === mainUrl ? 'OPENAI_API_KEY' : own.name,
      model: of.name,
      settings: of.settings,
      headers: of.headers,
      ...(of.context_tokens === undefined ? {} : { contextTokens: of.context_tokens }),
      ...(of.key_header === undefined ? {} : { keyHeader: of.key_header }),
      timeoutMs: model.timeout_ms,
      idleMs: model.idle_ms,
      gateIndex: places.indexOf(place),
    }
  }

  const beside = (role: keyof Config['apiKeys'], name: string): EndpointChoice | null => {
    const of = model[role]
    return of === undefined ? null : endpoint(of, { key: apiKeys[role], name, role })
  }
  const main = endpoint(model, { key: apiKey, name: 'OPENAI_API_KEY' })
  const others = {
    fallback: beside('fallback', 'BEAVER_FALLBACK_API_KEY'),
    auxiliary: beside('auxiliary', 'BEAVER_AUXILIARY_API_KEY'),
    embeddings: beside('embeddings', 'BEAVER_EMBEDDINGS_API_KEY'),
  }
  const named = Object.fromEntries(
    Object.entries(models).map(([name, of]) => {
      const own = { key: of.key === undefined ? null : (modelKeys[of.key] ?? null), name: of.key ?? 'OPENAI_API_KEY', role: name }
      return [name, { endpoint: endpoint(of, own), fallback: of.fallback ?? null }]
    }),
  )
  return { ...main, ...others, models: named, gate: gateBuffer(places.length), limits: limitsOf(config) }
}

const normalized = (url: string): string => (URL.parse(url)?.href ?? url).replace(/\/+$/, '')

const limitsOf = ({ model, provider_limit_ms_max: limitMsMax }: Pick<Config, 'model' | 'provider_limit_ms_max'>): GateLimits => ({
  requestsPerMinuteMax: model.requests_per_minute_max ?? null,
  tokensPerMinuteMax: model.tokens_per_minute_max ?? null,
  circuitFailuresMax: model.circuit_failures_max,
  circuitOpenMs: model.circuit_open_ms,
  turnMsMax: limitMsMax,
})

/** Keeps the simulated model running beside the daemon. If it ends, it is started again on the same port; until then, calls fail and are retried. */
async function keepSimulatedModel(config: ModelConfig, { logger, clock }: { logger: Logger; clock: Clock }): Promise<ChosenModel> {
  const { model } = config
  // Only a daemon without an endpoint loads it (docs/decisions/0029).
  const { simulatedModelName, startSimulatedModelProcess } = await import('@beaver/simulated-model')
  for (const name of ['fallback', 'auxiliary', 'embeddings'] as const)
    if (model[name] !== undefined)
      systemFacts.configurationDiagnostic(logger, {
        severity: 'warning',
        file: null,
        message: `model.${name} is not used. The model is simulated, because neither OPENAI_API_KEY nor model.base_url is set.`,
      })
  const named = Object.keys(config.models ?? {})
  if (named.length > 0)
    systemFacts.configurationDiagnostic(logger, {
      severity: 'warning',
      file: null,
      message: `The models ${named.join(', ')} are simulated, because neither OPENAI_API_KEY nor model.base_url is set.`,
    })
  const supervision = startSupervision<SimulatedModelProcess & RunningChild>({
    spec: supervisors.simulated_model,
    logger,
    clock,
    fieldsOf: ({ pid }) => ({ pid }),
  })
  let port = 0
  const { url } = await supervision.add({ id: 'simulated model', restart: 'permanent' }, async () => {
    const simulated = await startSimulatedModelProcess({ port })
    port = Number(new URL(simulated.url).port)
    const gone = simulated.exited.then(({ code, signal }) => ({ reason: signal === null ? `exit code ${code}` : `killed by ${signal}`, normal: code === 0 }))
    return { ...simulated, gone, stop: () => simulated.close() }
  })
  const endpoint: EndpointChoice = {
    provider: 'simulated',
    baseURL: `${url}/v1`,
    apiKey: noKey,
    keyName: 'OPENAI_API_KEY',
    model: simulatedModelName,
    timeoutMs: model.timeout_ms,
    idleMs: model.idle_ms,
    gateIndex: 0,
  }
  return {
    choice: {
      ...endpoint,
      models: Object.fromEntries(named.map((name) => [name, { endpoint, fallback: null }])),
      fallback: null,
      auxiliary: null,
      embeddings: null,
      gate: gateBuffer(1),
      limits: limitsOf(config),
    },
    failed: supervision.failed,
    close: () => supervision.stop(),
  }
}
