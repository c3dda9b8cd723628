// Checks the models that a daemon would have here. It sends them no prompt and never shows a key. It is used
// only if no daemon answers, because a daemon reports its own models (model-findings.ts).
import type { Config } from '@beaver/platform'
import type { Finding } from './check.ts'
import { modelFindings, simulatedModel } from './model-findings.ts'

export type ModelsConfig = Pick<Config, 'model' | 'apiKey' | 'apiKeys' | 'provider_limit_ms_max'> &
  Partial<Pick<Config, 'models' | 'modelKeys'>>

/** The findings about the endpoints of the configuration, each of which is asked now. */
export async function checkModels(config: ModelsConfig): Promise<Finding[]> {
  const [{ endpointsOf }, { endpointStates }] = await Promise.all([
    import('@beaver/daemon/model'),
    import('@beaver/daemon/endpoint-states'),
  ])
  const choice = endpointsOf(config)
  return choice === null ? [simulatedModel()] : modelFindings(await endpointStates(choice, { ask: true }))
}
