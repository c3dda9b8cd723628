// Names the configured model for people, without the key.
import { type Config, isSimulated } from '@beaver/platform'

export interface ModelInUse {
  readonly simulated: boolean
  /** The host of the endpoint. `null`: the simulated model, which runs on this machine. */
  readonly host: string | null
  readonly baseUrl: string | null
  /** For example `simulated model` or `model gpt-5-mini`. */
  readonly name: string
  readonly text: string
}

/** The part of the configuration that names the model. */
export interface ModelConfig {
  readonly apiKey: Config['apiKey']
  readonly model: Pick<Config['model'], 'name' | 'base_url' | 'workload_identity'>
}

const openAiBaseUrl = 'https://api.openai.com/v1'

export function modelInUse(config: ModelConfig): ModelInUse {
  if (isSimulated(config)) {
    return {
      simulated: true,
      host: null,
      baseUrl: null,
      name: 'simulated model',
      text: 'simulated model: no OPENAI_API_KEY is set, so its words follow rules; tools and figures are real',
    }
  }
  const baseUrl = config.model.base_url ?? openAiBaseUrl
  const { host } = new URL(baseUrl)
  return {
    simulated: false,
    host,
    baseUrl,
    name: `model ${config.model.name}`,
    text: `${config.model.name} at ${host}`,
  }
}
