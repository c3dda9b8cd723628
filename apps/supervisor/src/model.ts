// Which model this daemon uses: the configured endpoint, or the simulated model when there is no key and no endpoint.
import type { Config } from '@beaver/config'
import { simulatedModelName, startSimulatedModelProcess } from '@beaver/providers'

/** Plain data: it goes to every worker thread. */
export interface ModelChoice {
  readonly provider: string
  readonly baseURL: string | null
  readonly apiKey: string
  readonly model: string
  readonly timeoutMs: number
}

export interface ChosenModel {
  readonly choice: ModelChoice
  close(): Promise<void>
}

export async function chooseModel(config: Config): Promise<ChosenModel> {
  const { base_url: baseURL, name: model, timeout_ms: timeoutMs } = config.model
  if (config.apiKey !== null || baseURL !== undefined) {
    // Local servers want some key, and ignore it.
    const choice = { provider: baseURL === undefined ? 'openai' : 'openai-compatible', baseURL: baseURL ?? null, apiKey: config.apiKey ?? 'none', model, timeoutMs }
    return { choice, close: async () => {} }
  }
  const simulated = await startSimulatedModelProcess()
  return {
    choice: { provider: 'simulated', baseURL: `${simulated.url}/v1`, apiKey: 'none', model: simulatedModelName, timeoutMs },
    close: () => simulated.close(),
  }
}
