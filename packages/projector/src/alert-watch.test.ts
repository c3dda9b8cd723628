// When a rule sends an alert. What a projector measures and sends is in test/system/metrics.test.ts.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { QueryOutput } from '@beaver/contracts'
import { priceTable } from '@beaver/core/cost'
import { keptFile } from '@beaver/platform'
import { openReadModel } from '@beaver/projection'
import { until, virtualClock } from '@beaver/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type AlertKind,
  alertId,
  AlertTeller,
  decide,
  type Firing,
  type Measured,
  measure,
  type ToldAlert,
} from './alert-watch.ts'

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

const alertOf = (kind: AlertKind, since: string, state: 'firing' | 'resolved' = 'firing'): ToldAlert => {
  const about = { kind, state, since, at: since, value: 1, limit: 1, examples: [] }
  return { id: alertId(about, 'ns', 'local'), ...about, tenant: 'local', namespace: 'ns' }
}

/** A receiver that takes an alert if `isThere` says so. */
function receiver() {
  const got: string[] = []
  const tried: string[] = []
  const state = { isThere: true }
  const send = async (alert: { readonly id: string }): Promise<boolean> => {
    tried.push(alert.id)
    if (state.isThere) got.push(alert.id)
    return state.isThere
  }
  return { got, tried, state, send }
}

function fileOfTest() {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-alerts-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'alerts.json')
}

describe('an alert', () => {
  const one = alertOf('queue', '2026-01-01T00:00:00.000Z')
  const other = alertOf('spend', '2026-01-01T00:00:30.000Z')

  it('has an id that is the same for the same alert only', () => {
    expect(one.id).toBe(alertOf('queue', '2026-01-01T00:00:00.000Z').id)
    const ids = [one, other, alertOf('queue', one.since, 'resolved'), alertOf('queue', other.since)]
    expect(new Set(ids.map(({ id }) => id)).size).toBe(4)
  })

  it('is kept before it is sent, and until the receiver has it, in the order of the alerts', async () => {
    const path = fileOfTest()
    const clock = virtualClock()
    const { got, tried, state, send } = receiver()
    state.isThere = false
    const teller = new AlertTeller({ send }, { file: keptFile(path), clock })
    await teller.keep({ queue: one.since }, [one])
    await until('it was tried', () => tried.length === 1)
    await teller.keep({ queue: one.since, spend: other.since }, [other])
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({
      firing: { queue: one.since, spend: other.since },
      untold: [one, other],
    })
    await until('a new alert is a reason to try at once', () => tried.length === 2)
    await until('it was tried again', () => {
      clock.advance(10_000)
      return tried.length > 2
    })
    expect([new Set(tried), got]).toEqual([new Set([one.id]), []])
    state.isThere = true
    await until('both are told', () => {
      clock.advance(3_600_000)
      return got.length === 2
    })
    expect(got).toEqual([one.id, other.id])
    await teller.stop()
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ untold: [] })
  })

  it('that was not told before the process was killed is told by the next one, with the same id', async () => {
    const path = fileOfTest()
    writeFileSync(path, JSON.stringify({ firing: { queue: one.since }, untold: [one] }))
    const { got, send } = receiver()
    const teller = new AlertTeller({ send }, { file: keptFile(path), clock: virtualClock() })
    await until('it is told', () => got.length === 1)
    expect([got, teller.state.firing]).toEqual([[one.id], { queue: one.since }])
    await teller.stop()
  })

  it.each([
    ['that of an earlier version', '{"queue":"then"}', { queue: 'then' }],
    ['none', '', {}],
    ['garbage', '{"firing":7,"untold":{"id":1}}', {}],
    ['a list', '[1]', {}],
    ['not JSON', '{"firing"', {}],
  ])('does not depend on the file: %s', async (_, text, firing) => {
    const path = fileOfTest()
    if (text !== '') writeFileSync(path, text)
    const { send, tried } = receiver()
    const teller = new AlertTeller({ send }, { file: keptFile(path), clock: virtualClock() })
    expect([teller.state, tried]).toEqual([{ firing, untold: [] }, []])
    await teller.stop()
  })
})

describe('what is measured', () => {
  const nowMs = Date.parse('2026-01-02T12:00:00Z')
  const rules = {
    failure_rate: { percent: 20, within_ms: 3_600_000, tasks_min: 3 },
    spend: { usd: 1 },
    waits: { longer_than_ms: 60_000 },
    queue: { longer_than_ms: 60_000 },
    behind: { longer_than_ms: 60_000 },
  }
  const status = { behind: 0, behind_since: null } as QueryOutput<'status'>
  const around = { now: () => nowMs, prices: priceTable({ configured: { m: { input: 2, output: 0 } } }) }

  function modelWith(...statements: readonly string[]) {
    const model = openReadModel(':memory:', { readBlob: async () => new Uint8Array() })
    onTestFinished(() => model.close())
    for (const text of statements) model.sql.run(text)
    return (over: Partial<QueryOutput<'status'>> = {}): Record<string, [number, readonly string[]]> =>
      Object.fromEntries(
        measure(rules, { sql: model.sql, status: { ...status, ...over }, around, nowMs }).map(
          ({ kind, value, examples }) => [kind, [value, examples]],
        ),
      )
  }
  const task = (id: string, of: string, value: string): string =>
    `insert into tasks (tenant, session_id, task_id, head_hash, ${of}) values ('local', 's', '${id}', '', ${value})`

  it('is nothing where nothing happened', () => {
    expect(modelWith()()).toEqual({
      behind: [0, []],
      queue: [0, []],
      waits: [0, []],
      failure_rate: [0, []],
      spend: [0, []],
    })
  })

  it('is how many of the tasks that ended within the time failed, without those that were cancelled', () => {
    const ended = (id: string, state: string, at = '2026-01-02T11:30:00.000Z'): string =>
      task(id, 'status, ended_at', `'${state}', '${at}'`)
    const measured = modelWith(
      ended('old', 'failed', '2026-01-02T10:59:00.000Z'),
      ...['a', 'b', 'c'].map((id) => ended(id, 'completed')),
      ended('bad', 'failed'),
      ended('stopped', 'cancelled'),
    )
    expect(measured()['failure_rate']).toEqual([25, ['bad']])
    expect(modelWith(ended('x', 'failed'), ended('y', 'failed'))()['failure_rate']?.[0]).toBe(0)
  })

  it('is what calls of this day cost, and no other day', () => {
    const used = (day: string): string =>
      `insert into usage_by_day (day, tenant, user_id, workflow, skill, profile, provider, model, input_tokens, output_tokens, calls,
         cached_input_tokens, cache_write_tokens, reasoning_tokens, audio_input_tokens, audio_output_tokens, unknown_calls, estimated_calls)
       values ('${day}', 'local', '', '', '', '', 'p', 'm', 1000000, 0, 1, 0, 0, 0, 0, 0, 0, 0)`
    expect(modelWith(used('2026-01-02'), used('2026-01-01'))()['spend']).toEqual([2, []])
  })

  it('is how long a task waits for a person and in the queue, with the tasks', () => {
    const measured = modelWith(
      task('asks', 'status, waits_for, last_event_at', "'running', 'person', '2026-01-02T11:58:00.000Z'"),
      task('queued', 'status, submitted_at', "'submitted', '2026-01-02T11:55:00.000Z'"),
    )
    expect(measured()).toMatchObject({ waits: [120_000, ['asks']], queue: [300_000, []] })
  })

  it('is only its own delay while the read model is behind', () => {
    const behind = { behind: 5_000, behind_since: '2026-01-02T11:59:00.000Z' }
    expect(modelWith()(behind)).toEqual({ behind: [60_000, []] })
  })
})
