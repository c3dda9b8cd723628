import { evaluateNode } from '@beaver/evidence'
import { describe, expect, it } from 'vitest'
import { code, graph, node } from '../../test/log.ts'
import { cancelled, completed, eventsOf, facts, failed, step, team } from '../../test/team.ts'
import type { EvidenceRequirement } from '../evidence/requirement.ts'
import { evolveTeam } from '../fold/team-state.ts'
import { event } from '../events/catalog.ts'
import type { ExecutionNode } from './execution-graph.ts'
import { teamOutput } from './team-output.ts'
import { stepTeam } from './team-step.ts'

const requiring = (
  id: string,
  required_evidence: EvidenceRequirement[],
  ...depends_on: string[]
): ExecutionNode => ({
  ...node(id, ...depends_on),
  required_evidence,
})

describe('a team of one node', () => {
  it('starts its node, and ends when the node ends', () => {
    const one = team(graph(node('only')))
    expect(step(one, [])).toEqual(['node_started only'])
    expect(step(one, [completed('only')])).toEqual([
      'node_completed only',
      'task_team_run_completed complete',
    ])
  })

  it('starts its node with the run id that was supplied', () => {
    const options = {
      newRunId: () => 'run-x',
      cancelReason: null,
      program: null,
      gate: evaluateNode,
      outputs: new Map(),
    }
    expect(stepTeam(team(graph(node('only'))), [], options)).toMatchObject([
      { type: 'node_started', data: { team_run_id: 'team1', node_id: 'only', run_id: 'run-x', input: null } },
    ])
  })

  it('is incomplete if its node fails, and says so', () => {
    const one = team(graph(node('only')))
    step(one, [])
    expect(step(one, [failed('only')])).toEqual(['node_failed only', 'task_team_run_failed incomplete'])
    expect(one.message).toBe('0 of 1 nodes completed; failed: only')
  })

  it('has an internal failure if its node failed without a reason', () => {
    const one = team(graph(node('only')))
    step(one, [])
    step(one, [{ ...failed('only'), failure: null }])
    expect(one.nodes.get('only')?.failure).toEqual({
      class: 'internal',
      message: 'The run failed without a reason.',
    })
  })

  it('has no new events while its node runs and no run has ended', () => {
    const one = team(graph(node('only')))
    step(one, [])
    expect(step(one, [])).toEqual([])
  })
})

describe('the evidence gate (E2)', () => {
  const needs: EvidenceRequirement = { kind: 'tool_succeeded', tool: 'count' }
  const counted = facts('12', [{ taskseq: 5, tool: 'count', success: true }])

  it('completes a node with its evidence, and starts the nodes that depend on it', () => {
    const gated = team(graph(requiring('a', [needs]), node('b', 'a')))
    step(gated, [])
    expect(step(gated, [completed('a', counted)])).toEqual([
      'node_evidence_evaluated a passed',
      'node_completed a',
      'node_started b',
    ])
  })

  it('fails a node without its evidence, says what is missing, and blocks the nodes that depend on it', () => {
    const gated = team(graph(requiring('a', [needs]), node('b', 'a')))
    step(gated, [])
    expect(step(gated, [completed('a')])).toEqual([
      'node_evidence_evaluated a refused',
      'node_failed a',
      'node_blocked b by a',
      'task_team_run_failed incomplete',
    ])
    expect(gated.nodes.get('a')?.failure).toEqual({
      class: 'evidence_missing',
      message: 'The tool count was not called.',
    })
  })

  it('records a verdict that names the run and every check', () => {
    const gated = team(graph(requiring('a', [needs, 'It reads well.'])))
    const [verdict] = eventsOf(gated, [completed('a', counted)])
    expect(verdict).toMatchObject({
      data: {
        run_id: 'run-a',
        passed: true,
        checks: [{ status: 'passed', rests_on: [5] }, { status: 'not_checked' }],
      },
    })
  })

  it('fails nothing for a natural-language requirement alone (D-11)', () => {
    const gated = team(graph(requiring('a', ['It reads well.'])))
    step(gated, [])
    expect(step(gated, [completed('a')])).toEqual([
      'node_evidence_evaluated a passed',
      'node_completed a',
      'task_team_run_completed complete',
    ])
  })

  it('records no verdict for a node without requirements', () => {
    const open = team(graph(node('a')))
    expect(step(open, [completed('a')])[0]).toBe('node_completed a')
  })

  it('does not judge a run that failed', () => {
    const gated = team(graph(requiring('a', [needs])))
    expect(step(gated, [failed('a')])).toEqual(['node_failed a', 'task_team_run_failed incomplete'])
  })
})

describe('failure (D-34)', () => {
  it('blocks a whole chain at once, each node with the failed node as its cause, and another branch continues', () => {
    const chain = team(graph(node('a'), node('b', 'a'), node('c', 'b'), node('free'), node('after', 'free')))
    step(chain, [])
    expect(step(chain, [failed('a')])).toEqual([
      'node_failed a',
      'node_blocked b by a',
      'node_blocked c by a',
    ])
    expect(step(chain, [completed('free')])).toEqual(['node_completed free', 'node_started after'])
    expect(step(chain, [completed('after')])).toEqual([
      'node_completed after',
      'task_team_run_failed incomplete',
    ])
    expect(chain.message).toBe('2 of 5 nodes completed; failed: a; blocked: b, c')
  })

  it('blocks a node once, even if another of its dependencies fails later', () => {
    const join = team(graph(node('a'), node('b'), node('c', 'a', 'b')))
    step(join, [])
    expect(step(join, [failed('b')])).toEqual(['node_failed b', 'node_blocked c by b'])
    expect(step(join, [failed('a')])).toEqual(['node_failed a', 'task_team_run_failed incomplete'])
  })
})

describe('order (D-36)', () => {
  it('records ends that came together in declared order, whatever the order in which they came', () => {
    const wide = team(graph(node('a'), node('b'), node('c'), node('d', 'a', 'b', 'c')))
    step(wide, [])
    expect(step(wide, [completed('c'), completed('a'), completed('b')])).toEqual([
      'node_completed a',
      'node_completed b',
      'node_completed c',
      'node_started d',
    ])
  })

  it('records outcomes before the starts that they make possible (E3)', () => {
    const two = team(graph(node('a'), node('after-a', 'a'), node('b')))
    step(two, [])
    expect(step(two, [completed('b'), completed('a')])).toEqual([
      'node_completed a',
      'node_completed b',
      'node_started after-a',
    ])
  })

  it('gives the place of an ended node to another node in the same step', () => {
    const narrow = team(graph(node('a'), node('b'), node('c')), 1)
    expect(step(narrow, [])).toEqual(['node_started a'])
    expect(step(narrow, [completed('a')])).toEqual(['node_completed a', 'node_started b'])
  })

  it('is pure: the same step again gives the same events, and the team does not change', () => {
    const same = team(graph(node('a'), node('b', 'a')))
    step(same, [])
    const before = structuredClone([...same.nodes])
    const once = eventsOf(same, [completed('a')])
    expect(eventsOf(same, [completed('a')])).toEqual(once)
    expect([...same.nodes]).toEqual(before)
  })
})

describe('cancel', () => {
  it('cancels the waiting nodes, starts nothing, and waits for the running nodes', () => {
    const chain = team(graph(node('a'), node('b'), node('c', 'a')), 1)
    step(chain, [])
    expect(step(chain, [], { cancelReason: 'enough' })).toEqual(['node_cancelled b', 'node_cancelled c'])
    expect(step(chain, [cancelled('a')], { cancelReason: 'enough' })).toEqual([
      'node_cancelled a',
      'task_team_run_failed cancelled',
    ])
  })

  it('keeps a node completed that completes nevertheless, and the team is cancelled', () => {
    const chain = team(graph(node('a'), node('b', 'a')))
    step(chain, [])
    expect(step(chain, [completed('a')], { cancelReason: 'enough' })).toEqual([
      'node_completed a',
      'node_cancelled b',
      'task_team_run_failed cancelled',
    ])
    expect(chain.message).toBe('1 of 2 nodes completed; cancelled: b')
  })

  it('comes too late if all nodes have completed: the team is complete', () => {
    const one = team(graph(node('a')))
    step(one, [])
    expect(step(one, [completed('a')], { cancelReason: 'enough' })).toEqual([
      'node_completed a',
      'task_team_run_completed complete',
    ])
  })

  it('keeps a node failed that failed before, and cancels the nodes that it would have blocked', () => {
    const chain = team(graph(node('a'), node('b', 'a')))
    step(chain, [])
    expect(step(chain, [failed('a')], { cancelReason: 'enough' })).toEqual([
      'node_failed a',
      'node_cancelled b',
      'task_team_run_failed cancelled',
    ])
  })

  const cancelNode = (id: string): Parameters<typeof evolveTeam>[1] =>
    event('node_cancel_requested', { team_run_id: 'team1' as never, node_id: id, reason: 'not needed' })

  it('cancels one waiting node at once and blocks the nodes that depend on it, and the team is incomplete', () => {
    const chain = team(graph(node('a'), node('b', 'a'), node('c', 'b'), node('d')))
    step(chain, [])
    evolveTeam(chain, cancelNode('b'), { clockMs: 0 })
    expect(step(chain, [])).toEqual(['node_cancelled b', 'node_blocked c by b'])
    expect(step(chain, [completed('a'), completed('d')])).toEqual([
      'node_completed a',
      'node_completed d',
      'task_team_run_failed incomplete',
    ])
    expect(chain.message).toBe('2 of 4 nodes completed; blocked: c; cancelled: b')
  })

  it('records the reason for one waiting node', () => {
    const chain = team(graph(node('a'), node('b', 'a')))
    step(chain, [])
    evolveTeam(chain, cancelNode('b'), { clockMs: 0 })
    expect(eventsOf(chain, [])).toMatchObject([
      { type: 'node_cancelled', data: { node_id: 'b', reason: 'not needed' } },
    ])
  })

  it('waits for the run of one running node to end', () => {
    const two = team(graph(node('a'), node('b')))
    step(two, [])
    evolveTeam(two, cancelNode('a'), { clockMs: 0 })
    expect(step(two, [])).toEqual([])
    expect(step(two, [cancelled('a')])).toEqual(['node_cancelled a'])
    expect(step(two, [completed('b')])).toEqual(['node_completed b', 'task_team_run_failed incomplete'])
  })

  it('changes nothing for one node that has ended', () => {
    const two = team(graph(node('a'), node('b', 'a')))
    step(two, [])
    step(two, [completed('a')])
    evolveTeam(two, cancelNode('a'), { clockMs: 0 })
    expect(step(two, [])).toEqual([])
    expect(step(two, [completed('b')])).toEqual(['node_completed b', 'task_team_run_completed complete'])
  })
})

describe('a wide team', () => {
  it('keeps to its limit with 500 nodes, and ends every node once and itself once', () => {
    const ids = Array.from({ length: 500 }, (_, i) => `n${i}`)
    const wide = team(graph(...ids.map((id) => node(id)), node('join', ...ids)), 16)
    const log: string[] = []
    let running: string[] = []
    for (let events = step(wide, []), rounds = 0; rounds < 600; rounds++) {
      log.push(...events)
      running = [
        ...running,
        ...events
          .filter((each) => each.startsWith('node_started'))
          .map((each) => each.split(' ')[1] as string),
      ]
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

  it('is the unchanged text of a single sink', () => {
    expect(teamOutput(team(graph(node('a'), node('b', 'a'))), outputs(['a', 'x'], ['b', '  *y*  ']))).toEqual(
      {
        final_output: '  *y*  ',
        outputs: [{ node_id: 'b', output: '  *y*  ' }],
      },
    )
  })

  it('has one section for each of several sinks, in declared order, whatever the order in which they ended', () => {
    const two = { ...graph(node('b'), node('a')), outputs: ['b', 'a'], output: null }
    expect(teamOutput(team(two), outputs(['a', '第一'], ['b', 'second']))).toEqual({
      final_output: '## b\n\nsecond\n\n## a\n\n第一',
      outputs: [
        { node_id: 'b', output: 'second' },
        { node_id: 'a', output: '第一' },
      ],
    })
  })

  it('leaves out a sink without output, and the last one of several keeps its heading', () => {
    const two = { ...graph(node('a'), node('b')), outputs: ['a', 'b'], output: null }
    expect(teamOutput(team(two), outputs(['b', 'y']))).toEqual({
      final_output: '## b\n\ny',
      outputs: [{ node_id: 'b', output: 'y' }],
    })
    expect(teamOutput(team(two), outputs())).toEqual({ final_output: '', outputs: [] })
  })

  it('is the text of the named output agent; the other sinks are in outputs', () => {
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

  it('of an incomplete team has the results that no completed node has used, in declared order (D-34)', () => {
    const of = team(
      graph(node('a'), node('b', 'a'), node('side', 'a'), node('end', 'b', 'side'), code('sum', 'a')),
    )
    step(of, [])
    step(of, [completed('a')])
    step(of, [completed('b'), failed('side')])
    expect([of.nodes.get('end')?.status, of.outcome]).toEqual(['blocked', 'incomplete'])
    expect(teamOutput(of, outputs(['a', 'x'], ['b', 'y'], ['sum', '3']))).toMatchObject({ outputs: [{ node_id: 'b', output: 'y' }, { node_id: 'sum', output: '3' }] }) // prettier-ignore
  })

  it('keeps the place of an empty output, because it is an output', () => {
    const two = { ...graph(node('a'), node('b')), outputs: ['a', 'b'], output: null }
    expect(teamOutput(team(two), outputs(['a', ''], ['b', 'y'])).outputs).toEqual([
      { node_id: 'a', output: '' },
      { node_id: 'b', output: 'y' },
    ])
  })
})
