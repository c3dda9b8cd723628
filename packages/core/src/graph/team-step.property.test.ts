// Properties of every team, whatever its graph, its program, the order in which its nodes end, and the moment
// when it must stop.
import { evaluateNode } from '@beaver/evidence'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { code, graph, node } from '../../test/log.ts'
import { team } from '../../test/team.ts'
import { type DomainEvent, event } from '../events/catalog.ts'
import { evolveTeam, type TeamState } from '../fold/team-state.ts'
import type { ExecutionNode } from './execution-graph.ts'
import type { Growth, TeamProgram, TeamView } from './team-program.ts'
import { type NodeEnd, stepTeam } from './team-step.ts'

type Behaviour =
  | 'plain'
  | 'skip'
  | 'fail'
  | 'throw'
  | 'grow'
  | 'grow_into_waiting'
  | 'grow_badly'
  | 'diagnose'
interface Scene {
  readonly nodes: ExecutionNode[]
  readonly behaviours: Behaviour[]
  /** For each end: which of the running nodes ends, and how. */
  readonly ends: { readonly pick: number; readonly status: NodeEnd['status'] }[]
  readonly together: number
  readonly places: number
  readonly cancelNodeAt: { readonly step: number; readonly pick: number } | null
  readonly cancelAt: number | null
}

const scene: fc.Arbitrary<Scene> = fc.integer({ min: 1, max: 10 }).chain((count) =>
  fc.record({
    nodes: fc.tuple(...Array.from({ length: count }, (_, index) => anyNode(index))),
    behaviours: fc.array(
      fc.oneof(
        { weight: 6, arbitrary: fc.constant<Behaviour>('plain') },
        {
          weight: 4,
          arbitrary: fc.constantFrom<Behaviour>(
            'skip',
            'fail',
            'throw',
            'grow',
            'grow_into_waiting',
            'grow_badly',
            'diagnose',
          ),
        },
      ),
      { minLength: count, maxLength: count },
    ),
    ends: fc.array(
      fc.record({
        pick: fc.nat(100),
        status: fc.oneof(
          { weight: 4, arbitrary: fc.constant('completed' as const) },
          { weight: 1, arbitrary: fc.constantFrom('failed' as const, 'cancelled' as const) },
        ),
      }),
      { minLength: 1, maxLength: 20 },
    ),
    together: fc.integer({ min: 1, max: 3 }),
    places: fc.integer({ min: 1, max: 4 }),
    cancelNodeAt: fc.option(fc.record({ step: fc.nat(5), pick: fc.nat(20) }), { freq: 3 }),
    cancelAt: fc.option(fc.nat(6), { freq: 3 }),
  }),
)

function anyNode(index: number): fc.Arbitrary<ExecutionNode> {
  const earlier = Array.from({ length: index }, (_, other) => `n${other}`)
  return fc
    .record({
      depends: fc.subarray(earlier),
      isCode: fc.boolean(),
      quorum: fc.option(fc.nat(index + 1), { freq: 2 }),
    })
    .map(({ depends, isCode, quorum }) => ({
      ...(isCode ? code : node)(`n${index}`, ...depends),
      ...(quorum === null ? {} : { quorum }),
    }))
}

const nodesMax = 40

/**
 * Decides by the number in the id of a node, so that grown nodes have a behaviour too. It grows the graph
 * only while the graph is small.
 */
function programOf(behaviours: readonly Behaviour[]): TeamProgram {
  const of = (id: string): Behaviour => behaviours[Number(/\d+/.exec(id)?.[0]) % behaviours.length] ?? 'plain'
  const growthOf = (view: TeamView, { node_id: id }: ExecutionNode): Growth | undefined => {
    const waiting = view.graph.nodes.find(
      (each) => each.node_id !== id && view.statusOf(each.node_id) === 'waiting',
    )
    if (view.graph.nodes.length >= nodesMax) return undefined
    if (of(id) === 'grow')
      return { nodes: [node(`${id}+`, id), code(`${id}*`, `${id}+`)], outputs: [`${id}*`], output: null }
    if (of(id) === 'grow_into_waiting')
      return {
        nodes: [node(`${id}/`, id)],
        ...(waiting === undefined ? {} : { edges: [[`${id}/`, waiting.node_id]] }),
      }
    return of(id) === 'grow_badly' ? { nodes: [node(id)] } : undefined
  }
  const throwing = (id: string): void => {
    if (of(id) === 'throw') throw new Error('a bug')
  }
  return {
    enter(view, each) {
      throwing(each.node_id)
      if (of(each.node_id) === 'skip') return { kind: 'skip', reason: 'so' }
      if (of(each.node_id) === 'fail')
        return { kind: 'fail', failure: { class: 'malformed_output', message: 'so' } }
      if (each.kind !== 'code') return { kind: 'run', input: null }
      const growth = growthOf(view, each)
      return { kind: 'output', output: each.node_id, ...(growth === undefined ? {} : { growth }) }
    },
    after(view, each) {
      throwing(each.node_id)
      if (of(each.node_id) === 'diagnose')
        return { kind: 'go_on', diagnostics: [{ code: 'x', message: 'so' }] }
      const growth = growthOf(view, each)
      return { kind: 'go_on', ...(growth === undefined ? {} : { growth }) }
    },
  }
}

const endOf = {
  node_completed: true,
  node_computed: true,
  node_skipped: true,
  node_failed: true,
  node_blocked: true,
  node_cancelled: true,
}
const ended = new Set(['completed', 'skipped', 'failed', 'blocked', 'cancelled'])

/** Drives the team as its supervisor does, checks it on the way, and returns all its events. */
function drive({ nodes, behaviours, ends, together, places, cancelNodeAt, cancelAt }: Scene): {
  events: DomainEvent[]
  of: TeamState
} {
  const of = team(graph(...nodes), places)
  const program = programOf(behaviours)
  const running: { nodeId: string; runId: string }[] = []
  const events: DomainEvent[] = []
  let runs = 0
  const fold = (more: readonly DomainEvent[]): void => {
    for (const each of more) {
      if (each.type === 'node_started') {
        const depends = of.graph.nodes.find((known) => known.node_id === each.data.node_id)?.depends_on ?? []
        expect(depends.filter((id) => !ended.has(of.nodes.get(id)?.status ?? ''))).toEqual([])
        running.push({ nodeId: each.data.node_id, runId: each.data.run_id })
      }
      evolveTeam(of, each, { clockMs: 0 })
      events.push(each)
    }
  }
  let turn = 0
  const nextEnd = (): NodeEnd => {
    const { pick, status } = ends[turn++ % ends.length] ?? { pick: 0, status: 'completed' }
    const [one] = running.splice(pick % running.length, 1)
    const { nodeId = '', runId = '' } = one ?? {}
    const failure =
      status === 'completed'
        ? null
        : ({ class: status === 'failed' ? 'tool_crash' : 'cancelled', message: 'so' } as const)
    return { nodeId, runId, status, facts: { outputText: nodeId, outputSeq: 1, tools: [] }, failure }
  }
  for (let round = 0; of.outcome === null; round++) {
    expect(round).toBeLessThan(nodesMax * 3)
    const cancelReason = cancelAt !== null && round >= cancelAt ? 'enough' : null
    if (cancelNodeAt?.step === round) {
      const { node_id } = of.graph.nodes[cancelNodeAt.pick % of.graph.nodes.length] as ExecutionNode
      fold([event('node_cancel_requested', { team_run_id: 'team1' as never, node_id, reason: 'so' })])
    }
    const some = round === 0 ? [] : Array.from({ length: Math.min(together, running.length) }, nextEnd)
    if (round > 0 && cancelNodeAt?.step !== round) expect(some.length).toBeGreaterThan(0) // otherwise nothing would step the team again
    const outputs = new Map(
      [...of.nodes].filter(([, each]) => each.status === 'completed').map(([id]) => [id, id]),
    )
    const options = { newRunId: () => `run${runs}`, cancelReason, program, gate: evaluateNode, outputs }
    const before = structuredClone([...of.nodes])
    const made = stepTeam(of, some, options)
    expect([...of.nodes]).toEqual(before)
    expect(stepTeam(of, some, options)).toEqual(made)
    runs += 1
    fold(made)
    expect(running.length).toBeLessThanOrEqual(places)
    // The fold gives the state that the step assumed, so no more events follow from it.
    if (of.outcome === null) expect(stepTeam(of, [], options)).toEqual([])
  }
  expect(running).toEqual([])
  return { events, of }
}

it('ends every team, ends every node once and after its dependencies, and the journal folds to the same team', () => {
  fc.assert(
    fc.property(scene, (given_) => {
      const { events, of } = drive(given_)
      const endings = events
        .filter((each) => each.type in endOf)
        .map((each) => (each.data as { node_id: string }).node_id)
      expect(endings.toSorted()).toEqual(of.graph.nodes.map((each) => each.node_id).toSorted())
      expect(events.filter((each) => each.type.startsWith('task_team_run'))).toEqual([events.at(-1)])

      const again = team(graph(...given_.nodes), given_.places)
      for (const each of events) evolveTeam(again, each, { clockMs: 0 })
      expect(again).toEqual(of)

      const statuses = [...of.nodes.values()].map((each) => each.status)
      const complete = statuses.every((status) => status === 'completed' || status === 'skipped')
      expect(of.outcome === 'complete').toBe(complete)
      for (const each of of.graph.nodes) {
        const state = of.nodes.get(each.node_id)
        const lost = each.depends_on.filter((id) =>
          ['failed', 'blocked', 'cancelled'].includes(of.nodes.get(id)?.status ?? ''),
        )
        if (state?.status === 'blocked') {
          expect(lost).not.toEqual([])
          expect(['failed', 'cancelled']).toContain(of.nodes.get(state.causeNodeId ?? '')?.status)
        }
        if ((state?.status === 'completed' || state?.runId !== null) && each.quorum === undefined)
          expect(lost).toEqual([])
      }
    }),
    { numRuns: 400 },
  )
})
