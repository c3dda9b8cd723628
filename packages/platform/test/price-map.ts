// A price map in the form of LiteLLM (github.com/BerriAI/litellm, model_prices_and_context_window.json): the
// fields are those of its entries, the figures are our own. It has what that map has beside chat models, and
// faults that a file of a person may have.

/** Entries that give a price. */
export const priced = {
  'gpt-5-mini': {
    ...{
      litellm_provider: 'openai',
      mode: 'chat',
      max_input_tokens: 272_000,
      max_output_tokens: 128_000,
      supports_vision: true,
    },
    ...{ input_cost_per_token: 2e-7, output_cost_per_token: 1.6e-6, cache_read_input_token_cost: 3e-8 },
    ...{
      input_cost_per_token_priority: 4e-7,
      output_cost_per_token_batches: 8e-7,
      supported_endpoints: ['/v1/chat/completions'],
    },
  },
  'claude-sonnet-4-5': {
    ...{
      litellm_provider: 'anthropic',
      mode: 'chat',
      input_cost_per_token: 3e-6,
      output_cost_per_token: 1.5e-5,
    },
    ...{
      cache_read_input_token_cost: 3e-7,
      cache_creation_input_token_cost: 3.75e-6,
      cache_creation_input_token_cost_above_1hr: 6e-6,
    },
    ...{
      input_cost_per_token_above_200k_tokens: 6e-6,
      output_cost_per_token_above_200k_tokens: 2.25e-5,
      deprecation_date: '2027-01-01',
    },
    search_context_cost_per_query: { search_context_size_high: 0.01 },
  },
  thinker: {
    mode: 'responses',
    input_cost_per_token: 1e-6,
    output_cost_per_token: 4e-6,
    output_cost_per_reasoning_token: 8e-6,
  },
  'voice/one': {
    input_cost_per_token: 1e-6,
    output_cost_per_token: 4e-6,
    input_cost_per_audio_token: 1e-5,
    output_cost_per_audio_token: 2e-5,
    mode: null,
  },
}

/** Entries without a price for tokens of text. */
export const unpriced = {
  'free/one': { mode: 'chat', input_cost_per_token: 0, output_cost_per_token: 0 },
  'only/input': { mode: 'chat', input_cost_per_token: 9e-6 },
  'dashscope/qwen-flash': {
    mode: 'chat',
    tiered_pricing: [{ range: [0, 256_000], input_cost_per_token: 5e-8, output_cost_per_token: 4e-7 }],
  },
  '1024-x-1024/dall-e-2': {
    mode: 'image_generation',
    input_cost_per_pixel: 1.9e-8,
    output_cost_per_pixel: 0,
  },
  'image/one': { mode: 'image_generation', output_cost_per_image: 0.04 },
  embed: { mode: 'embedding', input_cost_per_token: 1e-8, output_cost_per_token: 0 },
  whisper: { mode: 'audio_transcription', input_cost_per_second: 0.0001 },
}

/** Entries with a fault, and what is said of it. */
export const faulty: Readonly<Record<string, readonly [entry: unknown, why: string]>> = {
  below: [
    { mode: 'chat', input_cost_per_token: -1e-6, output_cost_per_token: 1e-6 },
    'input_cost_per_token: must not be below 0',
  ],
  huge: [
    { mode: 'chat', input_cost_per_token: 1e-6, output_cost_per_token: 1e300 },
    'output_cost_per_token: must be at most 1 USD for a token',
  ],
  prose: [
    { mode: 'chat', input_cost_per_token: '2e-7', output_cost_per_token: 1e-6 },
    'input_cost_per_token: must be a number, not a string',
  ],
  part: [
    {
      mode: 'chat',
      input_cost_per_token: 1e-6,
      output_cost_per_token: 1e-6,
      cache_read_input_token_cost: 'free',
    },
    'cache_read_input_token_cost: must be a number, not a string',
  ],
  none: [null, 'must be an object, not null'],
  list: [[1], 'must be an object, not a list'],
  ['n'.repeat(301)]: [
    { mode: 'chat', input_cost_per_token: 1e-6, output_cost_per_token: 1e-6 },
    'its name must have 1 to 300 characters',
  ],
}

export const faultyEntries: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(faulty).map(([name, [entry]]) => [name, entry]),
)

export const priceMap = {
  sample_spec: { input_cost_per_token: 0, mode: 'one of: chat, embedding', max_tokens: 'LEGACY' },
  ...priced,
  ...unpriced,
}
