// The tree of agents as lines: a pure function of the view, the time and the size.
// R1. No line is wider than `columns`. R2. At most `rowsMax` lines; what is left out is counted in a line of its own, and agents
//     at work or in trouble are left out last.
import { count, counted, duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import type { Style, Symbols } from '../text/style.ts'
import { cutToWidth, padEnd, padStart, textWidth } from '../text/width.ts'
import type { AgentState, AgentView, TaskView, TeamView } from './task-view.ts'

export interface TreeOptions {
  readonly now: number
  readonly columns: number
  readonly rowsMax: number
  /** Which frame of the spinner. */
  readonly frame: number
  readonly style: Style
  readonly symbols: Symbols
}

interface TreeRow {
  readonly prefix: string
  readonly agent: AgentView | null
  readonly team: TeamView | null
  /** Kept first: 0 at work or in trouble, 1 structure, 2 done, 3 waiting. */
  readonly rank: number
}

const atWork: ReadonlySet<AgentState> = new Set(['assembling', 'thinking', 'acting', 'finalizing'])

export function renderTree(view: TaskView, options: TreeOptions): string[] {
  if (view.root === null) return []
  const rows = treeRows(view.root, options.symbols)
  const { kept, left } = bounded(rows, options.rowsMax)
  const layout = layoutOf(kept, options.columns, options.now)
  const lines = kept.map((row) => (row.agent !== null ? agentLine(row, row.agent, layout, options) : teamLine(row, row.team as TeamView, options)))
  return left.length === 0 ? lines : [...lines, options.style.dim(cutToWidth(`  ${options.symbols.ellipsis} ${leftOut(left)}`, options.columns))]
}

function treeRows(root: AgentView, symbols: Symbols): TreeRow[] {
  const rows: TreeRow[] = []
  const visit = (agent: AgentView, prefix: string, below: string): void => {
    rows.push({ prefix, agent, team: null, rank: rankOf(agent) })
    agent.teams.forEach((team, t) => {
      const lastTeam = t === agent.teams.length - 1
      rows.push({ prefix: below + (lastTeam ? symbols.lastBranch : symbols.branch), agent: null, team, rank: 1 })
      const inner = below + (lastTeam ? '   ' : symbols.trunk)
      team.nodes.forEach((node, n) => {
        const last = n === team.nodes.length - 1
        visit(node, inner + (last ? symbols.lastBranch : symbols.branch), inner + (last ? '   ' : symbols.trunk))
      })
    })
  }
  visit(root, '', '')
  return rows
}

function rankOf(agent: AgentView): number {
  if (!agent.isNode) return -1
  if (atWork.has(agent.state) || agent.state === 'failed') return 0
  if (agent.state === 'blocked' || agent.state === 'cancelled') return 2
  return agent.state === 'completed' ? 3 : 4
}

function bounded(rows: readonly TreeRow[], rowsMax: number): { kept: readonly TreeRow[]; left: readonly TreeRow[] } {
  if (rows.length <= rowsMax) return { kept: rows, left: [] }
  const byRank = rows.map((_, index) => index).toSorted((a, b) => (rows[a]?.rank ?? 0) - (rows[b]?.rank ?? 0) || a - b)
  const chosen = new Set(byRank.slice(0, Math.max(1, rowsMax - 1)))
  return { kept: rows.filter((_, index) => chosen.has(index)), left: rows.filter((_, index) => !chosen.has(index)) }
}

/** `23 more agents: 20 completed, 3 waiting` */
function leftOut(rows: readonly TreeRow[]): string {
  const states = new Map<string, number>()
  const agents = rows.flatMap((row) => (row.agent === null ? [] : [row.agent]))
  for (const { state } of agents) states.set(state, (states.get(state) ?? 0) + 1)
  return `${count(agents.length)} more ${agents.length === 1 ? 'agent' : 'agents'}: ${[...states].map(([state, n]) => `${n} ${state}`).join(', ')}`
}

interface Layout {
  readonly name: number
  readonly state: number
  readonly activity: number
  readonly elapsed: number
  readonly tokens: number
}

const gap = 2
const activityMin = 12

/** What an agent does matters more than what it used: tokens are left out first, then the time, then the word for the state. */
function layoutOf(rows: readonly TreeRow[], columns: number, now: number): Layout {
  const agents = rows.flatMap((row) => (row.agent === null ? [] : [row.agent]))
  const name = Math.max(8, ...rows.map((row) => (row.agent === null ? 0 : textWidth(row.prefix) + 2 + textWidth(oneLine(row.agent.name)))))
  const fixed = {
    state: 10,
    elapsed: Math.max(6, ...agents.map((agent) => elapsedOf(agent, now).length)),
    tokens: Math.max(12, ...agents.map((agent) => tokensOf(agent).length)),
  }
  const room = (): number => columns - Object.values(fixed).reduce((sum, width) => sum + (width === 0 ? 0 : width + gap), 0)
  for (const least of ['tokens', 'elapsed', 'state'] as const) {
    const wanted = least === 'state' ? name : name + gap + activityMin
    if (room() < wanted) fixed[least] = 0
  }
  const nameWidth = Math.max(4, Math.min(name, room()))
  return { ...fixed, name: nameWidth, activity: Math.max(0, room() - nameWidth - gap) }
}

const elapsedOf = (agent: AgentView, now: number): string => (agent.startedAt === null ? '' : duration((agent.endedAt ?? now) - agent.startedAt))
const tokensOf = (agent: AgentView): string => (agent.tokens === 0 ? '' : `${count(agent.tokens)} tokens`)

function agentLine(row: TreeRow, agent: AgentView, layout: Layout, options: TreeOptions): string {
  const { style, symbols, now } = options
  const { icon, paint } = lookOf(agent.state, options)
  const nameWidth = Math.max(1, layout.name - textWidth(row.prefix) - 2)
  const name = padEnd(cutToWidth(oneLine(agent.name), nameWidth, symbols.ellipsis), nameWidth)
  const activity = cutToWidth(oneLine(activityOf(agent)), layout.activity, symbols.ellipsis)
  const trouble = agent.state === 'failed' || agent.state === 'blocked'
  const cells = [
    `${style.dim(row.prefix)}${paint(icon)} ${agent.state === 'waiting' ? style.dim(name) : name}`,
    ...(layout.state === 0 ? [] : [paint(padEnd(agent.state, layout.state))]),
    ...(layout.activity < activityMin ? [] : [(trouble ? paint : style.dim)(padEnd(activity, layout.activity))]),
    ...(layout.elapsed === 0 ? [] : [style.dim(padStart(elapsedOf(agent, now), layout.elapsed))]),
    ...(layout.tokens === 0 ? [] : [style.dim(padStart(tokensOf(agent), layout.tokens))]),
  ]
  return cells.join(' '.repeat(gap)).trimEnd()
}

function teamLine(row: TreeRow, team: TeamView, options: TreeOptions): string {
  const done = team.nodes.filter((node) => node.state === 'completed').length
  const text = cutToWidth(
    `${team.workflow}  ${done} of ${counted(team.nodes.length, 'agent')} completed`,
    Math.max(1, options.columns - textWidth(row.prefix)),
    options.symbols.ellipsis,
  )
  return options.style.dim(row.prefix) + options.style.cyan(text)
}

function lookOf(state: AgentState, { style, symbols, frame }: TreeOptions): { icon: string; paint: (text: string) => string } {
  switch (state) {
    case 'waiting':
      return { icon: symbols.waiting, paint: style.dim }
    case 'assembling':
    case 'thinking':
    case 'acting':
    case 'finalizing':
      return { icon: symbols.spinner[frame % symbols.spinner.length] ?? symbols.active, paint: style.cyan }
    case 'completed':
      return { icon: symbols.done, paint: style.green }
    case 'failed':
      return { icon: symbols.failed, paint: style.red }
    case 'blocked':
      return { icon: symbols.blocked, paint: style.yellow }
    case 'cancelled':
      return { icon: symbols.cancelled, paint: style.yellow }
    default:
      return state satisfies never
  }
}

/** What it does now, or why it is as it is. */
function activityOf(agent: AgentView): string {
  if (agent.note !== null) return agent.note
  if (agent.tools.size > 0) return [...new Set(agent.tools.values())].join(', ')
  if (agent.state === 'waiting') return agent.dependsOn.length === 0 ? '' : `for ${agent.dependsOn.join(', ')}`
  const checked = agent.evidence === null ? 0 : agent.evidence.passed + agent.evidence.failed
  const parts = [
    ...(agent.toolCalls === 0 ? [] : [counted(agent.toolCalls, 'tool call')]),
    ...(agent.toolCallsFailed === 0 ? [] : [`${agent.toolCallsFailed} failed`]),
    ...(checked === 0 ? [] : [`evidence ${agent.evidence?.passed}/${checked}`]),
    ...(agent.restarts === 0 ? [] : [counted(agent.restarts, 'restart')]),
  ]
  return parts.join(', ')
}
