// How servers of nine makers write the same two answers in the Responses API: a call of get_weather for
// Paris, and "It is sunny in Paris.", whole and streamed. The forms come from documentation, source and
// public threads; no live server was asked.
import { type Forms, weatherAnswer, weatherCall } from './dialects.ts'

export interface ResponsesDialect {
  readonly name: string
  readonly quirks: readonly string[]
  readonly sources: readonly string[]
  readonly call: Forms
  readonly answer: Forms
  /** The thoughts that the next request must have before the call. Default: none. */
  readonly goesBack?: readonly object[]
  /** Which words of overflow-wordings.ts it uses for a conversation that is too long. Default: OpenAI's. */
  readonly overflow?: string
  /** Whether a stream ends with `[DONE]`. OpenAI's does not. */
  readonly done?: boolean
}

const reference = 'https://platform.openai.com/docs/api-reference/responses-streaming'
const usage = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 5 },
  output_tokens: 8,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 28,
}
const head = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_780_000_000,
  model: 'm',
  error: null,
  incomplete_details: null,
}
const event = (type: string, fields: object = {}): object => ({ type, ...fields })
const whole = (output: readonly object[], over: object = {}): object => ({
  ...head,
  status: 'completed',
  output,
  usage,
  ...over,
})

/** What a server leaves out of an incomplete item. */
const emptied = (item: object): object => ({
  ...item,
  status: 'in_progress',
  ...('content' in item ? { content: [] } : {}),
  ...('arguments' in item ? { arguments: '' } : {}),
  ...('encrypted_content' in item ? { encrypted_content: null } : {}),
})

/** A stream as OpenAI sends it: each item begins, comes in pieces and ends. */
function streamOf(
  output: readonly object[],
  pieces: (item: object, place: object) => readonly object[],
  over: object = {},
): object[] {
  const begun = { ...head, status: 'in_progress', output: [], usage: null, ...over }
  const items = output.flatMap((item, output_index) => {
    const place = { item_id: (item as { id?: string }).id, output_index }
    return [
      event('response.output_item.added', { output_index, item: emptied(item) }),
      ...pieces(item, place),
      event('response.output_item.done', { output_index, item }),
    ]
  })
  const events = [
    event('response.created', { response: begun }),
    event('response.in_progress', { response: begun }),
    ...items,
  ]
  return [...events, event('response.completed', { response: whole(output, over) })].map(
    (each, sequence_number) => ({ ...each, sequence_number }),
  )
}

/** The dialects with a call of `asked` and an answer of `text`, which has at least two words. */
export function responsesDialectsWith(
  asked: { readonly name: string; readonly arguments: object },
  text: string,
): readonly ResponsesDialect[] {
  const middle = text.indexOf(' ', text.length / 2)
  const json = JSON.stringify(asked.arguments)
  const half = Math.floor(json.length / 2)
  const thought = 'The user asks for Paris.'

  const call = (over: object = {}): object => ({
    ...{
      id: 'fc_1',
      type: 'function_call',
      status: 'completed',
      arguments: json,
      call_id: 'call_1',
      name: asked.name,
    },
    ...over,
  })
  const message = (over: object = {}): object => ({
    ...{
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', annotations: [], logprobs: [], text }],
    },
    ...over,
  })
  const plainThought = {
    id: 'rs_1',
    type: 'reasoning',
    summary: [],
    content: [{ type: 'reasoning_text', text: thought }],
    encrypted_content: null,
    status: null,
  }
  const plainBack = {
    id: 'rs_1',
    type: 'reasoning',
    summary: [],
    content: [{ type: 'reasoning_text', text: thought }],
  }

  const pieces = (item: object, place: object): object[] => {
    const { type } = item as { type: string }
    if (type === 'function_call')
      return [
        event('response.function_call_arguments.delta', { ...place, delta: json.slice(0, half) }),
        event('response.function_call_arguments.delta', { ...place, delta: json.slice(half) }),
        event('response.function_call_arguments.done', { ...place, arguments: json }),
      ]
    if (type !== 'message') return []
    return [
      event('response.content_part.added', {
        ...place,
        content_index: 0,
        part: { type: 'output_text', annotations: [], text: '' },
      }),
      event('response.output_text.delta', { ...place, content_index: 0, delta: text.slice(0, middle) }),
      event('response.output_text.delta', { ...place, content_index: 0, delta: text.slice(middle) }),
      event('response.output_text.done', { ...place, content_index: 0, text }),
      event('response.content_part.done', {
        ...place,
        content_index: 0,
        part: { type: 'output_text', annotations: [], text },
      }),
    ]
  }
  /** Visible thoughts also come in pieces. */
  const thinkingPieces = (item: object, place: object): object[] =>
    (item as { type: string }).type === 'reasoning'
      ? [
          event('response.reasoning_part.added', {
            ...place,
            content_index: 0,
            part: { type: 'reasoning_text', text: '' },
          }),
          event('response.reasoning_text.delta', { ...place, content_index: 0, delta: thought }),
          event('response.reasoning_text.done', { ...place, content_index: 0, text: thought }),
        ]
      : pieces(item, place)
  /** Only whole items. */
  const noPieces = (): object[] => []

  const forms = (output: readonly object[], of = pieces, over: object = {}): Forms => ({
    whole: whole(output, over),
    streamed: streamOf(output, of, over),
  })
  const secret = (over: object = {}): object => ({
    id: 'rs_1',
    type: 'reasoning',
    summary: [],
    encrypted_content: 'gAAAAABo',
    ...over,
  })
  const withSecret = { call: forms([secret(), call()]), answer: forms([message()]), goesBack: [secret()] }

  /** llama.cpp identifies items only by their ids, and a call by nothing. */
  const nameless = (each: object): object => {
    const { output_index: _, ...rest } = each as { output_index?: number }
    return rest
  }
  const llamaCall = call({ id: undefined, call_id: 'fc_call_1' })
  const llamaThought = { ...plainThought, encrypted_content: '', status: undefined }

  return [
    {
      name: 'OpenAI',
      quirks: ['a thought is encrypted and goes back before its call', 'no [DONE]'],
      sources: [reference, 'https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items'],
      ...withSecret,
    },
    {
      name: 'Azure OpenAI',
      quirks: ['verdicts of filters in the response'],
      sources: ['https://learn.microsoft.com/azure/ai-foundry/openai/how-to/responses'],
      call: forms([secret(), call()], pieces, {
        content_filters: [{ blocked: false, source_type: 'prompt', content_filter_results: {} }],
      }),
      answer: forms([message()], pieces, { content_filters: [] }),
      goesBack: [secret()],
    },
    {
      name: 'OpenRouter',
      overflow: 'OpenRouter',
      quirks: [
        'an answer of an earlier turn must have an id and a status',
        'ends with [DONE]',
        'a summary beside the encrypted thought',
      ],
      sources: [
        'https://openrouter.ai/docs/api/reference/responses/basic-usage',
        'https://openrouter.ai/docs/api/reference/responses/tool-calling',
      ],
      ...withSecret,
      call: forms([
        secret({ summary: [{ type: 'summary_text', text: thought }], format: 'openai-responses-v1' }),
        call(),
      ]),
      goesBack: [secret({ summary: [{ type: 'summary_text', text: thought }] })],
      done: true,
    },
    {
      name: 'xAI',
      overflow: 'xAI',
      quirks: ['a call comes whole, in one piece'],
      sources: [
        'https://docs.x.ai/docs/guides/function-calling',
        'https://docs.x.ai/developers/model-capabilities/text/generate-text',
      ],
      ...withSecret,
      call: forms([secret({ status: 'completed' }), call()], noPieces),
    },
    {
      name: 'vLLM',
      overflow: 'vLLM',
      quirks: ['thoughts in plain text, with nulls', 'refuses encrypted thoughts in a request'],
      sources: [
        'https://github.com/vllm-project/vllm/pull/29947',
        'https://github.com/vllm-project/vllm/pull/35184',
        'https://github.com/vllm-project/vllm/pull/28248',
      ],
      call: forms([plainThought, call()], thinkingPieces),
      answer: forms([message()], thinkingPieces),
      goesBack: [plainBack],
    },
    {
      name: 'LM Studio',
      overflow: 'LM Studio',
      quirks: ['thoughts in plain text'],
      sources: [
        'https://lmstudio.ai/blog/lmstudio-v0.3.29',
        'https://lmstudio.ai/docs/developer/openai-compat',
      ],
      call: forms(
        [{ ...plainThought, encrypted_content: undefined, status: 'completed' }, call()],
        thinkingPieces,
      ),
      answer: forms([message()]),
      goesBack: [plainBack],
    },
    {
      name: 'Ollama',
      quirks: ['the encrypted thought is its plain text'],
      sources: [
        'https://github.com/ollama/ollama/blob/main/openai/responses.go',
        'https://docs.ollama.com/api/openai-compatibility',
      ],
      call: forms([
        secret({
          id: 'rs_resp_1',
          summary: [{ type: 'summary_text', text: thought }],
          encrypted_content: thought,
        }),
        call({ id: 'fc_resp_1_0' }),
      ]),
      answer: forms([message()]),
      goesBack: [
        secret({
          id: 'rs_resp_1',
          summary: [{ type: 'summary_text', text: thought }],
          encrypted_content: thought,
        }),
      ],
    },
    {
      name: 'llama.cpp',
      overflow: 'llama.cpp',
      quirks: [
        'events without a place',
        'calls without an id',
        'an empty encrypted thought beside the plain one, which alone goes back',
      ],
      sources: [
        'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-task.cpp',
        'https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-chat.cpp',
      ],
      call: {
        whole: whole([llamaThought, llamaCall]),
        streamed: streamOf([llamaThought, llamaCall], thinkingPieces).map(nameless),
      },
      answer: { whole: whole([message()]), streamed: streamOf([message()], pieces).map(nameless) },
      goesBack: [plainBack],
    },
    {
      name: 'Open Responses (Hugging Face)',
      quirks: ['a summary and the plain text of a thought'],
      sources: ['https://www.openresponses.org/specification', 'https://huggingface.co/blog/open-responses'],
      call: forms(
        [{ ...plainThought, summary: [{ type: 'summary_text', text: 'Paris.' }] }, call()],
        thinkingPieces,
      ),
      answer: forms([message()]),
      goesBack: [{ ...plainBack, summary: [{ type: 'summary_text', text: 'Paris.' }] }],
    },
  ]
}

export const responsesDialects: readonly ResponsesDialect[] = responsesDialectsWith(
  weatherCall,
  weatherAnswer,
)
