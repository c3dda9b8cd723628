// The metrics of one process, in memory, and their text for Prometheus (format 0.0.4). They are counted for the
// whole life of the process, so nothing here may grow: a label has at most `valuesMax` values, and all later
// ones count as `other`. Counting makes no object, because it happens for each event of the journal
// (docs/decisions/0022).
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

/** Sets gauges just before a scrape is answered. */
export type Look = () => void | Promise<void>

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
  readonly #looks: Look[] = []

  /** @param constant labels of every series */
  constructor(process: WatchedProcess, constant: { readonly namespace: string; readonly tenant: string }) {
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

  /** Sets a gauge, or a counter that somebody else counts. */
  set<Name extends NameOf<'gauge' | 'counter'>>(name: Name, value: number, ...labels: LabelsOf<Name>): void {
    const series = this.#series(name, ...places(labels))
    if (series !== null) series[0] = value
  }

  /** Forgets the series of a gauge. */
  clear(name: NameOf<'gauge'>): void {
    this.#families.get(name)?.root.clear()
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

  /** Calls `look` before each answer to a scrape. */
  onScrape(look: Look): void {
    this.#looks.push(look)
  }

  /** All metrics as text. A look that fails leaves its gauges as they were. */
  async text(): Promise<string> {
    for (const look of this.#looks) {
      try {
        await look()
      } catch {
        // What could not be asked, such as a server that is away, is not known at the next scrape either.
      }
    }
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
