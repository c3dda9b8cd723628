// Checks a manager's answer, and builds the round that it requests or the result. An answer that cannot be
// used gives the manager one more turn, with the fault. The next such answer fails it: malformed_output. A
// manager learns of failures by id and class, never by their texts (D-34).
import type { ExecutionNode, Growth, NodeEntry, NodeSequel, TeamProgram, TeamView } from '@beaver/core/graph'
import type { Failure } from '@beaver/core/supervision'
import { didYouMean, isRecord, quote, quoteAll } from '@beaver/workflows'
import { cycleOf, referenceOf } from '../growing/assignments.ts'
import { codeStep, edgeCountOf, excerpt } from '../growing/growing-team.ts'
import {
  decision,
  delegatedId,
  delegating,
  type Delegation,
  dependenciesMax,
  finalAnswer,
  type Hierarchy,
  hierarchySettings,
  isDelegation,
  managerNode,
  workerNode,
} from './hierarchical-workflow-rounds.ts'
import { jsonIn, readJsonAnswer } from '../growing/json-answer.ts'

export const hierarchicalProgram: TeamProgram = {
  enter(team, node) {
    if (node.kind === 'code') return answerOf(team, node)
    const round = roundOf(node)
    return {
      kind: 'run',
      input:
        node.kind === 'agent' && round !== null && round > 1
          ? { instruction: `${node.instruction}\n\n${delegatedSoFar(team)}` }
          : null,
    }
  },
  after(team, node, output) {
    const round = roundOf(node)
    return round === null ? { kind: 'go_on' } : decided(team, { node, round, output })
  },
}

const roundOf = (node: ExecutionNode): number | null =>
  typeof node.settings?.['round'] === 'number' ? node.settings['round'] : null

function answerOf(team: TeamView, node: ExecutionNode): NodeEntry {
  const [manager = ''] = node.depends_on
  const asked = team.graph.nodes.find((each) => each.node_id === manager)
  const final = finalIn(
    readJsonAnswer(team.outputOf(manager) ?? '', decision),
    roundsOf(team),
    asked === undefined ? null : roundOf(asked),
  )
  return final === null
    ? { kind: 'fail', failure: malformed('The answer holds no result.') }
    : { kind: 'output', output: final }
}

/**
 * The result in a manager's answer. If the answer delegates, too, the work goes on, unless there is no round
 * left.
 */
function finalIn(
  read: ReturnType<typeof readJsonAnswer<typeof decision>>,
  roundsMax: number,
  round: number | null,
): string | null {
  if (!read.ok || read.value.final === undefined) return null
  return 'delegations' in read.value && (round ?? 0) <= roundsMax ? null : read.value.final
}

const roundsOf = (team: TeamView): number => hierarchySettings.parse(team.graph.settings).rounds_max

function decided(
  team: TeamView,
  { node, round, output }: { node: ExecutionNode; round: number; output: string },
): NodeSequel {
  const hierarchy = hierarchySettings.parse(team.graph.settings)
  const read = readJsonAnswer(output, decision)
  if (finalIn(read, hierarchy.rounds_max, round) !== null) {
    return {
      kind: 'go_on',
      growth: {
        nodes: [codeStep('#answer', 'answer', [node.node_id])],
        outputs: ['#answer'],
        output: '#answer',
      },
    }
  }
  const next =
    read.ok && 'delegations' in read.value
      ? nextRound(team, hierarchy, { round, delegations: read.value.delegations })
      : { fault: faultOf(output, read) }
  if (!('fault' in next)) return { kind: 'go_on', growth: next }
  const message = `${node.node_id}: ${next.fault}`
  if (node.settings?.['again'] === true) return { kind: 'fail', failure: malformed(message) }
  const again = managerNode(hierarchy, {
    round,
    delegated: delegatedIds(team),
    correcting: { fault: next.fault, nodeId: node.node_id },
  })
  const growth: Growth = {
    nodes: [again],
    outputs: [...completedOf(team), again.node_id],
    output: again.node_id,
  }
  return { kind: 'go_on', growth, diagnostics: [{ code: 'malformed_answer', message }] }
}

/** The nodes of a round of delegations, or the first fault in them. */
function nextRound(
  team: TeamView,
  hierarchy: Hierarchy,
  wanted: { round: number; delegations: readonly Delegation[] },
): Growth | { fault: string } {
  const { round, delegations } = wanted
  if (round > hierarchy.rounds_max)
    return {
      fault: `There are no rounds left: the limit rounds_max is ${hierarchy.rounds_max}. Answer with {"final": "…"}.`,
    }
  if (delegations.length > hierarchy.delegations_max) {
    return {
      fault: `There are ${delegations.length} delegations; the limit delegations_max is ${hierarchy.delegations_max}.`,
    }
  }
  const needs = needsOf(team, hierarchy, delegations)
  if ('fault' in needs) return needs
  const ids = delegations.map((each, place) => delegatedId(each, round, place))
  const workers = delegations.map((each, place) => {
    const { items, known } = needs.needs[place] ?? { items: [], known: [] }
    return workerNode(hierarchy, {
      round,
      place,
      delegation: each,
      dependsOn: [...known, ...items.map((item) => ids[item] ?? '')],
    })
  })
  const manager = managerNode(hierarchy, { round: round + 1, delegated: [...delegatedIds(team), ...ids] })
  const nodes = [...workers, manager]
  const edges = edgeCountOf(team.graph.nodes) + edgeCountOf(nodes)
  if (edges > hierarchy.edges_max)
    return {
      fault: `The graph would grow to ${edges} edges; the limit edgesMax is ${hierarchy.edges_max}. Delegate less.`,
    }
  return { nodes, outputs: [...completedOf(team), ...ids, manager.node_id], output: manager.node_id }
}

interface Needs {
  readonly items: readonly number[]
  readonly known: readonly string[]
}

function needsOf(
  team: TeamView,
  { workers }: Hierarchy,
  delegations: readonly Delegation[],
): { needs: readonly Needs[] } | { fault: string } {
  const names = workers.map((worker) => worker.name)
  const items = delegations.map(({ id, worker, depends_on }) => ({ id, agent: worker, depends_on }))
  const earlier = delegatedIds(team)
  const completed = earlier.filter((id) => team.statusOf(id) === 'completed')
  const needs: Needs[] = []
  for (const [index, { id, worker, depends_on = [] }] of delegations.entries()) {
    const at = `delegations.${index}`
    if (!names.includes(worker))
      return {
        fault: `${at}: there is no worker ${quote(worker)}.${didYouMean(worker, names)} The workers are ${quoteAll(names)}.`,
      }
    if (id !== undefined && delegations.findIndex((each) => each.id === id) < index)
      return { fault: `${at}: the id ${quote(id)} is taken by another delegation.` }
    const need: { items: number[]; known: string[] } = { items: [], known: [] }
    for (const ref of new Set(depends_on)) {
      const reference = referenceOf(items, ref, completed)
      if (reference.kind === 'fault') {
        return {
          fault: earlier.includes(ref)
            ? `${at}: depends_on names ${quote(ref)}, which ended without a result.`
            : `${at}: ${reference.fault}.`,
        }
      }
      if (reference.kind === 'item') need.items.push(reference.index)
      else need.known.push(reference.nodeId)
    }
    needs.push(need)
  }
  const cycle = cycleOf(needs.map((need) => need.items))
  if (cycle === null) return { needs }
  const round = [...cycle, cycle[0] ?? 0].map((index) =>
    quote(delegations[index]?.id ?? delegations[index]?.worker),
  )
  return {
    fault: `The delegations wait for each other: ${round.join(' -> ')}. Remove one of these dependencies.`,
  }
}

/** A fault of shape, in the words of the form that is nearest to the answer. */
function faultOf(output: string, read: ReturnType<typeof readJsonAnswer<typeof decision>>): string {
  if (read.ok) return ''
  const form =
    'Answer with {"delegations": [{"worker": "…", "instruction": "…", "depends_on": []}]} or {"final": "…"}, and nothing else.'
  const delegates = jsonIn(output).some((value) => isRecord(value) && 'delegations' in value)
  const near = readJsonAnswer(output, delegates ? delegating : finalAnswer)
  return `${near.ok ? read.fault : near.fault} ${form} Each depends_on holds at most ${dependenciesMax} names.`
}

function delegatedSoFar(team: TeamView): string {
  const lines = team.graph.nodes.filter(isDelegation).map((node) => {
    const status = team.statusOf(node.node_id)
    const ended =
      status === 'completed'
        ? 'completed'
        : status === 'failed'
          ? `FAILED (${team.failureOf(node.node_id)?.class ?? 'internal'})`
          : status.toUpperCase()
    return `- ${quote(node.node_id)}, ${ended}: ${excerpt(instructionOf(node))}`
  })
  return `What you have delegated so far; only what completed has an output:\n${lines.join('\n')}`
}

function instructionOf(node: ExecutionNode): string {
  const delegated = node.settings?.['delegated']
  return typeof delegated === 'string' ? delegated : ''
}

const delegatedIds = (team: TeamView): string[] =>
  team.graph.nodes.filter(isDelegation).map((node) => node.node_id)
const completedOf = (team: TeamView): string[] =>
  delegatedIds(team).filter((id) => team.statusOf(id) === 'completed')
const malformed = (message: string): Failure => ({ class: 'malformed_output', message })
