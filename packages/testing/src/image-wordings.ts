// Servers' words for requests with images that they cannot use, from public threads.

export interface ImageWording {
  readonly server: string
  readonly status: number
  readonly body: unknown
  readonly source: string
}

export const imageWordings: readonly ImageWording[] = [
  {
    server: 'OpenAI',
    status: 400,
    body: {
      error: {
        message: 'Invalid content type. image_url is only supported by certain models.',
        type: 'invalid_request_error',
        param: 'messages.[0].content.[1].type',
        code: null,
      },
    },
    source: 'https://github.com/vllm-project/vllm/issues/11629',
  },
  {
    server: 'OpenRouter, upstream',
    status: 400,
    body: {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          provider_name: 'OpenAI',
          raw: '{"error": {"message": "Invalid content type. image_url is only supported by certain models."}}',
        },
      },
    },
    source: 'https://github.com/danny-avila/LibreChat/issues/6333',
  },
  {
    server: 'OpenRouter',
    status: 404,
    body: { error: { message: 'No endpoints found that support image input', code: 404 } },
    source: 'https://github.com/NousResearch/hermes-agent/pull/23411',
  },
  {
    server: 'DeepSeek',
    status: 400,
    body: {
      error: {
        message:
          'Failed to deserialize the JSON body into the target type: messages[11]: unknown variant `image_url`, expected `text` at line 1 column 53929',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_request_error',
      },
    },
    source: 'https://github.com/BenedictKing/ccx/issues/95',
  },
  {
    server: 'DeepSeek, quoted otherwise',
    status: 400,
    body: {
      error: {
        message:
          'Failed to deserialize the JSON body into the target type: messages[137]: unknown variant image_url, expected text at line 1 column 460917',
      },
    },
    source: 'https://github.com/nesquena/hermes-webui/issues/2297',
  },
  {
    server: 'vLLM',
    status: 400,
    body: {
      object: 'error',
      message: 'Qwen/Qwen3-8B is not a multimodal model',
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    source: 'https://github.com/vllm-project/vllm/issues/19144',
  },
  {
    server: 'llama.cpp',
    status: 500,
    body: {
      error: {
        code: 500,
        message:
          'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
        type: 'server_error',
      },
    },
    source: 'https://github.com/ggml-org/llama.cpp/issues/15377',
  },
  {
    server: 'llama.cpp, older',
    status: 500,
    body: {
      error: { code: 500, message: 'image input is not supported by this server', type: 'server_error' },
    },
    source: 'https://github.com/ggml-org/llama.cpp/issues/13566',
  },
  {
    server: 'Ollama',
    status: 400,
    body: {
      error: {
        message: 'this model does not support image input (ref: b8bd630e-4a39-4b57-82af-9158ee9d5703)',
        type: 'invalid_request_error',
      },
    },
    source: 'https://github.com/ollama/ollama/issues/17301',
  },
  {
    server: 'Groq',
    status: 400,
    body: {
      error: {
        message:
          "'messages.0' : for 'role:user' the following must be satisfied[('messages.0.content' : value must be a string)]",
        type: 'invalid_request_error',
      },
    },
    source: 'https://github.com/gptme/gptme/pull/896',
  },
  {
    server: 'Groq, older',
    status: 400,
    body: { error: { message: 'messages[0].content must be a string', type: 'invalid_request_error' } },
    source: 'https://github.com/vercel/ai/issues/2837',
  },
  {
    server: 'a server on pydantic',
    status: 422,
    body: {
      detail: [
        {
          type: 'literal_error',
          loc: ['body', 'messages', 0, 'content', 'list[TextContentPart]', 0, 'type'],
          msg: "Input should be 'text'",
        },
      ],
    },
    source: 'https://github.com/thinking-machines-lab/tinker-feedback/issues/83',
  },
  {
    server: 'Gemini',
    status: 400,
    body: {
      error: {
        code: 400,
        message: 'Image input modality is not enabled for models/gemini-pro',
        status: 'INVALID_ARGUMENT',
      },
    },
    source: 'https://github.com/google/generative-ai-docs/issues/513',
  },
  {
    server: 'with a short form of the same words',
    status: 400,
    body: { error: { message: "This model doesn't support image input. Supported formats: text." } },
    source: 'https://github.com/ollama/ollama/issues/17301',
  },
]

/** Refusals of one unusable image, by models that take images. */
export const badImageWordings: readonly ImageWording[] = [
  {
    server: 'OpenAI',
    status: 400,
    body: {
      error: {
        message: 'You uploaded an unsupported image. Please make sure your image is valid.',
        type: 'invalid_request_error',
        code: null,
      },
    },
    source: 'https://github.com/marketing-factory/ai-filemetadata/issues/26',
  },
  {
    server: 'Anthropic',
    status: 400,
    body: { type: 'error', error: { type: 'invalid_request_error', message: 'Could not process image' } },
    source: 'https://github.com/anthropics/claude-code/issues/25592',
  },
  {
    server: 'Anthropic, another kind',
    status: 400,
    body: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message:
          'messages.18.content.1.image.source.base64.data: Image does not match the provided media type image/png',
      },
    },
    source: 'https://github.com/anthropics/claude-code/issues/17452',
  },
  {
    server: 'Anthropic, too large',
    status: 400,
    body: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message:
          'messages.58.content.2.image.source.base64: image exceeds 5 MB maximum: 6500712 bytes > 5242880 bytes',
      },
    },
    source: 'https://github.com/gptme/gptme/issues/185',
  },
  {
    server: 'Anthropic, too wide',
    status: 400,
    body: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message:
          'messages.19.content.27.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels',
      },
    },
    source: 'https://github.com/anthropics/claude-code/issues/24630',
  },
  {
    server: 'Gemini',
    status: 400,
    body: { error: { code: 400, message: 'Provided image is not valid.', status: 'INVALID_ARGUMENT' } },
    source: 'https://github.com/google-gemini/gemini-cli/issues/27244',
  },
  {
    server: 'a server that names the formats',
    status: 400,
    body: { error: { message: 'invalid image format, only bmp/gif/png/jpeg/webp are supported' } },
    source: 'https://github.com/XiaomiMiMo/MiMo-Code/pull/362',
  },
]

/** Refusals of too many images, each with the accepted number. */
export const imageCountWordings: readonly (ImageWording & { readonly most: number })[] = [1, 5].map(
  (most) => ({
    server: 'vLLM',
    status: 400,
    body: {
      object: 'error',
      message: `At most ${most} image(s) may be provided in one request.`,
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
    source:
      most === 1
        ? 'https://github.com/vllm-project/vllm/issues/9739'
        : 'https://github.com/vllm-project/vllm/issues/17092',
    most,
  }),
)
