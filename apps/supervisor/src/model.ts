// Which model this daemon uses: the configured endpoint, or the simulated model when there is no key and no endpoint.
import type { Config } from '@beaver/config'
import { messageOf } from '@beaver/core'
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
    const choice = {
      provider: baseURL === undefined ? 'openai' : 'openai-compatible',
      baseURL: baseURL ?? null,
      apiKey: config.apiKey ?? 'none',
      model,
      timeoutMs,
    }
    return { choice, close: async () => {} }
  }
  return keepSimulatedModel(timeoutMs)
}

const restartPauseMsMin = 200
const restartPauseMsMax = 10_000

/** The simulated model beside the daemon, started again on the same port when it dies. Meanwhile calls fail and are retried. */
async function keepSimulatedModel(timeoutMs: number): Promise<ChosenModel> {
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
    choice: { provider: 'simulated', baseURL: `${simulated.url}/v1`, apiKey: 'none', model: simulatedModelName, timeoutMs },
    async close() {
      closing = true
      await simulated.close()
    },
  }
}
