// The dashboard and the alerts of `deploy`, held to the table of metrics: each expression is PromQL, and names
// only metrics and labels that a process shows, in the way in which they are counted.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { labelTable, type MetricRow, metricTable } from '@beaver/telemetry/metrics'
import { parser } from '@prometheus-io/lezer-promql'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../deploy/${path}`, import.meta.url)), 'utf8')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string }
}
interface Panel {
  readonly id: number
  readonly title: string
  readonly type: string
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const { groups } = parse(read('prometheus/alerts.yaml')) as { groups: readonly { rules: readonly Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)
const dashboard = JSON.parse(read('grafana/beaver.json')) as {
  panels: readonly Panel[]
  templating: { list: readonly { name: string; query: unknown }[] }
}
const targets = dashboard.panels.flatMap(({ title, targets: all = [] }) =>
  all.map((target) => ({ title, ...target })),
)

/** What Prometheus adds to each series, and the metric that it makes of each scrape. */
const ofPrometheus = { labels: ['job', 'instance'], metrics: ['up'] }
const ofCounters = ['Rate', 'Increase', 'Irate']
const rows = new Map<string, MetricRow>(
  (metricTable as readonly MetricRow[]).flatMap((row) =>
    row.type === 'histogram'
      ? ['_bucket', '_sum', '_count'].map((suffix): [string, MetricRow] => [`${row.name}${suffix}`, row])
      : [[row.name, row]],
  ),
)

/** What is wrong with an expression. Grafana replaces `$…` before Prometheus reads it. */
function faultsIn(written: string): string[] {
  const expr = written.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.+')
  const faults: string[] = []
  const names: string[] = []
  const labels: string[] = []
  const functions: string[] = []
  parser.parse(expr).iterate({
    enter({ type, from, to, node }) {
      const text = expr.slice(from, to)
      if (type.isError) faults.push(`is no PromQL at ${from}`)
      if (type.name === 'FunctionIdentifier') functions.push(node.firstChild?.type.name ?? '')
      if (type.name === 'Identifier' && node.parent?.type.name === 'VectorSelector') {
        names.push(text)
        const isCounted = ofCounters.includes(functionAround(node) ?? '')
        const row = rows.get(text)
        if (row === undefined && !ofPrometheus.metrics.includes(text)) faults.push(`names no metric: ${text}`)
        if (row !== undefined && isCounted !== (row.type !== 'gauge'))
          faults.push(`uses ${text}, which is a ${row.type}, ${isCounted ? 'with' : 'without'} a rate`)
      }
      if (type.name === 'LabelName') labels.push(text)
    },
  })
  const known = new Set([
    ...ofPrometheus.labels,
    'namespace',
    'tenant',
    ...names.flatMap((name) => rows.get(name)?.labels ?? []),
    ...(names.some((name) => name.endsWith('_bucket')) ? ['le'] : []),
  ])
  if (names.length === 0) faults.push('names no metric')
  for (const label of labels) if (!known.has(label)) faults.push(`names no label: ${label}`)
  return faults
}

interface Place {
  readonly type: { readonly name: string }
  readonly parent: Place | null
  getChild(name: string): { readonly firstChild: { readonly type: { readonly name: string } } | null } | null
}

/** The function whose argument is the selector. */
function functionAround(node: Place): string | null {
  for (let at = node.parent; at !== null; at = at.parent) {
    const called = at.type.name === 'FunctionCall' ? at.getChild('FunctionIdentifier')?.firstChild : null
    if (called !== null && called !== undefined) return called.type.name
  }
  return null
}

const labelsIn = (template: string): string[] =>
  [...template.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(([, name = '']) => name)
const isLabel = (name: string): boolean =>
  Object.hasOwn(labelTable, name) || ofPrometheus.labels.includes(name)

describe('the reader of expressions', () => {
  it.each([
    ['sum(rate(beaver_slots[5m]))', 'with a rate'],
    ['beaver_tasks_accepted_total > 1', 'without a rate'],
    ['beaver_made_up', 'names no metric: beaver_made_up'],
    ['beaver_tasks{user="a"}', 'names no label: user'],
    ['sum by (task) (beaver_tasks)', 'names no label: task'],
    ['sum by (le) (rate(beaver_http_requests_total[5m]))', 'names no label: le'],
    ['beaver_tasks{status=}', 'is no PromQL'],
    ['sum(beaver_tasks', 'is no PromQL'],
    ['1', 'names no metric'],
  ])('finds what is wrong with %s', (expr, fault) => {
    expect(faultsIn(expr).join('; ')).toContain(fault)
  })
})

describe('deploy/prometheus/alerts.yaml', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s can fire', (_, rule) => {
    expect(faultsIn(rule.expr)).toEqual([])
    expect(labelsIn(rule.annotations.summary).filter((name) => name !== 'value' && !isLabel(name))).toEqual(
      [],
    )
    expect(['info', 'warning', 'critical']).toContain(rule.labels.severity)
    expect(rule.for ?? '1m').toMatch(/^\d+[smh]$/)
  })

  it('has one name for each', () => {
    expect(rules.length).toBeGreaterThan(10)
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
  })
})

describe('deploy/grafana/beaver.json', () => {
  it.each(targets.map((target) => [target.title, target.expr, target.legendFormat] as const))(
    '%s shows something: %s',
    (_, expr, legend) => {
      expect(faultsIn(expr)).toEqual([])
      expect(expr).toContain('namespace=~"$namespace",tenant=~"$tenant"')
      expect(labelsIn(legend).filter((name) => !isLabel(name))).toEqual([])
    },
  )

  it('has variables for those whose numbers a person wants to see, and an id for each panel', () => {
    expect(dashboard.templating.list.map(({ name }) => name)).toEqual(['datasource', 'namespace', 'tenant'])
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
  })
})
