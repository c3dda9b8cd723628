// Formats the tree of agents, as a pure function of the view, the time and the size. No line is wider than
// `columns`. There are at most `rowsMax` lines, and the last one counts the nodes that are left out. If room
// is short, texts of agents are left out first, and agents at work or in trouble last.
import { callNeedsApproval } from '@beaver/core/fold'
import {
  type AgentState,
  type AgentView,
  heldTools,
  type TaskView,
  type TeamProgress,
} from '@beaver/core/task-view'
import { count, counted, duration } from '../text/figures.ts'
import { oneLine, plainText } from '../text/plain-text.ts'
import { statusWord } from '../text/status-paint.ts'
import type { Style, Symbols } from '../text/style.ts'
import { cutToWidth, padEnd, padStart, textWidth } from '../text/width.ts'
import { wrapText } from '../text/wrap.ts'
import { atWork, countedOut, rankOf, teamProgress, type TreeRow, treeRows, workFacts } from './agent-tree.ts'
import type { LiveText } from './live-text.ts'

export interface TreeOptions {
  readonly now: number
  readonly columns: number
  readonly rowsMax: number
  /** The number of the spinner's frame. */
  readonly frame: number
  readonly style: Style
  readonly symbols: Symbols
  /** The texts that agents are writing. Absent: they are not shown. */
  readonly liveTexts?: LiveText
}

type Row = TreeRow<AgentView, TeamProgress>

const speaks: ReadonlySet<AgentState> = new Set(['assembling', 'thinking', 'acting'])

export function renderTree(view: TaskView, options: TreeOptions): string[] {
  const top = { agents: view.root === null ? [] : [view.root], teams: view.ownTeams }
  const rows = treeRows<AgentView>(top, options.symbols, { all: false, notes: false }) as Row[]
  const { kept, left } = bounded(rows, options.rowsMax)
  const layout = layoutOf(kept, options.columns, options.now)
  const textLines = saying(kept, options, options.rowsMax - kept.length - (left.length === 0 ? 0 : 1))
  const lines = kept.flatMap((row) => [lineOf(row, layout, options), ...(textLines.get(row) ?? [])])
  return left.length === 0
    ? lines
    : [
        ...lines,
        options.style.dim(
          cutToWidth(`  ${options.symbols.ellipsis} ${countedOut(left.flatMap(nodesOf))}`, options.columns),
        ),
      ]
}

/** The nodes of a row that is left out. */
const nodesOf = (row: Row): readonly AgentView[] =>
  row.kind === 'agent' ? [row.agent] : row.kind === 'folded' ? row.nodes : []

/** The most lines for the text of one agent. */
const saidLinesMax = 4

/**
 * The lines below the rows of agents: the end of the text that an agent is writing, or the progress of its
 * calls. The agents share the remaining rows.
 */
function saying(
  rows: readonly Row[],
  { liveTexts, columns, style, symbols }: TreeOptions,
  room: number,
): ReadonlyMap<Row, string[]> {
  const speakers = rows.flatMap((row) => {
    if (
      liveTexts === undefined ||
      row.kind !== 'agent' ||
      row.agent.runId === null ||
      !speaks.has(row.agent.state)
    )
      return []
    const text =
      row.agent.state === 'acting' ? liveTexts.progressOf(row.agent) : liveTexts.of(row.agent.runId)
    return text === null ? [] : [{ row, text }]
  })
  const each = Math.min(saidLinesMax, Math.floor(room / Math.max(1, speakers.length)))
  const shown = new Map<Row, string[]>()
  for (const { row, text } of each > 0 ? speakers : speakers.slice(0, Math.max(0, room))) {
    const prefix = `${row.below}${symbols.quote} `
    const lines = saidLines(text, { columns: columns - textWidth(prefix), rowsMax: Math.max(1, each) })
    shown.set(
      row,
      lines.map((line) => style.dim(prefix + line)),
    )
  }
  return shown
}

/** The rank of a row. The rows with the highest ranks are left out first. */
const rowRank = (row: Row): number => (row.kind === 'agent' ? rankOf(row.agent) : 1)

function bounded(rows: readonly Row[], rowsMax: number): { kept: readonly Row[]; left: readonly Row[] } {
  if (rows.length <= rowsMax) return { kept: rows, left: [] }
  const rank = (index: number): number => rowRank(rows[index] as Row)
  const byRank = rows.map((_, index) => index).toSorted((a, b) => rank(a) - rank(b) || a - b)
  const chosen = new Set(byRank.slice(0, Math.max(1, rowsMax - 1)))
  return {
    kept: rows.filter((_, index) => chosen.has(index)),
    left: rows.filter((_, index) => !chosen.has(index)),
  }
}

function lineOf(row: Row, layout: Layout, options: TreeOptions): string {
  switch (row.kind) {
    case 'agent':
      return agentLine(row.prefix, row.agent, row.team, layout, options)
    case 'team':
      return teamLine(row.prefix, row.team, options)
    case 'folded':
      return options.style.dim(
        cutToWidth(
          `${row.prefix}${options.symbols.ellipsis} ${countedOut(row.nodes, row.tally)}`,
          options.columns,
          options.symbols.ellipsis,
        ),
      )
    case 'note':
      return options.style.dim(
        cutToWidth(`${row.prefix}${row.note.text}`, options.columns, options.symbols.ellipsis),
      )
    default:
      return row satisfies never
  }
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
const nameMin = 20
const nameShare = 0.4
/**
 * An activity of up to this width gets the room of the column for the state, because the icon shows the
 * state, too.
 */
const activityRoomy = 28

/** Chooses the columns. If room is short, the state is left out first, then the tokens, and then the time. */
function layoutOf(rows: readonly Row[], columns: number, now: number): Layout {
  const agents = rows.flatMap((row) => (row.kind === 'agent' ? [row.agent] : []))
  const longest = Math.max(
    8,
    ...rows.map((row) =>
      row.kind === 'agent' ? textWidth(row.prefix) + 2 + textWidth(oneLine(row.agent.name)) : 0,
    ),
  )
  // A long name is cut, so that the activity and the usage of the agent have room.
  const name = Math.min(longest, Math.max(nameMin, Math.floor(columns * nameShare)))
  const fixed = {
    state: 10,
    elapsed: Math.max(6, ...agents.map((agent) => elapsedOf(agent, now).length)),
    tokens: Math.max(12, ...agents.map((agent) => tokensOf(agent).length)),
  }
  const room = (): number =>
    columns - Object.values(fixed).reduce((sum, width) => sum + (width === 0 ? 0 : width + gap), 0)
  // The figures of the evidence are never cut, because a result rests on them. One column more leaves room
  // for an ellipsis.
  const least = Math.max(activityMin, ...agents.map((agent) => evidenceOf(agent).length + 1))
  const widest = Math.max(
    0,
    ...rows.map((row) => (row.kind === 'agent' ? textWidth(oneLine(activityOf(row.agent, row.team))) : 0)),
  )
  for (const [column, activity] of [
    ['state', Math.max(least, Math.min(activityRoomy, widest))],
    ['tokens', least],
    ['elapsed', least],
  ] as const)
    if (room() < name + gap + activity) fixed[column] = 0
  const nameWidth = Math.max(4, Math.min(name, room()))
  return { ...fixed, name: nameWidth, activity: Math.max(0, room() - nameWidth - gap) }
}

const elapsedOf = (agent: AgentView, now: number): string =>
  agent.startedAt === null ? '' : duration((agent.endedAt ?? now) - agent.startedAt)
const tokensOf = (agent: AgentView): string => (agent.tokens === 0 ? '' : `${count(agent.tokens)} tokens`)

function agentLine(
  prefix: string,
  agent: AgentView,
  team: TeamProgress | null,
  layout: Layout,
  options: TreeOptions,
): string {
  const { style, symbols, now } = options
  const { icon, paint } = lookOf(agent.state, options)
  const nameWidth = Math.max(1, layout.name - textWidth(prefix) - 2)
  const name = padEnd(cutToWidth(oneLine(agent.name), nameWidth, symbols.ellipsis), nameWidth)
  const wholeActivity = layout.state === 0 ? activityWithState(agent, team) : oneLine(activityOf(agent, team))
  const trouble =
    agent.state === 'failed' ||
    agent.state === 'blocked' ||
    agent.state === 'waiting_for_approval' ||
    agent.state === 'waiting_for_answer'
  const used = [
    { text: elapsedOf(agent, now), width: layout.elapsed },
    { text: tokensOf(agent), width: layout.tokens },
  ].filter(({ width }) => width > 0)
  // The reason of a failure is more important than the usage, so it takes the columns of the usage if it
  // needs them.
  const spanning =
    textWidth(wholeActivity) > layout.activity && (trouble || used.every(({ text }) => text === ''))
  const room = spanning
    ? used.reduce((sum, { width }) => sum + width + gap, layout.activity)
    : layout.activity
  const activity = cutToWidth(wholeActivity, room, symbols.ellipsis)
  const cells = [
    `${style.dim(prefix)}${paint(icon)} ${agent.state === 'waiting' || agent.state === 'skipped' ? style.dim(name) : name}`,
    ...(layout.state === 0 ? [] : [paint(padEnd(statusWord(agent.state), layout.state))]),
    ...(layout.activity < activityMin
      ? []
      : [(trouble ? paint : style.dim)(padEnd(activity, layout.activity))]),
    ...(spanning ? [] : used.map(({ text, width }) => style.dim(padStart(text, width)))),
  ]
  return cells.join(' '.repeat(gap)).trimEnd()
}

/**
 * The line of a team, such as `GraphWorkflow 3 of 7 nodes completed, 2 skipped, 1 failed; grew by 4; 1 note`.
 */
function teamLine(prefix: string, team: TeamProgress, { style, columns, symbols }: TreeOptions): string {
  const progress =
    teamProgress(team) + (team.notes.length > 0 ? `; ${counted(team.notes.length, 'note')}` : '')
  const text = cutToWidth(
    `${team.workflow}  ${progress}`,
    Math.max(1, columns - textWidth(prefix)),
    symbols.ellipsis,
  )
  return style.dim(prefix) + style.cyan(text)
}

function lookOf(
  state: AgentState,
  { style, symbols, frame }: TreeOptions,
): { icon: string; paint: (text: string) => string } {
  switch (state) {
    case 'waiting':
    case 'waiting_for_client':
      return { icon: symbols.waiting, paint: style.dim }
    case 'assembling':
    case 'thinking':
    case 'acting':
    case 'finalizing':
      return { icon: symbols.spinner[frame % symbols.spinner.length] ?? symbols.active, paint: style.cyan }
    case 'waiting_for_approval':
    case 'waiting_for_answer':
      return { icon: symbols.asks, paint: style.yellow }
    case 'completed':
      return { icon: symbols.done, paint: style.green }
    case 'skipped':
      return { icon: symbols.skipped, paint: style.dim }
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

/** The calls of the same answer that wait for the decision, such as `; read_file waits for it`. */
function heldText(tools: readonly string[]): string {
  if (tools.length === 0) return ''
  return `; ${tools.slice(0, namedMax).join(', ')}${tools.length > namedMax ? ' and others' : ''} ${tools.length === 1 ? 'waits' : 'wait'} for it`
}

/**
 * The activity for a layout without the column for the state. If the activity alone would not tell the state,
 * the word for the state is before it.
 */
function activityWithState(agent: AgentView, team: TeamProgress | null): string {
  const activity = oneLine(activityOf(agent, team))
  const word = statusWord(agent.state)
  if (activity === '') return word
  return agent.state === 'waiting'
    ? `${word} ${activity}`
    : agent.state === 'thinking' || agent.state === 'assembling'
      ? `${word}, ${activity}`
      : activity
}

/** What the agent does now, or the reason for its state. */
function activityOf(agent: AgentView, team: TeamProgress | null): string {
  if (agent.budgetWait !== null) return agent.budgetWait
  if (agent.note !== null) return agent.note
  const asked = agent.calls.find(callNeedsApproval)
  if (asked !== undefined) return `${asked.tool}: ${asked.asked?.subject}${heldText(heldTools(agent))}`
  const tools = agent.calls.flatMap(({ tool, result }) => (result === null ? [tool] : []))
  if (tools.length > 0) return [...new Set(tools)].join(', ')
  if (agent.state === 'waiting') return waitsFor(agent, team)
  return [evidenceOf(agent), ...workFacts(agent)].filter((fact) => fact !== '').join(', ')
}

/** The figures of the evidence, such as `evidence 2/3`. Empty if nothing was checked. */
function evidenceOf({ evidence }: AgentView): string {
  const checked = evidence === null ? 0 : evidence.passed + evidence.failed
  return checked === 0 ? '' : `evidence ${evidence?.passed}/${checked}`
}

const open: ReadonlySet<AgentState> = new Set(['waiting', ...atWork])
const namedMax = 3

/** The dependencies that have not ended, such as `for a, b` or `for 40 of 100 nodes`. */
function waitsFor({ dependsOn, node }: AgentView, team: TeamProgress | null): string {
  const quorum = node?.quorum ?? null
  if (dependsOn.length === 0) return 'for a free place'
  const needed = new Set(dependsOn)
  const left = (team?.nodes ?? []).flatMap((each) =>
    needed.has(each.name) && open.has(each.state) ? [each.name] : [],
  )
  if (left.length === 0) return 'for a free place'
  const enough =
    quorum === null || quorum >= dependsOn.length ? '' : `; ${quorum} of ${dependsOn.length} will do`
  if (left.length <= namedMax) return `for ${left.join(', ')}${enough}`
  return `for ${left.length === dependsOn.length ? '' : `${count(left.length)} of `}${count(dependsOn.length)} nodes${enough}`
}

// Formats the end of the text that an agent is writing, in at most `rowsMax` lines of at most `columns`. No
// text can move the cursor, and the work is bounded for any text.

function saidLines(
  text: string,
  { columns, rowsMax }: { readonly columns: number; readonly rowsMax: number },
): string[] {
  if (rowsMax < 1 || columns < 8) return []
  // Twice as much as fits, because some characters take no column and a word may take a whole line.
  const tail = text.slice(-(columns + 1) * (rowsMax + 1) * 2)
  const lines = plainText(tail)
    .replaceAll('\t', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-rowsMax)
    .flatMap((line) => wrapText(line.trim(), columns))
  return lines.slice(-rowsMax)
}
