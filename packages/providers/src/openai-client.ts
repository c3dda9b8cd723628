// Requests through the `openai` client. It makes the address, the headers and the login, also for Azure and
// for a workload identity. We send the request (http-post.ts) and read the raw answer, because servers send
// more than the client knows. There is no retry or log; only a refused token of a workload identity is
// renewed once. The client has 230 modules, so the first post loads it (docs/decisions/0029).
import { ProviderError } from '@beaver/agent'
import { messageOf } from '@beaver/core'
import type { ClientOptions, OpenAI } from 'openai'
import type { SubjectTokenProvider } from 'openai/auth'
import type { HttpAnswer, HttpPost } from './http-post.ts'
import { EndpointRefusal } from './provider-failure.ts'
import { bodyText } from './response-body.ts'

export type ClientVariant = { readonly azure: AzureVariant } | { readonly workloadIdentity: WorkloadIdentity }

/** Azure OpenAI with dated versions of its API. Its key is in the header `api-key`. */
export interface AzureVariant {
  readonly apiVersion: string
  /** Default: the name of the model. */
  readonly deployment?: string
}

/** OpenAI gives a token to a program whose place it trusts, such as a Kubernetes cluster. There is no key. */
export interface WorkloadIdentity {
  readonly identityProviderId: string
  readonly serviceAccountId: string
  readonly clientId?: string
  /**
   * The proof: a file that the place renews, or the metadata service of Azure (resource) or GCP (audience).
   */
  readonly token: { readonly file: string } | { readonly azure: string } | { readonly gcp: string }
}

export interface ClientSettings {
  /** `null`: OpenAI's own. */
  readonly baseURL: string | null
  readonly host: string
  readonly apiKey: string
  readonly timeoutMs: number
  readonly variant: ClientVariant | null
  readonly http: HttpPost
  /** Receives the tokens that the client sends, so that messages can mask them. */
  readonly onToken: (token: string) => void
  readonly redact: (text: string) => string
}

/** A name with `null` is not sent. */
export type ClientHeaders = Readonly<Record<string, string | null>>

export interface ClientCall {
  readonly body: string
  readonly headers: ClientHeaders
  readonly onSent?: (() => void) | undefined
}

/** How long OpenAI may take to give a token, in milliseconds. */
const tokenMsMax = 30_000

/** What we pass through the client to `fetch` with a model's request. The client's own requests have none. */
interface Asked {
  readonly caller?: AbortSignal
  readonly onSent?: (() => void) | undefined
}

export class OpenAiClient {
  readonly #settings: ClientSettings
  /** The answers whose bodies we read, by the client's response. */
  readonly #answers = new WeakMap<Response, HttpAnswer>()
  /** The texts of refusals, by their headers: the client drops parts that it does not know. */
  readonly #refusals = new WeakMap<Headers, string>()
  #made: Promise<Made> | null = null

  constructor(settings: ClientSettings) {
    this.#settings = settings
  }

  /** @throws {EndpointRefusal} if the status of the answer is not 2xx; also the errors of the connection */
  async post(path: string, { body, headers, onSent }: ClientCall, signal: AbortSignal): Promise<HttpAnswer> {
    const { client, isNoToken } = await this.#ready()
    // Azure's client reads the model from the body.
    const sent: unknown = 'azure' in (this.#settings.variant ?? {}) ? JSON.parse(body) : body
    const fetchOptions: object = { caller: signal, onSent } satisfies Asked
    try {
      // The client waits for a token also after an abort.
      const response = await untilAborted(
        client
          .post(path, {
            body: sent,
            headers: { 'content-type': 'application/json', ...headers },
            signal,
            fetchOptions,
          })
          .asResponse(),
        signal,
      )
      const answer = this.#answers.get(response)
      if (answer === undefined) throw new Error('The client handed on an answer that it was not given.')
      return answer
    } catch (error) {
      if (error instanceof ProviderError) throw error
      throw isNoToken(error) ? this.#noToken(error.message) : this.#reasonOf(error)
    }
  }

  /** The constant address and headers, for requests that need nothing else of the client. */
  async addressOf(path: string, headers: ClientHeaders): Promise<Address> {
    const { client } = await this.#ready()
    const { url, req } = await client.buildRequest({
      method: 'post',
      path,
      headers: { 'content-type': 'application/json', ...headers },
    })
    return { url: new URL(url), headers: Object.fromEntries(new Headers(req.headers as Headers)) }
  }

  #ready(): Promise<Made> {
    return (this.#made ??= this.#make())
  }

  async #make(): Promise<Made> {
    const { APIError, AzureOpenAI, OpenAI, OpenAIError } = await import('openai')
    const isNoToken = (error: unknown): error is Error =>
      error instanceof OpenAIError && !(error instanceof APIError)
    const { baseURL, apiKey, timeoutMs, variant } = this.#settings
    const common = {
      maxRetries: 0,
      // The call's watch ends the call.
      timeout: timeoutMs + 5_000,
      // Otherwise the client logs requests with their headers to the console if OPENAI_LOG is set.
      logLevel: 'off',
      fetch: (url, init) => this.#fetch(url as string, init),
      adminAPIKey: null,
      // Otherwise OPENAI_BASE_URL decides where the key goes.
      baseURL: baseURL ?? openAiBaseUrl,
      // Another company's endpoint must not learn the ids of the account.
      ...(baseURL === null ? {} : { organization: null, project: null }),
    } satisfies ClientOptions
    const provider =
      variant !== null && 'workloadIdentity' in variant
        ? await subjectTokens(variant.workloadIdentity.token)
        : null
    const client = (): OpenAI => {
      if (variant === null) return new OpenAI({ ...common, apiKey })
      if ('azure' in variant) return new AzureOpenAI({ ...common, apiKey, ...variant.azure })
      return new OpenAI({
        ...common,
        apiKey: null,
        workloadIdentity: { ...variant.workloadIdentity, provider: provider as SubjectTokenProvider },
      })
    }
    return { client: baseURL === null ? client() : withoutHeadersOfEnvironment(client), isNoToken }
  }

  async #fetch(url: string, { headers, body, caller, onSent }: RequestInit & Asked = {}): Promise<Response> {
    if (caller === undefined)
      return this.#fetchToken(new URL(url), { headers: new Headers(headers), body: body as string })
    const sent = new Headers(headers)
    const [scheme, token] = (sent.get('authorization') ?? '').split(' ')
    if (scheme === 'Bearer' && token !== undefined) this.#settings.onToken(token)
    // The client's own signal may end with its response. The caller's lasts while the body is read.
    const answer = await this.#settings.http(
      new URL(url),
      Object.fromEntries(sent),
      body as string,
      caller,
      onSent,
    )
    if (answer.status >= 200 && answer.status < 300) {
      const response = new Response(null, { status: answer.status, headers: answer.headers() })
      this.#answers.set(response, answer)
      return response
    }
    const text = await bodyText(answer, this.#settings.host)
    const response = new Response(text === '' ? null : text, {
      status: answer.status,
      headers: answer.headers(),
    })
    this.#refusals.set(response.headers, text)
    return response
  }

  /** @throws {ProviderError} */
  async #fetchToken(
    url: URL,
    { headers, body }: { readonly headers: Headers; readonly body: string },
  ): Promise<Response> {
    const proof = (JSON.parse(body) as { subject_token?: string }).subject_token
    if (proof !== undefined) this.#settings.onToken(proof)
    const { http } = this.#settings
    const answer = await http(url, Object.fromEntries(headers), body, AbortSignal.timeout(tokenMsMax)).catch(
      (error: unknown) => {
        throw this.#noToken(`${url.host} cannot be reached: ${messageOf(error)}`)
      },
    )
    const { status } = answer
    const text = await bodyText(answer, url.host)
    if (status >= 200 && status < 300) return new Response(text, { status, headers: answer.headers() })
    throw this.#noToken(
      `${url.host} answered with HTTP ${status}: ${text}`,
      [400, 401, 403].includes(status) ? 'provider_refused' : 'provider_unavailable',
    )
  }

  /** The original reason, before the client put the failure into its own words. */
  #reasonOf(error: unknown): unknown {
    if (!(error instanceof Error)) return error
    const { status, headers } = error as { status?: number; headers?: Headers }
    if (status === undefined || headers === undefined) return error.cause ?? error
    return new EndpointRefusal(status, this.#refusals.get(headers) ?? error.message, headers)
  }

  #noToken(
    reason: string,
    failure: 'provider_unavailable' | 'provider_refused' = 'provider_unavailable',
  ): ProviderError {
    const says = this.#settings.redact(reason)
    return new ProviderError(
      failure,
      `There is no token for the endpoint ${this.#settings.host}: ${says.replace(/\.$/, '')}. Check "workload_identity" in the configuration.`,
    )
  }
}

interface Made {
  readonly client: OpenAI
  readonly isNoToken: (error: unknown) => error is Error
}

interface Address {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

export const openAiBaseUrl = 'https://api.openai.com/v1'

/** The client sends the lines of this variable, `Name: value`, with each request. They are for OpenAI. */
function withoutHeadersOfEnvironment<Made>(make: () => Made): Made {
  const { OPENAI_CUSTOM_HEADERS: given } = process.env
  delete process.env['OPENAI_CUSTOM_HEADERS']
  try {
    return make()
  } finally {
    if (given !== undefined) process.env['OPENAI_CUSTOM_HEADERS'] = given
  }
}

async function subjectTokens(token: WorkloadIdentity['token']): Promise<SubjectTokenProvider> {
  const { k8sServiceAccountTokenProvider, azureManagedIdentityTokenProvider, gcpIDTokenProvider } =
    await import('openai/auth')
  if ('file' in token) return k8sServiceAccountTokenProvider(token.file)
  return 'azure' in token ? azureManagedIdentityTokenProvider(token.azure) : gcpIDTokenProvider(token.gcp)
}

export async function untilAborted<Value>(promise: PromiseLike<Value>, signal: AbortSignal): Promise<Value> {
  const aborted = Promise.withResolvers<never>()
  const stop = (): void => aborted.reject(signal.reason as Error)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
