// When a rule sends an alert. What a projector measures and sends is in test/system/metrics.test.ts.
import { describe, expect, it } from 'vitest'
import { type AlertKind, decide, type Firing, type Measured } from './alert-watch.ts'

const rules = { queue: { longer_than_ms: 1_000 }, spend: { usd: 10 } }
const of = (kind: AlertKind, value: number, limit: number): Measured => ({
  kind,
  value,
  limit,
  examples: ['t1'],
})

/** What is sent while a value changes, one look after the other. */
function sent(values: readonly number[], before: Firing = {}): string[] {
  let firing = before
  return values.map((value, i) => {
    const decided = decide(firing, { rules, measured: [of('queue', value, 1_000)], at: `at ${i}` })
    firing = decided.firing
    return decided.alerts.map(({ state, since }) => `${state} since ${since}`).join()
  })
}

describe('a rule', () => {
  it('fires once, and is resolved once, with the time at which it began', () => {
    expect(sent([0, 999, 1_000, 5_000, 0, 0])).toEqual([
      '',
      '',
      'firing since at 2',
      '',
      'resolved since at 2',
      '',
    ])
  })

  it('is not resolved near its limit', () => {
    expect(sent([1_000, 950, 1_000, 900, 899])).toEqual([
      'firing since at 0',
      '',
      '',
      '',
      'resolved since at 0',
    ])
  })

  it('that fired before a restart is not sent again', () => {
    expect(sent([2_000, 0], { queue: 'yesterday' })).toEqual(['', 'resolved since yesterday'])
  })

  it('stays as it is while it cannot be measured', () => {
    expect(decide({ queue: 'then' }, { rules, measured: [of('spend', 1, 10)], at: 'now' })).toEqual({
      firing: { queue: 'then' },
      alerts: [],
    })
  })

  it('that the configuration no longer has is forgotten, without a word', () => {
    const { firing, alerts } = decide({ behind: 'then', queue: 'then' }, { rules, measured: [], at: 'now' })
    expect([firing, alerts]).toEqual([{ queue: 'then' }, []])
  })

  it('is told with its value, its limit and some tasks', () => {
    const { alerts } = decide({}, { rules, measured: [of('spend', 12.5, 10)], at: 'now' })
    expect(alerts).toEqual([
      { kind: 'spend', state: 'firing', at: 'now', since: 'now', value: 12.5, limit: 10, examples: ['t1'] },
    ])
  })
})
