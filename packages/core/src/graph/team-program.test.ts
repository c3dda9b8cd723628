import { describe, expect, it } from 'vitest'
import { code, graph, node, quorum } from '../../test/log.ts'
import { completed, eventsOf, facts, failed, step, team } from '../../test/team.ts'
import type { TeamState } from '../fold/team-state.ts'
import type { ExecutionGraph } from './execution-graph.ts'
import { type Growth, grow, type NodeEntry, type TeamProgram, type TeamView } from './team-program.ts'
import { teamOutput } from './team-output.ts'

/** A program that decides by the id of a node. Nodes that it does not name run as the graph defines them. */
const entering = (entries: Record<string, (team: TeamView) => NodeEntry>): TeamProgram => ({
  enter: (view, each) => entries[each.node_id]?.(view) ?? { kind: 'run', input: null },
})
const says = (output: string, growth?: Growth) => (): NodeEntry => ({
  kind: 'output',
  output,
  ...(growth === undefined ? {} : { growth }),
})
const skips = (): NodeEntry => ({ kind: 'skip', reason: 'not this way' })
const started = (of: ExecutionGraph, program: TeamProgram, places = 16): TeamState => {
  const begun = team(of, places)
  step(begun, [], { program })
  return begun
}

describe('the input of a node', () => {
  it('is in the event of its start', () => {
    const program = entering({ a: () => ({ kind: 'run', input: { instruction: 'Do it twice.' } }) })
    expect(eventsOf(team(graph(node('a'), node('b'))), [], { program })).toMatchObject([
      { type: 'node_started', data: { node_id: 'a', input: { instruction: 'Do it twice.' } } },
      { type: 'node_started', data: { node_id: 'b', input: null } },
    ])
  })

  it('is decided with the outputs, failures and states of ended nodes, including those of the same step', () => {
    const seen: unknown[] = []
    const program = entering({
      join: (view) => {
        seen.push([
          view.outputOf('before'),
          view.outputOf('a'),
          view.outputOf('b'),
          view.failureOf('b')?.message,
          view.statusOf('b'),
          view.sharedState,
        ])
        return { kind: 'run', input: null }
      },
    })
    const of = team({
      ...graph(node('before'), node('a', 'before'), node('b', 'before'), quorum(1, 'join', 'a', 'b')),
      shared_state: { n: 1 },
    })
    step(of, [], { program })
    step(of, [completed('before')], { program })
    step(of, [failed('b'), completed('a', facts('A'))], {
      program,
      outputs: new Map([['before', 'earlier']]),
    })
    expect(seen).toEqual([['earlier', 'A', null, 'b broke', 'failed', { n: 1 }]])
  })
})

describe('a code node', () => {
  it('is computed in the step that makes it ready, and so are its consequences, even while every place is taken', () => {
    const chain = graph(node('a'), node('busy'), code('x', 'a'), code('y', 'x'), node('z', 'y'))
    const program = entering({
      x: says('X'),
      y: (view) => ({ kind: 'output', output: `${view.outputOf('x')}Y` }),
    })
    const of = started(chain, program, 2)
    expect(step(of, [completed('a')], { program })).toEqual([
      'node_completed a',
      'node_computed x = X',
      'node_computed y = XY',
      'node_started z',
    ])
    expect(of.nodes.get('y')).toMatchObject({ status: 'completed', output: 'XY', runId: null })
  })

  it('ends its team in the first step if it is the only node', () => {
    expect(step(team(graph(code('only'))), [], { program: entering({ only: says('42') }) })).toEqual([
      'node_computed only = 42',
      'task_team_run_completed complete',
    ])
  })

  it('is computed in one step with a chain of 500 code nodes', () => {
    const ids = Array.from({ length: 500 }, (_, i) => `x${i}`)
    const events = step(
      team(graph(...ids.map((id, i) => (i === 0 ? code(id) : code(id, `x${i - 1}`))))),
      [],
      {
        program: { enter: (_, each) => ({ kind: 'output', output: each.node_id }) },
      },
    )
    expect(events).toHaveLength(501)
    expect(events.at(-2)).toBe('node_computed x499 = x499')
  })

  it('fails if there is no code for its operation, and names the operation', () => {
    for (const program of [null, entering({})]) {
      const of = team(graph(code('x'), node('y', 'x')))
      expect(step(of, [], { program })).toEqual([
        'node_failed x',
        'node_blocked y by x',
        'task_team_run_failed incomplete',
      ])
      expect(of.nodes.get('x')?.failure).toEqual({
        class: 'internal',
        message: 'Test has no code for the operation "x".',
      })
    }
  })

  it('may fail with a class of its own and without a run', () => {
    const program = entering({
      x: () => ({ kind: 'fail', failure: { class: 'malformed_output', message: 'not a list' } }),
    })
    const of = team(graph(code('x'), node('y', 'x')))
    expect(eventsOf(of, [], { program })[0]).toMatchObject({
      type: 'node_failed',
      data: { run_id: null, failure: { class: 'malformed_output' } },
    })
  })
})

describe('skipping', () => {
  const fork = graph(
    code('if'),
    node('yes', 'if'),
    node('no', 'if'),
    node('after-no', 'no'),
    node('join', 'yes', 'after-no'),
  )
  const program = entering({ if: says('true'), no: skips })

  it('skips the nodes that depend only on the skipped one, and a join runs after the branch that was taken; the team is complete', () => {
    const of = team(fork)
    expect(step(of, [], { program })).toEqual([
      'node_computed if = true',
      'node_started yes',
      'node_skipped no',
      'node_skipped after-no',
    ])
    expect(step(of, [completed('yes')], { program })).toEqual(['node_completed yes', 'node_started join'])
    expect(step(of, [completed('join')], { program })).toEqual([
      'node_completed join',
      'task_team_run_completed complete',
    ])
  })

  it('says why', () => {
    expect(
      eventsOf(team(fork), [], { program }).filter((each) => each.type === 'node_skipped'),
    ).toMatchObject([
      { data: { node_id: 'no', reason: 'not this way' } },
      { data: { node_id: 'after-no', reason: 'All nodes on which it depends were skipped.' } },
    ])
  })

  it('skips a whole chain in one step', () => {
    const chain = graph(node('a'), node('b', 'a'), node('c', 'b'), node('d', 'c'))
    expect(step(team(chain), [], { program: entering({ a: skips }) })).toEqual([
      ...['a', 'b', 'c', 'd'].map((id) => `node_skipped ${id}`),
      'task_team_run_completed complete',
    ])
  })

  it('leaves a skipped node without output', () => {
    const seen: unknown[] = []
    const watching = entering({
      if: says(''),
      no: skips,
      join: (view) => (seen.push(view.outputOf('no')), { kind: 'run', input: null }),
    })
    const of = started(fork, watching)
    step(of, [completed('yes')], { program: watching })
    expect(seen).toEqual([null])
  })
})

describe('a quorum', () => {
  it('is decided in the step in which its last dependency is blocked', () => {
    const of = team(graph(node('a'), node('b', 'a'), quorum(0, 'join', 'a', 'b')))
    step(of, [])
    expect(step(of, [failed('a')])).toEqual(['node_failed a', 'node_blocked b by a', 'node_started join'])
    expect(step(of, [completed('join')])).toEqual(['node_completed join', 'task_team_run_failed incomplete'])
    expect(of.message).toBe('1 of 3 nodes completed; failed: a; blocked: b')
  })

  it('blocks its node if a skip and a failure make it impossible, and the team ends', () => {
    const of = team(graph(node('a'), node('b'), node('c'), quorum(2, 'join', 'a', 'b', 'c')))
    const program = entering({ a: skips })
    step(of, [], { program })
    expect(step(of, [completed('c'), failed('b')], { program })).toEqual([
      'node_failed b',
      'node_completed c',
      'node_blocked join by b',
      'task_team_run_failed incomplete',
    ])
    expect(of.message).toBe('1 of 4 nodes completed; failed: b; blocked: join; skipped: a')
  })
})

describe('growth', () => {
  const after = (growth: Growth, of = 'a'): TeamProgram => ({
    after: (_, each) => ({ kind: 'go_on', ...(each.node_id === of ? { growth } : {}) }),
  })

  it('adds nodes that start in the same step, and an edge holds back a node that waits', () => {
    const program = after({ nodes: [node('m1', 'a'), node('m2', 'a')], edges: [['m1', 'end'], ['m2', 'end']], outputs: ['end'], output: 'end' }) // prettier-ignore
    const of = started(graph(node('a'), node('end', 'a')), program)
    expect(step(of, [completed('a')], { program })).toEqual([
      'node_completed a',
      'graph_extended a by 2',
      'node_started m1',
      'node_started m2',
    ])
    expect(of.graph.nodes.map((each) => [each.node_id, each.depends_on])).toEqual([
      ['a', []],
      ['end', ['a', 'm1', 'm2']],
      ['m1', ['a']],
      ['m2', ['a']],
    ])
    expect(step(of, [completed('m1'), completed('m2')], { program })).toEqual([
      'node_completed m1',
      'node_completed m2',
      'node_started end',
    ])
  })

  it('of a code node holds back a node that became ready with it', () => {
    const program = entering({ x: says('', { nodes: [node('m')], edges: [['m', 'b']] }) })
    expect(step(team(graph(code('x'), node('b'))), [], { program })).toEqual([
      'node_computed x = ',
      'graph_extended x by 1',
      'node_started m',
    ])
  })

  it('of code by code continues in the same step, each time from the current graph', () => {
    const program: TeamProgram = {
      enter: (view, each) => ({
        kind: 'output',
        output: `${view.graph.nodes.length}`,
        ...(view.graph.nodes.length < 4
          ? {
              growth: {
                nodes: [code(`${each.node_id}+`, each.node_id)],
                outputs: [`${each.node_id}+`],
                output: null,
              },
            }
          : {}),
      }),
    }
    const of = team(graph(code('x')))
    expect(step(of, [], { program }).at(-1)).toBe('task_team_run_completed complete')
    expect([...of.nodes].map(([id, each]) => [id, each.output])).toEqual([
      ['x', '1'],
      ['x+', '2'],
      ['x++', '3'],
      ['x+++', '4'],
    ])
  })

  it('replaces the outputs, and keeps them if it names none', () => {
    const replacing = after({ nodes: [node('b', 'a')], outputs: ['b'], output: 'b' })
    const of = started(graph(node('a')), replacing)
    step(of, [completed('a')], { program: replacing })
    expect([of.graph.outputs, of.graph.output]).toEqual([['b'], 'b'])
    const silent = after({ nodes: [node('b', 'a')] })
    const same = started(graph(node('a')), silent)
    step(same, [completed('a')], { program: silent })
    expect([same.graph.outputs, same.graph.output]).toEqual([['a'], 'a'])
  })

  it.each<[string, Growth, string]>([
    [
      'an edge to a node that has begun',
      { nodes: [node('m')], edges: [['m', 'busy']] },
      'Test led an edge to busy, which has begun.',
    ],
    [
      'an edge to nowhere',
      { nodes: [], edges: [['a', 'ghost']] },
      'Test led an edge to ghost, which is not a node of the graph.',
    ],
    ['an edge from nowhere', { nodes: [], edges: [['ghost', 'end']] }, 'Test would grow into a graph in which end depends on ghost, which is not a node of the graph.'], // prettier-ignore
    [
      'a cycle',
      { nodes: [node('m', 'end')], edges: [['m', 'end']] },
      'Test would grow into a graph in which end -> m -> end is a cycle.',
    ],
    [
      'a name that is taken',
      { nodes: [node('end')] },
      'Test would grow into a graph in which two nodes are called end.',
    ],
    [
      'an unknown output',
      { nodes: [], outputs: ['ghost'] },
      'Test would grow into a graph in which the output ghost is not a node of the graph.',
    ],
    ['no output', { nodes: [], outputs: [] }, 'Test would grow into a graph in which no node is an output.'],
  ])(
    'by %s is refused: the node from which it would follow fails, and the graph does not change',
    (_, growth, message) => {
      const program = after(growth)
      const of = started(graph(node('a'), node('busy'), node('end', 'a')), program)
      expect(step(of, [completed('a')], { program })).toEqual(['node_failed a', 'node_blocked end by a'])
      expect(of.nodes.get('a')?.failure).toEqual({ class: 'internal', message })
      expect(of.graph).toBe(of.start.graph)
    },
  )

  it('of a code node that would break the graph fails that node too', () => {
    const program = entering({ x: says('', { nodes: [node('m', 'end')], edges: [['m', 'end']] }) })
    const of = team(graph(code('x'), node('end', 'x')))
    expect(step(of, [], { program })).toEqual([
      'node_failed x',
      'node_blocked end by x',
      'task_team_run_failed incomplete',
    ])
  })

  it.each([
    ['agents', { agents: 2, edges: 9 }, '3 agents; the limit agentsMax is 2'],
    ['edges', { agents: 9, edges: 1 }, '2 edges; the limit edgesMax is 1'],
  ])('over the limit of %s fails the node from which it follows (D-39)', (_, graphMax, message) => {
    const of = team(graph(node('a')))
    const program: TeamProgram = {
      after: () => ({ kind: 'go_on', growth: { nodes: [node('b', 'a'), node('c', 'a')] } }),
    }
    step(of, [], { program, graphMax })
    expect(step(of, [completed('a')], { program, graphMax })).toEqual([
      'node_failed a',
      'task_team_run_failed incomplete',
    ])
    expect(of.nodes.get('a')?.failure).toEqual({
      class: 'growth_exceeded',
      message: `Test would grow to ${message}.`,
    })
    const wide = team(graph(node('a')))
    step(wide, [], { program })
    expect(step(wide, [completed('a')], { program, graphMax: { agents: 3, edges: 2 } })).toContain(
      'node_started c',
    )
  })

  it('while the team stops is cancelled together with the nodes that wait', () => {
    const program = after({ nodes: [node('m', 'a')] })
    const of = started(graph(node('a')), program)
    expect(step(of, [completed('a')], { program, cancelReason: 'enough' })).toEqual([
      'node_completed a',
      'graph_extended a by 1',
      'node_cancelled m',
      'task_team_run_failed cancelled',
    ])
  })

  it('does not change the graph from which it starts', () => {
    const before = graph(node('a'), node('b', 'a'))
    const copy = structuredClone(before)
    grow(before, { nodes: [node('c')], edges: [['c', 'b'], ['a', 'b'], ['c', 'b']] }) // prettier-ignore
    expect(before).toEqual(copy)
    expect(grow(before, { nodes: [node('c')], edges: [['c', 'b'], ['a', 'b'], ['c', 'b']] }).nodes[1]?.depends_on).toEqual(['a', 'c']) // prettier-ignore
  })
})

describe('the sequel of a run', () => {
  it('may refuse the answer: the node fails although its run completed', () => {
    const program: TeamProgram = {
      after: () => ({ kind: 'fail', failure: { class: 'malformed_output', message: 'no plan' } }),
    }
    const of = started(graph(node('a'), node('b', 'a')), program)
    expect(step(of, [completed('a')], { program })).toEqual([
      'node_failed a',
      'node_blocked b by a',
      'task_team_run_failed incomplete',
    ])
    expect(of.nodes.get('a')?.failure).toEqual({ class: 'malformed_output', message: 'no plan' })
  })

  it('is decided with the text of the run, after the run has passed the gate', () => {
    const asked: unknown[] = []
    const program: TeamProgram = {
      after: (_, each, output) => (asked.push([each.node_id, output]), { kind: 'go_on' }),
    }
    const gated = {
      ...node('gated'),
      required_evidence: [{ kind: 'tool_succeeded' as const, tool: 'count' }],
    }
    const of = started(graph(node('a'), gated, node('f')), program)
    step(of, [completed('a', facts('A')), completed('gated'), failed('f')], { program })
    expect(asked).toEqual([['a', 'A']])
  })

  it('may change the shared state, in the order of the ended nodes; a change that does not fit is recorded as a diagnostic', () => {
    const of = team({ ...graph(node('a'), node('b')), shared_state: { n: 1, s: 'x' } })
    const program: TeamProgram = {
      after: (view, each) => ({
        kind: 'go_on',
        stateChanges: [{ action: 'set', path: ['seen', `${each.node_id}.1`], value: view.sharedState['n'] ?? 0 }, { action: 'increment', path: 'n', by: 1 }, { action: 'increment', path: 's', by: 1 }], // prettier-ignore
      }),
    }
    step(of, [], { program })
    const told = step(of, [completed('b'), completed('a')], { program })
    expect(told.filter((each) => each.startsWith('team_diagnostic'))).toEqual([
      'team_diagnostic_recorded a shared_state_refused',
      'team_diagnostic_recorded b shared_state_refused',
    ])
    expect(of.sharedState).toEqual({ n: 3, s: 'x', seen: { 'a.1': 1, 'b.1': 2 } })
  })

  it('records its diagnostics before the outcome, and they fail nothing', () => {
    const diagnostics = [{ code: 'unknown_member', message: 'Nobody is called x.' }]
    const program: TeamProgram = { after: () => ({ kind: 'go_on', diagnostics }) }
    expect(step(started(graph(node('a')), program), [completed('a')], { program })).toEqual([
      'team_diagnostic_recorded a unknown_member',
      'node_completed a',
      'task_team_run_completed complete',
    ])
    const failing: TeamProgram = {
      after: () => ({ kind: 'fail', failure: { class: 'malformed_output', message: 'x' }, diagnostics }),
    }
    expect(
      step(started(graph(node('a')), failing), [completed('a')], { program: failing }).slice(0, 2),
    ).toEqual(['team_diagnostic_recorded a unknown_member', 'node_failed a'])
  })
})

describe('a program that throws', () => {
  const throws = (): never => {
    throw new Error('a bug')
  }

  it('fails a node as internal if it throws before the node starts; the others continue and the team ends', () => {
    const program = entering({ a: throws, x: throws })
    const of = team(graph(node('a'), code('x'), node('b'), node('c', 'a')))
    expect(step(of, [], { program })).toEqual([
      'node_failed a',
      'node_failed x',
      'node_started b',
      'node_blocked c by a',
    ])
    expect(of.nodes.get('a')?.failure).toEqual({ class: 'internal', message: 'a bug' })
    expect(step(of, [completed('b')], { program })).toEqual([
      'node_completed b',
      'task_team_run_failed incomplete',
    ])
  })

  it('fails the node of a run if it throws after the run', () => {
    const program: TeamProgram = { after: throws }
    const of = started(graph(node('a'), node('b', 'a')), program)
    expect(step(of, [completed('a')], { program })).toEqual([
      'node_failed a',
      'node_blocked b by a',
      'task_team_run_failed incomplete',
    ])
  })

  it('leaves the team incomplete, with the error, if it throws for the result; the outputs are kept', () => {
    const program: TeamProgram = { result: throws }
    const of = started(graph(node('a')), program)
    expect(step(of, [completed('a')], { program })).toEqual([
      'node_completed a',
      'task_team_run_failed incomplete',
    ])
    expect(of.message).toBe('All nodes completed, and Test could not make its result: a bug')
    expect(teamOutput(of, new Map([['a', 'A']]), program)).toEqual({
      final_output: 'A',
      outputs: [{ node_id: 'a', output: 'A' }],
    })
  })
})

describe("a program's result", () => {
  const program: TeamProgram = {
    result: (view) => ({
      final_output: `${view.outputOf('a')} and ${view.outputOf('b')}, of ${view.graph.nodes.length}`,
    }),
  }

  it('is the final output of a complete team', () => {
    const of = started(graph(node('a'), node('b')), program)
    step(of, [completed('a'), completed('b')], { program })
    const outputs = new Map([['a', 'A'], ['b', 'B']]) // prettier-ignore
    expect(teamOutput(of, outputs, program).final_output).toBe('A and B, of 2')
  })

  it('is not used for a team that is not complete: its partial results follow D-31', () => {
    const of = started(graph(node('a'), node('b')), program)
    step(of, [completed('a'), failed('b')], { program })
    expect(teamOutput(of, new Map([['a', 'A']]), program)).toEqual({
      final_output: '## a\n\nA',
      outputs: [{ node_id: 'a', output: 'A' }],
    })
  })
})

describe('nodes that a program dismisses', () => {
  const program: TeamProgram = {
    after: (_, each) =>
      each.node_id === 'a'
        ? { kind: 'go_on', dismiss: { nodes: ['a', 'b', 'c', 'nobody'], reason: 'It is decided.' } }
        : { kind: 'go_on' },
  }
  const of = (): TeamState =>
    started(graph(node('a'), node('b'), node('c'), quorum(1, 'join', 'a', 'b', 'c')), program, 2)

  it('are skipped, running or waiting, and what depends on them goes on', () => {
    const begun = of()
    expect(step(begun, [completed('a')], { program })).toEqual([
      'node_completed a',
      'node_skipped b',
      'node_skipped c',
      'node_started join',
    ])
    expect(begun.nodes.get('b')).toMatchObject({
      status: 'skipped',
      runId: expect.any(String) as string,
      cancelReason: 'It is decided.',
    })
    expect(begun.nodes.get('c')).toMatchObject({ status: 'skipped', runId: null, cancelReason: null })
  })

  it('count nothing when their runs end, and the team ends after these runs', () => {
    const begun = of()
    step(begun, [completed('a')], { program })
    expect(step(begun, [completed('join')], { program, runsOpen: true })).toEqual(['node_completed join'])
    expect(step(begun, [failed('b')], { program })).toEqual(['task_team_run_completed complete'])
  })

  it('keep the result that ends in the same step', () => {
    expect(step(of(), [completed('a'), completed('b')], { program })).toEqual([
      'node_completed a',
      'node_skipped c',
      'node_completed b',
      'node_started join',
    ])
  })
})
