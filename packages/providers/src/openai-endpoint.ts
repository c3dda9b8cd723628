// An endpoint that speaks OpenAI's API, and the text of its failures. The `openai` client gives the address and the headers of a request.
// We send the request ourselves (http-post.ts).
// E1. The key goes to this endpoint only, and no message contains it.
// E2. One post is one request, without a retry and without a log.
// E3. The client has 230 modules. The first post loads it, so that a daemon can be ready without it (docs/decisions/0029).
import { BeaverError } from '@beaver/core'
import type OpenAI from 'openai'
import { type HttpAnswer, httpPost, type HttpPost } from './http-post.ts'
import { type AnsweringPlace, EndpointRefusal } from './provider-failure.ts'
import { redactor } from './redact.ts'
import { bodyText } from './response-body.ts'

export interface OpenAiEndpointOptions {
  /** Its name in journals and reports: `openai`, `simulated`, … */
  readonly name: string
  /** Default: `https://api.openai.com/v1`. */
  readonly baseURL?: string
  readonly apiKey: string
  /** The variable from which the key was read, for messages. Default: `OPENAI_API_KEY`. */
  readonly keyName?: string
  readonly model: string
  /** Further headers of each request. Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  /** The header that has the key, without `Bearer`: `api-key` of Azure. Default: `Authorization: Bearer <key>`. */
  readonly keyHeader?: string
  /** The time for the whole call, including the body of the answer. */
  readonly timeoutMs: number
  /** Default: `httpPost()`, which has its own connection pool. */
  readonly http?: HttpPost
}

export interface EndpointRequest {
  readonly body: string
  /** Default: none. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface OpenAiEndpoint {
  /**
   * Posts a JSON text to a path below the base URL. The headers of the endpoint come before those of the request, whose names are in small letters.
   *
   * @throws {EndpointRefusal} if the status of the answer is not 2xx; other errors are those of the connection
   */
  post(path: string, request: EndpointRequest, signal: AbortSignal): Promise<HttpAnswer>
  readonly place: AnsweringPlace
}

export const openAiBaseUrl = 'https://api.openai.com/v1'

/** @throws {BeaverError} `invalid_configuration` if `baseURL` is not an http URL or the key is empty */
export function openAiEndpoint(options: OpenAiEndpointOptions): OpenAiEndpoint {
  const baseURL = options.baseURL ?? openAiBaseUrl
  const host = hostOf(baseURL)
  const keyName = options.keyName ?? 'OPENAI_API_KEY'
  if (options.apiKey === '') throw new BeaverError('invalid_configuration', `The provider ${options.name} has an empty API key`)
  let made: Promise<OpenAI> | null = null
  const client = (): Promise<OpenAI> => (made ??= clientOf(options, baseURL))
  const http = options.http ?? httpPost()
  const addresses = new Map<string, Promise<Address>>()

  async function post(path: string, { body, headers: own = {} }: EndpointRequest, signal: AbortSignal): Promise<HttpAnswer> {
    let address = addresses.get(path)
    if (address === undefined) addresses.set(path, (address = client().then((made) => addressOf(made, path, options))))
    const { url, headers } = await address
    const answer = await http(url, { ...own, ...headers }, body, signal)
    if (answer.status >= 200 && answer.status < 300) return answer
    throw new EndpointRefusal(answer.status, await bodyText(answer, host), answer.headers())
  }

  return { post, place: { host, model: options.model, keyName, redact: redactor(options.apiKey, keyName) } }
}

async function clientOf(options: OpenAiEndpointOptions, baseURL: string): Promise<OpenAI> {
  const { OpenAI } = await import('openai')
  return new OpenAI({
    baseURL,
    apiKey: options.apiKey,
    adminAPIKey: null,
    maxRetries: 0,
    timeout: options.timeoutMs,
    // Otherwise the client would log requests with their headers to the console if OPENAI_LOG is set.
    logLevel: 'off',
    // Another company's endpoint must not learn the ids of the account.
    ...(options.baseURL === undefined ? {} : { organization: null, project: null }),
  })
}

function hostOf(baseURL: string): string {
  const url = URL.parse(baseURL)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new BeaverError('invalid_configuration', `The base URL of a provider must be an http or https URL, such as ${openAiBaseUrl}`)
  return url.host
}

/** The address and the headers with which the client would send a request. They never change. */
interface Address {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

async function addressOf(client: OpenAI, path: string, { apiKey, headers = {}, keyHeader }: OpenAiEndpointOptions): Promise<Address> {
  const { url, req } = await client.buildRequest({ method: 'post', path, headers: { 'content-type': 'application/json' } })
  const all = new Headers(req.headers as Headers)
  for (const [name, value] of Object.entries(headers)) all.set(name, value)
  if (keyHeader !== undefined) {
    all.delete('authorization')
    all.set(keyHeader, apiKey)
  }
  return { url: new URL(url), headers: Object.fromEntries(all) }
}
