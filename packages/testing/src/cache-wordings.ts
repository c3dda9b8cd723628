// Servers' words for refused cache keys and marks, from the public threads beside them. Nothing is invented.
import type { Wording } from './overflow-wordings.ts'

/** What the server refuses: the key, any mark, or a mark in the part of a tool's result. */
export type CacheWording = Wording & { readonly refuses: 'key' | 'markers' | 'marks_in_results' }

const errorBody = (message: string, more: object = {}): object => ({
  error: { message, type: 'invalid_request_error', ...more },
})

export const cacheWordings: readonly CacheWording[] = [
  {
    server: 'NVIDIA',
    refuses: 'key',
    status: 400,
    body: {
      message: 'Validation: Unsupported parameter(s): prompt_cache_key',
      type: 'Bad Request',
      code: 400,
    },
    url: 'https://github.com/liliMozi/openhanako/issues/2512',
  },
  {
    server: 'NVIDIA, earlier',
    refuses: 'key',
    status: 400,
    body: {
      error:
        "[{'type': 'extra_forbidden', 'loc': ('body', 'prompt_cache_key'), 'msg': 'Extra inputs are not permitted', 'input': 'main'}]",
    },
    url: 'https://github.com/sipeed/picoclaw/issues/1019',
  },
  {
    server: 'Azure, a model of another maker',
    refuses: 'key',
    status: 400,
    body: errorBody('Unrecognized request argument supplied: prompt_cache_key', { param: null, code: null }),
    url: 'https://github.com/zed-industries/zed/issues/52000',
  },
  {
    server: 'Fireworks, the field in the spelling of a client',
    refuses: 'key',
    status: 400,
    body: errorBody(
      "Extra inputs are not permitted, field: 'promptCacheKey', value: 'ses_571eef633ffeactcBoB0qqtDme'",
    ),
    url: 'https://github.com/anomalyco/opencode/issues/4386',
  },
  {
    server: 'LiteLLM with Vertex',
    refuses: 'key',
    status: 400,
    body: errorBody(
      'litellm.BadRequestError: Vertex_aiException BadRequestError - b\'{"type":"error","error":{"type":"invalid_request_error","message":"promptCacheKey: Extra inputs are not permitted"},"request_id":"xx"}\'. Received Model Group=vertex_ai/claude4-sonnet',
    ),
    url: 'https://github.com/anomalyco/opencode/pull/3931',
  },
  {
    server: 'OpenCode Zen with GLM',
    refuses: 'markers',
    status: 400,
    body: errorBody(
      "Error from provider: Extra inputs are not permitted, field: 'messages[0].cache_control'",
    ),
    url: 'https://github.com/routatic/proxy/issues/10',
  },
  {
    server: 'Claude on Vertex',
    refuses: 'markers',
    status: 400,
    body: {
      type: 'error',
      error: { type: 'invalid_request_error', message: '*.cache_control: Extra inputs are not permitted' },
    },
    url: 'https://github.com/cg-dot/vertexai-cf-workers/pull/21',
  },
  {
    server: 'a gateway with a closed schema',
    refuses: 'markers',
    status: 400,
    body: errorBody("Invalid value for 'messages.0.cache_control'."),
    url: 'https://github.com/experientiallabs/experiential/pull/612',
  },
  {
    server: 'OpenAI, Responses',
    refuses: 'markers',
    status: 400,
    body: errorBody("Unknown parameter: 'input[0].content[0].cache_control'.", {
      param: 'input[0].content[0].cache_control',
      code: 'unknown_parameter',
    }),
    url: 'https://github.com/strands-agents/harness-sdk/pull/4201',
  },
  {
    server: 'a proxy that adds marks of its own',
    refuses: 'markers',
    status: 400,
    body: errorBody('A maximum of 4 blocks with cache_control may be provided. Found 5.'),
    url: 'https://github.com/NousResearch/hermes-agent/pull/13477',
  },
  {
    server: 'LiteLLM with Claude',
    refuses: 'marks_in_results',
    status: 400,
    body: errorBody(
      'litellm.BadRequestError: OpenAIException - Error from provider (Console): Upstream request failed: [invalid_request_error] messages.2.content.0.tool_result.content.0.cache_control: cache_control may not be specified within `tool_result.content`. Instead, place it directly on `tool_result`. Received',
    ),
    url: 'https://github.com/NousResearch/hermes-agent/issues/89886',
  },
]
