// The parts of `beaver show` beside the tree: the parts of the first prompts, the decisions of persons, and
// the texts that steered the task.
import type { AskedCallAnswer, NodeAnswer, RunAnswer, TaskAnswer, TeamAnswer } from '@beaver/contracts'
import { visible } from '@beaver/core'
import { whoDid } from '@beaver/core/task-view'
import type { Screen } from '../screen.ts'
import { count } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { cutToWidth, padEnd, padStart, textWidth } from '../text/width.ts'
import { wrapText, wrapWords } from '../text/wrap.ts'
import { askedLines, whatIsAsked } from './render-asked.ts'

type Surface = Pick<Screen, 'columns' | 'style' | 'symbols'>

const contextRowsMax = 8
const agentColumnsMax = 24
const figureColumns = 8

interface ContextRow {
  readonly agent: string
  readonly total: number
  readonly counted: number | null
  readonly parts: string
}

/**
 * The estimated tokens of each part of the agents' first prompts, the largest part first, and the tokens that
 * the provider counted.
 */
export function contextLines(
  answer: Pick<TaskAnswer, 'runs' | 'teams' | 'more'>,
  surface: Surface,
  all: boolean,
): string[] {
  const rows = allRuns(answer).flatMap(contextRow)
  if (rows.length === 0) return []
  const { style, columns, symbols } = surface
  const shown = all ? rows : rows.slice(0, contextRowsMax)
  const left = rows.length - shown.length
  const agentColumns = Math.max('AGENT'.length, ...shown.map((row) => textWidth(row.agent)))
  const line = (agent: string, total: string, counted: string, parts: string): string =>
    `${padEnd(agent, agentColumns)}  ${padStart(total, figureColumns)}  ${padStart(counted, figureColumns)}  ${parts}`.trimEnd()
  const before = textWidth(line('', '', '', 'x')) - 1
  const lines = shown.flatMap((row) => {
    const [first = '', ...rest] = wrapWords(row.parts, Math.max(8, columns - before))
    return [
      line(row.agent, count(row.total), row.counted === null ? '' : count(row.counted), first),
      ...rest.map((more) => ' '.repeat(before) + more),
    ]
  })
  const head = style.dim(line('AGENT', 'ESTIMATE', 'COUNTED', 'PARTS'))
  const more =
    left === 0 && !answer.more
      ? []
      : [style.dim(`${symbols.ellipsis} and ${answer.more ? '' : `${count(left)} `}more (--all shows them)`)]
  return [head, ...lines, ...more]
}

function contextRow(run: RunAnswer): ContextRow[] {
  if (run.context === null || run.context.length === 0) return []
  const parts = run.context
    .filter((part) => part.tokens_estimated > 0)
    .toSorted((a, b) => b.tokens_estimated - a.tokens_estimated)
  return [
    {
      agent: cutToWidth(oneLine(run.agent_name), agentColumnsMax),
      total: parts.reduce((sum, part) => sum + part.tokens_estimated, 0),
      counted: run.first_input_tokens,
      parts: parts.map((part) => `${part.part} ${count(part.tokens_estimated)}`).join(', '),
    },
  ]
}

/** All runs of the answer, outer runs before inner ones. */
function allRuns({
  runs,
  teams,
}: {
  readonly runs: readonly RunAnswer[]
  readonly teams: readonly TeamAnswer[]
}): RunAnswer[] {
  const ofNode = (node: NodeAnswer): RunAnswer[] => (node.run === null ? [] : ofRun(node.run))
  const ofTeam = (team: TeamAnswer): RunAnswer[] => team.nodes.flatMap(ofNode)
  const ofRun = (run: RunAnswer): RunAnswer[] => [
    run,
    ...run.teams.flatMap(ofTeam),
    ...(run.other_runs ?? []).flatMap(ofRun),
  ]
  return [...runs.flatMap(ofRun), ...teams.flatMap(ofTeam)]
}

/** All teams of the answer, outer teams before inner ones. */
export function teamsOf({ runs, teams }: Pick<TaskAnswer, 'runs' | 'teams'>): TeamAnswer[] {
  const ofTeam = (team: TeamAnswer): TeamAnswer[] => [
    team,
    ...team.nodes.flatMap(({ run }) => (run === null ? [] : ofRun(run))),
  ]
  const ofRun = (run: RunAnswer): TeamAnswer[] => [
    ...run.teams.flatMap(ofTeam),
    ...(run.other_runs ?? []).flatMap(ofRun),
  ]
  return [...runs.flatMap(ofRun), ...teams.flatMap(ofTeam)]
}

const decidedMax = 12
const argumentsCharsMax = 2_000
const steersMax = 12

/**
 * The texts with which the task was steered, the newest last, such as `✔ ada: Leave out the drafts. (given in
 * event 12)`.
 */
export function steerLines(
  { task, steers }: Pick<TaskAnswer, 'task' | 'steers'>,
  { columns, style, symbols }: Surface,
  all: boolean,
): string[] {
  const shown = all ? steers : steers.slice(-steersMax)
  const left = steers.length - shown.length
  const steerText = ({ text, given_taskseq: givenAt, ...doer }: (typeof steers)[number]): string => {
    const who = oneLine(whoDid(doer))
    const how =
      givenAt !== null
        ? `given in event ${givenAt}`
        : task.ended_at === null
          ? 'not given yet'
          : 'not given: the task ended before'
    return `${givenAt === null && task.ended_at !== null ? symbols.failed : givenAt === null ? symbols.waiting : symbols.done} ${who}: ${oneLine(text)} (${how})`
  }
  return [
    ...(left === 0 ? [] : [style.dim(`${symbols.ellipsis} and ${count(left)} earlier (--all shows them)`)]),
    ...shown.flatMap((each) =>
      wrapText(steerText(each), columns - 2).map((line, i) => (i === 0 ? line : `  ${line}`)),
    ),
  ]
}

/** The calls that wait, with the commands that answer, and then the decided calls. */
export function approvalLines(
  { task, approvals }: Pick<TaskAnswer, 'task' | 'approvals'>,
  surface: Surface,
  options: { command: string; all: boolean },
): string[] {
  const calls = approvals
    .filter((each) => each.state === 'waiting')
    .map((each) => ({
      runId: each.run_id ?? '',
      callId: each.call_id,
      agent: each.agent_name ?? 'an agent',
      tool: each.tool,
      subject: each.subject,
      callHash: each.call_hash,
      preview: each.preview,
    }))
  const decided = approvals.filter((each) => each.state !== 'waiting')
  const shown = options.all ? decided : decided.slice(0, decidedMax)
  const left = decided.length - shown.length
  return [
    ...(calls.length === 0
      ? []
      : askedLines({ taskId: task.task_id, command: options.command, calls }, surface, { whole: true })),
    ...shown.flatMap((each) => [
      ...wrapText(decidedLine(each, surface), surface.columns - 2).map((line, i) =>
        i === 0 ? line : `  ${line}`,
      ),
      ...bothArguments(each, surface),
    ]),
    ...(left === 0
      ? []
      : [surface.style.dim(`${surface.symbols.ellipsis} and ${count(left)} more (--all shows them)`)]),
  ]
}

/** For example `✔ anna allowed run_command: ls -la (root, asked in event 12)`. */
function decidedLine(each: AskedCallAnswer, { symbols }: Surface): string {
  const by = oneLine(whoDid(each))
  const asked = whatIsAsked(each)
  const where = `(${oneLine(each.agent_name ?? 'an agent')}, asked in event ${each.taskseq})`
  if (each.state === 'granted')
    return `${symbols.done} ${by} allowed ${asked} ${where}${each.arguments_approved === undefined ? '' : ' with other arguments:'}`
  if (each.state === 'denied')
    return `${symbols.failed} ${by} refused ${asked} ${where}${each.reason === null || each.reason === '' ? '' : ` ${oneLine(each.reason)}`}`
  return `${symbols.cancelled} nobody answered ${asked} ${where}`
}

/** The arguments of the model and those of the person, if the person changed them. */
function bothArguments(
  { arguments: before, arguments_approved: after, ...doer }: AskedCallAnswer,
  { columns }: Surface,
): string[] {
  if (after === undefined) return []
  const shown = (args: string): string => oneLine(visible(args, '\n\t\r'), argumentsCharsMax)
  const versions = [
    `the model: ${shown(before ?? 'not recorded')}`,
    `${oneLine(whoDid(doer))}: ${shown(after)}`,
  ]
  return versions.flatMap((version) =>
    wrapText(version, columns - 6).map((line, i) => `${i === 0 ? '    ' : '      '}${line}`),
  )
}
