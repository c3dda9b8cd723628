// The tree of a task's agents for people: its structure and order, the folding of long lists, and the counts.
// The live view makes the tree from events, and `beaver show` from an answer. A long list of nodes shows the
// failed nodes, the nodes at work or in trouble, a few others, and a count of the rest. Counts are for the
// whole team, even if only some of its nodes are known.
import type { ExecutionNode } from '@beaver/core/graph'
import type { AgentState } from '@beaver/core/task-view'
import { count, counted } from '../text/figures.ts'
import type { Symbols } from '../text/style.ts'

/** An agent, or a node of a team that is a tool call or a computation. */
export interface TreeAgent<Self> {
  readonly name: string
  readonly isNode: boolean
  readonly kind: ExecutionNode['kind']
  readonly state: AgentState
  readonly teams: readonly TreeTeam<Self>[]
  /** The runs that this agent called without a team. Absent: none. */
  readonly others?: readonly Self[]
}

export interface TreeTeam<Agent> {
  readonly workflow: string
  /** The known nodes, in the order of `growthOrder`. */
  readonly nodes: readonly Agent[]
  /** How many nodes the team has now. `nodesAtStart`: how many it had when it started. */
  readonly nodeCount: number
  readonly nodesAtStart: number
  /** The number of nodes in each state. Absent: all nodes are known, and are counted here. */
  readonly counts?: Readonly<Record<string, number>>
  readonly notes: readonly TreeNote[]
}

/** A remark about a team. */
export interface TreeNote {
  readonly kind: 'note' | 'shared state'
  readonly text: string
}

/** A row of the tree. `prefix` draws the branches before it. */
export type TreeRow<Agent, Team> =
  /** `prefix` comes before the agent's line, and `below` before further lines about the agent. */
  | {
      readonly kind: 'agent'
      readonly prefix: string
      readonly below: string
      readonly agent: Agent
      readonly team: Team | null
    }
  | { readonly kind: 'team'; readonly prefix: string; readonly team: Team }
  | { readonly kind: 'note'; readonly prefix: string; readonly note: TreeNote }
  /** The nodes of a long list that are only counted. `nodes` contains the known ones. */
  | {
      readonly kind: 'folded'
      readonly prefix: string
      readonly nodes: readonly Agent[]
      readonly tally: Tally
    }

export interface TreeTop<Agent> {
  readonly agents: readonly Agent[]
  /** The teams that no agent called. */
  readonly teams: readonly TreeTeam<Agent>[]
}

/** `all`: long lists are not folded. `notes`: the notes of teams have rows. */
export interface Shown {
  readonly all: boolean
  readonly notes: boolean
}

/** Where a row is: what draws the branches before it, and before the rows below it. */
export interface Place {
  readonly prefix: string
  readonly below: string
}

/** The rows of a tree, from top to bottom. */
export function treeRows<Agent extends TreeAgent<Agent>>(
  top: TreeTop<Agent>,
  symbols: Symbols,
  shown: Shown,
): TreeRow<Agent, Agent['teams'][number]>[] {
  const rows: TreeRow<Agent, Agent['teams'][number]>[] = []
  const agentRows = (agent: Agent, team: Agent['teams'][number] | null, at: Place): void => {
    const children = [
      ...agent.teams.map((each) => (place: Place) => teamRows(each, place)),
      ...(agent.others ?? []).map((each) => (place: Place) => agentRows(each, null, place)),
    ]
    rows.push({
      kind: 'agent',
      prefix: at.prefix,
      below: at.below + (children.length > 0 ? symbols.trunk : '   '),
      agent,
      team,
    })
    visitAll(children, at)
  }
  const teamRows = (team: Agent['teams'][number], at: Place): void => {
    rows.push({ kind: 'team', prefix: at.prefix, team })
    const { listed, folded } = shown.all ? { listed: team.nodes, folded: [] } : foldedNodes(team.nodes)
    const tally = without(tallyOf(team), tallyOf({ nodes: listed }))
    visitAll(
      [
        ...listed.map((node) => (place: Place) => agentRows(node, team, place)),
        ...(tally.size === 0
          ? []
          : [({ prefix }: Place) => void rows.push({ kind: 'folded', prefix, nodes: folded, tally })]),
        ...(shown.notes ? team.notes : []).map(
          (note) =>
            ({ prefix }: Place) =>
              void rows.push({ kind: 'note', prefix, note }),
        ),
      ],
      at,
    )
  }
  const visitAll = (children: readonly ((place: Place) => void)[], { below }: Place): void =>
    children.forEach((visit, i) => visit(branch(below, i === children.length - 1, symbols)))
  for (const agent of top.agents) agentRows(agent, null, topPlace)
  for (const team of top.teams) teamRows(team, topPlace)
  return rows
}

export const topPlace: Place = { prefix: '', below: '' }

export const branch = (below: string, last: boolean, symbols: Symbols): Place => ({
  prefix: below + (last ? symbols.lastBranch : symbols.branch),
  below: below + (last ? '   ' : symbols.trunk),
})

/** The states in which an agent is at work, or waits for a person or the client. */
export const atWork: ReadonlySet<AgentState> = new Set([
  'assembling',
  'thinking',
  'acting',
  'waiting_for_approval',
  'waiting_for_answer',
  'waiting_for_client',
  'finalizing',
])

/**
 * How important an agent is on a small screen; lower is more important. Agents with a rank above 0 need no
 * attention.
 */
export function rankOf(agent: Pick<TreeAgent<unknown>, 'isNode' | 'state'>): number {
  if (!agent.isNode) return -1
  if (atWork.has(agent.state) || agent.state === 'failed') return 0
  if (agent.state === 'blocked' || agent.state === 'cancelled') return 2
  return agent.state === 'completed' || agent.state === 'skipped' ? 3 : 4
}

/** A list of at most this many nodes is shown whole. */
const listMax = 24
/** A longer list shows the nodes at work and the failed nodes, up to this number. */
const importantMax = 20
const shownMin = 8

function foldedNodes<Agent extends TreeAgent<Agent>>(
  nodes: readonly Agent[],
): { listed: readonly Agent[]; folded: readonly Agent[] } {
  if (nodes.length <= listMax) return { listed: nodes, folded: [] }
  const orderOf = (node: Agent): number => (node.state === 'failed' ? -1 : rankOf(node))
  const byRank = nodes.toSorted((a, b) => orderOf(a) - orderOf(b))
  const important = byRank.findIndex((node) => rankOf(node) > 0)
  const chosen = new Set(
    byRank.slice(0, Math.max(shownMin, Math.min(importantMax, important === -1 ? byRank.length : important))),
  )
  const listed = nodes
    .filter((node) => chosen.has(node))
    .toSorted((a, b) => Number(b.state === 'failed') - Number(a.state === 'failed'))
  return { listed, folded: nodes.filter((node) => !chosen.has(node)) }
}

type Counted = Pick<TreeAgent<unknown>, 'kind' | 'state'>

/**
 * The number of nodes in each state, by the word that people read. The states at work are counted together.
 */
export type Tally = ReadonlyMap<string, number>

const statusOrder = ['completed', 'skipped', 'failed', 'blocked', 'cancelled', 'running', 'waiting']

function tallyOf({ nodes, counts }: Pick<TreeTeam<Counted>, 'nodes' | 'counts'>): Tally {
  const tally = new Map<string, number>()
  const add = (word: string, n: number): void => void tally.set(word, (tally.get(word) ?? 0) + n)
  if (counts === undefined) for (const { state } of nodes) add(atWork.has(state) ? 'at work' : state, 1)
  else
    for (const status of statusOrder)
      if (counts[status] !== undefined) add(status === 'running' ? 'at work' : status, counts[status])
  return tally
}

const without = (all: Tally, listed: Tally): Tally =>
  new Map([...all].map(([word, n]) => [word, n - (listed.get(word) ?? 0)] as const).filter(([, n]) => n > 0))

/** For example `23 more agents: 20 completed, 3 waiting`. */
export function countedOut(nodes: readonly Counted[], tally: Tally = tallyOf({ nodes })): string {
  const asking = nodes.filter(({ state }) => asksYou(state)).length
  const parts = [...tally].flatMap(([word, n]) =>
    word !== 'at work' || asking === 0
      ? [`${count(n)} ${word}`]
      : [`${count(asking)} asking`, ...(n > asking ? [`${count(n - asking)} at work`] : [])],
  )
  const total = [...tally.values()].reduce((sum, n) => sum + n, 0)
  return `${count(total)} more ${nodes.length === total ? nounOf(nodes) : 'node'}${total === 1 ? '' : 's'}: ${parts.join(', ')}`
}

const nounOf = (nodes: readonly Counted[]): string =>
  nodes.every((node) => node.kind === 'agent') ? 'agent' : 'node'

/** For example `3 of 7 nodes completed, 2 skipped, 1 failed; grew by 4`. */
export function teamProgress(team: TreeTeam<Counted>): string {
  const { nodes, nodeCount, nodesAtStart } = team
  const tally = tallyOf(team)
  const progress = [
    `${count(tally.get('completed') ?? 0)} of ${counted(nodeCount, nodes.length === nodeCount ? nounOf(nodes) : 'node')} completed`,
    ...['skipped', 'failed', 'blocked', 'cancelled'].flatMap((state) =>
      tally.has(state) ? [`${count(tally.get(state) ?? 0)} ${state}`] : [],
    ),
  ].join(', ')
  return nodeCount > nodesAtStart ? `${progress}; grew by ${count(nodeCount - nodesAtStart)}` : progress
}

/** The work of an agent and its troubles, such as `3 tool calls (1 failed)` and `1 restart`. */
export function workFacts(agent: {
  readonly toolCalls: number
  readonly toolCallsFailed: number
  readonly restarts: number
}): string[] {
  const { toolCalls, toolCallsFailed, restarts } = agent
  return [
    ...(toolCalls === 0
      ? []
      : [
          `${counted(toolCalls, 'tool call')}${toolCallsFailed === 0 ? '' : ` (${count(toolCallsFailed)} failed)`}`,
        ]),
    ...(restarts === 0 ? [] : [counted(restarts, 'restart')]),
  ]
}

const asksYou = (state: AgentState): boolean =>
  state === 'waiting_for_approval' || state === 'waiting_for_answer'
