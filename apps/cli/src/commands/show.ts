// `beaver show`: shows one task: its request, its agents and their work, the evidence, the failures with
// their reasons, and the result.
import type { NodeAnswer, QueryOutput, RunAnswer, TaskAnswer, TeamAnswer } from '@beaver/contracts'
import { messageOf, shellWord } from '@beaver/core'
import type { RecordedEvent } from '@beaver/core/journal'
import { type BudgetAsk, budgetAsksIn, whoDid } from '@beaver/core/task-view'
import { commandName } from '../command-name.ts'
import type { Context, GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import { unfitTitle } from '../follow/present-task.ts'
import type { Screen } from '../screen.ts'
import type { Answers } from '../system/answers-from-file.ts'
import { costOf, costText, partsText } from '../text/cost.ts'
import { count, counted, duration, moment, tookMs } from '../text/figures.ts'
import { oneLine, plainText } from '../text/plain-text.ts'
import { shownOutput } from '../text/report.ts'
import { statusPaint, statusWord } from '../text/status-paint.ts'
import type { Style } from '../text/style.ts'
import { padEnd } from '../text/width.ts'
import { archiveLines } from '../view/archive-lines.ts'
import { budgetLines } from '../view/budget-lines.ts'
import { budgetUseLines } from '../view/budget-use.ts'
import { keptLines } from '../view/render-kept.ts'
import { modelName } from '../view/render-task.ts'
import { approvalLines, contextLines, steerLines, teamsOf } from '../view/show-parts.ts'
import { questionLines, waitingQuestions } from '../view/show-questions.ts'
import { checkLines, treeLines } from '../view/show-tree.ts'
import { ask, askingAbout } from './query.ts'
import { showNode } from './show-node.ts'

export interface ShowOptions {
  readonly limit?: number
  readonly all?: true
  readonly node?: string
  readonly team?: string
  readonly from?: string
  readonly json?: true
}

/** @throws {UsageError} for `--team` without `--node`, and for `--all` with `--node` */
export async function show(task: string, options: ShowOptions, globals: GlobalOptions): Promise<number> {
  if (options.node !== undefined && options.all === true)
    throw new UsageError('The option --all shows all agents of a task. Leave it out with --node.')
  if (options.node !== undefined) return await showNode(task, options.node, options, globals)
  if (options.team !== undefined)
    throw new UsageError('The option --team needs --node: it says in which team run the node is.')
  const showTask = async ({ screen }: Context, connection: Answers): Promise<void> => {
    const answer = await nodesOf(
      connection,
      task,
      options.limit ?? (options.all === true ? Infinity : nodesUsual),
    )
    const final_output = await wholeOutput(connection, answer)
    const record = await recordState(connection, answer)
    const chain_ok = answer.chain_ok && record.state !== 'changed'
    if (options.json === true) return screen.json({ ...answer, final_output, chain_ok, record })
    const shown = {
      budgets: await budgetsOf(connection, answer),
      now: Date.now(),
      asOf: connection.asOf,
      all: options.all === true,
      command: commandName(),
      record,
    }
    screen.print(...taskLines({ ...answer, final_output }, screen, shown))
  }
  return await askingAbout(globals, options.from, showTask, { compares: true })
}

/** How many nodes are read by default. More would be folded anyway. */
const nodesUsual = 200
/** The largest number of nodes in one answer. */
const pageNodesMax = 512

/** The task with its first `limit` nodes, joined from as many pages as necessary. */
async function nodesOf(connection: Answers, task_id: string, limit: number): Promise<TaskAnswer> {
  let answer = await ask(connection, 'task', { task_id, limit: Math.min(limit, pageNodesMax) })
  const listed = (teams: readonly TeamAnswer[]): number =>
    teams.reduce((sum, team) => sum + team.nodes.length, 0)
  for (
    let seen = listed(teamsOf(answer));
    answer.next !== null && seen < limit;
    seen = listed(teamsOf(answer))
  ) {
    const page = await ask(connection, 'task', {
      task_id: answer.task.task_id,
      after: answer.next,
      limit: Math.min(limit - seen, pageNodesMax),
    })
    answer = mergePages(answer, page)
  }
  return answer
}

/**
 * The whole final output: the answer contains only the beginning of a long one, and the journal has the rest.
 */
async function wholeOutput(connection: Answers, answer: TaskAnswer): Promise<string | null> {
  const cut = answer.final_output
  if (cut === null || cut.length >= answer.final_output_chars) return cut
  const { task_id, last_taskseq } = answer.task
  const last = await ask(connection, 'events', { task_id, after: last_taskseq - 1, limit: 1 })
  for (const { data } of last.events) {
    const { final_output } = (data ?? {}) as { final_output?: unknown }
    if (typeof final_output === 'string') return final_output
  }
  return cut
}

/** The budgets in which the task waits for more, by the last of its events. */
async function budgetsOf(connection: Answers, { task }: TaskAnswer): Promise<readonly BudgetAsk[]> {
  if (task.ended_at !== null) return []
  const after = Math.max(0, task.last_taskseq - lastEventsMax)
  const { events } = await ask(connection, 'events', { task_id: task.task_id, after, limit: lastEventsMax })
  return budgetAsksIn(
    events.map(
      ({ taskseq, type, run_id, data }) =>
        ({ taskseq, type, runId: run_id ?? undefined, data: data as object }) as RecordedEvent,
    ),
  )
}

const lastEventsMax = 200

export interface ShownOptions {
  /** The budgets in which the task waits for more. Default: none. */
  readonly budgets?: readonly BudgetAsk[]
  readonly now: number
  /** The time of the answer, in milliseconds since 1970. Default: now. */
  readonly asOf?: number | undefined
  /** Whether to print long lists whole. */
  readonly all: boolean
  /** The command with which a person calls `beaver` here. */
  readonly command: string
  readonly record: RecordState
}

/** The line about calls that may have been made and may have used tokens, because their answers were lost. */
const lostLines = ({ calls_lost: lost = 0 }: TaskAnswer, style: Style): string[] =>
  lost === 0
    ? []
    : [
        style.yellow(
          `  ${counted(lost, 'further call')} may have been made: ${lost === 1 ? 'its answer was' : 'their answers were'} lost with a daemon or a thread`,
        ),
      ]

export function taskLines(
  answer: TaskAnswer,
  screen: Pick<Screen, 'columns' | 'style' | 'symbols' | 'interactive'>,
  options: ShownOptions,
): string[] {
  const { style } = screen
  const { task } = answer
  const { now, asOf = now, all, command, budgets = [] } = options
  const failures = failuresOf(answer)
  const work = treeLines(answer, { ...screen, all, model: task.model })
  const context = contextLines(answer, screen, all)
  const approvals = approvalLines(answer, screen, { command, all })
  const questions = questionLines(answer, screen, { command, all, now })
  const spent = costOf(task)
  const cost = costText(spent)
  const field = (name: string, value: string): string => `${style.dim(padEnd(name, 11))}${value}`
  const model =
    task.model === null
      ? task.ended_at === null
        ? 'none yet'
        : 'none answered'
      : modelName({ provider: task.provider ?? '', name: task.model })
  const parts = partsText(task)
  const tokens = `${counted(task.input_tokens + task.output_tokens, 'token')} (${count(task.input_tokens)} in, ${count(task.output_tokens)} out${parts === '' ? '' : `; ${parts}`}) in ${counted(task.calls, 'call')}${cost === '' ? '' : `, ${cost}`}`
  const [record, ...reasons] = recordLines(answer, options.record, style)
  return [
    field('Task', style.bold(task.task_id)),
    field(
      'Status',
      statusText(answer, budgets.length > 0, style) +
        (task.cancel_reason === null ? '' : ` (cancel requested: ${oneLine(task.cancel_reason)})`),
    ),
    ...budgets.flatMap((each) =>
      budgetLines(each, { taskId: task.task_id, command }).map((line, i) =>
        i === 0 ? field('Waits for', style.yellow(line)) : `${' '.repeat(11)}${line}`,
      ),
    ),
    ...(task.title === null ? [] : [field('Title', oneLine(task.title))]),
    field('Request', plainText(task.text ?? '').trim()),
    field('Session', oneLine(task.session_id)),
    ...(task.workspace === null ? [] : [field('Workspace', oneLine(task.workspace))]),
    ...(task.workflow === null ? [] : [field('Workflow', oneLine(task.workflow))]),
    ...(task.profile === null ? [] : [field('Profile', oneLine(task.profile))]),
    ...(task.skill === null ? [] : [field('Skill', oneLine(task.skill))]),
    field(
      'Submitted',
      `${task.submitted_at === null ? '' : moment(task.submitted_at, now)}${byWhom(task)}${tookText(task, asOf)}${task.claims > 1 ? `, claimed ${task.claims} times` : ''}`,
    ),
    // For an archived task, only the archive knows the models and their usage.
    ...(answer.archive === undefined ? [field('Model', model), field('Usage', tokens)] : []),
    ...lostLines(answer, style),
    ...budgetUseLines(task, spent).map((line, i) => field(i === 0 ? 'Budget' : '', line)),
    field('Record', record),
    ...reasons,
    ...answer.redactions.map(({ taskseq, by, at, reason, bytes }) =>
      style.yellow(
        `  event ${taskseq}: redacted by ${oneLine(by)} on ${at}: ${oneLine(reason)}${bytes === 'erased' ? '' : ' (its bytes are still in the journal)'}`,
      ),
    ),
    ...answer.archives.map(({ file, sha256, by, at }) =>
      field('Archive', `${oneLine(file)}, SHA-256 ${sha256.slice(0, 16)}, by ${oneLine(by)} on ${at}`),
    ),
    ...archiveLines(answer, task.task_id, options.command).map((line) => `  ${line}`),
    ...(answer.steers.length === 0 ? [] : ['', style.bold('Steering'), ...steerLines(answer, screen, all)]),
    ...(work.length === 0 ? [] : ['', style.bold('Agents'), ...work]),
    ...(all || nodesOfAll(answer) <= 1
      ? []
      : [style.dim(`Show one node: ${options.command} show ${shellWord(task.task_id)} --node <id>`)]),
    ...(questions.length === 0 ? [] : ['', style.bold('Questions'), ...questions]),
    ...(approvals.length === 0 ? [] : ['', style.bold('Approvals'), ...approvals]),
    ...(context.length === 0
      ? []
      : ['', style.bold('Context') + style.dim(' (tokens of the first prompt)'), ...context]),
    ...(failures.length === 0
      ? []
      : [
          '',
          style.bold('Failures'),
          ...failures.map(
            (failed) =>
              `  ${failed.scope} ${oneLine(failed.name)}: ${style.red(failed.class)}: ${oneLine(failed.message)}`,
          ),
          ...(answer.more_failures
            ? [style.dim('  There are more. The agents above are counted whole.')]
            : []),
        ]),
    ...(answer.evidence === undefined
      ? []
      : [
          '',
          style.bold('Evidence of the final text'),
          ...answer.evidence.flatMap((check) =>
            checkLines(check, screen, screen.columns - 2).map((line) => `  ${line}`),
          ),
        ]),
    ...keptLines({ ...answer, status: task.status }, screen),
    ...(answer.unfit_output === undefined
      ? []
      : ['', style.bold(unfitTitle), '', shownOutput(answer.unfit_output, screen).trimEnd()]),
    ...(answer.final_output === null || answer.final_output === ''
      ? []
      : ['', style.bold('Final output'), '', shownOutput(answer.final_output, screen).trimEnd()]),
  ]
}

/** The number of nodes of all teams together. */
const nodesOfAll = (answer: TaskAnswer): number =>
  teamsOf(answer).reduce((sum, team) => sum + team.node_count, 0)

function tookText(task: TaskAnswer['task'], now: number): string {
  const ms = tookMs(task, now)
  if (ms === null) return ''
  return task.ended_at === null ? `, ${duration(ms)} so far` : `, took ${duration(ms)}`
}

function statusText(
  answer: Pick<TaskAnswer, 'task' | 'questions'>,
  waitsForBudget: boolean,
  style: Style,
): string {
  const { status, waiting } = answer.task
  const painted = statusPaint(status, style)(statusWord(status))
  const questions = waitingQuestions(answer)
  const waits = [
    ...(waiting === 0 ? [] : [`an approval of ${counted(waiting, 'call')}`]),
    ...(questions === 0 ? [] : [`an answer to ${counted(questions, 'question')}`]),
  ]
  if (waitsForBudget && waits.length === 0) waits.push('more in a budget')
  if (waits.length === 0) return painted
  const asks = style.yellow(`waits for ${waits.join(' and ')}`)
  // If a task only waits for a person, its status says nothing more.
  return status === 'waiting_for_person' ? asks : `${painted}, ${asks}`
}

/**
 * The failures to show. A cancelled run did not fail, and the failure of a node's run is shown as the failure
 * of its node.
 */
function failuresOf({ failures }: TaskAnswer): TaskAnswer['failures'] {
  const nodeFailures = new Set(
    failures.filter(({ scope }) => scope === 'node').map(({ name, message }) => `${name}\u0000${message}`),
  )
  return failures.filter(
    (failed) =>
      failed.class !== 'cancelled' &&
      !(failed.scope === 'run' && nodeFailures.has(`${failed.name}\u0000${failed.message}`)),
  )
}

const byWhom = ({
  submitted_by: by,
  user_id,
}: Pick<TaskAnswer['task'], 'submitted_by' | 'user_id'>): string =>
  by === null && user_id === null ? '' : ` by ${oneLine(whoDid({ by, user_id }))}`

// Joins the pages of the answer `task`. A page has some of the nodes, with the runs and teams above them. The
// joined answer contains each node, run and team once, with the values of the latest page, and the nodes in
// declared order.

/** Joins a later page to the pages before it. */
export function mergePages(first: TaskAnswer, later: TaskAnswer): TaskAnswer {
  return { ...later, runs: mergeRuns(first.runs, later.runs), teams: mergeTeams(first.teams, later.teams) }
}

function mergeBy<T>(
  a: readonly T[],
  b: readonly T[],
  idOf: (item: T) => string,
  merge: (a: T, b: T) => T,
): T[] {
  const byId = new Map(a.map((item) => [idOf(item), item]))
  for (const item of b) {
    const known = byId.get(idOf(item))
    byId.set(idOf(item), known === undefined ? item : merge(known, item))
  }
  return [...byId.values()]
}

const mergeTeams = (a: readonly TeamAnswer[], b: readonly TeamAnswer[]): TeamAnswer[] =>
  mergeBy(
    a,
    b,
    (team) => team.team_run_id,
    (one, other) => ({ ...other, nodes: mergeNodes(one.nodes, other.nodes) }),
  )

const mergeNodes = (a: readonly NodeAnswer[], b: readonly NodeAnswer[]): NodeAnswer[] =>
  mergeBy(
    a,
    b,
    (node) => node.node_id,
    (one, other) => ({
      ...other,
      run: one.run === null || other.run === null ? (other.run ?? one.run) : mergeRun(one.run, other.run),
    }),
  ).toSorted((one, other) => one.declared_index - other.declared_index)

const mergeRuns = (a: readonly RunAnswer[], b: readonly RunAnswer[]): RunAnswer[] =>
  mergeBy(a, b, (run) => run.run_id, mergeRun)

const mergeRun = (a: RunAnswer, b: RunAnswer): RunAnswer => {
  const others = mergeRuns(a.other_runs ?? [], b.other_runs ?? [])
  return { ...b, teams: mergeTeams(a.teams, b.teams), ...(others.length === 0 ? {} : { other_runs: others }) }
}

// What a screen may say about the record of a task. For each screen, the projector reads the task's log again
// from the journal, builds the rows anew and compares them with the shown rows. The word "verified" appears
// only if this comparison succeeded just now and the journal lacks nothing that was acknowledged.

/**
 * The result of the comparison.
 * - `verified`: the record is as it was written.
 * - `broken`: a record does not follow the one before it.
 * - `changed`: the shown rows differ from the journal, or the journal was changed.
 * - `unknown`: the comparison was not possible.
 */
interface RecordState {
  readonly state: 'verified' | 'broken' | 'changed' | 'unknown'
  /** The reasons why the record is not verified, in whole sentences. */
  readonly messages: readonly string[]
}

/** Findings about other tasks say nothing about this task. */
const beside = new Set(['rows_differ'])

async function recordState(
  { client }: Answers,
  { task, chain_ok: chainOk, findings }: TaskAnswer,
): Promise<RecordState> {
  let audit: QueryOutput<'audit'>
  try {
    const { task_id, session_id } = task
    audit = await client.query('audit', { task_id, session_id, verify: true, limit: 1 })
  } catch (error) {
    return { state: 'unknown', messages: [`It could not be compared with the journal. ${messageOf(error)}`] }
  }
  const { verified, journal } = audit
  const differs = verified?.differs.flatMap(({ messages }) => messages) ?? []
  const whole = journal.filter(({ kind }) => !beside.has(kind))
  const messages = [...differs, ...whole.map(({ message }) => message)]
  if (!chainOk)
    return {
      state: 'broken',
      messages: [
        ...findings.map(({ taskseq, message }) => `event ${taskseq ?? '?'}: ${message}`),
        ...messages,
      ],
    }
  if (differs.length > 0 || journal.some(({ harmful }) => harmful)) return { state: 'changed', messages }
  if (verified?.head === task.head_hash) return { state: 'verified', messages }
  return { state: 'unknown', messages: ['Somebody writes to the task just now. Show it again.', ...messages] }
}

/** What a signature cannot tell: Beaver trusts a daemon's key, whoever uses it. */
const whatSignedMeans =
  "Anyone who has a daemon's key can sign another record. Only checkpoints kept elsewhere show that."

/** The line that says whether the record of a task is intact, and the lines with the reasons. */
function recordLines(
  { task, findings, unsigned, archive }: TaskAnswer,
  { state, messages }: RecordState,
  style: Style,
): readonly [string, ...string[]] {
  const reasons = messages.map((message) =>
    (state === 'verified' || state === 'unknown' ? style.yellow : style.red)(`  ${oneLine(message)}`),
  )
  const elsewhere =
    archive === undefined ? '' : `, of which ${archive.events} are in an archive and were not compared`
  const chain = `${counted(task.last_taskseq, 'event')}${elsewhere}, unbroken hash chain, head ${task.head_hash.slice(0, 16)}`
  switch (state) {
    case 'verified':
      return [
        unsigned === 0 ? `verified: ${chain}, signed` : style.yellow(`not signed: ${unsigned} of ${chain}`),
        ...(unsigned === 0 ? [style.dim(`  ${whatSignedMeans}`)] : []),
        ...reasons,
      ]
    case 'broken':
      return [style.red(`BROKEN: ${counted(findings.length, 'finding')}`), ...reasons]
    case 'changed':
      return [style.red('NOT VERIFIED: it is not as it was'), ...reasons]
    case 'unknown':
      return [style.yellow('not verified'), ...reasons]
    default:
      return state satisfies never
  }
}
