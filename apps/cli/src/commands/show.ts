// `beaver show`: shows one whole task. What was requested, who did what, on what evidence, what failed and why, and what the result is.
import type { TaskAnswer } from '@beaver/contracts'
import { commandName } from '../command-name.ts'
import type { Connection } from '../connection.ts'
import type { GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { costOfAll, costText, type Prices } from '../text/cost.ts'
import { count, counted, duration, moment, tookMs } from '../text/figures.ts'
import { oneLine, plainText } from '../text/plain-text.ts'
import { paintReport } from '../text/report.ts'
import { statusPaint } from '../text/status-paint.ts'
import type { Style } from '../text/style.ts'
import { padEnd } from '../text/width.ts'
import { keptLines } from '../view/render-kept.ts'
import { recordLines, recordState, type RecordState } from '../view/record-state.ts'
import { approvalLines, contextLines } from '../view/show-parts.ts'
import { treeLines } from '../view/show-tree.ts'
import { ask, asking } from './query.ts'

/** The projector answers with at most this many nodes. */
const nodesMax = 512

export function show(task: string, options: { readonly limit?: number; readonly all?: true; readonly json?: true }, globals: GlobalOptions): Promise<number> {
  return asking(globals, async ({ config, screen }, connection) => {
    const answer = await ask(connection, 'task', { task_id: task, limit: options.limit ?? (options.all === true ? nodesMax : undefined) })
    const final_output = await wholeOutput(connection, answer)
    const record = await recordState(connection, answer)
    const chain_ok = answer.chain_ok && record.state !== 'changed'
    if (options.json === true) return screen.json({ ...answer, final_output, chain_ok, record })
    const shown = { now: Date.now(), all: options.all === true, prices: config.prices, command: commandName(), record }
    screen.print(...taskLines({ ...answer, final_output }, screen, shown))
  })
}

/** The answer contains a long output cut. The journal has the whole output. */
async function wholeOutput(connection: Connection, answer: TaskAnswer): Promise<string | null> {
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

export interface ShownOptions {
  readonly now: number
  /** Whether long lists are printed whole. */
  readonly all: boolean
  readonly prices: Prices
  /** How a person calls `beaver` here. */
  readonly command: string
  readonly record: RecordState
}

export function taskLines(answer: TaskAnswer, screen: Pick<Screen, 'columns' | 'style' | 'symbols' | 'interactive'>, options: ShownOptions): string[] {
  const { style } = screen
  const { task } = answer
  const { now, all, prices } = options
  const failures = failuresOf(answer)
  const work = treeLines(answer, { ...screen, all, prices })
  const context = contextLines(answer, screen, all)
  const approvals = approvalLines(answer, screen, { command: options.command, all })
  const cost = costText(costOfAll(task.usage_by_model, prices))
  const field = (name: string, value: string): string => `${style.dim(padEnd(name, 11))}${value}`
  const model = task.model === null ? 'none yet' : task.simulated === true ? `simulated model (${task.model})` : task.model
  const tokens = `${counted(task.input_tokens + task.output_tokens, 'token')} (${count(task.input_tokens)} in, ${count(task.output_tokens)} out) in ${counted(task.calls, 'call')}${cost === '' ? '' : `, ${cost}`}`
  const [record, ...reasons] = recordLines(answer, options.record, style)
  return [
    field('Task', style.bold(task.task_id)),
    field('Status', statusText(task, style) + (task.cancel_reason === null ? '' : ` (cancel requested: ${oneLine(task.cancel_reason)})`)),
    ...(task.title === null ? [] : [field('Title', oneLine(task.title))]),
    field('Request', plainText(task.text ?? '').trim()),
    field('Session', oneLine(task.session_id)),
    ...(task.workspace === null ? [] : [field('Workspace', oneLine(task.workspace))]),
    ...(task.workflow === null ? [] : [field('Workflow', oneLine(task.workflow))]),
    ...(task.profile === null ? [] : [field('Profile', oneLine(task.profile))]),
    ...(task.skill === null ? [] : [field('Skill', oneLine(task.skill))]),
    field(
      'Submitted',
      `${task.submitted_at === null ? '' : moment(task.submitted_at, now)}${byWhom(task)}${tookText(task, now)}${task.claims > 1 ? `, claimed ${task.claims} times` : ''}`,
    ),
    field('Model', model),
    field('Usage', tokens),
    field('Record', record),
    ...reasons,
    ...answer.redactions.map(({ taskseq, by, at, reason, bytes }) =>
      style.yellow(
        `  event ${taskseq}: redacted by ${oneLine(by)} on ${at}: ${oneLine(reason)}${bytes === 'erased' ? '' : ' (its bytes are still in the journal)'}`,
      ),
    ),
    ...answer.archives.map(({ file, sha256, by, at }) => field('Archive', `${oneLine(file)}, SHA-256 ${sha256.slice(0, 16)}, by ${oneLine(by)} on ${at}`)),
    ...(work.length === 0 ? [] : ['', style.bold('Agents'), ...work]),
    ...(answer.more ? [style.dim(`There are more agents than one answer can have. Show more of them with --limit ${nodesMax}.`)] : []),
    ...(approvals.length === 0 ? [] : ['', style.bold('Approvals'), ...approvals]),
    ...(context.length === 0 ? [] : ['', style.bold('Context') + style.dim(' (tokens of the first prompt)'), ...context]),
    ...(failures.length === 0
      ? []
      : [
          '',
          style.bold('Failures'),
          ...failures.map((failed) => `  ${failed.scope} ${oneLine(failed.name)}: ${style.red(failed.class)}: ${oneLine(failed.message)}`),
        ]),
    ...keptLines({ ...answer, status: task.status }, screen),
    ...(answer.final_output === null || answer.final_output === ''
      ? []
      : ['', style.bold('Final output'), '', screen.interactive ? paintReport(answer.final_output, style).trimEnd() : answer.final_output.trimEnd()]),
  ]
}

function tookText(task: TaskAnswer['task'], now: number): string {
  const ms = tookMs(task, now)
  if (ms === null) return ''
  return task.ended_at === null ? `, ${duration(ms)} so far` : `, took ${duration(ms)}`
}

function statusText({ status, waiting }: TaskAnswer['task'], style: Style): string {
  const painted = statusPaint(status, style)(status)
  if (waiting === 0) return painted
  const asks = style.yellow(`waits for an approval of ${counted(waiting, 'call')}`)
  // A task that only waits for a person has no other status worth telling.
  return status === 'waiting_for_person' ? asks : `${painted}, ${asks}`
}

/** What failed. A cancelled run did not fail, and the failure of a node's run is the failure of its node. */
function failuresOf({ failures }: TaskAnswer): TaskAnswer['failures'] {
  const told = new Set(failures.filter(({ scope }) => scope === 'node').map(({ name, message }) => `${name}\u0000${message}`))
  return failures.filter((failed) => failed.class !== 'cancelled' && !(failed.scope === 'run' && told.has(`${failed.name}\u0000${failed.message}`)))
}

function byWhom({ submitted_by: by, user_id: user }: Pick<TaskAnswer['task'], 'submitted_by' | 'user_id'>): string {
  return `${by === null ? '' : ` by ${oneLine(by)}`}${user === null || user === by ? '' : ` for ${oneLine(user)}`}`
}
