// What holds for every team whose graph follows from answers, whatever the answers are: also garbage, also
// failures. The driver takes each step twice and folds the journal again: that the decisions are pure is
// claimed in every run.
import { type ExecutionGraph, graphFault } from '@beaver/core/graph'
import type { Workflow } from '@beaver/workflows'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { agents, type Answers, play, type Played } from '@beaver/testing'
import { agentTeam } from '../agent-team/agent-team.ts'
import { groupChat } from '../group-chat/group-chat.ts'
import { hierarchicalWorkflow } from '../hierarchical/hierarchical-workflow.ts'
import { majorityVote } from '../majority-vote/majority-vote.ts'

const runs = { numRuns: 75 }
const names = ['a', 'B', '收集者', 'data collector', 'v1.2', '__proto__', 'plan', 'floor']
const team = fc.shuffledSubarray(names, { minLength: 1, maxLength: 5 })
const someone = (name: string) => agents(name)[0]
const maybe = <Value>(value: Value) => fc.option(fc.constant(value), { nil: undefined })

const calls: Record<string, fc.Arbitrary<Record<string, unknown>>> = {
  GroupChat: team
    .chain((members) =>
      fc.record({
        agents: fc.constant(agents(...members)),
        turns_max: fc.integer({ min: 1, max: 6 }),
        choice: fc.constantFrom(
          { speaker: 'round_robin' },
          { speaker: 'model', moderator: someone('chair') },
          { speaker: 'bids' },
        ),
        stop_phrase: maybe('stop'),
        summarizer: maybe(someone('scribe')),
      }),
    )
    .map(({ choice, ...args }) => ({ ...args, ...choice })),
  HierarchicalWorkflow: team.chain((members) =>
    fc.record({
      workers: fc.constant(agents(...members)),
      manager: fc.constant(someone('boss')),
      rounds_max: fc.integer({ min: 1, max: 3 }),
      delegations_max: fc.integer({ min: 1, max: 6 }),
    }),
  ),
  MajorityVote: team.chain((members) =>
    fc
      .record({
        who: fc.constantFrom<Record<string, unknown>>(
          { agents: agents(...members) },
          { voter: someone('v'), votes: 4 },
        ),
        how: fc.constantFrom<Record<string, unknown>>(
          { options: ['yes', 'no'] },
          { consensus: someone('judge') },
        ),
      })
      .map(({ who, how }) => ({ ...who, ...how })),
  ),
  AgentTeam: team.chain((members) =>
    fc
      .record({
        members: fc.constant(members),
        how: fc.constantFrom<Record<string, unknown>>(
          { strategy: 'leader_worker' },
          { strategy: 'round_robin', tasks: ['x', 'y', 'z'] },
          { strategy: 'broadcast', coordinator: 'chief' },
          { strategy: 'sequential' },
        ),
        max_steps: fc.integer({ min: 6, max: 12 }),
        share_interactions: fc.boolean(),
      })
      .map(({ how, ...rest }) => ({ ...rest, ...how })),
  ),
}

const workflows: [string, Workflow][] = [groupChat, hierarchicalWorkflow, majorityVote, agentTeam].map(
  (workflow) => [workflow.name, workflow],
)
const callOf = (workflow: Workflow) =>
  (calls[workflow.name] as fc.Arbitrary<Record<string, unknown>>).map((args) => ({
    ...args,
    [workflow === agentTeam ? 'message' : 'task']: 'm',
  }))

const ref = fc.constantFrom(...names, 'x', 'y', 'a #1.1', 'B #1.2', 'a #1', 'nobody')
const item = fc.record(
  {
    id: fc.constantFrom('x', 'y'),
    worker: ref,
    member: ref,
    instruction: fc.constantFrom('do', ''),
    task: fc.constantFrom('do', ''),
    depends_on: fc.array(ref, { maxLength: 3 }),
  },
  { requiredKeys: [] },
)
const shaped = fc.oneof(
  fc
    .array(fc.record({ worker: ref, instruction: fc.constant('do') }), { maxLength: 5 })
    .map((delegations) => ({ delegations })),
  fc
    .array(
      fc.record(
        {
          id: fc.constantFrom('x', 'y', 'z'),
          worker: ref,
          instruction: fc.constant('do'),
          depends_on: fc.array(ref, { maxLength: 2 }),
        },
        { requiredKeys: ['worker', 'instruction'] },
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((delegations) => ({ delegations })),
  fc
    .array(
      fc.record(
        {
          id: fc.constantFrom('x', 'y'),
          member: ref,
          task: fc.constant('do'),
          depends_on: fc.array(ref, { maxLength: 2 }),
        },
        { requiredKeys: ['member', 'task'] },
      ),
      { minLength: 1, maxLength: 14 },
    )
    .map((plan) => ({ plan })),
  fc.array(item, { maxLength: 3 }),
  ref.map((next) => ({ next })),
  fc.constantFrom({ final: 'done' }, { final: '' }, { vote: 'yes' }, { bid: 40 }),
)
const answer = fc.oneof(
  { weight: 5, arbitrary: shaped.map((value) => `Well: ${JSON.stringify(value)} .`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('stop', 'VOTE: yes', 'VOTE: no', '70', '{"delegations": [', '', ' '),
  },
  { weight: 1, arbitrary: fc.string() },
  { weight: 1, arbitrary: fc.constant(null) },
)
const script = fc.array(answer, { minLength: 1, maxLength: 12 })

const given =
  (script: readonly (string | null)[]): Answers =>
  // By the node's id, so that the order in which nodes end changes no answer.
  (nodeId) =>
    script[
      [...nodeId].reduce((sum, char) => (sum * 31 + (char.codePointAt(0) ?? 0)) % 9973, 7) % script.length
    ] ?? null

/** The graph after each time it grew. */
function graphsOf(first: ExecutionGraph, { events }: Played): ExecutionGraph[] {
  let nodes = first.nodes
  return [
    first,
    ...events.flatMap((event) => {
      if (event.type !== 'graph_extended') return []
      nodes = [...nodes, ...event.data.nodes]
      return [{ ...first, nodes, outputs: event.data.outputs, output: event.data.output }]
    }),
  ]
}

const runsMax: Record<string, (args: Record<string, unknown>, graph: ExecutionGraph) => number> = {
  GroupChat: (args) =>
    Number(args['turns_max']) *
      (args['speaker'] === 'model'
        ? 3
        : args['speaker'] === 'bids'
          ? 1 + 2 * (args['agents'] as object[]).length
          : 1) +
    1,
  HierarchicalWorkflow: (args) =>
    2 * (Number(args['rounds_max']) + 1) + Number(args['rounds_max']) * Number(args['delegations_max']),
  MajorityVote: (_, graph) => graph.nodes.length,
  AgentTeam: (args) => Number(args['max_steps']),
}

describe.each(workflows)('%s', (name, workflow) => {
  it('ends, acyclic and within its bounds, whatever is answered', () => {
    const grown = { times: 0 }
    fc.assert(
      fc.property(
        callOf(workflow),
        script,
        fc.array(fc.nat(9), { minLength: 1, maxLength: 9 }),
        (args, answers, order) => {
          const planned = workflow.plan(args)
          if (!planned.ok) return expect.fail(JSON.stringify(planned.error))
          let at = 0
          const played = play(planned.graph, given(answers), () => order[at++ % order.length] ?? 0)
          for (const graph of graphsOf(planned.graph, played)) expect(graphFault(graph)).toBeNull()
          grown.times += played.events.filter((event) => event.type === 'graph_extended').length
          expect(played.team.outcome).not.toBeNull()
          expect(played.ran.length).toBeLessThanOrEqual(runsMax[name]?.(args, planned.graph) ?? 0)
          expect(new Set(played.ran).size).toBe(played.ran.length)
          const broken = [...played.team.nodes.values()].filter((node) => node.failure?.class === 'internal')
          expect(broken).toEqual([])
        },
      ),
      runs,
    )
    if (name !== 'MajorityVote') expect(grown.times).toBeGreaterThan(10)
  })

  it('comes to the same structure and result in whatever order its nodes end', () => {
    fc.assert(
      fc.property(
        callOf(workflow),
        script,
        fc.array(fc.nat(9), { minLength: 1, maxLength: 9 }),
        (args, answers, order) => {
          const planned = workflow.plan(args)
          if (!planned.ok) return expect.fail(JSON.stringify(planned.error))
          let at = 0
          const [one, other] = [
            play(planned.graph, given(answers)),
            play(planned.graph, given(answers), () => order[at++ % order.length] ?? 0),
          ]
          expect(other.team.graph).toEqual(one.team.graph)
          expect(other.result).toEqual(one.result)
          expect([...other.team.nodes].map(([id, node]) => [id, node.status])).toEqual(
            [...one.team.nodes].map(([id, node]) => [id, node.status]),
          )
        },
      ),
      { numRuns: 30 },
    )
  })

  it('builds the same graph twice, shares nothing with its arguments, and never throws', () => {
    fc.assert(
      fc.property(
        callOf(workflow),
        fc.jsonValue(),
        fc.constantFrom(
          'agents',
          'members',
          'workers',
          'manager',
          'voter',
          'options',
          'turns_max',
          'speaker',
          'strategy',
          'more',
        ),
        (args, odd, key) => {
          const before = structuredClone(args)
          const planned = workflow.plan(args)
          expect(workflow.plan(args)).toEqual(planned)
          expect(args).toEqual(before)
          const refused = workflow.plan({ ...args, [key]: odd })
          if (!refused.ok) expect(refused.error.message).toMatch(/\S/)
          expect(workflow.plan(odd)).toHaveProperty('ok', false)
        },
      ),
      runs,
    )
  })
})
