// `beaver show`: one task whole. What was asked, who did what, on what evidence, what failed and why, and what came out.
import type { Failure } from '@beaver/core'
import type { CheckAnswer, EventItem, NodeAnswer, RunAnswer, TaskAnswer, TeamAnswer } from '../answers.ts'
import type { Connection } from '../connection.ts'
import type { GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { count, counted, duration, moment } from '../text/figures.ts'
import { oneLine, plainText } from '../text/plain-text.ts'
import { paintReport } from '../text/report.ts'
import { statusPaint } from '../text/status-paint.ts'
import { cutToWidth, padEnd, textWidth } from '../text/width.ts'
import { keptLines } from '../view/render-kept.ts'
import { ask, asking, pages } from './query.ts'

export function show(task: string, options: { readonly limit?: number; readonly json?: true }, globals: GlobalOptions): Promise<number> {
  return asking(globals, async ({ screen }, connection) => {
    const answer = await ask<TaskAnswer>(connection, 'task', { task, limit: options.limit })
    const final_output = await wholeOutput(connection, answer)
    if (options.json === true) return screen.json({ ...answer, final_output })
    screen.print(...taskLines({ ...answer, final_output }, screen, Date.now()))
  })
}

/** A long output is cut in the answer; the journal has it whole. */
async function wholeOutput(connection: Connection, answer: TaskAnswer): Promise<string | null> {
  const cut = answer.final_output
  if (cut === null || cut.length >= answer.final_output_chars) return cut
  for await (const page of pages<EventItem>(connection, 'events', { task: answer.task.task_id, after: answer.task.last_taskseq - 1 }, 1)) {
    const { final_output } = (page.at(-1)?.data ?? {}) as { final_output?: unknown }
    if (typeof final_output === 'string') return final_output
  }
  return cut
}

export function taskLines(answer: TaskAnswer, screen: Pick<Screen, 'columns' | 'style' | 'symbols' | 'interactive'>, now: number): string[] {
  const { style } = screen
  const { task } = answer
  const failures = failuresOf(answer)
  const top = { first: '', below: '' }
  const work = [...answer.runs.flatMap((run) => runLines(run, top, screen)), ...answer.teams.flatMap((team) => teamLines(team, top, screen))]
  const field = (name: string, value: string): string => `${style.dim(padEnd(name, 11))}${value}`
  const model = task.model === null ? 'none yet' : task.simulated === true ? `simulated model (${task.model})` : task.model
  const tokens = `${counted(task.input_tokens + task.output_tokens, 'token')} (${count(task.input_tokens)} in, ${count(task.output_tokens)} out) in ${counted(task.calls, 'call')}`
  const record = answer.chain_ok
    ? `verified: ${counted(task.last_taskseq, 'event')}, unbroken hash chain, head ${task.head_hash.slice(0, 16)}`
    : style.red(`BROKEN: ${counted(answer.findings.length, 'finding')}`)
  return [
    field('Task', style.bold(task.task_id)),
    field('Status', statusPaint(task.status, style)(task.status) + (task.cancel_reason === null ? '' : ` (cancel requested: ${oneLine(task.cancel_reason)})`)),
    field('Request', plainText(task.text ?? '').trim()),
    field('Session', oneLine(task.session_id)),
    ...(task.workspace === null ? [] : [field('Workspace', oneLine(task.workspace))]),
    ...(task.workflow === null ? [] : [field('Workflow', oneLine(task.workflow))]),
    ...(task.profile === null ? [] : [field('Profile', oneLine(task.profile))]),
    ...(task.skill === null ? [] : [field('Skill', oneLine(task.skill))]),
    field(
      'Submitted',
      `${task.submitted_at === null ? '' : moment(task.submitted_at, now)}${task.elapsed_ms === null ? '' : `, took ${duration(task.elapsed_ms)}`}${task.claims > 1 ? `, claimed ${task.claims} times` : ''}`,
    ),
    field('Model', model),
    field('Usage', tokens),
    field('Record', record),
    ...answer.findings.map((finding) => style.red(`  event ${finding.taskseq ?? '?'}: ${oneLine(finding.message)}`)),
    ...(work.length === 0 ? [] : ['', style.bold('Agents'), ...work]),
    ...(answer.more ? [style.dim('There are more agents; --limit 512 shows more of them.')] : []),
    ...(failures.length === 0
      ? []
      : [
          '',
          style.bold('Failures'),
          ...failures.map((failed) => `  ${failed.scope} ${oneLine(failed.name)}: ${style.red(failed.class)} ${oneLine(failed.message)}`),
        ]),
    ...keptLines({ ...answer, status: task.status }, screen),
    ...(answer.final_output === null || answer.final_output === ''
      ? []
      : ['', style.bold('Final output'), '', screen.interactive ? paintReport(answer.final_output, style).trimEnd() : answer.final_output.trimEnd()]),
  ]
}

/** What failed; what was cancelled did not fail, and a node's run failed as its node did. */
function failuresOf({ failures }: TaskAnswer): TaskAnswer['failures'] {
  const told = new Set(failures.filter(({ scope }) => scope === 'node').map(({ name, message }) => `${name}\u0000${message}`))
  return failures.filter((failed) => failed.class !== 'cancelled' && !(failed.scope === 'run' && told.has(`${failed.name}\u0000${failed.message}`)))
}

interface Prefix {
  readonly first: string
  readonly below: string
}

type Surface = Pick<Screen, 'columns' | 'style' | 'symbols'>

function runLines(run: RunAnswer, prefix: Prefix, surface: Surface): string[] {
  return [agentLine({ name: run.agent_name, status: run.status, run, facts: [], why: '' }, prefix, surface), ...below(run, prefix, surface)]
}

function below(run: RunAnswer, prefix: Prefix, surface: Surface): string[] {
  const parts = [
    ...run.teams.map((team) => (at: Prefix) => teamLines(team, at, surface)),
    ...(run.other_runs ?? []).map((other) => (at: Prefix) => runLines(other, at, surface)),
  ]
  return parts.flatMap((lines, i) => lines(inner(prefix, i === parts.length - 1, surface)))
}

function teamLines(team: TeamAnswer, prefix: Prefix, surface: Surface): string[] {
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
  const below = [
    ...team.nodes.map((node) => (at: Prefix) => nodeLines(node, at, surface)),
    ...team.diagnostics.map((note) => (at: Prefix) => [
      noteLine(`${note.node_id}: ${note.message} (${note.code}, event ${note.taskseq})`, 'note', at, surface),
    ]),
    ...(team.shared_state_changes === 0
      ? []
      : [(at: Prefix) => [noteLine(`${counted(team.shared_state_changes, 'change')}: ${JSON.stringify(team.shared_state)}`, 'shared state', at, surface)]]),
  ]
  return [head, ...below.flatMap((lines, i) => lines(inner(prefix, i === below.length - 1, surface)))]
}

function noteLine(text: string, what: string, prefix: Prefix, { style, columns, symbols }: Surface): string {
  const said = cutToWidth(oneLine(text, 1_000), Math.max(20, columns - prefix.first.length - what.length - 2), symbols.ellipsis)
  return `${style.dim(prefix.first)}${style.yellow(what)}  ${style.dim(said)}`
}

function nodeLines(node: NodeAnswer, prefix: Prefix, surface: Surface): string[] {
  const { style, symbols } = surface
  const line = agentLine({ name: node.node_id, status: node.status, run: node.run, facts: factsOfNode(node), why: whyOf(node) }, prefix, surface)
  const trunk = node.run !== null && node.run.teams.length > 0 ? symbols.trunk : '   '
  const evidence = node.evidence.map((check) => style.dim(prefix.below + trunk) + checkLine(check, surface, surface.columns - prefix.below.length - 6))
  return [line, ...evidence, ...(node.run === null ? [] : below(node.run, prefix, surface))]
}

/** What it is, when it is no agent, and what was computed. */
function factsOfNode({ kind, tool, operation, output }: NodeAnswer): string[] {
  if (kind === 'tool') return [`tool ${oneLine(tool ?? '')}`]
  return kind === 'code' ? [`${oneLine(operation ?? '')}${output === null ? '' : ` = ${oneLine(output, 400) || 'an empty text'}`}`] : []
}

/** Why it is as it is, after its status: `failed  evidence_missing: …`, `blocked  by b`, `skipped  …`. */
function whyOf(node: NodeAnswer): string {
  if (node.status === 'blocked') return `by ${node.cause_node_id}`
  if (node.status === 'skipped') return node.skip_reason ?? ''
  if (node.failure !== null) return failureText(node.failure)
  return node.cancel_reason === null || node.status === 'completed' ? '' : `to be cancelled: ${node.cancel_reason}`
}

const failureText = (failure: Failure): string => (failure.class === 'cancelled' ? failure.message : `${failure.class}: ${failure.message}`)

/** One check: its mark, what it came to, and the events it was read from. */
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
  { style, columns, symbols }: Surface,
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
    ...(run === null || run.restarts === 0 ? [] : [counted(run.restarts, 'restart')]),
  ]
  const name = oneLine(agent.name)
  // What went wrong matters more than what it used.
  const detail = [oneLine(agent.why), facts.join(', ')].filter((text) => text !== '').join('; ')
  const room = columns - prefix.first.length - textWidth(name) - agent.status.length - 4
  return `${style.dim(prefix.first)}${name}  ${statusPaint(agent.status, style)(agent.status)}  ${style.dim(cutToWidth(detail, Math.max(20, room), symbols.ellipsis))}`.trimEnd()
}

function inner(prefix: Prefix, last: boolean, { symbols }: Surface): Prefix {
  return { first: prefix.below + (last ? symbols.lastBranch : symbols.branch), below: prefix.below + (last ? '   ' : symbols.trunk) }
}
