import { describe, expect, it } from 'vitest'
import { code, graph, node } from '../../test/log.ts'
import { cancelled, completed, eventsOf, facts, failed, step, team } from '../../test/team.ts'
import type { EvidenceRequirement } from '../evidence/requirement.ts'
import { evolveTeam } from '../fold/team-state.ts'
import { event } from '../events/catalog.ts'
import type { ExecutionNode } from './execution-graph.ts'
import { stepTeam, teamOutput } from './team-step.ts'

const requiring = (id: string, required_evidence: EvidenceRequirement[], ...depends_on: string[]): ExecutionNode => ({
  ...node(id, ...depends_on),
  required_evidence,
})

describe('a team of one node', () => {
  it('starts it, and ends with it', () => {
    const one = team(graph(node('only')))
    expect(step(one, [])).toEqual(['node_started only'])
    expect(step(one, [completed('only')])).toEqual(['node_completed only', 'task_team_run_completed complete'])
  })

  it('a started node has the run id it was handed', () => {
    const options = { newRunId: () => 'run-x', cancelReason: null, program: null, outputs: new Map() }
    expect(stepTeam(team(graph(node('only'))), [], options)).toMatchObject([
      { type: 'node_started', data: { team_run_id: 'team1', node_id: 'only', run_id: 'run-x', input: null } },
    ])
  })

  it('that fails is incomplete, and says so', () => {
    const one = team(graph(node('only')))
    step(one, [])
    expect(step(one, [failed('only')])).toEqual(['node_failed only', 'task_team_run_failed incomplete'])
    expect(one.message).toBe('0 of 1 nodes completed; failed: only')
  })

  it('that failed without a reason is internal', () => {
    const one = team(graph(node('only')))
    step(one, [])
    step(one, [{ ...failed('only'), failure: null }])
    expect(one.nodes.get('only')?.failure).toEqual({ class: 'internal', message: 'The run failed without a reason.' })
  })

  it('nothing follows from no ends while it runs', () => {
    const one = team(graph(node('only')))
    step(one, [])
    expect(step(one, [])).toEqual([])
  })
})

describe('the evidence gate (E2)', () => {
  const needs: EvidenceRequirement = { kind: 'tool_succeeded', tool: 'count' }
  const counted = facts('12', [{ taskseq: 5, tool: 'count', success: true }])

  it('a node whose evidence is there completes, and what depends on it starts', () => {
    const gated = team(graph(requiring('a', [needs]), node('b', 'a')))
    step(gated, [])
    expect(step(gated, [completed('a', counted)])).toEqual(['node_evidence_evaluated a passed', 'node_completed a', 'node_started b'])
  })

  it('a node whose evidence is missing fails with what is missing, and blocks what depends on it', () => {
    const gated = team(graph(requiring('a', [needs]), node('b', 'a')))
    step(gated, [])
    expect(step(gated, [completed('a')])).toEqual([
      'node_evidence_evaluated a refused',
      'node_failed a',
      'node_blocked b by a',
      'task_team_run_failed incomplete',
    ])
    expect(gated.nodes.get('a')?.failure).toEqual({ class: 'evidence_missing', message: 'The tool count was not called.' })
  })

  it('the verdict names the run and every check', () => {
    const gated = team(graph(requiring('a', [needs, 'It reads well.'])))
    const [verdict] = eventsOf(gated, [completed('a', counted)])
    expect(verdict).toMatchObject({ data: { run_id: 'run-a', passed: true, checks: [{ status: 'passed', rests_on: [5] }, { status: 'not_checked' }] } })
  })

  it('only a natural-language requirement fails nothing (D-11)', () => {
    const gated = team(graph(requiring('a', ['It reads well.'])))
    step(gated, [])
    expect(step(gated, [completed('a')])).toEqual(['node_evidence_evaluated a passed', 'node_completed a', 'task_team_run_completed complete'])
  })

  it('a node without requirements has no verdict', () => {
    const open = team(graph(node('a')))
    expect(step(open, [completed('a')])[0]).toBe('node_completed a')
  })

  it('a run that failed is not put before the gate', () => {
    const gated = team(graph(requiring('a', [needs])))
    expect(step(gated, [failed('a')])).toEqual(['node_failed a', 'task_team_run_failed incomplete'])
  })
})

describe('failure (D-34)', () => {
  it('blocks a whole chain at once, each with the failed node as its cause, and the branch beside it goes on', () => {
    const chain = team(graph(node('a'), node('b', 'a'), node('c', 'b'), node('free'), node('after', 'free')))
    step(chain, [])
    expect(step(chain, [failed('a')])).toEqual(['node_failed a', 'node_blocked b by a', 'node_blocked c by a'])
    expect(step(chain, [completed('free')])).toEqual(['node_completed free', 'node_started after'])
    expect(step(chain, [completed('after')])).toEqual(['node_completed after', 'task_team_run_failed incomplete'])
    expect(chain.message).toBe('2 of 5 nodes completed; failed: a; blocked: b, c')
  })

  it('a node is blocked once, also when a second thing it depends on fails later', () => {
    const join = team(graph(node('a'), node('b'), node('c', 'a', 'b')))
    step(join, [])
    expect(step(join, [failed('b')])).toEqual(['node_failed b', 'node_blocked c by b'])
    expect(step(join, [failed('a')])).toEqual(['node_failed a', 'task_team_run_failed incomplete'])
  })
})

describe('order (D-36)', () => {
  it('ends that came together are told in declared order, whatever the order they came in', () => {
    const wide = team(graph(node('a'), node('b'), node('c'), node('d', 'a', 'b', 'c')))
    step(wide, [])
    expect(step(wide, [completed('c'), completed('a'), completed('b')])).toEqual(['node_completed a', 'node_completed b', 'node_completed c', 'node_started d'])
  })

  it('outcomes come before the starts they make possible (E3)', () => {
    const two = team(graph(node('a'), node('after-a', 'a'), node('b')))
    step(two, [])
    expect(step(two, [completed('b'), completed('a')])).toEqual(['node_completed a', 'node_completed b', 'node_started after-a'])
  })

  it('a node that ends frees its place in the same step', () => {
    const narrow = team(graph(node('a'), node('b'), node('c')), 1)
    expect(step(narrow, [])).toEqual(['node_started a'])
    expect(step(narrow, [completed('a')])).toEqual(['node_completed a', 'node_started b'])
  })

  it('is pure: the same step again gives the same events, and the team is as it was', () => {
    const same = team(graph(node('a'), node('b', 'a')))
    step(same, [])
    const before = structuredClone([...same.nodes])
    const once = eventsOf(same, [completed('a')])
    expect(eventsOf(same, [completed('a')])).toEqual(once)
    expect([...same.nodes]).toEqual(before)
  })
})

describe('cancel', () => {
  it('cancels what waits, starts nothing, and waits for what runs', () => {
    const chain = team(graph(node('a'), node('b'), node('c', 'a')), 1)
    step(chain, [])
    expect(step(chain, [], { cancelReason: 'enough' })).toEqual(['node_cancelled b', 'node_cancelled c'])
    expect(step(chain, [cancelled('a')], { cancelReason: 'enough' })).toEqual(['node_cancelled a', 'task_team_run_failed cancelled'])
  })

  it('a node that completes in spite of it is completed, and the team is cancelled', () => {
    const chain = team(graph(node('a'), node('b', 'a')))
    step(chain, [])
    expect(step(chain, [completed('a')], { cancelReason: 'enough' })).toEqual(['node_completed a', 'node_cancelled b', 'task_team_run_failed cancelled'])
    expect(chain.message).toBe('1 of 2 nodes completed; cancelled: b')
  })

  it('with nothing waiting and nothing running but completed nodes the team is complete: the cancel came too late', () => {
    const one = team(graph(node('a')))
    step(one, [])
    expect(step(one, [completed('a')], { cancelReason: 'enough' })).toEqual(['node_completed a', 'task_team_run_completed complete'])
  })

  it('a node that failed before the cancel stays failed, and what it would have blocked is cancelled', () => {
    const chain = team(graph(node('a'), node('b', 'a')))
    step(chain, [])
    expect(step(chain, [failed('a')], { cancelReason: 'enough' })).toEqual(['node_failed a', 'node_cancelled b', 'task_team_run_failed cancelled'])
  })

  const cancelNode = (id: string): Parameters<typeof evolveTeam>[1] =>
    event('node_cancel_requested', { team_run_id: 'team1' as never, node_id: id, reason: 'not needed' })

  it('of one waiting node cancels it at once, blocks what depends on it, and the team is incomplete', () => {
    const chain = team(graph(node('a'), node('b', 'a'), node('c', 'b'), node('d')))
    step(chain, [])
    evolveTeam(chain, cancelNode('b'), { clockMs: 0 })
    expect(step(chain, [])).toEqual(['node_cancelled b', 'node_blocked c by b'])
    expect(step(chain, [completed('a'), completed('d')])).toEqual(['node_completed a', 'node_completed d', 'task_team_run_failed incomplete'])
    expect(chain.message).toBe('2 of 4 nodes completed; blocked: c; cancelled: b')
  })

  it('of one waiting node says why', () => {
    const chain = team(graph(node('a'), node('b', 'a')))
    step(chain, [])
    evolveTeam(chain, cancelNode('b'), { clockMs: 0 })
    expect(eventsOf(chain, [])).toMatchObject([{ type: 'node_cancelled', data: { node_id: 'b', reason: 'not needed' } }])
  })

  it('of one running node waits for its run to end', () => {
    const two = team(graph(node('a'), node('b')))
    step(two, [])
    evolveTeam(two, cancelNode('a'), { clockMs: 0 })
    expect(step(two, [])).toEqual([])
    expect(step(two, [cancelled('a')])).toEqual(['node_cancelled a'])
    expect(step(two, [completed('b')])).toEqual(['node_completed b', 'task_team_run_failed incomplete'])
  })

  it('of one node that has ended changes nothing', () => {
    const two = team(graph(node('a'), node('b', 'a')))
    step(two, [])
    step(two, [completed('a')])
    evolveTeam(two, cancelNode('a'), { clockMs: 0 })
    expect(step(two, [])).toEqual([])
    expect(step(two, [completed('b')])).toEqual(['node_completed b', 'task_team_run_completed complete'])
  })
})

describe('a wide team', () => {
  it('of 500 nodes keeps to its limit, ends every node once and the team once', () => {
    const ids = Array.from({ length: 500 }, (_, i) => `n${i}`)
    const wide = team(graph(...ids.map((id) => node(id)), node('join', ...ids)), 16)
    const log: string[] = []
    let running: string[] = []
    for (let events = step(wide, []), rounds = 0; rounds < 600; rounds++) {
      log.push(...events)
      running = [...running, ...events.filter((each) => each.startsWith('node_started')).map((each) => each.split(' ')[1] as string)]
      expect(running.length).toBeLessThanOrEqual(16)
      if (events.some((each) => each.startsWith('task_team_run'))) break
      const last = running.pop() as string
      events = step(wide, [completed(last)])
    }
    expect(log.filter((each) => each.startsWith('node_completed'))).toHaveLength(501)
    expect(log.filter((each) => each.startsWith('node_started'))).toHaveLength(501)
    expect(log.at(-1)).toBe('task_team_run_completed complete')
    expect(log.at(-2)).toBe('node_completed join')
  })
})

describe('teamOutput (D-31)', () => {
  const outputs = (...pairs: [string, string][]): Map<string, string> => new Map(pairs)

  it('of one sink is its text, as it is', () => {
    expect(teamOutput(team(graph(node('a'), node('b', 'a'))), outputs(['a', 'x'], ['b', '  *y*  ']))).toEqual({
      final_output: '  *y*  ',
      outputs: [{ node_id: 'b', output: '  *y*  ' }],
    })
  })

  it('of several sinks is one section each, in declared order, whatever the order they ended in', () => {
    const two = { ...graph(node('b'), node('a')), outputs: ['b', 'a'], output: null }
    expect(teamOutput(team(two), outputs(['a', '第一'], ['b', 'second']))).toEqual({
      final_output: '## b\n\nsecond\n\n## a\n\n第一',
      outputs: [
        { node_id: 'b', output: 'second' },
        { node_id: 'a', output: '第一' },
      ],
    })
  })

  it('leaves out a sink that has no output, and one that is left of several keeps its heading', () => {
    const two = { ...graph(node('a'), node('b')), outputs: ['a', 'b'], output: null }
    expect(teamOutput(team(two), outputs(['b', 'y']))).toEqual({ final_output: '## b\n\ny', outputs: [{ node_id: 'b', output: 'y' }] })
    expect(teamOutput(team(two), outputs())).toEqual({ final_output: '', outputs: [] })
  })

  it("is the output agent's where one is named; other sinks stand in outputs", () => {
    const named = { ...graph(node('a'), node('b')), outputs: ['a', 'b'], output: 'b' }
    expect(teamOutput(team(named), outputs(['a', 'x'], ['b', 'y']))).toEqual({
      final_output: 'y',
      outputs: [
        { node_id: 'a', output: 'x' },
        { node_id: 'b', output: 'y' },
      ],
    })
    expect(teamOutput(team(named), outputs(['a', 'x'])).final_output).toBe('')
  })

  it('of an incomplete team has what was done and taken up by nobody, in declared order (D-34)', () => {
    const of = team(graph(node('a'), node('b', 'a'), node('side', 'a'), node('end', 'b', 'side'), code('sum', 'a')))
    step(of, [])
    step(of, [completed('a')])
    step(of, [completed('b'), failed('side')])
    expect([of.nodes.get('end')?.status, of.outcome]).toEqual(['blocked', 'incomplete'])
    expect(teamOutput(of, outputs(['a', 'x'], ['b', 'y'], ['sum', '3']))).toMatchObject({ outputs: [{ node_id: 'b', output: 'y' }, { node_id: 'sum', output: '3' }] }) // prettier-ignore
  })

  it('an empty output is an output: it keeps its place', () => {
    const two = { ...graph(node('a'), node('b')), outputs: ['a', 'b'], output: null }
    expect(teamOutput(team(two), outputs(['a', ''], ['b', 'y'])).outputs).toEqual([
      { node_id: 'a', output: '' },
      { node_id: 'b', output: 'y' },
    ])
  })
})
