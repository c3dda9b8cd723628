// An endpoint that speaks OpenAI's API, and the text of its failures. For plain chat completions the `openai`
// client (openai-client.ts) gives the address and the headers once, and we send the requests ourselves, which
// costs a third (docs/decisions/0110). The key goes only to this endpoint, and no message contains it.
import { BeaverError } from '@beaver/core'
import { hideSecrets } from '@beaver/core/secrets'
import { type HttpAnswer, httpPost, type HttpPost } from './http-post.ts'
import { type ClientHeaders, type ClientVariant, openAiBaseUrl, OpenAiClient } from './openai-client.ts'
import { type AnsweringPlace, EndpointRefusal } from './provider-failure.ts'
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
  /** The header with the key, such as Azure's `api-key`. Default: `Authorization: Bearer <key>`. */
  readonly keyHeader?: string
  /** The variant of the client if a key is not enough. Default: the plain one, with the key. */
  readonly variant?: ClientVariant
  /** The time for the whole call, including the body of the answer. */
  readonly timeoutMs: number
  /** Default: `httpPost()`, which has its own connection pool. */
  readonly http?: HttpPost
}

export interface EndpointRequest {
  readonly body: string
  /** Default: none. */
  readonly headers?: Readonly<Record<string, string>>
  /** Called when there is a connection and the request goes out. Default: nobody hears of it. */
  readonly onSent?: () => void
}

export interface OpenAiEndpoint {
  /**
   * Posts a JSON text to a path below the base URL. The headers of the request override those of the
   * endpoint. Their names are in small letters.
   *
   * @throws {EndpointRefusal} if the status of the answer is not 2xx; also the errors of the connection
   */
  post(path: string, request: EndpointRequest, signal: AbortSignal): Promise<HttpAnswer>
  readonly place: AnsweringPlace
}

/** @throws {BeaverError} `invalid_configuration` if `baseURL` is not an http URL or the key is empty */
export function openAiEndpoint(options: OpenAiEndpointOptions): OpenAiEndpoint {
  const baseURL = options.baseURL ?? openAiBaseUrl
  const host = hostOf(baseURL)
  const keyName = options.keyName ?? 'OPENAI_API_KEY'
  if (options.apiKey === '')
    throw new BeaverError('invalid_configuration', `The provider ${options.name} has an empty API key`)
  const redact = redactor(options.apiKey, keyName)
  const tokens = new Map<string, ReturnType<typeof hideSecrets>>()
  const { timeoutMs, variant = null } = options
  const http = options.http ?? httpPost()
  /** A key is known from the beginning. The tokens of a workload identity change. */
  function onToken(token: string): void {
    if (token === options.apiKey || tokens.has(token)) return
    tokens.set(token, hideSecrets([{ name: 'a token', value: token }]))
    for (const [oldest] of tokens) if (tokens.size > tokensKept) tokens.delete(oldest)
  }
  const redactAll = (text: string): string =>
    redact([...tokens.values()].reduce((clean, each) => each(clean), text))
  const client = new OpenAiClient({
    baseURL: options.baseURL ?? null,
    ...{ host, apiKey: options.apiKey, timeoutMs, variant, http, onToken, redact: redactAll },
  })
  const always = headersOf(options)
  let chat: ReturnType<OpenAiClient['addressOf']> | null = null

  async function post(
    path: string,
    { body, headers: own = {}, onSent }: EndpointRequest,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    if (path !== chatPath || variant !== null)
      return client.post(path, { body, headers: { ...withoutLogin(own), ...always }, onSent }, signal)
    const { url, headers } = await (chat ??= client.addressOf(path, always))
    const answer = await http(url, { ...own, ...headers }, body, signal, onSent)
    if (answer.status >= 200 && answer.status < 300) return answer
    throw new EndpointRefusal(answer.status, await bodyText(answer, host), answer.headers())
  }

  return { post, place: { host, model: options.model, keyName, redact: redactAll } }
}

const chatPath = '/chat/completions'
/** An earlier token may still be in an answer. */
const tokensKept = 4

/** A header of one request never replaces the key. */
const withoutLogin = (headers: Readonly<Record<string, string>>): ClientHeaders =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => name !== 'authorization' && name !== 'api-key'),
  )

/** The names are in small letters, as the client compares them. */
function headersOf({ headers = {}, keyHeader, apiKey }: OpenAiEndpointOptions): ClientHeaders {
  const lowerCaseHeaders = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
  return keyHeader === undefined
    ? lowerCaseHeaders
    : { ...lowerCaseHeaders, authorization: null, [keyHeader.toLowerCase()]: apiKey }
}

function hostOf(baseURL: string): string {
  const url = URL.parse(baseURL)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new BeaverError(
      'invalid_configuration',
      `The base URL of a provider must be an http or https URL, such as ${openAiBaseUrl}`,
    )
  return url.host
}

const longestShown = 300

/**
 * Makes a function that makes foreign text fit for a message: one line of bounded length, without the key in
 * any spelling. `keyName`: the variable with the key.
 */
function redactor(apiKey: string, keyName: string): (text: string) => string {
  const clean = hideSecrets([{ name: keyName, value: apiKey }])
  return (text) => {
    const line = clean(text).replace(/\s+/g, ' ').trim()
    return line.length > longestShown ? `${line.slice(0, longestShown)}…` : line
  }
}
