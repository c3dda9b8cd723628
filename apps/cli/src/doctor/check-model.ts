// The model: which one, and whether its endpoint answers. Nothing is asked of it, and the key is never shown.
import { type ModelConfig, modelInUse } from '../model.ts'
import { fail, type Finding, ok, warn } from './check.ts'

const answerMsMax = 3_000

export async function checkModel(config: ModelConfig): Promise<Finding> {
  const { simulated, baseUrl, host } = modelInUse(config)
  if (simulated || baseUrl === null)
    return warn(
      'model',
      'simulated: no OPENAI_API_KEY and no OPENAI_BASE_URL is set',
      'Set OPENAI_API_KEY, or OPENAI_BASE_URL for a local server, to use a real model.',
    )
  const model = `${config.model.name} at ${host}, key ${config.apiKey === null ? 'not set' : 'set'}`
  let status: number
  try {
    const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/models`, {
      headers: config.apiKey === null ? {} : { authorization: `Bearer ${config.apiKey}` },
      signal: AbortSignal.timeout(answerMsMax),
      redirect: 'manual',
    })
    status = response.status
    await response.body?.cancel()
  } catch (error) {
    return fail(
      'model',
      `${model}: it cannot be reached (${reasonOf(error)})`,
      'Check OPENAI_BASE_URL and the network; unset both variables to use the simulated model.',
    )
  }
  if (status === 401 || status === 403)
    return fail('model', `${model}: the key is refused (HTTP ${status})`, 'Set OPENAI_API_KEY to a valid key for this endpoint.')
  if (status >= 500) return warn('model', `${model}: it answers with HTTP ${status}`, 'The endpoint has trouble; try again later.')
  return ok('model', `${model}, answers`)
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${answerMsMax / 1000} s`
  const cause = error instanceof Error && error.cause instanceof Error ? (error.cause as NodeJS.ErrnoException) : null
  return cause?.code ?? cause?.message ?? 'no answer'
}
