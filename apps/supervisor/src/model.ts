// Which models this daemon uses: the configured endpoints, or the simulated model when there is no key and no main endpoint.
// M1. A key goes to the endpoint it was given for. An endpoint without a key of its own gets OPENAI_API_KEY only where the main
//     one is. M2. The simulated model stands alone: nothing falls back on it, chooses or embeds for it.
import type { Config, EndpointConfig } from '@beaver/config'
import { messageOf } from '@beaver/core'
import {
  type EndpointChoice,
  gateBuffer,
  type GateLimits,
  openAiBaseUrl,
  type ProviderChoices,
  simulatedModelName,
  startSimulatedModelProcess,
} from '@beaver/providers'

/** Plain data: it goes to every worker thread. */
export type ModelChoice = ProviderChoices

export interface ChosenModel {
  /** The main endpoint, and those beside it. */
  readonly choice: ModelChoice
  close(): Promise<void>
}

export async function chooseModel(config: Pick<Config, 'model' | 'apiKey' | 'apiKeys'>): Promise<ChosenModel> {
  if (config.apiKey === null && config.model.base_url === undefined) return keepSimulatedModel(config)
  return { choice: configuredChoice(config), close: async () => {} }
}

/** Local servers want some key, and ignore it. */
const noKey = 'none'

export function configuredChoice({ model, apiKey, apiKeys }: Pick<Config, 'model' | 'apiKey' | 'apiKeys'>): ModelChoice {
  /** The endpoints there are; the same URL and model have one place in the gate. */
  const places: string[] = []
  const mainUrl = normalized(model.base_url ?? openAiBaseUrl)

  function endpoint(of: EndpointConfig, own: { key: string | null; name: string; role?: string }): EndpointChoice {
    const baseURL = of.base_url ?? model.base_url ?? null
    const url = normalized(baseURL ?? openAiBaseUrl)
    const key = own.key ?? (url === mainUrl ? apiKey : null)
    const place = `${url} ${of.name}`
    if (!places.includes(place)) places.push(place)
    return {
      // Events tell who answered: two endpoints of one kind differ by their part.
      provider: `${baseURL === null ? 'openai' : 'openai-compatible'}${own.role === undefined ? '' : `:${own.role}`}`,
      baseURL,
      apiKey: key ?? noKey,
      keyName: own.key === null && url === mainUrl ? 'OPENAI_API_KEY' : own.name,
      model: of.name,
      timeoutMs: model.timeout_ms,
      idleMs: model.idle_ms,
      gateIndex: places.indexOf(place),
    }
  }

  const beside = (role: keyof Config['apiKeys'], name: string): EndpointChoice | null => {
    const of = model[role]
    return of === undefined ? null : endpoint(of, { key: apiKeys[role], name, role })
  }
  const main = endpoint({ base_url: model.base_url, name: model.name }, { key: apiKey, name: 'OPENAI_API_KEY' })
  const others = {
    fallback: beside('fallback', 'BEAVER_FALLBACK_API_KEY'),
    auxiliary: beside('auxiliary', 'BEAVER_AUXILIARY_API_KEY'),
    embeddings: beside('embeddings', 'BEAVER_EMBEDDINGS_API_KEY'),
  }
  return { ...main, ...others, gate: gateBuffer(places.length), limits: limitsOf(model) }
}

const normalized = (url: string): string => (URL.parse(url)?.href ?? url).replace(/\/+$/, '')

const limitsOf = (model: Config['model']): GateLimits => ({
  requestsPerMinuteMax: model.requests_per_minute_max ?? null,
  tokensPerMinuteMax: model.tokens_per_minute_max ?? null,
  circuitFailuresMax: model.circuit_failures_max,
  circuitOpenMs: model.circuit_open_ms,
})

const restartPauseMsMin = 200
const restartPauseMsMax = 10_000

/** The simulated model beside the daemon, started again on the same port when it dies. Meanwhile calls fail and are retried. */
async function keepSimulatedModel({ model }: Pick<Config, 'model'>): Promise<ChosenModel> {
  for (const name of ['fallback', 'auxiliary', 'embeddings'] as const)
    if (model[name] !== undefined)
      process.emitWarning(`model.${name} is not used: without OPENAI_API_KEY and model.base_url the model is simulated.`, 'BeaverModel')
  let closing = false
  let simulated = await startSimulatedModelProcess()
  const port = Number(new URL(simulated.url).port)
  const watch = (): void => {
    void simulated.exited.then(async () => {
      for (let pauseMs = restartPauseMsMin; !closing; pauseMs = Math.min(restartPauseMsMax, pauseMs * 2)) {
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
        const again = closing
          ? null
          : await startSimulatedModelProcess({ port }).catch((error: unknown) => {
              process.emitWarning(`The simulated model died and does not start again: ${messageOf(error)}`, 'BeaverModel')
              return null
            })
        if (again === null) continue
        simulated = again
        return watch()
      }
    })
  }
  watch()
  return {
    choice: {
      provider: 'simulated',
      baseURL: `${simulated.url}/v1`,
      apiKey: noKey,
      keyName: 'OPENAI_API_KEY',
      model: simulatedModelName,
      timeoutMs: model.timeout_ms,
      idleMs: model.idle_ms,
      gateIndex: 0,
      fallback: null,
      auxiliary: null,
      embeddings: null,
      gate: gateBuffer(1),
      limits: limitsOf(model),
    },
    async close() {
      closing = true
      await simulated.close()
    },
  }
}
