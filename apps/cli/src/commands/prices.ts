// `beaver prices`: lists the prices of models, and imports prices from a file. It needs no running system. An
// import adds prices that begin at a day, so the cost of earlier days does not change. If an import is
// refused, nothing changes.
import { readFile, stat } from 'node:fs/promises'
import { BeaverError, systemClock, whyUnreadable } from '@beaver/core'
import { modelPrices, type Price, priceOf } from '@beaver/core/cost'
import {
  type BadEntry,
  type Config,
  importedPrices,
  importPrices,
  mergedPrices,
  type PriceChange,
  pricesOf,
  readPrices,
} from '@beaver/platform'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import type { Screen } from '../screen.ts'
import { counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { table } from '../text/table.ts'

interface PricesOptions {
  readonly from?: string
  readonly source?: string
  readonly dryRun?: true
  readonly limit?: number
  readonly json?: true
}

const fileBytesMax = 32 * 1024 * 1024

export async function prices(
  verb: 'list' | 'import',
  source: string | undefined,
  options: PricesOptions,
  globals: GlobalOptions,
): Promise<number> {
  const { config, screen } = contextOf(globals, 'prices')
  if (verb === 'list') list(config, source, options, screen)
  else if (source === undefined) throw new UsageError('Name the file: beaver prices import <file>')
  else await importFile(config, source, options, screen)
  return 0
}

interface ListedPrice extends Price {
  readonly model: string
  /** The first day on which the price counts. `null`: it counts on every day. */
  readonly from: string | null
  readonly source: string
}

function pricesIn(config: Config): ListedPrice[] {
  const { configured = {}, named = new Map<string, Price>() } = pricesOf(config)
  return [
    ...[...named].map(([model, price]) => ({
      model,
      from: null,
      ...price,
      source: 'configuration of the model',
    })),
    ...Object.entries(configured).map(([model, price]) => ({
      model,
      from: null,
      ...price,
      source: 'configuration',
    })),
    ...Object.entries(importedPrices(config.pricesFile)).flatMap(([model, dated]) =>
      dated.map(({ source = 'imported', ...price }) => ({ model, ...price, source })),
    ),
    ...Object.entries(modelPrices).map(([model, price]) => ({
      model,
      from: null,
      ...price,
      source: 'Beaver',
    })),
  ].toSorted((one, other) => (one.model === other.model ? 0 : one.model < other.model ? -1 : 1))
}

const listedUsual = 100

function list(
  config: Config,
  word: string | undefined,
  { limit = listedUsual, json }: PricesOptions,
  screen: Screen,
): void {
  const found = pricesIn(config).filter(
    ({ model }) => word === undefined || model.toLowerCase().includes(word.toLowerCase()),
  )
  const shown = found.slice(0, limit)
  if (json === true) return screen.json({ prices: shown, more: found.length > shown.length })
  if (shown.length === 0)
    return screen.print(`No model with a price has ${JSON.stringify(word)} in its name. Its cost is unknown.`)
  screen.print(
    ...pricesTable(shown, screen),
    '',
    screen.style.dim('USD per million tokens. A price that is not given is that of the input or the output.'),
  )
  if (found.length > shown.length)
    screen.print(
      screen.style.dim(`There are ${found.length}. Name a part of a model, or show more with --limit.`),
    )
}

function pricesTable(
  shown: readonly ListedPrice[],
  { columns, style }: Pick<Screen, 'columns' | 'style'>,
): string[] {
  const usd = (of: (price: ListedPrice) => number | undefined) => (price: ListedPrice) =>
    String(of(price) ?? '')
  return table<ListedPrice>(
    [
      { title: 'MODEL', cell: ({ model }) => oneLine(model, 60), paint: style.cyan },
      { title: 'FROM', cell: ({ from }) => from ?? '', optional: 1 },
      { title: 'INPUT', cell: usd(({ input }) => input), align: 'right' },
      { title: 'CACHED', cell: usd((price) => price.cached_input), align: 'right', optional: 2 },
      { title: 'WRITTEN', cell: usd((price) => price.cache_write), align: 'right', optional: 3 },
      { title: 'OUTPUT', cell: usd(({ output }) => output), align: 'right' },
      { title: 'THOUGHTS', cell: usd((price) => price.reasoning), align: 'right', optional: 4 },
      { title: 'SOURCE', cell: ({ source }) => oneLine(source), flexible: true, optional: 5 },
    ],
    shown,
    { width: columns, title: style.dim },
  )
}

async function importFile(
  config: Config,
  file: string,
  { from, source, dryRun, json }: PricesOptions,
  screen: Screen,
): Promise<void> {
  const today = new Date(systemClock.now()).toISOString().slice(0, 'YYYY-MM-DD'.length)
  const read = readPrices(await textOf(file), { file, from: dayOf(from) ?? today, source })
  const { pricesFile } = config
  const changes =
    dryRun === true
      ? mergedPrices(importedPrices(pricesFile), read.models).changes
      : await importPrices(pricesFile, read.models, today)
  const { changed, added } = told(changes, config)
  if (json === true)
    return screen.json({
      ...{
        imported: dryRun !== true,
        changed,
        added: added.map(({ model, after }) => ({ model, ...after })),
      },
      ...{ left_out: read.leftOut, bad: read.bad, tiered: read.tiered },
    })
  const shown = changed.slice(0, changesShown)
  if (shown.length > 0)
    screen.print(
      ...shown.map(
        ({ model, before, after }) =>
          `${oneLine(model, 60)}: ${priceText(before)} → ${priceText(after)} from ${after.from}`,
      ),
    )
  if (changed.length > shown.length) screen.print(`… and ${changed.length - shown.length} more`)
  const verb = dryRun === true ? 'Would import' : 'Imported'
  const left =
    read.leftOut === 0
      ? ''
      : ` ${read.leftOut} without a price for tokens of text ${read.leftOut === 1 ? 'was' : 'were'} left out.`
  screen.print(
    `${verb} ${counted(changes.length, 'price')}: ${changed.length} changed, ${added.length} new.${left}`,
  )
  if (read.tiered > 0)
    screen.print(
      `${counted(read.tiered, 'model')} ${read.tiered === 1 ? 'has' : 'have'} another price for long prompts. Beaver does not know it, and counts the price of short ones.`,
    )
  if (read.bad.length > 0) screen.warn(...badLines(read.bad))
}

const changesShown = 20

function badLines(bad: readonly BadEntry[]): string[] {
  const shown = bad.slice(0, changesShown).map(({ model, why }) => `  ${oneLine(model, 60)}: ${oneLine(why)}`)
  const more = bad.length > shown.length ? [`  … and ${bad.length - shown.length} more`] : []
  return [
    `${counted(bad.length, 'bad price')} ${bad.length === 1 ? 'was' : 'were'} left out:`,
    ...shown,
    ...more,
  ]
}

interface ReplacedPrice extends Omit<PriceChange, 'before'> {
  readonly before: Price
}

/**
 * Splits the changes: a change of an existing price is listed, and a price for a model that had none is only
 * counted.
 */
function told(
  changes: readonly PriceChange[],
  config: Config,
): { readonly changed: readonly ReplacedPrice[]; readonly added: readonly PriceChange[] } {
  const book = pricesOf(config)
  const before = (change: PriceChange): Price | null =>
    change.before ?? priceOf(change.model, { configured: book.configured ?? {} })
  const differs = (one: Price, other: Price): boolean => priceText(one) !== priceText(other)
  const known = changes.flatMap((change): ReplacedPrice[] => {
    const old = before(change)
    return old === null || !differs(old, change.after) ? [] : [{ ...change, before: old }]
  })
  return { changed: known, added: changes.filter((change) => before(change) === null) }
}

function priceText({ input, output, cached_input: cached }: Price): string {
  return `$${input} in${cached === undefined ? '' : ` ($${cached} cached)`}, $${output} out`
}

/**
 * Reads `--from`.
 *
 * @throws {UsageError}
 */
function dayOf(text: string | undefined): string | null {
  if (text === undefined) return null
  if (!/^\d{4}-\d\d-\d\d$/.test(text) || Number.isNaN(Date.parse(text)))
    throw new UsageError(`--from must be a day such as 2026-11-01, not ${JSON.stringify(text)}.`)
  return text
}

async function textOf(file: string): Promise<string> {
  try {
    const { size } = await stat(file)
    if (size > fileBytesMax)
      throw new BeaverError('invalid_arguments', `The file ${file} is larger than ${fileBytesMax} bytes.`)
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof BeaverError) throw error
    throw new BeaverError('invalid_arguments', `The file ${file} cannot be read: ${whyUnreadable(error)}.`)
  }
}
