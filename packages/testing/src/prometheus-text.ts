// A strict reader of the text format of Prometheus (0.0.4): it refuses what a scraper would only tolerate, such
// as a family in two places, a series twice, or buckets that fall.

export interface MetricFamily {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly samples: readonly Sample[]
}

export interface Sample {
  /** The name of the line, such as `…_bucket`. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const sampleForm = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const labelForm = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,(?=.)|$)/
const numberForm = /^(?:[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\+Inf|-Inf|NaN)$/
const suffixes: Readonly<Record<string, readonly string[]>> = { histogram: ['_bucket', '_sum', '_count'] }

/**
 * The families of a text, by name. @throws {Error} with the line that breaks the format
 */
export function readPrometheusText(text: string): Map<string, MetricFamily> {
  const families = new Map<string, MetricFamily & { readonly samples: Sample[] }>()
  if (!text.endsWith('\n')) throw new Error('The text does not end with a line break.')
  let current: (MetricFamily & { readonly samples: Sample[] }) | null = null
  let help: { readonly name: string; readonly text: string } | null = null
  const seen = new Set<string>()
  for (const line of text.slice(0, -1).split('\n')) {
    const refuse = (why: string): never => {
      throw new Error(`${why}: ${line}`)
    }
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') {
      if (help !== null || families.has(name)) refuse('The help is not the first line of its family')
      help = { name, text: rest }
    } else if (kind === 'TYPE') {
      if (help?.name !== name) refuse('The type does not follow its help')
      if (!['counter', 'gauge', 'histogram'].includes(rest)) refuse('The type is not known')
      current = { name, type: rest, help: help?.text ?? '', samples: [] }
      families.set(name, current)
      help = null
    } else {
      const sample = readSample(line) ?? refuse('The line is no sample')
      const of = (suffixes[current?.type ?? ''] ?? ['']).map((suffix) => `${current?.name}${suffix}`)
      if (help !== null || !of.includes(sample.name)) refuse('The sample is not of the family before it')
      const series = JSON.stringify([sample.name, sortedLabels(sample.labels)])
      if (seen.has(series)) refuse('The series is there twice')
      seen.add(series)
      if (current?.type !== 'gauge' && !(sample.value >= 0)) refuse('The count is below zero')
      current?.samples.push(sample)
    }
  }
  for (const family of families.values()) {
    if (family.samples.length === 0) throw new Error(`The family ${family.name} has no sample.`)
    if (family.type === 'histogram') checkHistogram(family)
  }
  return families
}

const sortedLabels = (labels: Readonly<Record<string, string>>): readonly (readonly [string, string])[] =>
  Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))

function readSample(line: string): Sample | null {
  const [matched, name = '', inner = '', number = ''] = sampleForm.exec(line) ?? []
  if (matched === undefined || !numberForm.test(number)) return null
  const labels: Record<string, string> = {}
  for (let rest = inner; rest !== '';) {
    const [whole, label = '', value = ''] = labelForm.exec(rest) ?? []
    if (whole === undefined || Object.hasOwn(labels, label)) return null
    labels[label] = value.replaceAll(/\\([\\"n])/g, (_, letter: string) => (letter === 'n' ? '\n' : letter))
    rest = rest.slice(whole.length)
  }
  return { name, labels, value: Number(number.replace('Inf', 'Infinity')) }
}

function checkHistogram({ name, samples }: MetricFamily): void {
  const groups = Map.groupBy(samples, ({ labels }) =>
    JSON.stringify(sortedLabels(labels).filter(([name]) => name !== 'le')),
  )
  for (const [labels, group] of groups) {
    const refuse = (why: string): never => {
      throw new Error(`${name}${labels}: ${why}`)
    }
    const buckets = group
      .filter((each) => each.name === `${name}_bucket`)
      .map((each) => ({ bound: Number(each.labels['le']?.replace('Inf', 'Infinity')), count: each.value }))
    buckets.forEach(({ bound, count }, i) => {
      const before = buckets[i - 1]
      if (before !== undefined && !(bound > before.bound && count >= before.count))
        refuse('The buckets do not rise.')
    })
    const count = group.find((each) => each.name === `${name}_count`)?.value
    if (buckets.at(-1)?.bound !== Infinity || buckets.at(-1)?.count !== count)
      refuse('The last bucket does not have everything.')
    if (!group.some((each) => each.name === `${name}_sum`)) refuse('There is no sum.')
  }
}

/** The value of one series; `undefined`: there is none with these labels, among others. */
export const sampleOf = (
  families: ReadonlyMap<string, MetricFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined =>
  [...families.values()]
    .flatMap(({ samples }) => samples)
    .find(
      (each) =>
        each.name === name && Object.entries(labels).every(([key, value]) => each.labels[key] === value),
    )?.value
