// The metrics of one process, in memory, and their text for Prometheus (format 0.0.4). They are counted for the
// whole life of the process, so nothing here may grow: a label has at most `valuesMax` values, and all later
// ones count as `other`. Counting makes no object, because it happens for each event of the journal
// (docs/decisions/0022).
// A gauge is asked for by a look, at each scrape. If the look fails, its gauges are absent: a number that is
// shown looks like one of now.
import { type Clock, systemClock } from '@beaver/core'
import { type LabelsOf, type MetricRow, metricTable, type NameOf, type WatchedProcess } from './table.ts'

/** The values that a label may have. */
export const valuesMax = 200
/** What counts for every further value. */
export const otherValue = 'other'

/** What a scrape is told to have. */
export const contentType = 'text/plain; version=0.0.4; charset=utf-8'

/** A series has one number; that of a histogram has one for each bucket, and at the end the sum and the count. */
type Series = Float64Array
type Branch = Map<string, Branch | Series>

interface Family {
  readonly row: MetricRow
  readonly root: Branch
  /** The values of each label so far. */
  readonly values: readonly Set<string>[]
}

/** The time that a look may take. A scrape of Prometheus waits for 10 s by default. */
const lookMsMax = 5_000

/** Gives the value of a gauge, or of a counter that somebody else counts. */
export type Show = <Name extends NameOf<'gauge' | 'counter'>>(
  name: Name,
  value: number,
  ...labels: LabelsOf<Name>
) => void

/**
 * Asks for gauges just before a scrape is answered. What it showed before and does not show now is gone. If it
 * fails or takes too long, nothing of it is shown.
 */
export type Look = (show: Show) => void | Promise<void>

interface Asked {
  readonly look: Look
  /** Whether it was too late and still is under way. It is not asked twice at a time. */
  isOpen: boolean
  /** The gauges that it has ever shown. */
  readonly gauges: Set<Family>
}

/**
 * The metrics of a process.
 *
 * @example
 * const metrics = new Metrics('daemon', { namespace: 'default', tenant: 'local' })
 * metrics.add('beaver_approvals_total', 1, 'granted')
 * await metrics.text() // contains beaver_approvals_total{namespace="default",tenant="local",decision="granted"} 1
 */
export class Metrics {
  readonly #families = new Map<string, Family>()
  readonly #constant: string
  readonly #looks: Asked[] = []
  readonly #clock: Clock
  #looking: Promise<void> | null = null

  /** @param constant labels of every series */
  constructor(
    process: WatchedProcess,
    constant: { readonly namespace: string; readonly tenant: string },
    { clock = systemClock }: { readonly clock?: Clock } = {},
  ) {
    this.#clock = clock
    this.#constant = Object.entries(constant)
      .map(([name, value]) => label(name, value))
      .join(',')
    for (const row of metricTable as readonly MetricRow[]) {
      if (!row.of.includes(process)) continue
      this.#families.set(row.name, { row, root: new Map(), values: row.labels.map(() => new Set()) })
      // Without it, the first increase of a counter is no increase for Prometheus.
      if (row.labels.length === 0 && row.type !== 'gauge') this.#series(row.name, '', '', '')
    }
  }

  /** Adds to a counter. A process that does not show the metric ignores it. */
  add<Name extends NameOf<'counter'>>(name: Name, value: number, ...labels: LabelsOf<Name>): void {
    const series = this.#series(name, ...places(labels))
    if (series !== null && value > 0) series[0] = (series[0] ?? 0) + value
  }

  /** Counts a value in a histogram. */
  observe<Name extends NameOf<'histogram'>>(name: Name, value: number, ...labels: LabelsOf<Name>): void {
    const family = this.#families.get(name)
    const series = this.#series(name, ...places(labels))
    if (series === null || family === undefined || !(value >= 0)) return
    const buckets = family.row.buckets ?? []
    let at = 0
    while (at < buckets.length && value > (buckets[at] ?? 0)) at++
    if (at < buckets.length) series[at] = (series[at] ?? 0) + 1
    series[buckets.length] = (series[buckets.length] ?? 0) + value
    series[buckets.length + 1] = (series[buckets.length + 1] ?? 0) + 1
  }

  /** Calls `look` before each answer to a scrape. Give what can fail alone a look of its own. */
  onScrape(look: Look): void {
    this.#looks.push({ look, isOpen: false, gauges: new Set() })
  }

  /** All metrics as text. Scrapes at the same time share one look at each gauge. */
  async text(): Promise<string> {
    this.#looking ??= Promise.all(this.#looks.map((each) => this.#look(each)))
      .then(() => {})
      .finally(() => (this.#looking = null))
    await this.#looking
    const lines: string[] = []
    for (const { row, root } of this.#families.values()) {
      const own: string[] = []
      this.#write(own, row, { node: root, depth: 0, labels: this.#constant })
      if (own.length > 0)
        lines.push(`# HELP ${row.name} ${helpText(row.help)}.`, `# TYPE ${row.name} ${row.type}`)
      for (const line of own) lines.push(line)
    }
    return `${lines.join('\n')}\n`
  }

  /** Replaces the gauges of a look all at once. */
  async #look(asked: Asked): Promise<void> {
    const { gauges } = asked
    const shown: (() => void)[] = []
    const show: Show = (name, value, ...labels) => {
      shown.push(() => {
        const series = this.#series(name, ...places(labels))
        if (series !== null) series[0] = value
        const family = this.#families.get(name)
        if (family?.row.type === 'gauge') gauges.add(family)
      })
    }
    const isKnown = !asked.isOpen && (await inTime(asked, { show, clock: this.#clock }))
    for (const { root } of gauges) root.clear()
    if (isKnown) for (const each of shown) each()
    else this.add('beaver_scrape_errors_total', 1)
  }

  /** The series of up to three labels; `null` if the process does not show the metric. */
  #series(name: string, one: string, two: string, three: string): Series | null {
    const family = this.#families.get(name)
    if (family === undefined) return null
    const { row, root } = family
    let node: Branch = root
    const last = Math.max(0, row.labels.length - 1)
    for (let at = 0; at < last; at++) {
      const value = this.#bounded(family, at, at === 0 ? one : two)
      let next = node.get(value) as Branch | undefined
      if (next === undefined) node.set(value, (next = new Map()))
      node = next
    }
    const value =
      row.labels.length === 0 ? '' : this.#bounded(family, last, last === 0 ? one : last === 1 ? two : three)
    let series = node.get(value) as Series | undefined
    if (series === undefined) {
      series = new Float64Array(row.type === 'histogram' ? (row.buckets ?? []).length + 2 : 1)
      node.set(value, series)
    }
    return series
  }

  #bounded({ values }: Family, at: number, value: string): string {
    const known = values[at]
    if (known === undefined || known.has(value)) return value
    if (known.size >= valuesMax - 1) return otherValue
    known.add(value)
    return value
  }

  #write(lines: string[], row: MetricRow, of: { node: Branch; depth: number; labels: string }): void {
    for (const [value, next] of of.node) {
      const name = row.labels[of.depth]
      const labels = name === undefined ? of.labels : `${of.labels},${label(name, value)}`
      if (next instanceof Map) this.#write(lines, row, { node: next, depth: of.depth + 1, labels })
      else if (row.type === 'histogram') writeHistogram(lines, row, { series: next, labels })
      else lines.push(`${row.name}{${labels}} ${numberText(next[0] ?? 0)}`)
    }
  }
}

/** @returns `false`: it failed, or takes too long */
async function inTime(
  asked: Asked,
  { show, clock }: { readonly show: Show; readonly clock: Clock },
): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = clock.after(lookMsMax, () => resolve(false))
  const ask = async (): Promise<boolean> => {
    asked.isOpen = true
    try {
      await asked.look(show)
      return true
    } catch {
      return false // What could not be asked, such as a server that is away, is not known.
    } finally {
      asked.isOpen = false
    }
  }
  const isKnown = await Promise.race([ask(), late])
  timer.cancel()
  return isKnown
}

function writeHistogram(
  lines: string[],
  { name, buckets = [] }: MetricRow,
  { series, labels }: { readonly series: Series; readonly labels: string },
): void {
  let sum = 0
  buckets.forEach((bound, at) => {
    sum += series[at] ?? 0
    lines.push(`${name}_bucket{${labels},le="${numberText(bound)}"} ${sum}`)
  })
  const count = series[buckets.length + 1] ?? 0
  lines.push(
    `${name}_bucket{${labels},le="+Inf"} ${count}`,
    `${name}_sum{${labels}} ${numberText(series[buckets.length] ?? 0)}`,
    `${name}_count{${labels}} ${count}`,
  )
}

const places = (labels: readonly string[]): [string, string, string] => [
  labels[0] ?? '',
  labels[1] ?? '',
  labels[2] ?? '',
]

const label = (name: string, value: string): string =>
  `${name}="${value
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)}"`

const helpText = (text: string): string => text.replaceAll('\\', String.raw`\\`)

const numberText = (value: number): string =>
  value === Infinity ? '+Inf' : value === -Infinity ? '-Inf' : String(value)
