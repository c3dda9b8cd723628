// The prices of models: what the configuration says, and the file of prices that were imported. An import
// only adds: a price that was valid on a day stays the price of that day. The file is replaced as a whole, or
// not at all, and by one process at a time: no import is lost.
import { BeaverError, messageOf, problemsOf, problemsText, whyUnreadable } from '@beaver/core'
import { type CallPrices, noPrices, type Price, type PriceTable, priceTable } from '@beaver/core/cost'
import { statSync } from 'node:fs'
import { z } from 'zod'
import { whileLocked } from '../home/file-lock.ts'
import { type KeptFile, keptFile } from '../home/kept-file.ts'

const usdPerMillion = z.number().min(0).max(1_000_000)

const fields = {
  input: usdPerMillion,
  output: usdPerMillion,
  /** Input that was read from a cache, and input that was written to one. Default: the price of the input. */
  cached_input: usdPerMillion.optional(),
  cache_write: usdPerMillion.optional(),
  audio_input: usdPerMillion.optional(),
  /** Default: the price of the output. */
  reasoning: usdPerMillion.optional(),
  audio_output: usdPerMillion.optional(),
}
/** The price of one model, in USD per million tokens. */
export const price = z.strictObject(fields)

const mustBePrice =
  'must be a price, such as { "input": 3, "output": 15 }. Only "unknown" may also be "refuse"'

/**
 * What the configuration says. These prices come before all others. `unknown` is the price that a budget
 * counts for a call whose price nobody knows, or says that such calls are refused.
 */
export const prices = z
  .record(z.string(), z.union([z.literal('refuse', mustBePrice), price]))
  .default({})
  .superRefine((all, context) => {
    for (const [name, each] of Object.entries(all))
      if (each === 'refuse' && name !== 'unknown')
        context.addIssue({ code: 'custom', path: [name], message: mustBePrice })
  })
  .transform(({ unknown = { input: 3, output: 15 }, ...others }) => ({
    unknown,
    models: Object.fromEntries(
      Object.entries(others).flatMap(([name, each]) => (each === 'refuse' ? [] : [[name, each] as const])),
    ),
  }))

const datedPrice = z.strictObject({
  from: z.iso.date(),
  ...fields,
  source: z.string().min(1).max(500).optional(),
})

const modelsMax = 20_000
const pricesOfModelMax = 1_000
export const modelCharsMax = 300

/** The content of a file of prices. */
export const pricesFile = z.strictObject({
  as_of: z.iso.date(),
  models: z
    .record(z.string().min(1).max(modelCharsMax), z.array(datedPrice).min(1).max(pricesOfModelMax))
    .refine((models) => Object.keys(models).length <= modelsMax, `must have at most ${modelsMax} models`),
})
export type PricesFile = z.output<typeof pricesFile>
export type ImportedPrice = PricesFile['models'][string][number]

/** What the configuration says about prices. */
export interface PricesSource {
  readonly prices: z.output<typeof prices>
  readonly models: Readonly<Record<string, { readonly price?: Price | undefined }>>
  readonly pricesFile: string
}

/**
 * The prices of the configuration and the imported prices.
 *
 * @throws {BeaverError} `invalid_configuration` if the file of imported prices cannot be read
 */
export const pricesOf = ({
  prices: { models: configured },
  models,
  pricesFile: file,
}: PricesSource): CallPrices => ({
  configured,
  named: new Map(
    Object.entries(models).flatMap(([name, { price: own }]) =>
      own === undefined ? [] : [[name, own] as const],
    ),
  ),
  imported: importedPrices(file),
})

/**
 * The prices as they are when they are asked for. The file of imported prices is read again after it changed.
 * While it cannot be read, no price is known.
 *
 * @param onFault gets the reason once if the file cannot be read
 */
export function currentPrices(
  config: PricesSource,
  onFault: (message: string) => void = () => {},
): () => PriceTable {
  let known: { readonly seen: string; readonly prices: PriceTable } | null = null
  let fault: string | null = null
  return () => {
    try {
      const found = statSync(config.pricesFile, { throwIfNoEntry: false })
      const seen = found === undefined ? 'none' : `${found.ino} ${found.size} ${found.mtimeMs}`
      if (known?.seen !== seen) known = { seen, prices: priceTable(pricesOf(config)) }
      fault = null
      return known.prices
    } catch (error) {
      if (messageOf(error) !== fault) onFault((fault = messageOf(error)))
      return noPrices
    }
  }
}

/** The name of the file in a home. */
export const pricesFileName = 'prices.json'

/**
 * The prices that were imported into a file. There may be none.
 *
 * @throws {BeaverError} `invalid_configuration` if the file cannot be read, or somebody broke it
 */
export function importedPrices(file: string): Readonly<Record<string, readonly ImportedPrice[]>> {
  const text = textOf(keptFile(file), file)
  if (text === null) return {}
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    throw broken(file, 'it is not JSON')
  }
  const parsed = pricesFile.safeParse(content)
  if (!parsed.success) throw broken(file, problemsText(problemsOf(parsed.error.issues, content).slice(0, 3)))
  return parsed.data.models
}

const broken = (file: string, why: string): BeaverError =>
  new BeaverError(
    'invalid_configuration',
    `The file of prices ${file} cannot be read: ${why}. Remove it, and import the prices again.`,
  )

function textOf(kept: KeptFile, file: string): string | null {
  try {
    return kept.read()
  } catch (cause) {
    throw new BeaverError(
      'invalid_configuration',
      `The file of prices ${file} cannot be read: ${whyUnreadable(cause)}.`,
      { cause },
    )
  }
}

/**
 * Adds prices to the file of prices.
 *
 * @param added prices by model
 * @param asOf the day of the import, such as `2026-11-25`
 * @returns what changed. If nothing did, the file is not written
 * @throws {BeaverError} `invalid_arguments` if a price contradicts one of the same day, or the file would be
 * larger than one that is read;
 *   `invalid_configuration` if the file cannot be read or written; `conflict` if another process is importing for too long
 */
export async function importPrices(
  file: string,
  added: Readonly<Record<string, readonly ImportedPrice[]>>,
  asOf: string,
): Promise<readonly PriceChange[]> {
  const add = async (): Promise<readonly PriceChange[]> => {
    const { models, changes } = mergedPrices(importedPrices(file), added)
    if (changes.length > 0) await writePrices(file, { as_of: asOf, models })
    return changes
  }
  try {
    return await whileLocked(file, add)
  } catch (cause) {
    if (cause instanceof BeaverError) throw cause
    throw new BeaverError(
      'invalid_configuration',
      `The file of prices ${file} cannot be written: ${messageOf(cause)}. Nothing was imported.`,
      { cause },
    )
  }
}

async function writePrices(file: string, content: PricesFile): Promise<void> {
  const parsed = pricesFile.safeParse(content)
  if (!parsed.success)
    throw new BeaverError(
      'invalid_arguments',
      `The prices were not imported: ${problemsText(problemsOf(parsed.error.issues, content).slice(0, 3))}.`,
    )
  await keptFile(file).write(`${JSON.stringify(content, null, 2)}\n`)
}

/** A model whose price changes, or that had none. */
export interface PriceChange {
  readonly model: string
  readonly before: ImportedPrice | null
  readonly after: ImportedPrice
}

const shown = (price: ImportedPrice): string =>
  JSON.stringify(
    Object.entries(price)
      .filter(([name]) => name !== 'from' && name !== 'source')
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )

/**
 * Adds the prices of a file to those that are there. A price that equals the one which counted before is no
 * change.
 */
export function mergedPrices(
  there: Readonly<Record<string, readonly ImportedPrice[]>>,
  added: Readonly<Record<string, readonly ImportedPrice[]>>,
): { readonly models: PricesFile['models']; readonly changes: readonly PriceChange[] } {
  const models = new Map<string, ImportedPrice[]>(
    Object.entries(there).map(([name, prices]) => [name, [...prices]]),
  )
  const changes: PriceChange[] = []
  for (const [model, prices] of Object.entries(added)) {
    for (const each of prices.toSorted((a, b) => (a.from < b.from ? -1 : 1))) {
      const known = models.get(model) ?? []
      const before = known.filter(({ from }) => from <= each.from).at(-1) ?? null
      if (before !== null && shown(before) === shown(each)) continue
      if (before?.from === each.from)
        throw new BeaverError(
          'invalid_arguments',
          `The model ${model} has another price from ${each.from} already. A price of a day stays. Give a later day with --from, or correct the file.`,
        )
      models.set(
        model,
        [...known, each].toSorted((a, b) => (a.from < b.from ? -1 : 1)),
      )
      changes.push({ model, before, after: each })
    }
  }
  return { models: Object.fromEntries([...models].toSorted(([a], [b]) => (a < b ? -1 : 1))), changes }
}
