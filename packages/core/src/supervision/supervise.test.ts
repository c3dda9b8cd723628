// Given a supervisor with running children, when one ends, then these actions: OTP's semantics, strategy by
// strategy.
import { describe, expect, it } from 'vitest'
import type { Intensity } from './restart-intensity.ts'
import {
  newSupervisor,
  supervise,
  type SupervisorAction,
  type SupervisorEvent,
  type SupervisorState,
} from './supervise.ts'
import type { ChildSpec, Escalation, Restart, Strategy, SupervisorSpec } from './supervisor-spec.ts'

const base: SupervisorSpec = {
  id: 'test',
  strategy: 'one_for_one',
  what: 'part',
  intensity: { restartsMax: 2, periodMs: 1_000, counts: 'all_children' },
  backoff: { pauseMsMin: 100, pauseMsMax: 300, jitter: false },
  escalation: { kind: 'fail', says: 'everything ends' },
  firstStart: 'must_succeed',
  why: 'small numbers are easy to read',
}

const spec = (
  strategy: Strategy,
  { escalation = 'fail', ...intensity }: { escalation?: Escalation['kind'] } & Partial<Intensity> = {},
): SupervisorSpec => ({
  ...base,
  strategy,
  intensity: { ...base.intensity, ...intensity },
  escalation: { kind: escalation, says: 'so it is' },
})

const died = (id: string, at = 0, normal = false): SupervisorEvent => ({
  kind: 'child_ended',
  id,
  reason: 'exit code 1',
  normal,
  at,
  random: 0,
})
const started = (id: string): SupervisorEvent => ({ kind: 'child_started', id })

/** A supervisor whose children run. */
function running(
  of: SupervisorSpec,
  ids: readonly string[] = ['a', 'b', 'c'],
  restart: Restart = 'permanent',
): SupervisorState {
  const events = ids.flatMap((id): SupervisorEvent[] => [
    { kind: 'child_added', child: { id, restart } },
    started(id),
  ])
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
    ...spec('one_for_one', { restartsMax: 5 }),
    backoff: { pauseMsFirst: 10, pauseMsMin: 100, pauseMsMax: 300, jitter: false },
  }
  const deaths = [0, 1, 2, 3].flatMap((at) => [died('a', at), started('a')])
  expect(
    told(running(of), ...deaths)
      .flat()
      .filter((each) => each.startsWith('start')),
  ).toEqual([10, 100, 200, 300].map((ms) => `start a after ${ms}`))
})

describe('one_for_one', () => {
  it('starts the child that ended again, and leaves the others alone', () => {
    expect(told(running(spec('one_for_one')), died('b'))).toEqual([['tell b death 1', 'start b after 100']])
  })

  it('lengthens the pause with each death within the period, up to its bound', () => {
    const given = running(spec('one_for_one', { restartsMax: 9 }))
    expect(
      told(given, died('a'), started('a'), died('a'), started('a'), died('a'), started('a'), died('a'))
        .flat()
        .filter((each) => each.startsWith('start')),
    ).toEqual(['start a after 100', 'start a after 200', 'start a after 300', 'start a after 300'])
  })

  it('counts a start that fails as a death', () => {
    expect(told(running(spec('one_for_one')), died('a'), died('a'))).toEqual([
      ['tell a death 1', 'start a after 100'],
      ['tell a death 2', 'start a after 200'],
    ])
  })
})

describe('one_for_all', () => {
  it('stops the others in the reverse order of their start, and then starts all in its order, one after the other', () => {
    const events = [died('b'), died('c'), died('a'), started('a'), started('b'), started('c')]
    expect(told(running(spec('one_for_all')), ...events)).toEqual([
      ['tell b death 1', 'stop c'],
      ['stop a'],
      ['start a after 100'],
      ['start b after 0'],
      ['start c after 0'],
      [],
    ])
  })

  it('begins again when a child dies while all are started', () => {
    const events = [
      died('c'),
      died('b'),
      died('a'),
      started('a'),
      died('b'),
      died('a'),
      started('a'),
      started('b'),
      started('c'),
    ]
    expect(told(running(spec('one_for_all')), ...events)).toEqual([
      ['tell c death 1', 'stop b'],
      ['stop a'],
      ['start a after 100'],
      ['start b after 0'],
      ['tell b death 2', 'stop a'],
      ['start a after 200'],
      ['start b after 0'],
      ['start c after 0'],
      [],
    ])
  })
})

describe('rest_for_one', () => {
  it('stops those that were started after it, and starts it and them again', () => {
    expect(told(running(spec('rest_for_one')), died('b'), died('c'), started('b'), started('c'))).toEqual([
      ['tell b death 1', 'stop c'],
      ['start b after 100'],
      ['start c after 0'],
      [],
    ])
  })

  it('takes an earlier child in that dies while the rest is stopped', () => {
    expect(
      told(
        running(spec('rest_for_one')),
        died('b'),
        died('a'),
        died('c'),
        started('a'),
        started('b'),
        started('c'),
      ),
    ).toEqual([
      ['tell b death 1', 'stop c'],
      ['tell a death 2'],
      ['start a after 200'],
      ['start b after 0'],
      ['start c after 0'],
      [],
    ])
  })
})

describe('a child', () => {
  it.each([
    ['permanent', true, true],
    ['permanent', false, true],
    ['transient', true, false],
    ['transient', false, true],
    ['temporary', true, false],
    ['temporary', false, false],
  ] as const)('that is %s and ends %s is started again: %s', (restart, normal, again) => {
    const [actions = []] = told(running(spec('one_for_one'), ['a'], restart), died('a', 0, normal))
    expect(actions.includes('start a after 100')).toBe(again)
  })

  it('whose first start failed is not kept', () => {
    const [added, withdrawn, stopped] = told(
      newSupervisor(base),
      { kind: 'child_added', child: child('a') },
      { kind: 'child_withdrawn', id: 'a' },
      { kind: 'stop' },
    )
    expect([added, withdrawn, stopped]).toEqual([['start a after 0'], [], ['ended']])
  })

  it('is started once, however often it is added', () => {
    expect(told(running(base, ['a']), { kind: 'child_added', child: child('a') })).toEqual([[]])
  })
})

describe('the intensity', () => {
  const third = [died('a', 0), started('a'), died('a', 1), started('a')]

  it('is exceeded by one death more than it allows: all are stopped, and nothing is started', () => {
    expect(
      told(running(spec('one_for_one')), ...third, died('a', 2), died('c', 3), died('b', 3)).slice(4),
    ).toEqual([['escalate a deaths 3', 'stop c'], ['stop b'], ['ended']])
  })

  it('forgets deaths that are older than the period', () => {
    expect(told(running(spec('one_for_one')), ...third, died('a', 1_001)).at(-1)).toEqual([
      'tell a death 1',
      'start a after 100',
    ])
  })

  it('counts the deaths of all children together, as OTP does', () => {
    expect(told(running(spec('one_for_one')), died('a'), died('b'), died('c')).at(-1)?.[0]).toBe(
      'escalate c deaths 3',
    )
  })

  it('counts those of each child where the data says so', () => {
    expect(
      told(running(spec('one_for_one', { counts: 'each_child' })), died('a'), died('b'), died('c')).at(
        -1,
      )?.[0],
    ).toBe('tell c death 1')
  })

  it('without a period counts the whole life of a child', () => {
    const given = running(spec('one_for_one', { periodMs: null }))
    expect(
      told(given, died('a', 0), started('a'), died('a', 1e9), started('a'), died('a', 1e12)).at(-1)?.[0],
    ).toBe('escalate a deaths 3')
  })

  it('is not outlived by a clock that is set back: the death of tomorrow does not count', () => {
    expect(
      told(running(spec('one_for_one')), died('a', 90_000_000), started('a'), died('a', 0)).at(-1),
    ).toEqual(['tell a death 1', 'start a after 100'])
  })

  it('that leaves the child alone lets the others go on', () => {
    const given = running(spec('one_for_one', { escalation: 'leave', counts: 'each_child' }))
    expect(told(given, ...third, died('a', 2), died('b', 2)).slice(4)).toEqual([
      ['escalate a deaths 3'],
      ['tell b death 1', 'start b after 100'],
    ])
  })

  it('that waits starts the child when one more restart is within the period', () => {
    const given = running(spec('one_for_one', { escalation: 'wait' }))
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

  it('ends a restart of all that is under way', () => {
    expect(told(running(spec('one_for_all')), died('a'), { kind: 'stop' }, died('c'), died('b'))).toEqual([
      ['tell a death 1', 'stop c'],
      [],
      ['stop b'],
      ['ended'],
    ])
  })
})

const child = (id: string): ChildSpec => ({ id, restart: 'permanent' })
