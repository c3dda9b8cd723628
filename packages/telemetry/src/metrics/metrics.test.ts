import { setImmediate } from 'node:timers/promises'
import { readPrometheusText, sampleOf, virtualClock } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { closedNames } from './closed-names.ts'
import { Metrics, valuesMax } from './metrics.ts'
import { labelTable, type MetricRow, metricTable } from './table.ts'
import { watchProcess } from './watch-process.ts'

const rows: readonly MetricRow[] = metricTable
const named = { namespace: 'a "quoted"\\name', tenant: 'local' }

describe('the text', () => {
  it('is in the format of Prometheus, whatever labels contain', async () => {
    const metrics = new Metrics('daemon', named)
    watchProcess(metrics)
    metrics.add('beaver_tool_calls_total', 2, 'a\nb"c\\', 'ok')
    metrics.observe('beaver_append_seconds', 0.004)
    metrics.observe('beaver_append_seconds', 99)
    metrics.onScrape((show) => show('beaver_slots', 1e21))
    const families = readPrometheusText(await metrics.text())
    expect(sampleOf(families, 'beaver_tool_calls_total', { tool: 'a\nb"c\\', outcome: 'ok', ...named })).toBe(
      2,
    )
    expect(sampleOf(families, 'beaver_append_seconds_bucket', { le: '0.0025' })).toBe(0)
    expect(sampleOf(families, 'beaver_append_seconds_bucket', { le: '0.005' })).toBe(1)
    expect(sampleOf(families, 'beaver_append_seconds_bucket', { le: '+Inf' })).toBe(2)
    expect(sampleOf(families, 'beaver_append_seconds_sum')).toBe(99.004)
    expect(sampleOf(families, 'beaver_slots')).toBe(1e21)
    expect(sampleOf(families, 'process_resident_memory_bytes')).toBeGreaterThan(1e6)
  })

  it('has each counter without labels before the first event', async () => {
    const families = readPrometheusText(await new Metrics('daemon', named).text())
    expect(sampleOf(families, 'beaver_tasks_accepted_total')).toBe(0)
    expect(sampleOf(families, 'beaver_append_seconds_count')).toBe(0)
    expect(families.has('beaver_slots')).toBe(false)
  })

  it('has nothing of other processes', async () => {
    const metrics = new Metrics('gateway', named)
    metrics.add('beaver_approvals_total', 1, 'granted')
    metrics.onScrape((show) => show('beaver_tasks', 3, 'completed'))
    const families = readPrometheusText(await metrics.text())
    expect([...families.keys()]).toEqual([
      'beaver_nats_reconnects_total',
      'beaver_scrape_errors_total',
      'process_cpu_seconds_total',
    ])
  })

  it('leaves out the gauges of a look that fails, and no others, and counts it', async () => {
    const metrics = new Metrics('daemon', named)
    let isAway = false
    metrics.onScrape((show) => {
      show('beaver_slots', 7)
      if (isAway) throw new Error('away')
      show('beaver_loops', 1)
    })
    metrics.onScrape((show) => show('beaver_threads', 2))
    const shown = async () => {
      const families = readPrometheusText(await metrics.text())
      return ['beaver_slots', 'beaver_loops', 'beaver_threads', 'beaver_scrape_errors_total'].map((name) =>
        families.has(name) ? sampleOf(families, name) : null,
      )
    }
    expect(await shown()).toEqual([7, 1, 2, 0])
    isAway = true
    expect(await shown()).toEqual([null, null, 2, 1])
    isAway = false
    expect(await shown()).toEqual([7, 1, 2, 1])
  })

  it('has no series any more that a look does not show any more', async () => {
    const metrics = new Metrics('projector', named)
    let statuses = ['open', 'completed']
    metrics.onScrape((show) => {
      for (const status of statuses) show('beaver_tasks', 1, status)
    })
    await metrics.text()
    statuses = ['completed']
    const { samples = [] } = readPrometheusText(await metrics.text()).get('beaver_tasks') ?? {}
    expect(samples.map(({ labels }) => labels['status'])).toEqual(['completed'])
  })

  it('does not wait for a look that takes too long, and does not ask it twice at a time', async () => {
    const clock = virtualClock()
    const metrics = new Metrics('daemon', named, { clock })
    const answer = Promise.withResolvers<void>()
    let asked = 0
    metrics.onScrape(async (show) => {
      asked++
      await answer.promise
      show('beaver_slots', 7)
    })
    const first = metrics.text()
    const second = metrics.text() // At the same time: it shares the look.
    clock.advance(5_000)
    const late = readPrometheusText(await first)
    expect([late.has('beaver_slots'), sampleOf(late, 'beaver_scrape_errors_total')]).toEqual([false, 1])
    expect(await second).toBe(await first)
    const third = readPrometheusText(await metrics.text())
    expect([asked, sampleOf(third, 'beaver_scrape_errors_total')]).toEqual([1, 2])
    answer.resolve()
    await answer.promise
    await setImmediate()
    expect(sampleOf(readPrometheusText(await metrics.text()), 'beaver_slots')).toBe(7)
  })

  it('keeps a counter as it was if somebody adds nothing or less', async () => {
    const metrics = new Metrics('daemon', named)
    metrics.add('beaver_run_restarts_total', 2)
    metrics.add('beaver_run_restarts_total', -1)
    metrics.add('beaver_run_restarts_total', Number.NaN)
    expect(sampleOf(readPrometheusText(await metrics.text()), 'beaver_run_restarts_total')).toBe(2)
  })
})

describe('labels', () => {
  it(`have at most ${valuesMax} values, also with 10,000 made-up names, and nothing is lost`, async () => {
    const metrics = new Metrics('daemon', named)
    for (let i = 0; i < 10_000; i++) metrics.add('beaver_tool_calls_total', 1, `made up ${i}`, 'ok')
    const samples = readPrometheusText(await metrics.text()).get('beaver_tool_calls_total')?.samples ?? []
    expect(samples).toHaveLength(valuesMax)
    expect(samples.reduce((sum, { value }) => sum + value, 0)).toBe(10_000)
  })

  it('name what the configuration names, and no other name of the journal', () => {
    const nameOf = closedNames(['gpt-5', 'gpt-5-mini', ''])
    expect(nameOf('gpt-5')).toBe('gpt-5')
    expect(nameOf('gpt-5-mini-2025-08-07')).toBe('gpt-5-mini')
    expect(nameOf(undefined)).toBe('unknown')
    const found = new Set(Array.from({ length: 10_000 }, (_, i) => nameOf(`made up ${i}`)))
    expect([...found]).toEqual(['other'])
  })
})

describe('the table', () => {
  it('follows the rules for names of Prometheus', () => {
    for (const { name, type, help, labels, buckets = [] } of rows) {
      expect(name).toMatch(/^[a-z][a-z0-9_]*$/)
      expect(name.endsWith('_total')).toBe(type === 'counter')
      expect(buckets.length > 0).toBe(type === 'histogram')
      expect([...buckets].toSorted((a, b) => a - b)).toEqual(buckets)
      expect(labels.length).toBeLessThanOrEqual(3)
      expect(help).not.toMatch(/[.\n]$/)
    }
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length)
  })

  it('has no label that names a task, a person or a text', () => {
    const forbidden = /task|session|user|run|call|message|path|prompt|id$/
    expect(Object.keys(labelTable).filter((name) => forbidden.test(name))).toEqual([])
  })
})
