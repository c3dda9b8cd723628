// What a projector shows of its own state. The whole way is in test/system/metrics.test.ts.
import { Metrics } from '@beaver/telemetry/metrics'
import { readPrometheusText, sampleOf } from '@beaver/testing'
import { expect, it } from 'vitest'
import { showCounts } from './projector-status.ts'

const status: Parameters<typeof showCounts>[1] = {
  ...{ events: 7, by_status: { completed: 1 }, findings: 0, quarantined: 0, fault: null },
  ...{ behind: 2, behind_since: '2026-01-01T00:00:00.000Z', checkpoints: { last: null } },
}

const fault = { code: 'unreachable', message: 'NATS is away.', since: '2026-01-01T00:00:00.000Z' }

it('shows how far it is behind only while it knows the end of the journal', async () => {
  let now = status
  const metrics = new Metrics('projector', { namespace: 'n', tenant: 't' })
  metrics.onScrape((show) => showCounts(show, now))
  const behind = readPrometheusText(await metrics.text())
  expect(sampleOf(behind, 'beaver_projector_behind_messages')).toBe(2)
  expect(sampleOf(behind, 'beaver_projector_behind_seconds')).toBeGreaterThan(0)
  now = { ...status, behind: null, behind_since: null, fault }
  const unknown = readPrometheusText(await metrics.text())
  expect([...unknown.keys()].filter((name) => name.includes('behind'))).toEqual([])
  expect(sampleOf(unknown, 'beaver_projector_stalled')).toBe(1)
  expect(sampleOf(unknown, 'beaver_tasks', { status: 'completed' })).toBe(1)
})
