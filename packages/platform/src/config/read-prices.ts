// Reads a person's file of prices: our own format, or the price map of LiteLLM
// (docs.litellm.ai/docs/proxy/model_cost_map). Of an unknown format nothing counts. In a price map, a bad
// entry is reported, and the others count. An entry of LiteLLM without a price for text, or with the price
// zero, is left out: there, zero often means that nobody knows.
import { BeaverError, problemsOf, problemsText } from '@beaver/core'
import { z } from 'zod'
import { type ImportedPrice, modelCharsMax, pricesFile } from './prices.ts'

export interface ReadPrices {
  readonly models: Readonly<Record<string, readonly ImportedPrice[]>>
  /** How many entries have no price for tokens of text. */
  readonly leftOut: number
  /** The entries that cannot be used. */
  readonly bad: readonly BadEntry[]
  /** How many models have another price for long prompts, which is not known here. */
  readonly tiered: number
}

export interface BadEntry {
  readonly model: string
  /** What is wrong, as a sentence without its end. */
  readonly why: string
}

/**
 * @param options `from`: the first day of prices without a day of their own; `source`: where they are from
 * @throws {BeaverError} `invalid_arguments`
 */
export function readPrices(
  text: string,
  options: { readonly file: string; readonly from: string; readonly source?: string | undefined },
): ReadPrices {
  let content: unknown
  try {
    // Some editors put a mark of the byte order in front.
    content = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    throw refused(options.file, 'it is not JSON')
  }
  if (typeof content === 'object' && content !== null && 'models' in content)
    return ownFormat(content, options)
  const parsed = liteLlm.safeParse(content)
  if (!parsed.success)
    throw refused(options.file, problemsText(problemsOf(parsed.error.issues, content).slice(0, 3)))
  return ofLiteLlm(parsed.data, options)
}

type Options = Parameters<typeof readPrices>[1]

function ownFormat(content: object, { file, source }: Options): ReadPrices {
  const parsed = pricesFile.safeParse(content)
  if (!parsed.success) throw refused(file, problemsText(problemsOf(parsed.error.issues, content).slice(0, 3)))
  const named = (prices: readonly ImportedPrice[]) =>
    source === undefined ? prices : prices.map((each) => ({ source, ...each }))
  return {
    models: Object.fromEntries(
      Object.entries(parsed.data.models).map(([model, prices]) => [model, named(prices)]),
    ),
    leftOut: 0,
    bad: [],
    tiered: 0,
  }
}

/** The same bound as in our own format: a price above it is an error of units. */
const usdPerToken = z
  .number()
  .min(0, 'must not be below 0')
  .max(1, 'must be at most 1 USD for a token')
  .nullish()

const liteLlm = z.record(z.string(), z.unknown())

const entryOfLiteLlm = z.looseObject({
  mode: z.string().nullish(),
  input_cost_per_token: usdPerToken,
  output_cost_per_token: usdPerToken,
  cache_read_input_token_cost: usdPerToken,
  cache_creation_input_token_cost: usdPerToken,
  output_cost_per_reasoning_token: usdPerToken,
  input_cost_per_audio_token: usdPerToken,
  output_cost_per_audio_token: usdPerToken,
})

/** Entries that are no models. */
const noModels: ReadonlySet<string> = new Set(['sample_spec', 'fallback_generalizations'])
const modes: ReadonlySet<unknown> = new Set([undefined, null, 'chat', 'responses', 'completion'])
/** Prices for long prompts: `input_cost_per_token_above_200k_tokens`. */
const aboveTokens = /_above_\d+k_tokens$/

function ofLiteLlm(entries: z.output<typeof liteLlm>, { file, from, source }: Options): ReadPrices {
  const models: [string, ImportedPrice[]][] = []
  const bad: BadEntry[] = []
  const count = { leftOut: 0, tiered: 0 }
  for (const [model, entry] of Object.entries(entries)) {
    if (noModels.has(model)) continue
    const read = readEntry(model, entry)
    if (read === null) count.leftOut++
    else if ('why' in read) bad.push({ model, why: read.why })
    else {
      models.push([model, [{ from, ...read.price, ...(source === undefined ? {} : { source }) }]])
      if (read.tiered) count.tiered++
    }
  }
  if (models.length === 0)
    throw refused(
      file,
      `it has no model with a price${badText(bad)}. Beaver reads its own format and the price map of LiteLLM`,
    )
  return { models: Object.fromEntries(models), bad, ...count }
}

const badText = ([first]: readonly BadEntry[]): string =>
  first === undefined ? '' : ` that can be used (${first.model.slice(0, modelCharsMax)}: ${first.why})`

type ReadEntry =
  | { readonly price: Omit<ImportedPrice, 'from'>; readonly tiered: boolean }
  | { readonly why: string }

/** `null`: there is no price for tokens of text. */
function readEntry(model: string, entry: unknown): ReadEntry | null {
  if (model === '' || model.length > modelCharsMax)
    return { why: `its name must have 1 to ${modelCharsMax} characters` }
  if (typeof entry === 'object' && entry !== null && 'mode' in entry && !modes.has(entry.mode)) return null
  const parsed = entryOfLiteLlm.safeParse(entry)
  if (!parsed.success) return { why: problemsText(problemsOf(parsed.error.issues, entry).slice(0, 3)) }
  const entryData = parsed.data
  const [input, output] = [
    perMillion(entryData.input_cost_per_token),
    perMillion(entryData.output_cost_per_token),
  ]
  if (input === null || output === null || input + output === 0) return null
  const parts = {
    cached_input: perMillion(entryData.cache_read_input_token_cost),
    cache_write: perMillion(entryData.cache_creation_input_token_cost),
    reasoning: perMillion(entryData.output_cost_per_reasoning_token),
    audio_input: perMillion(entryData.input_cost_per_audio_token),
    audio_output: perMillion(entryData.output_cost_per_audio_token),
  }
  const known = Object.fromEntries(Object.entries(parts).filter(([, each]) => each !== null && each > 0))
  return {
    price: { input, output, ...known },
    tiered: Object.entries(entryData).some(
      ([name, each]) => aboveTokens.test(name) && typeof each === 'number',
    ),
  }
}

/** Rounded to a millionth of a dollar, so that 3e-7 is 0.3. */
const perMillion = (usd: number | null | undefined): number | null =>
  usd === null || usd === undefined ? null : Math.round(usd * 1e12) / 1e6

const refused = (file: string, why: string): BeaverError =>
  new BeaverError('invalid_arguments', `The prices in ${file} were not imported: ${why}.`)
