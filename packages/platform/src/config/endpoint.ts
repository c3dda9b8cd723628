// An endpoint of models in the configuration: its address, its credentials, and how its model is asked.
import { modelSettings } from '@beaver/core'
import { z } from 'zod'

const headerName = z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header')

const workloadIdentity = z.strictObject({
  identity_provider_id: z.string().min(1, 'must not be empty').max(200),
  service_account_id: z.string().min(1, 'must not be empty').max(200),
  client_id: z.string().min(1, 'must not be empty').max(200).optional(),
  /**
   * What proves the place: a file that the place renews, or the metadata service of Azure for a resource, or
   * of Google Cloud for an audience.
   */
  token: z.union([
    z.strictObject({ file: z.string().min(1, 'must not be empty') }),
    z.strictObject({ azure: z.string().min(1, 'must not be empty') }),
    z.strictObject({ gcp: z.string().min(1, 'must not be empty') }),
  ]),
})

export const ofEachEndpoint = {
  /** An OpenAI-compatible endpoint, such as a local server. */
  base_url: z.url('must be a URL').optional(),
  /** The interface of the endpoint. Default: `chat_completions`. */
  protocol: z.enum(['chat_completions', 'responses']).optional(),
  /**
   * Whether a server of the Responses API keeps its answers. Default: no, and what its model thought is in
   * the journal.
   */
  store: z.boolean().optional(),
  /** How the model is asked. Default: as the server decides. */
  settings: modelSettings.prefault({}),
  /**
   * The context window of the model. A conversation is shortened before it is longer. Default: not known, and
   * the server says when it is too long.
   */
  context_tokens: z.int().min(1_000).max(100_000_000).optional(),
  /** Whether the model takes images. Default: its server says so when it is asked. */
  images: z.boolean().optional(),
  /**
   * When the endpoint itself is asked for an answer of a JSON Schema: in each request, in requests without
   * tools, or never. The prompt always says it. Default: `native` at OpenAI's own URL, otherwise `auto`.
   */
  structured_output: z.enum(['native', 'auto', 'prompt']).optional(),
  /** Further headers of each request. They are no place for keys. */
  headers: z.record(headerName, z.string().max(4_000)).default({}),
  /** The header that has the key. Default: `Authorization: Bearer <key>`. */
  key_header: headerName.optional(),
  /**
   * Azure OpenAI with dated versions of its interface: the address is that of a deployment, and the key is in
   * the header `api-key`.
   */
  azure: z
    .strictObject({
      api_version: z.string().min(1, 'must not be empty').max(100),
      /** Default: the name of the model. */
      deployment: z.string().min(1, 'must not be empty').max(200).optional(),
    })
    .optional(),
  /**
   * OpenAI gives a token to a program whose place it trusts, such as a Kubernetes cluster. There is no key.
   */
  workload_identity: workloadIdentity.optional(),
  /**
   * How the cache of the endpoint is helped to find the beginning of a request: by a key, which is the same
   * for the requests of one agent of a session; by marks in the messages; by both; or not. Default: what the
   * documentation of a known endpoint asks for, otherwise `none`.
   */
  cache: z.enum(['none', 'key', 'markers', 'both']).optional(),
  /**
   * The header that has the key for the cache. Default: the field `prompt_cache_key`, or the header of a
   * known endpoint.
   */
  cache_key_header: headerName.optional(),
}

/**
 * An OpenAI-compatible endpoint besides the main one. Its key comes from the environment. With the main URL
 * it may use the main key.
 */
export const endpoint = z.strictObject({ ...ofEachEndpoint, name: z.string().min(1) })
export type EndpointConfig = z.output<typeof endpoint>

/**
 * The limits of one endpoint and model, for all loops of the daemon together, and how long a call may take.
 * Default: those of `model`.
 */
export const limitsOfEndpoint = {
  timeout_ms: z.int().min(100).max(3_600_000).optional(),
  idle_ms: z.int().min(100).max(3_600_000).optional(),
  requests_per_minute_max: z.int().min(1).max(10_000_000).optional(),
  tokens_per_minute_max: z.int().min(1).max(10_000_000_000).optional(),
  circuit_failures_max: z.int().min(1).max(10_000).optional(),
  circuit_open_ms: z.int().min(10).max(3_600_000).optional(),
}

/**
 * Whether the simulated model takes the place of the main one, because nothing says where a model is or who
 * asks.
 */
export const isSimulated = ({
  apiKey,
  model,
}: {
  readonly apiKey: string | null
  readonly model: Partial<EndpointConfig>
}): boolean => apiKey === null && model.base_url === undefined && model.workload_identity === undefined

/** What one endpoint cannot have together. */
export function faultOfLogin({
  azure,
  workload_identity,
  key_header,
  base_url,
}: Partial<EndpointConfig>): string | null {
  if (azure !== undefined && workload_identity !== undefined)
    return 'has "azure" and "workload_identity"; an endpoint has one of them'
  if (azure !== undefined && key_header !== undefined)
    return 'has "azure" and "key_header"; with "azure" the key is in the header "api-key"'
  if (workload_identity !== undefined && key_header !== undefined)
    return 'has "workload_identity" and "key_header", but there is no key'
  return azure !== undefined && base_url === undefined
    ? 'has "azure", so it needs "base_url", such as "https://example.openai.azure.com/openai"'
    : null
}

/** What a model or an endpoint is called in the configuration, in profiles and in workflows. */
export const modelName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be 1 to 64 letters, digits, ".", "_" or "-"')
