// How to help an endpoint find the beginning of a request in its cache. Most endpoints need no help. Some
// need a key, so that the requests of one conversation reach the same machine, and some cache only what is
// marked. Without a setting, only an endpoint whose documentation asks for a way gets it; refusals are
// learned (cache-habits.ts).
//
// - OpenAI, Azure: `prompt_cache_key`; since GPT-5.6 also marks, which it sets itself at the newest message
//   (developers.openai.com/api/docs/guides/prompt-caching,
//   learn.microsoft.com/azure/foundry/openai/how-to/prompt-caching)
// - Mistral: `prompt_cache_key` (docs.mistral.ai/studio-api/conversations/advanced/prompt-caching)
// - xAI: the header `x-grok-conv-id`; `prompt_cache_key` in the Responses API
//   (docs.x.ai/developers/advanced-api-usage/prompt-caching/maximizing-cache-hits)
// - Fireworks: the header `x-session-affinity` (fireworks.ai/docs/guides/prompt-caching)
// - Claude at OpenRouter: marks in the parts of messages
//   (openrouter.ai/docs/guides/best-practices/prompt-caching)
// - Claude at LiteLLM: the same, but at the message for the result of a tool
//   (docs.litellm.ai/docs/completion/prompt_caching, github.com/NousResearch/hermes-agent/issues/89886)
// - Qwen at DashScope: the same as OpenRouter; without marks its cache may or may not hit
//   (alibabacloud.com/help/en/model-studio/context-cache)

import type { ChatRequest } from '@beaver/agent'

/** The operator's choice for an endpoint: send nothing, a key, marks, or both. */
export type CacheSetting = 'none' | 'key' | 'markers' | 'both'

/** How one endpoint gets the key, and whether it gets marks. */
export interface CacheWays {
  /** `field`: in the body, as `prompt_cache_key`. Otherwise the name of the header. `null`: not at all. */
  readonly key: 'field' | { readonly header: string } | null
  readonly markers: boolean
}

export interface CachedEndpoint {
  /** Absent: OpenAI's own. */
  readonly baseURL?: string
  readonly model: string
  /** Default: the way that the documentation of a known endpoint asks for. */
  readonly cache?: CacheSetting
  /** The header for the key. Default: the known header of the endpoint, or the field `prompt_cache_key`. */
  readonly cacheKeyHeader?: string
}

/**
 * @example
 * cacheWays({ model: 'gpt-5' }, 'chat_completions') // => { key: 'field', markers: false }
 * const local = { baseURL: 'http://127.0.0.1:8080/v1', model: 'qwen3' }
 * cacheWays(local, 'chat_completions') // => { key: null, markers: false }
 */
export function cacheWays(
  { baseURL, model, cache, cacheKeyHeader }: CachedEndpoint,
  protocol: 'chat_completions' | 'responses',
): CacheWays {
  const known = knownWays(
    baseURL === undefined ? 'api.openai.com' : (URL.parse(baseURL)?.hostname ?? ''),
    model,
    protocol,
  )
  if (cache === undefined)
    return cacheKeyHeader === undefined ? known : { ...known, key: { header: cacheKeyHeader } }
  const key = cacheKeyHeader === undefined ? (known.key ?? 'field') : { header: cacheKeyHeader }
  return {
    key: cache === 'key' || cache === 'both' ? key : null,
    markers: cache === 'markers' || cache === 'both',
  }
}

function knownWays(host: string, model: string, protocol: 'chat_completions' | 'responses'): CacheWays {
  if (host === 'api.openai.com' || host === 'api.mistral.ai' || host.endsWith('.openai.azure.com'))
    return { key: 'field', markers: false }
  if (host === 'api.x.ai')
    return { key: protocol === 'responses' ? 'field' : { header: 'x-grok-conv-id' }, markers: false }
  if (host === 'api.fireworks.ai') return { key: { header: 'x-session-affinity' }, markers: false }
  return {
    key: null,
    markers: host === 'openrouter.ai' && protocol === 'chat_completions' && /^~?anthropic\//i.test(model),
  }
}

/** The headers of one request. */
export const cacheHeaders = (
  { key }: CacheWays,
  { cache }: Pick<ChatRequest, 'cache'>,
): Readonly<Record<string, string>> =>
  key === null || key === 'field' || cache === undefined ? {} : { [key.header.toLowerCase()]: cache.key }
