// Formats the agents of a past task: who did what, on what evidence, at what cost, and why it ended so.
// T1. Without `all`, a long list of nodes is folded: first those that did not complete, then a count of the others.
// T2. A line fits the columns of a terminal. Text from a model is cut even without a terminal.
import type { CheckAnswer, NodeAnswer, RunAnswer, TeamAnswer } from '@beaver/contracts'
import type { Failure } from '@beaver/core'
import type { Screen } from '../screen.ts'
import { costOfAll, type Prices, usdText } from '../text/cost.ts'
import { count, counted, duration } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { statusPaint } from '../text/status-paint.ts'
import { cutToWidth, textWidth } from '../text/width.ts'
import { growthOrder } from './growth-order.ts'

export const topPrefix: Prefix = { first: '', below: '' }

interface Prefix {
  readonly first: string
  readonly below: string
}

export interface Surface extends Pick<Screen, 'columns' | 'style' | 'symbols'> {
  readonly all: boolean
  readonly prices: Prices
}

export function runLines(run: RunAnswer, prefix: Prefix, surface: Surface): string[] {
  const status = run.status === 'waiting_for_approval' ? 'asks you' : run.status
  const why = run.failure === null ? '' : failureText(run.failure)
  return [agentLine({ name: run.agent_name, status, run, facts: skillFacts(run), why }, prefix, surface), ...below(run, prefix, surface)]
}

/** The skills of the run, and how they were found. */
function skillFacts({ skills, skill_selection: selection }: RunAnswer): string[] {
  const named = skills.map((skill) => oneLine(skill))
  if (named.length === 0) return (selection?.failure ?? null) === null ? [] : [`no skill could be chosen: ${oneLine(selection?.failure ?? '', 200)}`]
  return [`skill ${named.join(', ')}${selection === null ? '' : ` (chosen of ${count(selection.candidates)})`}`]
}

function below(run: RunAnswer, prefix: Prefix, surface: Surface): string[] {
  const parts = [
    ...run.teams.map((team) => (at: Prefix) => teamLines(team, at, surface)),
    ...(run.other_runs ?? []).map((other) => (at: Prefix) => runLines(other, at, surface)),
  ]
  return parts.flatMap((lines, i) => lines(inner(prefix, i === parts.length - 1, surface)))
}

export function teamLines(team: TeamAnswer, prefix: Prefix, surface: Surface): string[] {
  const { style } = surface
  const of = (status: string): number => team.nodes.filter((node) => node.status === status).length
  const grown = team.node_count - team.node_count_at_start
  const facts = [
    [
      `${of('completed')} of ${counted(team.node_count, 'node')} completed`,
      ...['skipped', 'failed', 'blocked', 'cancelled'].flatMap((status) => (of(status) === 0 ? [] : [`${of(status)} ${status}`])),
    ].join(', '),
    ...(grown === 0 ? [] : [`grew by ${grown}`]),
  ]
  const head = `${style.dim(prefix.first)}${style.cyan(team.workflow)}  ${statusPaint(team.status, style)(team.status)}  ${style.dim(facts.join('; '))}`
  const ordered = growthOrder(team.nodes, { id: (node) => node.node_id, addedAfter: (node) => node.added_after })
  const { shown, folded } = surface.all ? { shown: ordered, folded: [] } : foldedNodes(ordered)
  const below = [
    ...shown.map((node) => (at: Prefix) => nodeLines(node, at, surface)),
    ...(folded.length === 0 ? [] : [(at: Prefix) => [foldedLine(folded, at, surface)]]),
    ...team.diagnostics.map((note) => (at: Prefix) => [
      noteLine(`${note.node_id}: ${note.message} (${note.code}, event ${note.taskseq})`, 'note', at, surface),
    ]),
    ...(team.shared_state_changes === 0
      ? []
      : [(at: Prefix) => [noteLine(`${counted(team.shared_state_changes, 'change')}: ${JSON.stringify(team.shared_state)}`, 'shared state', at, surface)]]),
  ]
  return [head, ...below.flatMap((lines, i) => lines(inner(prefix, i === below.length - 1, surface)))]
}

/** A list of at most this many nodes is shown whole. */
const listMax = 24
const troubleMax = 16
const shownMin = 8

function foldedNodes(nodes: readonly NodeAnswer[]): { shown: readonly NodeAnswer[]; folded: readonly NodeAnswer[] } {
  if (nodes.length <= listMax) return { shown: nodes, folded: [] }
  const well = (node: NodeAnswer): boolean => node.status === 'completed' || node.status === 'skipped' || node.status === 'waiting'
  const trouble = nodes.filter((node) => !well(node) && node.status !== 'blocked').slice(0, troubleMax)
  const others = nodes.filter((node) => !trouble.includes(node)).slice(0, Math.max(0, shownMin - trouble.length))
  const chosen = new Set([...trouble, ...others])
  return { shown: nodes.filter((node) => chosen.has(node)), folded: nodes.filter((node) => !chosen.has(node)) }
}

/** For example `… and 88 more: 80 completed, 8 blocked (--all shows them)`. */
function foldedLine(nodes: readonly NodeAnswer[], prefix: Prefix, { style, columns, symbols }: Surface): string {
  const states = new Map<string, number>()
  for (const { status } of nodes) states.set(status, (states.get(status) ?? 0) + 1)
  const text = `${symbols.ellipsis} and ${count(nodes.length)} more: ${[...states].map(([status, n]) => `${count(n)} ${status}`).join(', ')} (--all shows them)`
  return style.dim(prefix.first + cutToWidth(text, Math.max(20, columns - prefix.first.length), symbols.ellipsis))
}

function noteLine(text: string, what: string, prefix: Prefix, { style, columns, symbols }: Surface): string {
  const said = cutToWidth(oneLine(text, 1_000), Math.max(20, columns - prefix.first.length - what.length - 2), symbols.ellipsis)
  return `${style.dim(prefix.first)}${style.yellow(what)}  ${style.dim(said)}`
}

function nodeLines(node: NodeAnswer, prefix: Prefix, surface: Surface): string[] {
  const { style, symbols } = surface
  const facts = [...factsOfNode(node), ...(node.run === null ? [] : skillFacts(node.run))]
  const status = node.status === 'running' && node.run?.status === 'waiting_for_approval' ? 'asks you' : node.status
  const line = agentLine({ name: node.node_id, status, run: node.run, facts, why: whyOf(node) }, prefix, surface)
  const trunk = node.run !== null && node.run.teams.length > 0 ? symbols.trunk : '   '
  const evidence = node.evidence.map((check) => style.dim(prefix.below + trunk) + checkLine(check, surface, surface.columns - prefix.below.length - 6))
  return [line, ...evidence, ...(node.run === null ? [] : below(node.run, prefix, surface))]
}

const computedColumnsMax = 60

/** The kind of a node that is no agent, and what was computed: `map = ["x","y",… (1,204 characters)`. */
function factsOfNode({ kind, tool, operation, output, output_chars }: NodeAnswer): string[] {
  if (kind === 'tool') return [`tool ${oneLine(tool ?? '')}`]
  if (kind !== 'code') return []
  if (output === null) return [oneLine(operation ?? '')]
  const text = oneLine(output, 400)
  const shown = cutToWidth(text, computedColumnsMax)
  const chars = output_chars ?? output.length
  return [`${oneLine(operation ?? '')} = ${shown === '' ? 'an empty text' : shown}${shown === text && chars <= 400 ? '' : ` (${counted(chars, 'character')})`}`]
}

/** The reason after its status: `failed  evidence_missing: …`, `blocked  by b`, `skipped  …`. */
function whyOf(node: NodeAnswer): string {
  if (node.status === 'blocked') return `by ${node.cause_node_id}`
  if (node.status === 'skipped') return node.skip_reason ?? ''
  if (node.failure !== null) return failureText(node.failure)
  return node.cancel_reason === null || node.status === 'completed' ? '' : `to be cancelled: ${node.cancel_reason}`
}

const failureText = (failure: Failure): string => (failure.class === 'cancelled' ? failure.message : `${failure.class}: ${failure.message}`)

/** One check: its mark, its result, and the events from which it was read. */
export function checkLine(check: CheckAnswer, { style, symbols }: Pick<Surface, 'style' | 'symbols'>, width: number): string {
  const marks: Readonly<Record<string, string>> = {
    passed: style.green(symbols.done),
    failed: style.red(symbols.failed),
    not_checked: style.dim(symbols.waiting),
  }
  const said = typeof check.requirement === 'string' ? `${check.requirement} (not checked by code)` : check.detail
  const events = check.rests_on.length === 0 ? '' : ` (${check.rests_on.length === 1 ? 'event' : 'events'} ${listOf(check.rests_on)})`
  const field = check.field === 'evidence_contract' ? 'Contract: ' : check.field === 'validation_rules' ? 'Rule: ' : ''
  const text = cutToWidth(oneLine(field + said), Math.max(1, width - textWidth(events)), symbols.ellipsis)
  return `${marks[check.status] ?? symbols.waiting} ${check.status === 'failed' ? style.red(text) : style.dim(text)}${style.dim(events)}`
}

const eventsShownMax = 5

const listOf = (events: readonly number[]): string =>
  events.length <= eventsShownMax ? events.join(', ') : `${events.slice(0, eventsShownMax).join(', ')} and ${events.length - eventsShownMax} more`

function agentLine(
  agent: { name: string; status: string; run: RunAnswer | null; facts: readonly string[]; why: string },
  prefix: Prefix,
  { style, columns, symbols, prices }: Surface,
): string {
  const { run } = agent
  const tokens = run === null ? 0 : run.input_tokens + run.output_tokens
  const facts = [
    ...agent.facts,
    ...(run === null || run.duration_ms === null ? [] : [duration(run.duration_ms)]),
    ...(run === null || run.tool_calls === 0
      ? []
      : [`${counted(run.tool_calls, 'tool call')}${run.tool_calls_failed === 0 ? '' : ` (${run.tool_calls_failed} failed)`}`]),
    ...(tokens === 0 ? [] : [counted(tokens, 'token')]),
    ...(run === null ? [] : costFact(run, prices)),
    ...(run === null ? [] : leftOut(run)),
    ...(run === null || run.restarts === 0 ? [] : [counted(run.restarts, 'restart')]),
  ]
  const name = oneLine(agent.name)
  // What went wrong matters more than what it used.
  const detail = [oneLine(agent.why), facts.join(', ')].filter((text) => text !== '').join('; ')
  const room = columns - prefix.first.length - textWidth(name) - agent.status.length - 4
  return `${style.dim(prefix.first)}${name}  ${statusPaint(agent.status, style)(agent.status)}  ${style.dim(cutToWidth(detail, Math.max(20, room), symbols.ellipsis))}`.trimEnd()
}

/** Empty if the run cost nothing, or if the model's price is unknown, because the task says so once. */
function costFact({ usage_by_model }: RunAnswer, prices: Prices): string[] {
  const { usd, unknown } = costOfAll(usage_by_model, prices)
  return usd === 0 ? [] : [`${unknown.length > 0 ? 'at least ' : ''}${usdText(usd)}`]
}

/** How a conversation that was too long was shortened. */
function leftOut({ results_compacted, history_dropped, summaries }: RunAnswer): string[] {
  return [
    ...(results_compacted === 0 ? [] : [`${counted(results_compacted, 'tool result')} left out`]),
    ...(history_dropped === 0 ? [] : [`${counted(history_dropped, 'message')} of the session left out`]),
    ...(summaries === 0 ? [] : [summaries === 1 ? '1 summary' : `${count(summaries)} summaries`]),
  ]
}

function inner(prefix: Prefix, last: boolean, { symbols }: Surface): Prefix {
  return { first: prefix.below + (last ? symbols.lastBranch : symbols.branch), below: prefix.below + (last ? '   ' : symbols.trunk) }
}
