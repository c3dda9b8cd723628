// `beaver tasks`: lists the submitted tasks, newest first.
import type {
  AskedQuestionAnswer,
  QueryInput,
  QueryOutput,
  TaskStatusFilter,
  TaskSummary,
} from '@beaver/contracts'
import { shellWord, taskStatus } from '@beaver/core'
import type { FailureClass } from '@beaver/core/supervision'
import { commandName } from '../command-name.ts'
import type { Answers } from '../system/answers-from-file.ts'
import type { GlobalOptions } from '../context.ts'
import type { Screen } from '../screen.ts'
import { briefIds } from '../text/brief-ids.ts'
import { costCell, costOf } from '../text/cost.ts'
import { count, duration, moment, tookMs } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { statusPaint, statusWord } from '../text/status-paint.ts'
import { table } from '../text/table.ts'
import { answerLines, questionLines } from '../view/render-asked.ts'
import { waitingQuestionLines } from '../view/show-questions.ts'
import { ask, asking } from './query.ts'
import { sessionIdOf } from './session.ts'
import { mustSpan } from './since-when.ts'

/** Which tasks are listed. `since` and `until`: when they were submitted. */
export interface ListedTasks {
  readonly status?: TaskStatusFilter | undefined
  readonly session?: string | undefined
  readonly user?: string | undefined
  readonly workflow?: string | undefined
  readonly skill?: string | undefined
  readonly profile?: string | undefined
  readonly model?: string | undefined
  readonly failure?: string | undefined
  readonly failurePattern?: string | undefined
  readonly text?: string | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly tokensMin?: number | undefined
  readonly costMin?: number | undefined
  readonly limit?: number | undefined
  readonly before?: number | undefined
}

interface TasksOptions extends ListedTasks {
  readonly json?: true
}

export function tasks(typed: TasksOptions, globals: GlobalOptions): Promise<number> {
  mustSpan(typed)
  return asking(globals, async ({ screen }, connection) => {
    const { json: asJson, ...which } = typed
    const options = {
      ...which,
      session: await sessionIdOf(connection, typed.session),
    }
    const isAll = Object.entries(options).every(([name, value]) => name === 'limit' || value === undefined)
    const answer = await listTasks(connection, options)
    if (asJson === true) return screen.json(answer)
    if (answer.tasks.length === 0)
      return screen.print(isAll ? 'No tasks yet. Submit one: beaver run "…"' : 'No such tasks.')
    screen.print(
      ...tasksTable(answer.tasks, screen, { now: Date.now(), asOf: connection.asOf }),
      ...waitingLines(answer.tasks, screen, commandName()),
      ...openQuestionLines(await questionsOf(connection, answer.tasks), screen, {
        command: commandName(),
        now: Date.now(),
      }),
    )
    if (answer.next !== null)
      screen.print(screen.style.dim(`There are more tasks. Show the next: ${nextPage(options, answer.next)}`))
  })
}

const usual = 20
/** The largest number of tasks in one answer. */
const pageTasksMax = 200

/** Asks for pages until there are enough tasks, or no more. */
export async function listTasks(
  connection: Answers,
  { limit = usual, before, ...which }: ListedTasks,
): Promise<QueryOutput<'tasks'>> {
  const tasks: TaskSummary[] = []
  for (let place = before; ;) {
    const wanted = {
      ...filterOf(which),
      limit: Math.min(pageTasksMax, limit - tasks.length),
      before: place,
    }
    const answer = await ask(connection, 'tasks', wanted)
    tasks.push(...answer.tasks)
    if (answer.next === null || tasks.length >= limit) return { ...answer, tasks }
    place = answer.next
  }
}

const filterOf = (which: Omit<ListedTasks, 'limit' | 'before'>): QueryInput<'task_count'> => ({
  status: which.status,
  session_id: which.session,
  user_id: which.user,
  uses_workflow: which.workflow,
  skill: which.skill,
  profile: which.profile,
  model: which.model,
  failure_class: which.failure as FailureClass | undefined,
  failure_pattern: which.failurePattern,
  text: which.text,
  submitted_since: which.since,
  submitted_before: which.until,
  tokens_min: which.tokensMin,
  cost_usd_min: which.costMin,
})

/** The command for the next page. */
function nextPage(which: ListedTasks, before: number): string {
  const options = Object.entries({ ...which, before }).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [
          `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} ${shellWord(String(value))}`,
        ],
  )
  return `${commandName()} tasks ${options.join(' ')}`
}

const requestColumnsMin = 18

export function tasksTable(
  rows: readonly TaskSummary[],
  screen: Pick<Screen, 'columns' | 'style'>,
  { now, asOf = now }: { now: number; asOf?: number | undefined },
): string[] {
  const { style } = screen
  const brief = briefIds(rows.map((task) => task.task_id))
  return table<TaskSummary>(
    [
      { title: 'TASK', cell: (task) => task.task_id, brief: (task) => brief(task.task_id) },
      {
        title: 'STATUS',
        cell: (task) => statusOf(task),
        paint: (cell, task) => statusPaint(statusOf(task), style)(cell),
      },
      {
        title: 'SUBMITTED',
        cell: (task) => (task.submitted_at === null ? '' : moment(task.submitted_at, now)),
        optional: 2,
      },
      { title: 'TOOK', cell: (task) => tookText(task, asOf), align: 'right', optional: 1 },
      { title: 'AGENTS', cell: (task) => known(task, count(task.agents)), align: 'right', optional: 5 },
      {
        title: 'TOKENS',
        cell: (task) => known(task, count(task.input_tokens + task.output_tokens), 'archived'),
        align: 'right',
        optional: 3,
      },
      { title: 'CALLS', cell: (task) => known(task, count(task.calls)), align: 'right', optional: 7 },
      {
        title: 'COST',
        cell: (task) => known(task, costCell(costOf(task))),
        align: 'right',
        optional: 4,
      },
      { title: 'MODEL', cell: (task) => task.model ?? '', optional: 6 },
      ...(rows.some(({ user_id: user }) => user !== null)
        ? [
            {
              title: 'USER',
              cell: (task: TaskSummary) => oneLine(task.user_id ?? '').slice(0, 24),
              optional: 7,
            },
          ]
        : []),
      {
        title: 'REQUEST',
        cell: (task) => oneLine(task.title ?? task.text ?? ''),
        flexible: true,
        least: requestColumnsMin,
      },
    ],
    rows,
    { width: screen.columns, title: style.dim },
  )
}

/** The text of a figure; `instead` for an archived task, of which the read model knows only a part. */
const known = ({ archived_events: archived }: TaskSummary, figure: string, instead = ''): string =>
  archived === undefined ? figure : instead

function tookText(task: TaskSummary, now: number): string {
  const ms = tookMs(task, now)
  return ms === null ? '' : duration(ms)
}

const statusOf = (task: TaskSummary): string => statusWord(taskStatus(task))

const waitingMax = 5

/** The calls of these tasks that wait for a person, with the commands that answer. */
export function waitingLines(
  rows: readonly TaskSummary[],
  screen: Pick<Screen, 'columns' | 'style' | 'symbols'>,
  command: string,
): string[] {
  const asking = rows.flatMap((task) => (task.waits_for === null ? [] : [{ task, call: task.waits_for }]))
  const lines = asking.slice(0, waitingMax).flatMap(({ task, call }) => {
    const asked = {
      runId: call.run_id ?? '',
      callId: call.call_id,
      agent: call.agent_name ?? 'an agent',
      tool: call.tool,
      subject: call.subject,
      callHash: call.call_hash,
      preview: call.preview,
    }
    const more =
      task.waiting > 1
        ? [screen.style.dim(`  and ${task.waiting - 1} more of this task: ${command} show ${task.task_id}`)]
        : []
    return [
      ...questionLines(asked, screen),
      ...answerLines({ taskId: task.task_id, command, name: task.waiting > 1 ? call.call_id : null }, screen),
      ...more,
    ]
  })
  return lines.length === 0 ? [] : ['', ...lines]
}

/** The questions of these tasks that wait for an answer. */
async function questionsOf(
  connection: Answers,
  tasks: readonly TaskSummary[],
): Promise<readonly AskedQuestionAnswer[]> {
  const open = new Set(tasks.flatMap((task) => (task.ended_at === null ? [task.task_id] : [])))
  if (open.size === 0) return []
  const { questions } = await ask(connection, 'questions', { limit: 100 })
  return questions.filter((each) => open.has(each.task_id))
}

export function openQuestionLines(
  questions: readonly AskedQuestionAnswer[],
  screen: Pick<Screen, 'columns' | 'style' | 'symbols'>,
  of: { readonly command: string; readonly now: number },
): string[] {
  const byTask = Map.groupBy(questions, (each) => each.task_id)
  const lines = questions
    .slice(0, waitingMax)
    .flatMap((each) =>
      waitingQuestionLines(each, screen, { ...of, isOnly: byTask.get(each.task_id)?.length === 1 }),
    )
  return lines.length === 0 ? [] : ['', ...lines]
}
