// What well-known models cost, in USD per million tokens, at the list price of their maker. The source is
// github.com/simonw/llm-prices as of 2026-08-05 (commit 723ef0b). The table leaves out discounts for batches,
// the higher price that some models have for very long contexts, and models on which sources disagree. The prices
// of embeddings are those of platform.openai.com/docs/pricing.
/**
 * A price in USD per million tokens. A part of the tokens without a price of its own costs what the others of
 * its total cost.
 */
export interface Price {
  readonly input: number
  readonly output: number
  readonly cached_input?: number | undefined
  readonly cache_write?: number | undefined
  readonly reasoning?: number | undefined
  readonly audio_input?: number | undefined
  readonly audio_output?: number | undefined
}

/** A price and the first day on which it counts. */
export interface DatedPrice extends Price {
  /** YYYY-MM-DD, UTC. */
  readonly from: string
}

const price = (input: number, output: number, cached?: number): Price => ({
  input,
  output,
  ...(cached === undefined ? {} : { cached_input: cached }),
})

/**
 * Prices by model name. A dot in a version may also be written as a dash. A dated snapshot of a model has the
 * model's price.
 */
export const modelPrices: Readonly<Record<string, Price>> = {
  // Beaver's simulated model, which calls no provider.
  'beaver-simulated-1': price(0, 0),

  'gpt-4o': price(2.5, 10, 1.25),
  'gpt-4o-mini': price(0.15, 0.6, 0.075),
  'gpt-4.1': price(2, 8, 0.5),
  'gpt-4.1-mini': price(0.4, 1.6, 0.1),
  'gpt-4.1-nano': price(0.1, 0.4, 0.025),
  'o3-mini': price(1.1, 4.4, 0.55),
  'o4-mini': price(1.1, 4.4, 0.275),
  'gpt-5': price(1.25, 10, 0.125),
  'gpt-5-mini': price(0.25, 2, 0.025),
  'gpt-5-nano': price(0.05, 0.4, 0.005),
  'gpt-5-pro': price(15, 120),
  'gpt-5.1': price(1.25, 10, 0.125),
  'gpt-5.1-codex': price(1.25, 10, 0.125),
  'gpt-5.1-codex-mini': price(0.25, 2, 0.025),
  'gpt-5.2': price(1.75, 14, 0.175),
  'gpt-5.2-pro': price(21, 168),
  'gpt-5.4': price(2.5, 15, 0.25),
  'gpt-5.4-mini': price(0.75, 4.5, 0.075),
  'gpt-5.4-nano': price(0.2, 1.25, 0.02),
  'gpt-5.4-pro': price(30, 180),
  'gpt-5.5': price(5, 30, 0.5),
  'gpt-5.5-pro': price(30, 180),
  'gpt-5.6-sol': price(5, 30, 0.5),
  'gpt-5.6-terra': price(2, 12, 0.2),
  'gpt-5.6-luna': price(0.2, 1.2, 0.02),

  'claude-3-haiku': price(0.25, 1.25),
  'claude-3.5-haiku': price(0.8, 4),
  'claude-3.5-sonnet': price(3, 15),
  'claude-3.7-sonnet': price(3, 15),
  'claude-haiku-4.5': price(1, 5),
  'claude-sonnet-4.5': price(3, 15),
  'claude-sonnet-5': price(3, 15),
  'claude-opus-4': price(15, 75),
  'claude-opus-4.1': price(15, 75),
  'claude-opus-4.5': price(5, 25),
  'claude-opus-4.6': price(5, 25),
  'claude-opus-4.7': price(5, 25),
  'claude-opus-4.8': price(5, 25),

  'gemini-2.0-flash': price(0.1, 0.4),
  'gemini-2.0-flash-lite': price(0.075, 0.3),
  'gemini-2.5-flash': price(0.3, 2.5, 0.03),
  'gemini-2.5-flash-lite': price(0.1, 0.4, 0.01),
  'gemini-2.5-pro': price(1.25, 10, 0.125),
  'gemini-3-flash-preview': price(0.5, 3),
  'gemini-3-pro-preview': price(2, 12),
  'gemini-3.1-flash-lite-preview': price(0.25, 1.5, 0.025),
  'gemini-3.1-pro-preview': price(2, 12),
  'gemini-3.5-flash': price(1.5, 9, 0.15),
  'gemini-3.5-flash-lite': price(0.3, 2.5, 0.03),
  'gemini-3.6-flash': price(1.5, 7.5, 0.15),

  'deepseek-v4-flash': price(0.14, 0.28, 0.028),
  'deepseek-v4-pro': price(1.74, 3.48, 0.145),
  'grok-4': price(3, 15, 0.75),
  'grok-4-fast': price(0.2, 0.5, 0.05),
  'grok-4.3': price(1.25, 2.5, 0.2),
  'grok-4.5': price(2, 6, 0.3),
  'kimi-k2-thinking': price(0.6, 2.5, 0.15),
  'qwen3.6-plus': price(0.5, 3),

  'text-embedding-3-small': price(0.02, 0),
  'text-embedding-3-large': price(0.13, 0),
  'text-embedding-ada-002': price(0.1, 0),
}
