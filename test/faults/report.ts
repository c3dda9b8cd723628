// What a campaign found, for a person and as JSON.
import type { CampaignResult } from './campaign.ts'
import { type FaultKind, faultKinds, replayOf } from './plan.ts'

interface Quantiles {
  readonly tasks: number
  /** Tasks that had no further event. */
  readonly lost: number
  readonly p50_ms: number | null
  readonly p99_ms: number | null
  readonly max_ms: number | null
}

export interface CampaignReport {
  readonly seed: number
  readonly replay: string
  readonly duration_ms: number
  readonly settled_ms: number
  readonly tasks: number
  readonly events: number
  readonly model_requests: number
  readonly ends: Readonly<Record<string, number>>
  readonly operations: CampaignResult['counts']
  readonly faults: CampaignResult['faults']
  readonly skipped: readonly string[]
  readonly recovery: Readonly<Partial<Record<FaultKind, Quantiles>>>
  readonly slowest: readonly {
    readonly task: string
    readonly fault: FaultKind
    readonly at: number
    readonly ms: number
  }[]
  readonly violations: readonly { readonly rule: string; readonly task: string; readonly what: string }[]
}

export function reportOf(result: CampaignResult): CampaignReport {
  const samples = result.recovery.samples()
  const recovery: Partial<Record<FaultKind, Quantiles>> = {}
  for (const kind of faultKinds) {
    const of = samples[kind]
    if (of !== undefined) recovery[kind] = quantilesOf(of.ms, of.lost)
  }
  return {
    seed: result.plan.seed,
    replay: replayOf(result.plan),
    duration_ms: result.ms,
    settled_ms: result.settledMs,
    tasks: result.tasks,
    events: result.events,
    model_requests: result.requests,
    ends: result.ends,
    operations: result.counts,
    faults: result.faults,
    skipped: result.skipped,
    recovery,
    slowest: result.recovery.slowest(5),
    violations: result.violations,
  }
}

function quantilesOf(ms: readonly number[], lost: number): Quantiles {
  const sorted = ms.toSorted((a, b) => a - b)
  const at = (part: number): number | null =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? null
  return { tasks: ms.length, lost, p50_ms: at(0.5), p99_ms: at(0.99), max_ms: sorted.at(-1) ?? null }
}

/** The report as text. */
export function reportText(report: CampaignReport): string {
  const pairs = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ')
  const operations = Object.entries(report.operations).map(([kind, { ok, refused, unknown, codes }]) => [
    kind,
    `${ok}`,
    `${refused}`,
    `${unknown}`,
    pairs(codes),
  ])
  const recovery = Object.entries(report.recovery).map(([kind, of]) => [
    kind,
    `${report.faults[kind as FaultKind] ?? 0}`,
    `${of.tasks}`,
    ...[of.p50_ms, of.p99_ms, of.max_ms].map((ms) => (ms === null ? '' : `${ms}`)),
    `${of.lost}`,
  ])
  const rules = Object.entries(Object.groupBy(report.violations, ({ rule }) => rule))
  return [
    `seed ${report.seed}: ${report.tasks} tasks, ${report.events} events, ${report.model_requests} model requests in ${(report.duration_ms / 1000).toFixed(0)} s; settled in ${(report.settled_ms / 1000).toFixed(1)} s`,
    `ends: ${pairs(report.ends)}`,
    `faults: ${pairs(report.faults)}`,
    ...report.skipped.map((line) => `not tried: ${line}`),
    '',
    ...table(['operation', 'ok', 'refused', 'unknown', 'codes'], operations),
    '',
    ...table(['next event after', 'faults', 'tasks', 'p50 ms', 'p99 ms', 'max ms', 'never'], recovery),
    '',
    report.violations.length === 0 ? 'violations: none' : `violations: ${report.violations.length}`,
    ...rules.flatMap(([rule, of = []]) => [
      `  ${rule}: ${of.length}`,
      ...of.slice(0, 5).map(({ task, what }) => `    ${task}: ${what}`),
    ]),
    ...(report.violations.length === 0 ? [] : [`replay: ${report.replay}`]),
    '',
  ].join('\n')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) =>
        column === 0 || column === head.length - 1
          ? cell.padEnd(widths[column] ?? 0)
          : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  )
}
