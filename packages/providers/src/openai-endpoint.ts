// An endpoint that speaks OpenAI's API, and how its failures are told.
// E1. The key goes to this endpoint only, and is in no message. E2. The client does not retry, and does not log.
import { BeaverError } from '@beaver/core'
import OpenAI from 'openai'
import { httpFetch } from './http-fetch.ts'
import type { AnsweringPlace } from './provider-failure.ts'
import { redactor } from './redact.ts'

export interface OpenAiEndpointOptions {
  /** As journals and reports name it: `openai`, `simulated`, … */
  readonly name: string
  /** Default `https://api.openai.com/v1`. */
  readonly baseURL?: string
  readonly apiKey: string
  /** The variable the key was read from, for messages; default `OPENAI_API_KEY`. */
  readonly keyName?: string
  readonly model: string
  /** For the whole call, the answer's body included. */
  readonly timeoutMs: number
  /** Default: `httpFetch()`. */
  readonly fetch?: typeof fetch
}

export interface OpenAiEndpoint {
  readonly client: OpenAI
  readonly place: AnsweringPlace
}

export const openAiBaseUrl = 'https://api.openai.com/v1'

/** @throws {BeaverError} `invalid_configuration` when `baseURL` is no http URL or the key is empty */
export function openAiEndpoint(options: OpenAiEndpointOptions): OpenAiEndpoint {
  const baseURL = options.baseURL ?? openAiBaseUrl
  const host = hostOf(baseURL)
  if (options.apiKey === '') throw new BeaverError('invalid_configuration', `The provider ${options.name} has an empty API key`)
  const client = new OpenAI({
    baseURL,
    apiKey: options.apiKey,
    adminAPIKey: null,
    maxRetries: 0,
    timeout: options.timeoutMs,
    // The client would log requests, headers included, to the console when OPENAI_LOG says so.
    logLevel: 'off',
    fetch: options.fetch ?? httpFetch(),
    // Someone else's endpoint does not learn the account's ids.
    ...(options.baseURL === undefined ? {} : { organization: null, project: null }),
  })
  return { client, place: { host, model: options.model, keyName: options.keyName ?? 'OPENAI_API_KEY', redact: redactor(options.apiKey) } }
}

function hostOf(baseURL: string): string {
  const url = URL.parse(baseURL)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new BeaverError('invalid_configuration', `The base URL of a provider must be an http or https URL, such as ${openAiBaseUrl}`)
  return url.host
}
