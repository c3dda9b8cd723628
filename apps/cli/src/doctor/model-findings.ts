// Decides, in pure functions, what is wrong with the endpoints of models. The states come from a daemon or,
// if none runs, are those that a daemon would have here. An endpoint that was not asked is not called sound.
// Only the main model is necessary; without another endpoint, Beaver continues with less.
import type { DaemonStatus, EndpointState } from '@beaver/contracts'
import { duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { fail, type Finding, ok, warn } from './check.ts'

/** The setting that has the endpoint's address, and what Beaver lacks without the endpoint. */
function placeOf(name: string): {
  readonly where: string
  readonly without: string
  readonly needed: boolean
} {
  switch (name) {
    case 'model':
      return {
        where: 'OPENAI_BASE_URL or model.base_url',
        without: 'No task can go on without it.',
        needed: true,
      }
    case 'fallback':
      return {
        where: 'model.fallback.base_url',
        without: 'Beaver asks it if the main model does not answer.',
        needed: false,
      }
    case 'auxiliary':
      return {
        where: 'model.auxiliary.base_url',
        without: 'It chooses skills and summarizes conversations that are too long.',
        needed: false,
      }
    case 'embeddings':
      return {
        where: 'model.embeddings.base_url',
        without: 'Without it, Beaver searches for skills by words and not by meaning.',
        needed: false,
      }
    default:
      return {
        where: `${name.replace(/^model /, 'models.')}.base_url`,
        without: 'Agents that name it fail without it.',
        needed: false,
      }
  }
}

export const simulatedModel = (): Finding =>
  warn(
    'model',
    'simulated: no OPENAI_API_KEY and no OPENAI_BASE_URL is set',
    'Set OPENAI_API_KEY, or OPENAI_BASE_URL for a local server, to use a real model.',
  )

/** The findings about the endpoints of the daemon that answered. */
export function daemonEndpoints({ daemon, endpoints }: DaemonStatus): Finding[] {
  if (endpoints === undefined)
    return [
      warn(
        'model',
        `nobody looked at the endpoints of ${daemon}, because it is of an older version`,
        'Start it again with this version of Beaver.',
      ),
    ]
  return modelFindings(endpoints)
}

export function modelFindings(endpoints: readonly EndpointState[]): Finding[] {
  // If several names share an endpoint and a model, the state of the first name is for all of them.
  return endpoints.map(findingOf)
}

function unusable(status: number): string {
  if (status === 404 || status === 405) return 'it does not have the model or the path'
  return status < 300 ? 'its answer is not JSON' : 'it sends calls elsewhere, which Beaver does not follow'
}

function findingOf(endpoint: EndpointState): Finding {
  const { name, provider, model, host, answer, circuit_open_ms: openMs } = endpoint
  if (provider === 'simulated') return simulatedModel()
  if (host === null) return ok(name, `${model}, which a program brings`)
  const said = `${model} at ${host}, key ${endpoint.key_set ? 'set' : 'not set'}`
  const { where, without, needed } = placeOf(name)
  const bad = needed ? fail : warn
  const check = `Check ${where} and the network. ${without}`
  if (answer?.reason !== undefined && answer.reason !== null)
    return bad(name, `${said}: it cannot be reached (${oneLine(answer.reason)})`, check)
  const status = answer?.status ?? null
  if (status === 401 || status === 403)
    return bad(
      name,
      `${said}: it refuses the key (HTTP ${status})`,
      `Set ${endpoint.key_name ?? 'its key'} to a valid key for this endpoint.`,
    )
  if (endpoint.protocol === 'responses' && (status === 404 || status === 405))
    return bad(
      name,
      `${said}: it does not have the Responses API (HTTP ${status})`,
      'Check its base_url, or leave out "protocol": "responses".',
    )
  if (status !== null && status >= 500)
    return (answer?.usable === false ? bad : warn)(
      name,
      `${said}: it answers with HTTP ${status}`,
      'The endpoint has a fault. Try again later.',
    )
  if (status !== null && answer?.usable === false)
    return bad(
      name,
      `${said}: ${unusable(status)} (HTTP ${status})`,
      `Check the name of the model and ${where}.`,
    )
  if (openMs > 0)
    return warn(
      name,
      `${said}: its last answers were failures, so it is not asked for ${duration(openMs)}`,
      check,
    )
  return status === null ? ok(name, `${said}, not asked now`) : ok(name, `${said}, answers`)
}
