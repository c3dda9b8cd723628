// Makes docs/reference/metrics.md from the table by which processes count.
import { labelTable, type MetricRow, metricTable, valuesMax } from '@beaver/telemetry/metrics'

const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`
const code = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ')

const metricsOf = (process: MetricRow['of'][number] | null): readonly MetricRow[] =>
  (metricTable as readonly MetricRow[]).filter(({ of }) =>
    process === null ? of.length > 1 : of.length === 1 && of[0] === process,
  )

function tableOf(rows: readonly MetricRow[]): string[] {
  const withBounds = ({ type, buckets }: MetricRow): string =>
    buckets === undefined ? type : `${type}: ${buckets.join(', ')}`
  return [
    row('metric', 'type', 'labels', 'meaning'),
    row('---', '---', '---', '---'),
    ...rows.map((each) => row(`\`${each.name}\``, withBounds(each), code(each.labels), each.help)),
  ]
}

/** The page, as `pnpm docs:metrics` writes it. */
export const metricsReference = (): string =>
  [
    '# Metrics',
    '',
    '`pnpm docs:metrics` generates this page from the table by which processes count; do not edit it. A process shows its metrics at `/metrics` if [`status.listen`](configuration.md) says so, in the text format of Prometheus. [Watch with Prometheus](../how-to/watch-with-prometheus.md) shows how to use them.',
    '',
    'Counters begin at 0 when a process starts. A daemon counts each event once, when it is durable in the journal; so the sums of all daemons are those of the journal, except for what a daemon could not count any more before it died. What a projector shows are gauges from the read model. A histogram names its upper bounds, in the unit of its name. A gauge whose value cannot be read is absent, and `beaver_scrape_errors_total` counts it.',
    '',
    '## A daemon',
    '',
    ...tableOf(metricsOf('daemon')),
    '',
    '## A projector',
    '',
    ...tableOf(metricsOf('projector')),
    '',
    '## A gateway',
    '',
    ...tableOf(metricsOf('gateway')),
    '',
    '## Several processes',
    '',
    'The metrics of the journal and of NATS are about this process alone. The names of the others are those that dashboards for Node.js know.',
    '',
    ...tableOf(metricsOf(null)),
    '',
    '## Labels',
    '',
    `No label names a task, a session, a user, a run, a call, a path or a text. The values of each label come from a closed set, and never are more than ${valuesMax}: what goes beyond counts as \`other\`.`,
    '',
    row('label', 'values'),
    row('---', '---'),
    ...Object.entries(labelTable).map(([name, says]) => row(`\`${name}\``, says)),
    '',
  ].join('\n')
