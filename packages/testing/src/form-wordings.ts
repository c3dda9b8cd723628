// Servers' words for a refused form of the answer, from the public threads beside them. Nothing is invented.
import type { Wording } from './overflow-wordings.ts'

/** What the server refuses: any schema, any form beside tools, or this one schema. */
export type FormWording = Wording & { readonly refuses: 'form' | 'beside_tools' | 'schema' }

const errorBody = (message: string, more: object = {}): object => ({
  error: { message, type: 'invalid_request_error', ...more },
})

export const formWordings: readonly FormWording[] = [
  {
    server: 'DeepSeek',
    refuses: 'form',
    status: 400,
    body: errorBody('This response_format type is unavailable now', {
      param: null,
      code: 'invalid_request_error',
    }),
    url: 'https://github.com/llm-exe/llm-exe/issues/662',
  },
  {
    server: 'DeepSeek, earlier',
    refuses: 'form',
    status: 422,
    body: errorBody(
      'Failed to deserialize the JSON body into the target type: response_format: response_format.type `json_schema` is unavailable now at line 1 column 1193',
    ),
    url: 'https://github.com/BerriAI/litellm/issues/7580',
  },
  {
    server: 'OpenAI, an older model',
    refuses: 'form',
    status: 400,
    body: errorBody(
      "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more about supported models at the Structured Outputs guide: https://platform.openai.com/docs/guides/structured-outputs",
      { param: null, code: null },
    ),
    url: 'https://github.com/langchain-ai/langchain/issues/31490',
  },
  {
    server: 'Azure, an older version of the API',
    refuses: 'form',
    status: 400,
    body: {
      error: {
        code: 'BadRequest',
        message:
          'response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later',
      },
    },
    url: 'https://github.com/crmne/ruby_llm/issues/600',
  },
  {
    server: 'xAI',
    refuses: 'form',
    status: 400,
    body: {
      code: 'Client specified an invalid argument',
      error: 'The response_format parameter is unsupported at the moment. Leave it unset.',
    },
    url: 'https://github.com/BerriAI/litellm/issues/6610',
  },
  {
    server: 'Groq',
    refuses: 'beside_tools',
    status: 400,
    body: errorBody('json mode cannot be combined with tool/function calling'),
    url: 'https://github.com/vercel/ai/pull/16540',
  },
  {
    server: 'Groq, earlier',
    refuses: 'beside_tools',
    status: 400,
    body: errorBody('response_format` json_object cannot be combined with tool/function calling'),
    url: 'https://github.com/agno-agi/agno/issues/1065',
  },
  {
    server: 'Gemini',
    refuses: 'beside_tools',
    status: 400,
    body: [
      {
        error: {
          code: 400,
          message: "Function calling with a response mime type: 'application/json' is unsupported",
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    url: 'https://github.com/Simpleyyt/ai-manus/issues/101',
  },
  {
    server: 'Gemini, other tools',
    refuses: 'beside_tools',
    status: 400,
    body: [
      {
        error: {
          code: 400,
          message: "Tool use with a response mime type: 'application/json' is unsupported",
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    url: 'https://github.com/snailyp/gemini-balance/issues/264',
  },
  {
    server: 'Groq, a keyword',
    refuses: 'schema',
    status: 400,
    body: errorBody(
      'invalid schema for response format: response_format/json_schema/next_step: minItems is not supported',
    ),
    url: 'https://github.com/i-am-bee/beeai-framework/issues/1215',
  },
  {
    server: 'Cerebras, a keyword',
    refuses: 'schema',
    status: 400,
    body: {
      message: "Unsupported JSON schema fields: {'minItems', 'items'}",
      type: 'invalid_request_error',
      param: 'response_format',
      code: 'wrong_api_format',
    },
    url: 'https://github.com/musistudio/claude-code-router/issues/708',
  },
  {
    server: 'vLLM, a keyword',
    refuses: 'schema',
    status: 400,
    body: {
      object: 'error',
      message: 'The provided JSON schema contains features not supported by xgrammar.',
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    url: 'https://github.com/vllm-project/vllm/issues/16880',
  },
  {
    server: 'vLLM, a format',
    refuses: 'schema',
    status: 400,
    body: {
      object: 'error',
      message: 'Grammar error: Unknown format: uri',
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    url: 'https://github.com/z-lab/paroquant/issues/31',
  },
  {
    server: 'llama.cpp, a schema',
    refuses: 'schema',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'Failed to initialize samplers: failed to parse grammar',
        type: 'invalid_request_error',
      },
    },
    url: 'https://github.com/lidge-jun/opencodex/issues/2135',
  },
  {
    server: 'LM Studio, to the plain JSON mode',
    refuses: 'form',
    status: 400,
    body: { error: "'response_format.type' must be 'json_schema'" },
    url: 'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/189',
  },
]
