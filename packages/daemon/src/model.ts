// Chooses the models of this daemon: those of the program and the configured endpoints, or the simulated
// model if there is neither a main model of the program nor a key nor a main endpoint.
// M1. A key goes only to the endpoint for which it was given. An endpoint without its own key gets
// OPENAI_API_KEY only if it has the URL of the main endpoint.
// M2. Names of one endpoint and model share its limits. If several have limits of their own, the strictest
// hold. The simulated model is used alone: no fallback, auxiliary or embeddings endpoint is used beside it,
// and it replaces each model that the configuration names. Models of the program are used all the same.
import type { ChatProvider } from '@beaver/agent'
import { type Clock, type Logger, silentLogger, systemClock, systemFacts } from '@beaver/core'
import { type RunningChild, Supervision, supervisors } from '@beaver/core/supervision'
import {
  type Config,
  type EndpointConfig,
  inlineFallback,
  isSimulated,
  namesOfRoute,
  routeOf,
} from '@beaver/platform'
import {
  type ChatChoice,
  type ClientVariant,
  type EndpointChoice,
  gateBuffer,
  type GateLimits,
  openAiBaseUrl,
  type ProviderChoices,
} from '@beaver/providers'
import type { SimulatedModelProcess } from '@beaver/simulated-model'
import { ownChoice, type OwnModel, type OwnModels, ownRoute } from './own-models.ts'

/** Plain data, because it goes to every worker thread. */
export type ModelChoice = ProviderChoices

export interface ChosenModel {
  /** The main endpoint and the other endpoints. */
  readonly choice: ModelChoice
  /** Rejects if the simulated model cannot be kept alive; pending for any other model. */
  readonly failed: Promise<never>
  close(): Promise<void>
}

type ModelConfig = Pick<Config, 'model' | 'apiKey' | 'apiKeys' | 'provider_limit_ms_max'> &
  Partial<Pick<Config, 'models' | 'modelKeys'>>

interface ModelPorts {
  readonly logger?: Logger
  readonly clock?: Clock
  /** The models of the program. Default: none. */
  readonly own?: OwnModels
}

export async function chooseModel(
  config: ModelConfig,
  { logger = silentLogger, clock = systemClock, own = {} }: ModelPorts = {},
): Promise<ChosenModel> {
  if (isSimulated(config) && own['main'] === undefined)
    return keepSimulatedModel(config, { logger, clock, own })
  return { choice: configuredChoice(config, own), failed: new Promise(() => {}), close: async () => {} }
}

/**
 * The endpoints as a daemon here would choose them, without starting one. `null`: the model would be
 * simulated.
 */
export const endpointsOf = (config: ModelConfig): ModelChoice | null =>
  isSimulated(config) ? null : configuredChoice(config)

/** Local servers need some key, but ignore its value. */
export const noKey = 'none'

export function configuredChoice(config: ModelConfig, own: OwnModels = {}): ModelChoice {
  const { model, apiKey, apiKeys, models = {}, modelKeys = {} } = config
  const mainUrl = normalized(model.base_url ?? openAiBaseUrl)
  const places = new GatePlaces(limitsOf(config))

  function endpoint(
    of: EndpointConfig & OwnLimits & Times,
    own: { key: string | null; name: string; role?: string },
  ): EndpointChoice {
    const baseURL = of.base_url ?? model.base_url ?? null
    const url = normalized(baseURL ?? openAiBaseUrl)
    const key = own.key ?? (url === mainUrl ? apiKey : null)
    const variant =
      variantOf(of) ??
      (url === mainUrl && of.key_header === undefined
        ? inherited(model, own.key !== null && own.key !== apiKey)
        : null)
    const identified = variant !== null && 'workloadIdentity' in variant
    return {
      // Events name the endpoint that answered. The role makes the names of two endpoints of one kind differ.
      provider: `${baseURL === null ? 'openai' : 'openai-compatible'}${own.role === undefined ? '' : `:${own.role}`}`,
      baseURL,
      apiKey: identified ? noKey : (key ?? noKey),
      keyName: identified
        ? 'workload_identity'
        : own.key === null && url === mainUrl
          ? 'OPENAI_API_KEY'
          : own.name,
      model: of.name,
      settings: of.settings,
      headers: of.headers,
      ...(of.context_tokens === undefined ? {} : { contextTokens: of.context_tokens }),
      ...(of.protocol === undefined ? {} : { protocol: of.protocol }),
      ...(of.store === undefined ? {} : { stores: of.store }),
      ...(of.images === undefined ? {} : { images: of.images }),
      ...(of.structured_output === undefined ? {} : { structuredOutput: of.structured_output }),
      ...(of.cache === undefined ? {} : { cache: of.cache }),
      ...(of.cache_key_header === undefined ? {} : { cacheKeyHeader: of.cache_key_header }),
      ...(of.key_header === undefined ? {} : { keyHeader: of.key_header }),
      ...(variant === null ? {} : { variant }),
      timeoutMs: of.timeout_ms ?? model.timeout_ms,
      idleMs: of.idle_ms ?? model.idle_ms,
      gateIndex: places.indexOf(`${url} ${of.name}`, of),
    }
  }

  const beside = (role: keyof Config['apiKeys'], name: string): EndpointChoice | null => {
    const of = role === 'fallback' ? inlineFallback(model) : model[role]
    return of === undefined ? null : endpoint(of, { key: apiKeys[role], name, role })
  }
  const { main: ownMain, ...ownNamed } = own
  const main =
    ownMain === undefined
      ? endpoint(model, { key: apiKey, name: 'OPENAI_API_KEY' })
      : places.ownChoice('main', ownMain, model)
  /** The program's own route replaces the configured one. */
  const ownsRoute = ownMain?.fallback !== undefined
  const others = {
    fallback: ownsRoute ? null : beside('fallback', 'BEAVER_FALLBACK_API_KEY'),
    auxiliary: beside('auxiliary', 'BEAVER_AUXILIARY_API_KEY'),
    embeddings: beside('embeddings', 'BEAVER_EMBEDDINGS_API_KEY'),
  }
  const named = {
    ...Object.fromEntries(
      Object.entries(models).map(([name, of]): [string, NamedChoice] => {
        const key = {
          key: of.key === undefined ? null : (modelKeys[of.key] ?? null),
          name: of.key ?? 'OPENAI_API_KEY',
          role: name,
        }
        return [name, { endpoint: endpoint(of, key), route: namesOfRoute(of.fallback) }]
      }),
    ),
    ...places.ownNamed(ownNamed, model),
  }
  // Only now all names of an endpoint are known.
  const limitedOrNone = (choice: EndpointChoice | null): EndpointChoice | null =>
    choice === null ? null : places.limited(choice)
  return {
    ...places.limited(main),
    fallback: limitedOrNone(others.fallback),
    auxiliary: limitedOrNone(others.auxiliary),
    embeddings: limitedOrNone(others.embeddings),
    route: ownMain !== undefined && ownsRoute ? ownRoute(ownMain) : routeOf(model),
    models: places.limitedNamed(named),
    gate: places.buffer(),
  }
}

/** The main endpoint's client variant, for endpoints at its URL without a key of their own. */
function inherited(main: EndpointConfig, hasOwnKey: boolean): ClientVariant | null {
  const variant = variantOf(main)
  return hasOwnKey && variant !== null && 'workloadIdentity' in variant ? null : variant
}

function variantOf({
  azure,
  workload_identity: identity,
}: Pick<EndpointConfig, 'azure' | 'workload_identity'>): ClientVariant | null {
  if (azure !== undefined)
    return {
      azure: {
        apiVersion: azure.api_version,
        ...(azure.deployment === undefined ? {} : { deployment: azure.deployment }),
      },
    }
  if (identity === undefined) return null
  const {
    identity_provider_id: identityProviderId,
    service_account_id: serviceAccountId,
    client_id: clientId,
    token,
  } = identity
  return {
    workloadIdentity: {
      identityProviderId,
      serviceAccountId,
      token,
      ...(clientId === undefined ? {} : { clientId }),
    },
  }
}

interface NamedChoice {
  readonly endpoint: ChatChoice
  readonly route: readonly string[]
}

/**
 * The places of models in the gate: one for each endpoint and model, and one for each model of the program,
 * whatever their names.
 */
class GatePlaces {
  readonly #general: GateLimits
  readonly #places: (string | ChatProvider)[] = []
  /** The limits that the names of each place set. */
  readonly #sharing: OwnLimits[][] = []

  constructor(general: GateLimits) {
    this.#general = general
  }

  indexOf(place: string | ChatProvider, limits: OwnLimits): number {
    if (!this.#places.includes(place)) this.#places.push(place)
    const index = this.#places.indexOf(place)
    ;(this.#sharing[index] ??= []).push(limits)
    return index
  }

  ownChoice(
    name: string,
    of: OwnModel,
    { timeout_ms: timeoutMs, idle_ms: idleMs }: Config['model'],
  ): ChatChoice {
    const limits = {
      requests_per_minute_max: of.requestsPerMinuteMax,
      tokens_per_minute_max: of.tokensPerMinuteMax,
    }
    return ownChoice(name, of, { timeoutMs, idleMs, gateIndex: this.indexOf(of.provider, limits) })
  }

  ownNamed(own: OwnModels, model: Config['model']): Record<string, NamedChoice> {
    return Object.fromEntries(
      Object.entries(own).map(([name, of]) => [
        name,
        { endpoint: this.ownChoice(name, of, model), route: ownRoute(of) },
      ]),
    )
  }

  /** Adds the limits of its place. Call it when all names are known. */
  limited<Choice extends ChatChoice>(choice: Choice): Choice & { readonly limits: GateLimits } {
    return { ...choice, limits: strictest(this.#general, this.#sharing[choice.gateIndex] ?? []) }
  }

  limitedNamed(named: Readonly<Record<string, NamedChoice>>): Record<string, NamedChoice> {
    return Object.fromEntries(
      Object.entries(named).map(([name, { endpoint, route }]) => [
        name,
        { endpoint: this.limited(endpoint), route },
      ]),
    )
  }

  buffer(): SharedArrayBuffer {
    return gateBuffer(this.#places.length)
  }
}

const normalized = (url: string): string => (URL.parse(url)?.href ?? url).replace(/\/+$/, '')

type OwnLimits = Partial<
  Pick<
    Config['models'][string],
    'requests_per_minute_max' | 'tokens_per_minute_max' | 'circuit_failures_max' | 'circuit_open_ms'
  >
>
type Times = Partial<Pick<Config['models'][string], 'timeout_ms' | 'idle_ms'>>

function strictest(general: GateLimits, sharing: readonly OwnLimits[]): GateLimits {
  const least = (values: readonly (number | null)[]): number | null =>
    values.reduce((a, b) => (a === null ? b : b === null ? a : Math.min(a, b)), null)
  const all = <Key extends keyof OwnLimits>(key: Key, otherwise: number | null) =>
    sharing.map((of) => of[key] ?? otherwise)
  return {
    ...general,
    requestsPerMinuteMax: least(all('requests_per_minute_max', general.requestsPerMinuteMax)),
    tokensPerMinuteMax: least(all('tokens_per_minute_max', general.tokensPerMinuteMax)),
    circuitFailuresMax:
      least(all('circuit_failures_max', general.circuitFailuresMax)) ?? general.circuitFailuresMax,
    circuitOpenMs: Math.max(
      ...all('circuit_open_ms', general.circuitOpenMs).map((each) => each ?? general.circuitOpenMs),
    ),
  }
}

const limitsOf = ({
  model,
  provider_limit_ms_max: limitMsMax,
}: Pick<Config, 'model' | 'provider_limit_ms_max'>): GateLimits => ({
  requestsPerMinuteMax: model.requests_per_minute_max ?? null,
  tokensPerMinuteMax: model.tokens_per_minute_max ?? null,
  circuitFailuresMax: model.circuit_failures_max,
  circuitOpenMs: model.circuit_open_ms,
  turnMsMax: limitMsMax,
})

/**
 * Keeps the simulated model running: if it ends, it starts again on the same port, by core's table
 * `supervisors`. Until then, calls fail and are retried.
 */
async function keepSimulatedModel(
  config: ModelConfig,
  { logger, clock, own }: Required<ModelPorts>,
): Promise<ChosenModel> {
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
  const supervision = new Supervision<SimulatedModelProcess & RunningChild>({
    spec: supervisors.simulated_model,
    logger,
    clock,
    fieldsOf: ({ pid }) => ({ pid }),
  })
  let port = 0
  const { url } = await supervision.add('simulated model', async () => {
    const simulated = await startSimulatedModelProcess({ port })
    port = Number(new URL(simulated.url).port)
    const gone = simulated.exited.then(({ code, signal }) => ({
      reason: signal === null ? `exit code ${code}` : `killed by ${signal}`,
    }))
    return { ...simulated, gone, stop: () => simulated.close() }
  })
  const places = new GatePlaces(limitsOf(config))
  const endpoint: EndpointChoice = {
    provider: 'simulated',
    baseURL: `${url}/v1`,
    apiKey: noKey,
    keyName: 'OPENAI_API_KEY',
    model: simulatedModelName,
    timeoutMs: model.timeout_ms,
    idleMs: model.idle_ms,
    gateIndex: places.indexOf('simulated', {}),
  }
  const simulated = Object.fromEntries(
    named.map((name): [string, NamedChoice] => [name, { endpoint, route: [] }]),
  )
  const models = places.limitedNamed({ ...simulated, ...places.ownNamed(own, model) })
  return {
    choice: {
      ...endpoint,
      models,
      fallback: null,
      auxiliary: null,
      embeddings: null,
      gate: places.buffer(),
      limits: limitsOf(config),
    },
    failed: supervision.failed,
    close: () => supervision.stop(),
  }
}
