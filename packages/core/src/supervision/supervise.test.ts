// Given a supervisor with running children, when one ends, then these actions: OTP's semantics.
import { describe, expect, it } from 'vitest'
import type { Intensity } from './restart-intensity.ts'
import {
  newSupervisor,
  supervise,
  type SupervisorAction,
  type SupervisorEvent,
  type SupervisorState,
} from './supervise.ts'
import type { Escalation, SupervisorSpec } from './supervisor-spec.ts'

const base: SupervisorSpec = {
  id: 'test',
  what: 'part',
  intensity: { restartsMax: 2, periodMs: 1_000, counts: 'each_child' },
  backoff: { pauseMsMin: 100, pauseMsMax: 300, jitter: false },
  escalation: { kind: 'fail', says: 'everything ends' },
  firstStart: 'must_succeed',
  why: 'small numbers are easy to read',
}

const spec = ({
  escalation = 'fail',
  ...intensity
}: { escalation?: Escalation['kind'] } & Partial<Omit<Intensity, 'counts'>> = {}): SupervisorSpec => ({
  ...base,
  intensity: { ...base.intensity, ...intensity },
  escalation: { kind: escalation, says: 'so it is' },
})

const died = (id: string, at = 0): SupervisorEvent => ({
  kind: 'child_ended',
  id,
  reason: 'exit code 1',
  at,
  random: 0,
})
const started = (id: string): SupervisorEvent => ({ kind: 'child_started', id })

/** A supervisor whose children run. */
function running(of: SupervisorSpec, ids: readonly string[] = ['a', 'b', 'c']): SupervisorState {
  const events = ids.flatMap((id): SupervisorEvent[] => [{ kind: 'child_added', id }, started(id)])
  return events.reduce((state, event) => supervise(state, event).state, newSupervisor(of))
}

/** What each event leads to, in short: `start a`, `stop b`. */
function told(given: SupervisorState, ...when: readonly SupervisorEvent[]): string[][] {
  let state = given
  return when.map((event) => {
    const next = supervise(state, event)
    state = next.state
    return next.actions.map(short)
  })
}

function short(action: SupervisorAction): string {
  switch (action.kind) {
    case 'start':
      return `start ${action.id} after ${action.pauseMs}`
    case 'stop':
      return `stop ${action.id}`
    case 'tell_restart':
      return `tell ${action.id} death ${action.deaths}`
    case 'escalate':
      return `escalate ${action.id} deaths ${action.deaths}${action.againMs === null ? '' : ` again in ${action.againMs}`}`
    case 'ended':
      return 'ended'
    default:
      return action satisfies never
  }
}

it('what dies for the first time within the period is started again after a pause of its own', () => {
  const of = {
    ...spec({ restartsMax: 5 }),
    backoff: { pauseMsFirst: 10, pauseMsMin: 100, pauseMsMax: 300, jitter: false },
  }
  const deaths = [0, 1, 2, 3].flatMap((at) => [died('a', at), started('a')])
  expect(
    told(running(of), ...deaths)
      .flat()
      .filter((each) => each.startsWith('start')),
  ).toEqual([10, 100, 200, 300].map((ms) => `start a after ${ms}`))
})

describe('a restart', () => {
  it('starts the child that ended again, and leaves the others alone', () => {
    expect(told(running(spec()), died('b'))).toEqual([['tell b death 1', 'start b after 100']])
  })

  it('lengthens the pause with each death within the period, up to its bound', () => {
    const given = running(spec({ restartsMax: 9 }))
    expect(
      told(given, died('a'), started('a'), died('a'), started('a'), died('a'), started('a'), died('a'))
        .flat()
        .filter((each) => each.startsWith('start')),
    ).toEqual(['start a after 100', 'start a after 200', 'start a after 300', 'start a after 300'])
  })

  it('counts a start that fails as a death', () => {
    expect(told(running(spec()), died('a'), died('a'))).toEqual([
      ['tell a death 1', 'start a after 100'],
      ['tell a death 2', 'start a after 200'],
    ])
  })
})

describe('a child', () => {
  it('whose first start failed is not kept', () => {
    const [added, withdrawn, stopped] = told(
      newSupervisor(base),
      { kind: 'child_added', id: 'a' },
      { kind: 'child_withdrawn', id: 'a' },
      { kind: 'stop' },
    )
    expect([added, withdrawn, stopped]).toEqual([['start a after 0'], [], ['ended']])
  })

  it('is started once, however often it is added', () => {
    expect(told(running(base, ['a']), { kind: 'child_added', id: 'a' })).toEqual([[]])
  })
})

describe('the intensity', () => {
  const third = [died('a', 0), started('a'), died('a', 1), started('a')]

  it('is exceeded by one death more than it allows: all are stopped, and nothing is started', () => {
    expect(told(running(spec()), ...third, died('a', 2), died('c', 3), died('b', 3)).slice(4)).toEqual([
      ['escalate a deaths 3', 'stop c'],
      ['stop b'],
      ['ended'],
    ])
  })

  it('forgets deaths that are older than the period', () => {
    expect(told(running(spec()), ...third, died('a', 1_001)).at(-1)).toEqual([
      'tell a death 1',
      'start a after 100',
    ])
  })

  it('counts the deaths of each child alone', () => {
    expect(told(running(spec()), died('a'), died('b'), died('c')).at(-1)?.[0]).toBe('tell c death 1')
  })

  it('without a period counts the whole life of a child', () => {
    const given = running(spec({ periodMs: null }))
    expect(
      told(given, died('a', 0), started('a'), died('a', 1e9), started('a'), died('a', 1e12)).at(-1)?.[0],
    ).toBe('escalate a deaths 3')
  })

  it('is not outlived by a clock that is set back: the death of tomorrow does not count', () => {
    expect(told(running(spec()), died('a', 90_000_000), started('a'), died('a', 0)).at(-1)).toEqual([
      'tell a death 1',
      'start a after 100',
    ])
  })

  it('that leaves the child alone lets the others go on', () => {
    const given = running(spec({ escalation: 'leave' }))
    expect(told(given, ...third, died('a', 2), died('b', 2)).slice(4)).toEqual([
      ['escalate a deaths 3'],
      ['tell b death 1', 'start b after 100'],
    ])
  })

  it('that waits starts the child when one more restart is within the period', () => {
    const given = running(spec({ escalation: 'wait' }))
    expect(told(given, ...third, died('a', 600)).at(-1)).toEqual([
      'escalate a deaths 3 again in 400',
      'start a after 400',
    ])
  })
})

describe('a stop', () => {
  it('stops the children in the reverse order of their start, one after the other', () => {
    const events: SupervisorEvent[] = [{ kind: 'stop' }, died('c'), died('b'), died('a')]
    expect(told(running(base), ...events)).toEqual([['stop c'], ['stop b'], ['stop a'], ['ended']])
  })

  it('starts nothing that dies meanwhile, and is done once', () => {
    expect(
      told(running(base), { kind: 'stop' }, died('a'), { kind: 'stop' }, died('c'), died('b'), started('b')),
    ).toEqual([['stop c'], [], [], ['stop b'], ['ended'], []])
  })
})
