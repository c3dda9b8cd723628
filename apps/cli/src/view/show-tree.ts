// Formats the agents of a task for `beaver show`: their work, the evidence, the cost, and the reasons of
// their ends. A line fits the columns of a terminal; a longer text continues below it, in the same branch of
// the tree. Only very long texts are cut.
import type { CheckAnswer, NodeAnswer, RunAnswer, TaskAnswer, TeamAnswer } from '@beaver/contracts'
import type { Failure } from '@beaver/core/supervision'
import { type AgentState, growthOrder } from '@beaver/core/task-view'
import type { Screen } from '../screen.ts'
import { costOf, usdText } from '../text/cost.ts'
import { count, counted, duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { statusPaint, statusWord } from '../text/status-paint.ts'
import { cutToWidth, textWidth } from '../text/width.ts'
import { wrapText } from '../text/wrap.ts'
import {
  atWork,
  countedOut,
  teamProgress,
  type TreeAgent,
  type TreeNote,
  type TreeRow,
  treeRows,
  type TreeTeam,
  type TreeTop,
  workFacts,
} from './agent-tree.ts'

export interface Surface extends Pick<Screen, 'columns' | 'style' | 'symbols'> {
  readonly all: boolean
  /** The model of the task. The lines of agents that used the same model do not name it. */
  readonly model: string | null
}

/** The lines of the whole tree. */
export function treeLines(answer: Pick<TaskAnswer, 'runs' | 'teams'>, surface: Surface): string[] {
  const rows = treeRows<AnsweredAgent>(answerTree(answer), surface.symbols, {
    all: surface.all,
    notes: true,
  }) as Row[]
  return rows.flatMap((row) => linesOf(row, surface))
}

type Row = TreeRow<AnsweredAgent, AnsweredTeam>

function linesOf(row: Row, surface: Surface): string[] {
  const { style, columns, symbols } = surface
  switch (row.kind) {
    case 'agent':
      return agentLines(row, surface)
    case 'team': {
      const { workflow, status } = row.team
      return [
        `${style.dim(row.prefix)}${style.cyan(workflow)}  ${statusPaint(status, style)(statusWord(status))}  ${style.dim(teamProgress(row.team))}`,
      ]
    }
    case 'note':
      return [noteLine(row.note, row.prefix, surface)]
    case 'folded': {
      const text = `${symbols.ellipsis} ${countedOut(row.nodes, row.tally)} (--all shows them)`
      return [
        style.dim(row.prefix + cutToWidth(text, Math.max(20, columns - row.prefix.length), symbols.ellipsis)),
      ]
    }
    default:
      return row satisfies never
  }
}

/** The skills of the run, and how they were chosen. */
function skillFacts({ skills, workspace_skills: own = [], skill_selection: selection }: RunAnswer): string[] {
  const named = skills.map(
    (skill) => `${oneLine(skill)}${own.includes(skill) ? ' (from the workspace)' : ''}`,
  )
  if (named.length === 0)
    return (selection?.failure ?? null) === null
      ? []
      : [`no skill could be chosen: ${oneLine(selection?.failure ?? '', 200)}`]
  return [
    `skill ${named.join(', ')}${selection === null ? '' : ` (chosen of ${count(selection.candidates)})`}`,
  ]
}

function noteLine({ kind, text }: TreeNote, prefix: string, { style, columns, symbols }: Surface): string {
  const said = cutToWidth(
    oneLine(text, 1_000),
    Math.max(20, columns - prefix.length - kind.length - 2),
    symbols.ellipsis,
  )
  return `${style.dim(prefix)}${style.yellow(kind)}  ${style.dim(said)}`
}

/** The lines of an agent, and below them the evidence of its node. */
function agentLines({ agent, prefix, below }: Extract<Row, { kind: 'agent' }>, surface: Surface): string[] {
  const evidence = agent.node?.evidence ?? []
  const { style, columns } = surface
  return [
    ...headLines(agent, { prefix, below }, surface),
    ...evidence.flatMap((check) =>
      checkLines(check, surface, columns - below.length).map((line) => style.dim(below) + line),
    ),
  ]
}

const computedColumnsMax = 60

/**
 * The kind of a node that is not an agent, and the value that it computed: `map = ["x","y",… (1,204
 * characters)`.
 */
function factsOfNode({ kind, tool, operation, output, output_chars }: NodeAnswer): string[] {
  if (kind === 'tool') return [`tool ${oneLine(tool ?? '')}`]
  if (kind !== 'code') return []
  if (output === null) return [oneLine(operation ?? '')]
  const text = oneLine(output, 400)
  const shown = cutToWidth(text, computedColumnsMax)
  const chars = output_chars ?? output.length
  return [
    `${oneLine(operation ?? '')} = ${shown === '' ? 'an empty text' : shown}${shown === text && chars <= 400 ? '' : ` (${counted(chars, 'character')})`}`,
  ]
}

/**
 * The reason that follows the status, such as `evidence_missing: …` after `failed`, or `by b` after
 * `blocked`.
 */
function whyOf({ node, run }: AnsweredAgent): string {
  if (node === null) return run === null || run.failure === null ? '' : failureText(run.failure)
  if (node.status === 'blocked') return `by ${node.cause_node_id}`
  if (node.status === 'skipped') return node.skip_reason ?? ''
  if (node.failure !== null) return failureText(node.failure)
  return node.cancel_reason === null || node.status === 'completed'
    ? ''
    : `to be cancelled: ${node.cancel_reason}`
}

const failureText = (failure: Failure): string =>
  failure.class === 'cancelled' ? failure.message : `${failure.class}: ${failure.message}`

/**
 * The lines of one check, at most `width` columns wide: its mark, its result, and the events that it rests
 * on.
 */
export function checkLines(
  check: CheckAnswer,
  { style, symbols }: Pick<Surface, 'style' | 'symbols'>,
  width: number,
): string[] {
  const marks: Readonly<Record<string, string>> = {
    passed: style.green(symbols.done),
    failed: style.red(symbols.failed),
    not_checked: style.dim(symbols.waiting),
  }
  const said =
    typeof check.requirement === 'string' ? `${check.requirement} (not checked by code)` : check.detail
  const events =
    check.rests_on.length === 0
      ? ''
      : ` (${check.rests_on.length === 1 ? 'event' : 'events'} ${listOf(check.rests_on)})`
  const field =
    check.field === 'evidence_contract' ? 'Contract: ' : check.field === 'validation_rules' ? 'Rule: ' : ''
  const paint = check.status === 'failed' ? style.red : style.dim
  const lines = wrapText(oneLine(field + said) + events, Math.max(textColumnsMin, width - 2))
  return lines.map((line, i) => `${i === 0 ? (marks[check.status] ?? symbols.waiting) : ' '} ${paint(line)}`)
}

const textColumnsMin = 20
/** The list of failures below the tree, and `show --node`, show the rest. */
const furtherLinesMax = 3

const eventsShownMax = 5

const listOf = (events: readonly number[]): string =>
  events.length <= eventsShownMax
    ? events.join(', ')
    : `${events.slice(0, eventsShownMax).join(', ')} and ${events.length - eventsShownMax} more`

function headLines(
  agent: AnsweredAgent,
  { prefix, below }: { prefix: string; below: string },
  { style, columns, symbols, model }: Surface,
): string[] {
  const { run, node } = agent
  const facts = [...(node === null ? [] : factsOfNode(node)), ...(run === null ? [] : factsOfRun(run, model))]
  const name = oneLine(agent.name)
  const state = statusWord(agent.state)
  // A trouble is more important than the usage, so it comes first.
  const detail = [oneLine(whyOf(agent)).replace(facts.length === 0 ? '' : /\.$/, ''), facts.join(', ')]
    .filter((text) => text !== '')
    .join('; ')
    .normalize() // As wrapText does, so that `first` is a prefix of this text.
  const head = prefix.length + textWidth(name) + state.length + 4
  // Text that does not fit beside the name continues below it, as far to the left as the tree allows.
  const [first = ''] = columns - head < textColumnsMin ? [] : wrapText(detail, columns - head)
  const room = Math.max(textColumnsMin, columns - below.length - 2)
  const rest = wrapText(detail.slice(first.length).trimStart(), room).filter((line) => line !== '')
  const further =
    rest.length <= furtherLinesMax
      ? rest
      : [
          ...rest.slice(0, furtherLinesMax - 1),
          cutToWidth(rest.slice(furtherLinesMax - 1).join(' '), room, symbols.ellipsis),
        ]
  return [
    `${style.dim(prefix)}${name}  ${statusPaint(state, style)(state)}  ${style.dim(first)}`.trimEnd(),
    ...further.map((line) => `${style.dim(below)}  ${style.dim(line)}`),
  ]
}

function factsOfRun(run: RunAnswer, model: Surface['model']): string[] {
  const tokens = run.input_tokens + run.output_tokens
  return [
    ...skillFacts(run),
    ...(run.duration_ms === null ? [] : [duration(run.duration_ms)]),
    ...workFacts({
      toolCalls: run.tool_calls,
      toolCallsFailed: run.tool_calls_failed,
      restarts: run.restarts,
    }),
    ...(tokens === 0
      ? []
      : [`${counted(tokens, 'token')}${run.calls > 1 ? ` in ${counted(run.calls, 'call')}` : ''}`]),
    ...(run.model === null || run.model === model ? [] : [oneLine(run.model)]),
    ...costFact(run),
    ...leftOut(run),
  ]
}

/** The cost of a run. Empty if it is 0, also because no price is known: the task's cost says so once. */
function costFact(run: RunAnswer): string[] {
  const { usd, unknown } = costOf(run)
  return usd === 0 ? [] : [`${unknown.length > 0 ? 'at least ' : ''}${usdText(usd)}`]
}

/** What was left out or summarized, because the conversation was too long for the model. */
function leftOut({ results_compacted, history_dropped, summaries }: RunAnswer): string[] {
  return [
    ...(results_compacted === 0 ? [] : [`${counted(results_compacted, 'tool result')} left out`]),
    ...(history_dropped === 0 ? [] : [`${counted(history_dropped, 'message')} of the session left out`]),
    ...(summaries === 0 ? [] : [summaries === 1 ? '1 summary' : `${count(summaries)} summaries`]),
  ]
}

// The tree of a task's agents, made from the answer of the query `task`.

interface AnsweredAgent extends TreeAgent<AnsweredAgent> {
  readonly teams: readonly AnsweredTeam[]
  /** The run of the agent. `null`: the node has not started, or is a computation. */
  readonly run: RunAnswer | null
  /** The node of the agent. `null`: the agent belongs to no team. */
  readonly node: NodeAnswer | null
}

interface AnsweredTeam extends TreeTeam<AnsweredAgent> {
  readonly status: string
}

export const answerTree = ({
  runs,
  teams,
}: Pick<TaskAnswer, 'runs' | 'teams'>): TreeTop<AnsweredAgent> & {
  readonly teams: readonly AnsweredTeam[]
} => ({
  agents: runs.map(ofRun),
  teams: teams.map(ofTeam),
})

const ofRun = (run: RunAnswer): AnsweredAgent => ({
  name: run.agent_name,
  isNode: false,
  kind: 'agent',
  state: run.status as AgentState,
  ...below(run),
  run,
  node: null,
})

function ofNode(node: NodeAnswer): AnsweredAgent {
  const { node_id: name, kind, status, run } = node
  const state = status === 'running' ? stateOf(run) : (status as AgentState)
  return { name, isNode: true, kind: kind as AnsweredAgent['kind'], state, ...below(run), run, node }
}

/**
 * The state of a running node, which is the state of its run. If the run has ended, the gate has not yet
 * decided about the node.
 */
function stateOf(run: RunAnswer | null): AgentState {
  if (run === null) return 'assembling'
  const state = run.status as AgentState
  return atWork.has(state) ? state : 'finalizing'
}

const below = (run: RunAnswer | null): Pick<AnsweredAgent, 'teams' | 'others'> => ({
  teams: (run?.teams ?? []).map(ofTeam),
  others: (run?.other_runs ?? []).map(ofRun),
})

function ofTeam(team: TeamAnswer): AnsweredTeam {
  const {
    workflow,
    status,
    nodes,
    node_count,
    node_count_at_start,
    nodes_by_status,
    diagnostics,
    shared_state,
    shared_state_changes: changes,
  } = team
  return {
    workflow,
    status,
    nodes: growthOrder(nodes, { id: (node) => node.node_id, addedAfter: (node) => node.added_after }).map(
      ofNode,
    ),
    nodeCount: node_count,
    nodesAtStart: node_count_at_start,
    counts: nodes_by_status,
    notes: [
      ...diagnostics.map(({ node_id, message, code, taskseq }) => ({
        kind: 'note' as const,
        text: `${node_id}: ${message} (${code}, event ${taskseq})`,
      })),
      ...(changes === 0
        ? []
        : [
            {
              kind: 'shared state' as const,
              text: `${changes} change${changes === 1 ? '' : 's'}: ${JSON.stringify(shared_state)}`,
            },
          ]),
    ],
  }
}
