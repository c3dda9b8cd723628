// Turns the tokens that a server reports into a Usage. Servers differ in the names of the parts, and in
// whether a part is in the total.
// U1. Each part of a usage is a part of its total: cached and written tokens together never exceed the input,
// nor thoughts the output. A part that a server counts beside its total is added to the total. A server says
// so with `total_tokens`, or with a part that is larger than the total of which it would be a part.
// U3. A usage without parts has no fields for them. A call whose input or output is missing or makes no sense
// is one of `unknown_calls`: no cost follows from it.
//
// Parts in the total:
// - OpenAI, Azure, Groq, vLLM, SGLang, llama.cpp: `prompt_tokens_details.cached_tokens`, `.audio_tokens`;
//   `completion_tokens_details.reasoning_tokens`, `.audio_tokens`
//   (platform.openai.com/docs/guides/prompt-caching)
// - OpenRouter: the same, and `prompt_tokens_details.cache_write_tokens`
//   (openrouter.ai/docs/use-cases/usage-accounting)
// - DeepSeek: `prompt_cache_hit_tokens`, `prompt_cache_miss_tokens`, whose sum is `prompt_tokens`
//   (api-docs.deepseek.com/guides/kv_cache)
// - Kimi: `cached_tokens`, beside `prompt_tokens_details` or without it; in a stream, in the choice
//   (github.com/earendil-works/pi/issues/2017, github.com/promptfoo/promptfoo/pull/10132)
// - DashScope (Qwen): `prompt_tokens_details.cached_tokens`, `.cache_creation_input_tokens`
//   (alibabacloud.com/help/en/model-studio/context-cache)
// - LiteLLM with Anthropic, except older versions: `cache_read_input_tokens`, `cache_creation_input_tokens`
//   (docs.litellm.ai/docs/completion/prompt_caching, github.com/BerriAI/litellm/issues/15056)
//
// Parts beside the total:
// - xAI: `completion_tokens_details.reasoning_tokens`; `total_tokens` is the sum of the three
//   (github.com/vercel/ai/pull/12425, github.com/Wei-Shaw/sub2api/issues/5771)
// - Gemini through gateways: thoughts only in `total_tokens`, or also as `reasoning_tokens`
//   (github.com/mozilla-ai/any-llm/issues/1290, github.com/router-for-me/CLIProxyAPI/issues/5733)
import { partsOfUsage, type Usage, type UsagePart } from '@beaver/core'
import type { WireUsage } from './wire-shapes.ts'

type Reported = NonNullable<WireUsage>

export function usageOf(wire: WireUsage): Usage {
  if (wire === null || wire === undefined)
    return { input_tokens: 0, output_tokens: 0, calls: 1, unknown_calls: 1 }
  const total = wire.total_tokens ?? null
  const reported = {
    prompt: known(wire.prompt_tokens, wire.input_tokens),
    completion: known(wire.completion_tokens, wire.output_tokens),
  }
  // One of the two follows from the total.
  const prompt =
    reported.prompt ??
    Math.max(0, total === null || reported.completion === null ? 0 : total - reported.completion)
  const completion =
    reported.completion ??
    Math.max(0, total === null || reported.prompt === null ? 0 : total - reported.prompt)
  const isReported = reported.prompt !== null && reported.completion !== null
  const follows = total !== null && (reported.prompt ?? reported.completion ?? Infinity) <= total
  const isUnknown = !isReported && !follows
  const beside = isUnknown ? 0 : Math.max(0, (total ?? 0) - prompt - completion)
  const cache = cacheIn(wire, prompt, beside)
  const thoughts = thoughtsIn(wire, completion, Math.max(0, beside - cache.beside))
  const input = whole(prompt + cache.beside)
  const output = whole(completion + thoughts.beside)
  const cached = Math.min(cache.read, input)
  const parts: Partial<Record<UsagePart, number>> = {
    cached_input_tokens: cached,
    cache_write_tokens: Math.min(cache.written, input - cached),
    reasoning_tokens: Math.min(thoughts.tokens, output),
    audio_input_tokens: Math.min(
      most(wire.prompt_tokens_details?.audio_tokens, wire.input_tokens_details?.audio_tokens),
      input,
    ),
    unknown_calls: isUnknown ? 1 : 0,
    audio_output_tokens: Math.min(
      most(wire.completion_tokens_details?.audio_tokens, wire.output_tokens_details?.audio_tokens),
      output,
    ),
  }
  return { input_tokens: input, output_tokens: output, calls: 1, ...partsOfUsage((part) => parts[part] ?? 0) }
}

/** The tokens of cache reads and writes, and how many of them the server counts beside the input. */
function cacheIn(
  wire: Reported,
  prompt: number,
  beside: number,
): { readonly read: number; readonly written: number; readonly beside: number } {
  const details = [wire.prompt_tokens_details, wire.input_tokens_details]
  const read = most(
    ...details.map((each) => each?.cached_tokens),
    wire.prompt_cache_hit_tokens,
    wire.cache_read_input_tokens,
    wire.cached_tokens,
  )
  const written = most(
    ...details.flatMap((each) => [
      each?.cache_write_tokens,
      each?.cache_creation_tokens,
      each?.cache_creation_input_tokens,
    ]),
    wire.cache_creation_input_tokens,
  )
  const both = read + written
  const isBeside = both > prompt || (both > 0 && both === beside && reasoningIn(wire) !== both)
  return { read, written, beside: isBeside ? both : 0 }
}

/**
 * The thoughts, and how many of their tokens the server counts beside the output.
 * @param beside tokens of the total that nothing else explains
 */
function thoughtsIn(
  wire: Reported,
  completion: number,
  beside: number,
): { readonly tokens: number; readonly beside: number } {
  const reported = reasoningIn(wire)
  // Tokens of the total that are neither input nor answer are thoughts.
  if (reported === 0) return { tokens: beside, beside }
  return { tokens: reported, beside: reported > completion || beside >= reported ? reported : 0 }
}

const reasoningIn = (wire: Reported): number =>
  most(
    wire.completion_tokens_details?.reasoning_tokens,
    wire.output_tokens_details?.reasoning_tokens,
    wire.reasoning_tokens,
  )

/** The first readable count; `null` if there is none. */
const known = (...counts: readonly (number | null | undefined)[]): number | null =>
  counts.every((count) => count === null || count === undefined) ? null : most(...counts)

/** The same count under several names: a server with two names writes zero into the unused one. */
const most = (...counts: readonly (number | null | undefined)[]): number =>
  Math.max(0, ...counts.map((count) => count ?? 0))
const whole = (sum: number): number => Math.min(sum, Number.MAX_SAFE_INTEGER)
