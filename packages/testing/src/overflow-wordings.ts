// Servers' words for a conversation that is too long, and similar words for other refusals, from the public
// threads beside them. Nothing is invented, and the figures are the reported ones.

export interface Wording {
  readonly server: string
  readonly status: number
  readonly body: unknown
  readonly url: string
}

const errorBody = (message: string, more: object = {}): object => ({
  error: { message, type: 'invalid_request_error', ...more },
})

export const overflowWordings: readonly Wording[] = [
  {
    server: 'OpenAI',
    status: 400,
    body: errorBody(
      "This model's maximum context length is 4097 tokens. However, your messages resulted in 4301 tokens. Please reduce the length of the messages.",
      {
        param: 'messages',
        code: 'context_length_exceeded',
      },
    ),
    url: 'https://github.com/xtekky/gpt4free/issues/137',
  },
  {
    server: 'Anthropic, through a gateway',
    status: 400,
    body: { type: 'error', ...errorBody('prompt is too long: 210194 tokens > 200000 maximum') },
    url: 'https://github.com/microsoft/vscode/issues/293191',
  },
  {
    server: 'Anthropic, with the limit of the answer',
    status: 400,
    body: errorBody(
      'input length and `max_tokens` exceed context limit: 86888 + 119866 > 204648, decrease input length or max_tokens and try again',
    ),
    url: 'https://github.com/stackblitz/bolt.new/issues/7422',
  },
  {
    server: 'xAI',
    status: 400,
    body: {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    },
    url: 'https://github.com/cline/cline/issues/3120',
  },
  {
    server: 'Groq',
    status: 400,
    body: errorBody('Please reduce the length of the messages or completion.', {
      param: 'messages',
      code: 'context_length_exceeded',
    }),
    url: 'https://github.com/thepersonalaicompany/amurex-backend/issues/51',
  },
  {
    server: 'vLLM',
    status: 400,
    body: {
      object: 'error',
      message:
        "This model's maximum context length is 131072 tokens. However, you requested 156632 tokens (152536 in the messages, 4096 in the completion).",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    url: 'https://github.com/meta-llama/llama-verifications/issues/58',
  },
  {
    server: 'vLLM, the length of the model',
    status: 400,
    body: {
      error: {
        message: 'The decoder prompt (length 163840) is longer than the maximum model length of 131072.',
        type: 'BadRequestError',
        param: null,
        code: 400,
      },
    },
    url: 'https://github.com/thu-coai/Glyph/issues/9',
  },
  {
    server: 'vLLM, newer',
    status: 400,
    body: errorBody(
      "This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your prompt contains at least 134145 input tokens.",
    ),
    url: 'https://github.com/AIDotNet/OpenCowork/issues/82',
  },
  {
    server: 'DeepSeek',
    status: 400,
    body: errorBody(
      "This model's maximum context length is 131072 tokens. However, you requested 133034 tokens (125034 in the messages, 8000 in the completion).",
      {
        code: 'invalid_request_error',
      },
    ),
    url: 'https://github.com/stackblitz-labs/bolt.diy/issues/227',
  },
  {
    server: 'Kimi',
    status: 400,
    body: errorBody('Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)'),
    url: 'https://github.com/MoonshotAI/kimi-cli/issues/2011',
  },
  {
    server: 'Kimi, older',
    status: 400,
    body: errorBody('model max length exceeded, max length:8192'),
    url: 'https://github.com/MoonshotAI/MoonshotAI-Cookbook/issues/18',
  },
  {
    server: 'DashScope',
    status: 400,
    body: errorBody(
      '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]',
      {
        code: 'invalid_parameter_error',
        param: null,
      },
    ),
    url: 'https://github.com/agentscope-ai/QwenPaw/issues/6255',
  },
  {
    server: 'Zhipu',
    status: 400,
    body: { error: { code: '1261', message: 'Prompt exceeds max length' } },
    url: 'https://github.com/zeroclaw-labs/zeroclaw/issues/4124',
  },
  {
    server: 'SiliconFlow',
    status: 400,
    body: {
      code: 20015,
      message: 'length of prompt_tokens (48322) must be less than max_seq_len (32768).',
      data: null,
    },
    url: 'https://github.com/infiniflow/ragflow/issues/7060',
  },
  {
    server: 'TGI',
    status: 422,
    body: {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`',
      error_type: 'validation',
    },
    url: 'https://github.com/bytedance/UI-TARS-desktop/issues/626',
  },
  {
    server: 'TGI, the input alone',
    status: 422,
    body: {
      error: 'Input validation error: `inputs` must have less than 4096 tokens. Given: 4545',
      error_type: 'validation',
    },
    url: 'https://github.com/meta-llama/llama/issues/1103',
  },
  {
    server: 'SGLang',
    status: 400,
    body: {
      object: 'error',
      message: "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    url: 'https://github.com/QwenLM/Qwen3/issues/1321',
  },
  {
    server: 'SGLang, the memory of the server',
    status: 400,
    body: {
      object: 'error',
      message: 'Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).',
    },
    url: 'https://github.com/sgl-project/sglang/issues/4048',
  },
  {
    server: 'llama.cpp',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 4390,
        n_ctx: 4096,
      },
    },
    url: 'https://github.com/ggml-org/llama.cpp/issues/19774',
  },
  {
    server: 'llama.cpp, with the status of a broken server',
    status: 500,
    body: { error: { code: 500, message: 'Context size has been exceeded.', type: 'server_error' } },
    url: 'https://github.com/ggml-org/llama.cpp/issues/19774',
  },
  {
    server: 'llama-cpp-python',
    status: 500,
    body: {
      error: {
        message: 'Requested tokens (2285) exceed context window of 2048',
        type: 'internal_server_error',
      },
    },
    url: 'https://github.com/fedora-copr/logdetective-website/pull/193',
  },
  {
    server: 'LM Studio',
    status: 400,
    body: {
      error:
        'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
    },
    url: 'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546',
  },
  {
    server: 'LM Studio, newer',
    status: 400,
    body: {
      error:
        'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).',
    },
    url: 'https://github.com/Gitlawb/openclaude/issues/353',
  },
  {
    server: 'Copilot',
    status: 400,
    body: {
      error: {
        message: 'prompt token count of 93854 exceeds the limit of 90000',
        param: '',
        code: '',
        type: '',
      },
    },
    url: 'https://github.com/jjleng/copilot-more/issues/35',
  },
  {
    server: 'MiniMax',
    status: 400,
    body: errorBody('invalid params, context window exceeds limit (2013)'),
    url: 'https://github.com/MiniMax-AI/MiniMax-M2/issues/119',
  },
  {
    server: 'OpenRouter',
    status: 400,
    body: {
      error: {
        message:
          "This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 tokens (7884 of text input, 131072 in the output).",
        code: 400,
      },
    },
    url: 'https://github.com/OpenHands/OpenHands/issues/9937',
  },
  {
    server: 'DeepInfra, in the words of OpenRouter',
    status: 502,
    body: {
      error: {
        message: `ConnectionError: {"object": "error", "message": "This model's maximum context length is 16000 tokens. However, you requested 17165 tokens."}`,
        code: 502,
        metadata: { provider_name: 'DeepInfra', raw: { error_type: 'validation_error' } },
      },
    },
    url: 'https://github.com/ai-christianson/RA.Aid/issues/41',
  },
  {
    server: 'Gemini',
    status: 400,
    body: [
      {
        error: {
          code: 400,
          message: 'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    url: 'https://github.com/google-gemini/gemini-cli/issues/6678',
  },
  {
    server: 'Cerebras',
    status: 400,
    body: {
      message:
        'Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000',
      type: 'invalid_request_error',
    },
    url: 'https://github.com/cline/cline/issues/5140',
  },
  {
    server: 'Fireworks',
    status: 400,
    body: {
      error: {
        object: 'error',
        type: 'invalid_request_error',
        code: 'invalid_request_error',
        message: 'The prompt is too long: 40177, model maximum context length: 32767',
      },
    },
    url: 'https://github.com/fw-ai/cookbook/issues/134',
  },
  {
    server: 'Cohere',
    status: 400,
    body: {
      message:
        'too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.',
    },
    url: 'https://github.com/cohere-ai/sandbox-topically/issues/4',
  },
  {
    server: 'mlx-serve',
    status: 400,
    body: errorBody('Prompt exceeds maximum context length'),
    url: 'https://github.com/ddalcu/mlx-serve/issues/66',
  },
  {
    server: 'OpenAI, larger than the limit of a minute',
    status: 429,
    body: {
      error: {
        message:
          'Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 30601. The input or output tokens must be reduced in order to run successfully.',
        type: 'tokens',
        param: null,
        code: 'rate_limit_exceeded',
      },
    },
    url: 'https://github.com/DrShushen/climb/issues/13',
  },
]

/** Refusals that mention lengths and limits, with their failure class. */
export const otherWordings: readonly (Wording & {
  readonly class: 'provider_refused' | 'rate_limited' | 'provider_unavailable' | 'malformed_output'
})[] = [
  {
    server: 'Gemini: a limit for a minute, in the words of an empty account',
    status: 429,
    body: {
      error: {
        code: 429,
        message:
          'You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.',
        status: 'RESOURCE_EXHAUSTED',
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
            violations: [{ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier' }],
          },
        ],
      },
    },
    url: 'https://github.com/google-gemini/gemini-cli/issues/8437',
    class: 'rate_limited',
  },
  {
    server: 'OpenAI: the answer is too long',
    status: 400,
    body: errorBody(
      'max_tokens is too large: 20480. This model supports at most 16384 completion tokens, whereas you provided 20480.',
      { param: 'max_tokens' },
    ),
    url: 'https://github.com/tailcallhq/forgecode/issues/1185',
    class: 'provider_refused',
  },
  {
    server: 'OpenAI: the name of the field',
    status: 400,
    body: errorBody(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { param: 'max_tokens' },
    ),
    url: 'https://github.com/devnullvoid/dms-ai-assistant/issues/12',
    class: 'provider_refused',
  },
  {
    server: 'TGI: the answer is too long',
    status: 422,
    body: { error: 'Input validation error: `max_new_tokens` must be <= 192', error_type: 'validation' },
    url: 'https://github.com/huggingface/transformers/issues/28523',
    class: 'provider_refused',
  },
  {
    server: 'DashScope: the size of a batch',
    status: 400,
    body: errorBody(
      '<400> InternalError.Algo.InvalidParameter: Value error, batch size is invalid, it should not be larger than 10.: input.contents',
    ),
    url: 'https://github.com/jjyaoao/HelloAgents/issues/27',
    class: 'provider_refused',
  },
  {
    server: 'Kimi: no reason',
    status: 400,
    body: { error: { type: 'invalid_request_error', message: 'Invalid request Error' }, type: 'error' },
    url: 'https://github.com/MoonshotAI/Kimi-K2.5/issues/20',
    class: 'provider_refused',
  },
  {
    server: 'Bedrock: a limit over time',
    status: 429,
    body: { message: 'Too many tokens, please wait before trying again.' },
    url: 'https://github.com/RooCodeInc/Roo-Code/issues/5050',
    class: 'rate_limited',
  },
  {
    server: 'Bedrock, in the words of a gateway: a limit over time',
    status: 400,
    body: errorBody(
      'An error occurred (ThrottlingException) when calling the Converse operation: Too many tokens per day, please wait before trying again.',
    ),
    url: 'https://github.com/minorun365/agent-book/issues/29',
    class: 'rate_limited',
  },
  {
    server: 'Bedrock: the answer is too long',
    status: 400,
    body: errorBody(
      'The maximum tokens you requested exceeds the model limit of 2048. Try again with a maximum tokens value that is lower than 2048.',
    ),
    url: 'https://github.com/aws-samples/bedrock-access-gateway/issues/41',
    class: 'provider_refused',
  },
  {
    server: 'llama.cpp: what the model wrote cannot be read',
    status: 500,
    body: {
      error: {
        code: 500,
        message: 'The model produced output that does not match the expected peg-native format',
        type: 'server_error',
      },
    },
    url: 'https://github.com/ggml-org/llama.cpp/issues/26381',
    class: 'malformed_output',
  },
  {
    server: 'Ollama: what the model wrote cannot be read',
    status: 500,
    body: {
      error: `error parsing tool call: raw='ls -R', err=invalid character 'l' looking for beginning of value`,
    },
    url: 'https://github.com/continuedev/continue/issues/10221',
    class: 'malformed_output',
  },
  {
    server: 'Groq: what the model wrote cannot be read',
    status: 400,
    body: errorBody(
      "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
      { code: 'tool_use_failed' },
    ),
    url: 'https://github.com/groq/groq-typescript/issues/28',
    class: 'malformed_output',
  },
]
