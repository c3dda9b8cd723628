// How servers of sixteen makers write the same two answers: a call of get_weather for Paris, and "It is sunny
// in Paris.", whole and streamed. The forms come from documentation and public threads; no live server was
// asked.

export const weatherCall = { name: 'get_weather', arguments: { city: 'Paris' } }
export const weatherAnswer = 'It is sunny in Paris.'

export interface Dialect {
  readonly name: string
  readonly quirks: readonly string[]
  readonly sources: readonly string[]
  readonly call: Forms
  readonly answer: Forms
  /** The fields of the message with the call that the next request must return unchanged. */
  readonly goesBack?: object
  /** The same, of the call. */
  readonly goesBackWithCall?: object
  /** The server's refusal of a conversation without these fields. */
  readonly misses?: string
  /** Which words of overflow-wordings.ts it uses for a conversation that is too long. Default: OpenAI's. */
  readonly overflow?: string
  /** Whether a stream ends without `[DONE]`. */
  readonly noDone?: boolean
}

export interface Forms {
  readonly whole: object
  readonly streamed: readonly object[]
}

const openAiReference = 'https://platform.openai.com/docs/api-reference/chat'
const head = { id: 'chatcmpl-1', object: 'chat.completion', created: 1_780_000_000, model: 'm' }
const chunkHead = { ...head, object: 'chat.completion.chunk' }
const usage = { prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 }
/** The dialects with a call of `asked` and an answer of `text`, which has at least two words. */
export function dialectsWith(
  asked: { readonly name: string; readonly arguments: object },
  text: string,
): readonly Dialect[] {
  const middle = text.indexOf(' ', text.length / 2)
  const json = JSON.stringify(asked.arguments)
  const half = Math.floor(json.length / 2)

  const whole = (message: object, finish_reason: string | null, over: object = {}): object => ({
    ...head,
    choices: [{ index: 0, finish_reason, message: { role: 'assistant', ...message } }],
    usage,
    ...over,
  })
  const chunk = (delta: object | null, finish_reason: string | null = null, over: object = {}): object => ({
    ...chunkHead,
    choices: [{ index: 0, delta, finish_reason }],
    ...over,
  })
  const usageChunk = (of: object = usage): object => ({ ...chunkHead, choices: [], usage: of })

  const call = (over: object = {}, id: unknown = 'call_1'): object => ({
    id,
    type: 'function',
    function: { name: asked.name, arguments: json },
    ...over,
  })

  /** A call whose arguments come in two pieces, as OpenAI sends it. */
  const pieces = (first: object = {}): object[] => [
    chunk({ role: 'assistant', content: null }),
    chunk({
      tool_calls: [
        { index: 0, id: 'call_1', type: 'function', function: { name: asked.name, arguments: '' }, ...first },
      ],
    }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: json.slice(0, half) } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: json.slice(half) } }] }),
    chunk({}, 'tool_calls'),
  ]
  const words = (...before: readonly object[]): object[] => [
    ...before,
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: text.slice(0, middle) }),
    chunk({ content: text.slice(middle) }),
    chunk({}, 'stop'),
  ]
  const plain: Forms = { whole: whole({ content: text }, 'stop'), streamed: words() }
  const plainCall: Forms = {
    whole: whole({ content: null, tool_calls: [call()] }, 'tool_calls'),
    streamed: pieces(),
  }

  /** A call after thoughts in their own field. */
  const thinking = (field: string, over: object = {}): Forms => ({
    whole: whole(
      { content: '', [field]: 'The user asks for Paris.', tool_calls: [call()], ...over },
      'tool_calls',
    ),
    streamed: [
      chunk({ role: 'assistant', content: null, [field]: 'The user asks ' }),
      chunk({ content: null, [field]: 'for Paris.' }),
      ...pieces(),
    ],
  })

  return [
    {
      name: 'OpenAI',
      quirks: ['usage in a last event without choices'],
      sources: [openAiReference],
      call: plainCall,
      answer: { ...plain, streamed: [...words(), usageChunk()] },
    },
    {
      name: 'Azure OpenAI',
      quirks: ['a first event with the verdict of a filter and no choice', 'verdicts in each choice'],
      sources: ['https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter'],
      call: {
        ...plainCall,
        streamed: [
          {
            ...chunkHead,
            id: '',
            model: '',
            choices: [],
            prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
          },
          ...pieces(),
        ],
      },
      answer: {
        whole: whole({ content: text }, 'stop', { prompt_filter_results: [] }),
        streamed: words({ ...chunkHead, id: '', model: '', choices: [], prompt_filter_results: [] }),
      },
    },
    {
      name: 'OpenRouter',
      overflow: 'OpenRouter',
      quirks: [
        'comments while it waits',
        'reasoning twice: as a text and in details that must go back',
        'a finish reason of its own beside the common one',
      ],
      sources: [
        'https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks',
        'https://github.com/RooCodeInc/Roo-Code/pull/9506',
      ],
      call: {
        whole: whole(
          {
            content: '',
            reasoning: 'The user asks for Paris.',
            reasoning_details: [
              {
                type: 'reasoning.text',
                text: 'The user asks for Paris.',
                signature: 'sig',
                format: 'anthropic-claude-v1',
                index: 0,
              },
            ],
            tool_calls: [call({ index: 0 })],
          },
          'tool_calls',
        ),
        streamed: [
          chunk({
            role: 'assistant',
            content: '',
            reasoning: 'The user asks ',
            reasoning_details: [
              { type: 'reasoning.text', text: 'The user asks ', format: 'anthropic-claude-v1', index: 0 },
            ],
          }),
          chunk({
            content: '',
            reasoning: 'for Paris.',
            reasoning_details: [
              { type: 'reasoning.text', text: 'for Paris.', format: 'anthropic-claude-v1', index: 0 },
            ],
          }),
          chunk({
            content: '',
            reasoning_details: [
              { type: 'reasoning.text', signature: 'sig', format: 'anthropic-claude-v1', index: 0 },
            ],
          }),
          ...pieces(),
        ],
      },
      answer: plain,
      goesBack: {
        reasoning_details: [
          {
            type: 'reasoning.text',
            text: 'The user asks for Paris.',
            signature: 'sig',
            format: 'anthropic-claude-v1',
            index: 0,
          },
        ],
      },
    },
    {
      name: 'Gemini',
      overflow: 'Gemini',
      quirks: [
        'the signature of a thought in extra_content of the call, which must go back',
        'a call in one event',
        'an error in a list',
      ],
      sources: [
        'https://ai.google.dev/gemini-api/docs/thought-signatures',
        'https://github.com/continuedev/continue/pull/8865',
      ],
      call: {
        whole: whole(
          {
            tool_calls: [
              call({ extra_content: { google: { thought_signature: 'c2ln' } } }, 'function-call-1'),
            ],
          },
          'tool_calls',
        ),
        streamed: [
          chunk({
            role: 'assistant',
            tool_calls: [
              {
                index: 0,
                ...call({ extra_content: { google: { thought_signature: 'c2ln' } } }, 'function-call-1'),
              },
            ],
          }),
          chunk({ role: 'assistant' }, 'tool_calls', { usage }),
        ],
      },
      answer: plain,
      goesBackWithCall: { extra_content: { google: { thought_signature: 'c2ln' } } },
      misses:
        'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.',
    },
    {
      name: 'DeepSeek',
      overflow: 'DeepSeek',
      quirks: ['thoughts that must go back with a call, also empty ones'],
      sources: [
        'https://api-docs.deepseek.com/guides/thinking_mode',
        'https://github.com/deepseek-ai/deepseek-harness/discussions/739',
      ],
      call: thinking('reasoning_content'),
      answer: {
        ...plain,
        streamed: words(chunk({ role: 'assistant', content: null, reasoning_content: 'Sunny.' })),
      },
      goesBack: { reasoning_content: 'The user asks for Paris.' },
      misses: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
    },
    {
      name: 'Qwen / DashScope',
      overflow: 'DashScope',
      quirks: ['type "" and empty ids in later pieces of a call', 'thoughts beside the content'],
      sources: [
        'https://help.aliyun.com/zh/model-studio/qwen-function-calling',
        'https://github.com/agentscope-ai/QwenPaw/issues/6255',
      ],
      call: {
        whole: whole({ content: '', reasoning_content: '', tool_calls: [call({ index: 0 })] }, 'tool_calls'),
        streamed: [
          chunk({
            role: 'assistant',
            content: '',
            reasoning_content: null,
            tool_calls: [
              { index: 0, id: 'call_1', type: 'function', function: { name: asked.name, arguments: '' } },
            ],
          }),
          chunk({
            content: '',
            tool_calls: [{ index: 0, id: '', type: '', function: { arguments: json.slice(0, half) } }],
          }),
          chunk({
            content: '',
            tool_calls: [
              { index: 0, id: '', type: '', function: { arguments: json.slice(half), name: null } },
            ],
          }),
          chunk({ content: '' }, 'tool_calls'),
          usageChunk(),
        ],
      },
      answer: plain,
    },
    {
      name: 'Kimi',
      overflow: 'Kimi',
      quirks: [
        'ids like functions.name:0',
        'thoughts that must go back with a call',
        'usage in the last choice',
      ],
      sources: [
        'https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model',
        'https://github.com/MoonshotAI/kimi-cli/issues/2011',
      ],
      call: {
        whole: whole(
          {
            content: '',
            reasoning_content: 'The user asks for Paris.',
            tool_calls: [call({}, 'functions.get_weather:0')],
          },
          'tool_calls',
        ),
        streamed: [
          chunk({ role: 'assistant', content: '', reasoning_content: 'The user asks ' }),
          chunk({ reasoning_content: 'for Paris.' }),
          chunk({ tool_calls: [{ index: 0, ...call({}, 'functions.get_weather:0') }] }),
          { ...chunkHead, choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls', usage }] },
        ],
      },
      answer: plain,
      goesBack: { reasoning_content: 'The user asks for Paris.' },
    },
    {
      name: 'Mistral',
      quirks: ['content in parts with thoughts among them', 'a call in one event, without a type'],
      sources: [
        'https://docs.mistral.ai/capabilities/reasoning/',
        'https://github.com/spring-projects/spring-ai/pull/5020',
      ],
      call: {
        whole: whole(
          {
            content: '',
            tool_calls: [{ id: 'D681PevKs', function: { name: asked.name, arguments: json }, index: 0 }],
          },
          'tool_calls',
        ),
        streamed: [
          chunk({ role: 'assistant', content: '' }),
          chunk(
            {
              content: '',
              tool_calls: [{ id: 'D681PevKs', function: { name: asked.name, arguments: json }, index: 0 }],
            },
            'tool_calls',
            { usage },
          ),
        ],
      },
      answer: {
        whole: whole(
          {
            content: [
              { type: 'thinking', thinking: [{ type: 'text', text: 'Sunny?' }] },
              { type: 'text', text: text },
            ],
          },
          'stop',
        ),
        streamed: [
          chunk({
            role: 'assistant',
            content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Sunny?' }] }],
          }),
          chunk({ content: text.slice(0, middle) }),
          chunk({ content: [{ type: 'text', text: text.slice(middle) }] }),
          chunk({ content: '' }, 'stop', { usage }),
        ],
      },
    },
    {
      name: 'xAI',
      overflow: 'xAI',
      quirks: ['a call in one event', 'the error is a text beside a code'],
      sources: [
        'https://docs.x.ai/docs/guides/function-calling',
        'https://github.com/cline/cline/issues/3120',
      ],
      call: {
        whole: whole(
          { content: '', reasoning_content: 'The user asks for Paris.', refusal: null, tool_calls: [call()] },
          'tool_calls',
        ),
        streamed: [
          chunk({ role: 'assistant', content: '', reasoning_content: 'The user asks for Paris.' }),
          chunk({ content: '', tool_calls: [{ index: 0, ...call() }] }, 'tool_calls'),
          usageChunk(),
        ],
      },
      answer: plain,
    },
    {
      name: 'Groq',
      overflow: 'Groq',
      quirks: ['thoughts as reasoning', 'a call in one event', 'usage in x_groq'],
      sources: [
        'https://console.groq.com/docs/reasoning',
        'https://reference.langchain.com/python/langchain-groq/chat_models/ChatGroq/reasoning_format',
      ],
      call: {
        whole: whole({ reasoning: 'The user asks for Paris.', tool_calls: [call()] }, 'tool_calls', {
          x_groq: { id: 'req_1' },
        }),
        streamed: [
          chunk({ role: 'assistant', content: null }, null, { x_groq: { id: 'req_1' } }),
          chunk({ reasoning: 'The user asks for Paris.' }),
          chunk({ tool_calls: [{ index: 0, ...call() }] }),
          chunk({}, 'tool_calls', { x_groq: { id: 'req_1', usage: { ...usage, total_time: 0.1 } } }),
        ],
      },
      answer: plain,
      goesBack: { reasoning: 'The user asks for Paris.' },
    },
    {
      name: 'Together',
      overflow: 'TGI',
      quirks: ['eos as the end of an answer', 'thoughts as reasoning'],
      sources: [
        'https://docs.together.ai/docs/kimi-k2-thinking-quickstart',
        'https://docs.together.ai/docs/function-calling',
      ],
      call: thinking('reasoning'),
      answer: {
        whole: whole({ content: text, tool_calls: [] }, 'eos'),
        streamed: [...words().slice(0, -1), chunk({ content: '' }, 'eos', { usage })],
      },
      goesBack: { reasoning: 'The user asks for Paris.' },
    },
    {
      name: 'vLLM',
      overflow: 'vLLM, the length of the model',
      quirks: [
        'thoughts as reasoning, formerly reasoning_content',
        'a stop reason of its own',
        'a call may end with stop',
      ],
      sources: [
        'https://github.com/vllm-project/vllm/issues/27755',
        'https://github.com/thu-coai/Glyph/issues/9',
      ],
      call: {
        whole: whole(
          { content: null, reasoning: 'The user asks for Paris.', tool_calls: [call({}, 'chatcmpl-tool-1')] },
          'stop',
        ),
        streamed: [
          chunk({ role: 'assistant', content: '', reasoning: 'The user asks ' }),
          chunk({ reasoning: 'for Paris.' }),
          ...pieces(),
        ],
      },
      answer: {
        whole: whole({ content: text, reasoning: null, tool_calls: [] }, 'stop', { prompt_logprobs: null }),
        streamed: words(),
      },
      goesBack: { reasoning: 'The user asks for Paris.' },
    },
    {
      name: 'SGLang',
      overflow: 'SGLang',
      quirks: ['null where a field is empty', 'a matched stop'],
      sources: [
        'https://docs.sglang.ai/advanced_features/tool_parser.html',
        'https://github.com/QwenLM/Qwen3/issues/1321',
      ],
      call: {
        whole: {
          ...head,
          choices: [
            {
              index: 0,
              finish_reason: 'tool_calls',
              matched_stop: null,
              message: {
                role: 'assistant',
                content: null,
                reasoning_content: null,
                tool_calls: [call({ index: -1 })],
              },
            },
          ],
          usage,
        },
        streamed: [
          chunk({ role: 'assistant', content: '', reasoning_content: null, tool_calls: null }),
          ...pieces(),
        ],
      },
      answer: {
        whole: whole({ content: text, reasoning_content: null, tool_calls: null }, 'stop'),
        streamed: words(),
      },
    },
    {
      name: 'llama.cpp',
      overflow: 'llama.cpp, with the status of a broken server',
      quirks: ['figures of speed beside the usage', 'thoughts of a template in the content'],
      sources: [
        'https://github.com/ggml-org/llama.cpp/blob/master/docs/function-calling.md',
        'https://github.com/ggml-org/llama.cpp/issues/19774',
      ],
      call: {
        whole: whole({ content: null, tool_calls: [call({}, '')] }, 'tool_calls', {
          timings: { prompt_n: 20, predicted_per_second: 41.2 },
        }),
        streamed: pieces(),
      },
      answer: {
        whole: whole({ content: `The user asks for Paris.\n</think>\n\n${text}` }, 'stop'),
        streamed: [
          chunk({ role: 'assistant', content: null }),
          chunk({ content: '<think>Sunny' }),
          chunk({ content: '?</think>\n\n' }),
          chunk({ content: text }),
          chunk({}, 'stop', { timings: {} }),
        ],
      },
    },
    {
      name: 'Ollama',
      quirks: ['every call has index 0', 'a call in one event', 'the end of a call is stop in a stream'],
      sources: [
        'https://github.com/ollama/ollama/issues/15457',
        'https://github.com/ollama/ollama/issues/7881',
      ],
      call: {
        whole: whole({ content: '', tool_calls: [call({ index: 0 }, 'call_5q2x')] }, 'tool_calls'),
        streamed: [
          chunk({
            role: 'assistant',
            content: '',
            tool_calls: [
              {
                id: 'call_5q2x',
                index: 0,
                type: 'function',
                function: { name: asked.name, arguments: json },
              },
            ],
          }),
          chunk({ role: 'assistant', content: '' }, 'stop'),
        ],
      },
      answer: plain,
    },
    {
      name: 'LM Studio',
      overflow: 'LM Studio, newer',
      quirks: ['numeric ids', 'no [DONE] in some versions', 'the error is a text'],
      sources: [
        'https://lmstudio.ai/docs/developer/openai-compat/tools',
        'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546',
      ],
      call: {
        whole: whole({ content: null, tool_calls: [call({}, 365174485)] }, 'tool_calls', {
          stats: {},
          system_fingerprint: 'm',
        }),
        streamed: pieces({ id: 365174485 }),
      },
      answer: plain,
      noDone: true,
    },
  ]
}

export const dialects = dialectsWith(weatherCall, weatherAnswer)
