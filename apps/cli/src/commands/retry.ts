// `beaver retry`: retries a task that ended without completing, or all tasks that failed since a given time.
// If a task cannot be retried, the others are. With --failed, a task that already has a retry is not retried
// again, but its retry may be.
import type { QueryOutput, TaskSummary } from '@beaver/contracts'
import { BeaverError, messageOf } from '@beaver/core'
import { commandName } from '../command-name.ts'
import { connect, type Connection } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import type { Screen } from '../screen.ts'
import { findSystem } from '../system/find-system.ts'
import { moment } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { statusWord } from '../text/status-paint.ts'
import { table } from '../text/table.ts'
import { findTask } from './find-task.ts'
import { ask } from './query.ts'
import { readBudget } from './read-budget.ts'

interface RetryOptions {
  readonly failed?: true
  readonly since?: string
  readonly dryRun?: true
  /** The most that the new task may use. */
  readonly budget?: string
  readonly json?: true
}

/** One line of the output of `--json`. `task_id` is the id of the retry; `null` if there is no retry. */
interface Outcome {
  readonly task_id: string | null
  readonly retry_of: string
  readonly session_id: string
  readonly error: string | null
}

export async function retry(
  typed: string | undefined,
  options: RetryOptions,
  globals: GlobalOptions,
): Promise<number> {
  if ((typed === undefined) !== (options.failed === true))
    throw new UsageError(
      'Name one task, or give --failed for every task that failed, but not both. See "beaver retry --help".',
    )
  if (options.failed !== true && (options.since !== undefined || options.dryRun === true))
    throw new UsageError('The options --since and --dry-run need --failed.')
  if (options.failed === true && options.budget !== undefined)
    throw new UsageError('The option --budget is for one task. Name it, and leave out --failed.')
  const budget = options.budget === undefined ? undefined : readBudget(options.budget)
  const since = options.since ?? null
  const { config, screen } = contextOf(globals)
  await using connection = await connect(findSystem(config))
  if (typed === undefined)
    return await retryAll(await failedTasks(connection, since), { connection, screen, options })
  const { taskId } = await findTask(connection, typed)
  const retried = await connection.client.retry(taskId, { budget })
  if (options.json === true) screen.json({ tasks: [{ ...retried, error: null }] })
  else
    screen.print(
      `Retried as ${retried.task_id}`,
      screen.style.dim(`  follow it: ${commandName()} watch ${retried.task_id}`),
    )
  return 0
}

const pageMax = 200

/** All tasks that failed or are incomplete and have no retry yet, the oldest first. */
async function failedTasks(connection: Connection, since: string | null): Promise<TaskSummary[]> {
  const found: TaskSummary[] = []
  for (const status of ['failed', 'incomplete'] as const) {
    let before: number | null = null
    do {
      const page: QueryOutput<'tasks'> = await ask(connection, 'tasks', {
        status,
        retried: false,
        limit: pageMax,
        ended_since: since ?? undefined,
        before: before ?? undefined,
      })
      found.push(...page.tasks)
      before = page.next
    } while (before !== null)
  }
  return found.toSorted((a, b) => ((a.submitted_at ?? '') < (b.submitted_at ?? '') ? -1 : 1))
}

async function retryAll(
  tasks: readonly TaskSummary[],
  { connection, screen, options }: { connection: Connection; screen: Screen; options: RetryOptions },
): Promise<number> {
  const outcomes: Outcome[] = []
  for (const [index, task] of tasks.entries()) {
    const origin = { retry_of: task.task_id, session_id: task.session_id }
    if (options.dryRun === true) {
      outcomes.push({ ...origin, task_id: null, error: null })
      continue
    }
    try {
      outcomes.push({
        ...origin,
        task_id: (await connection.client.retry(task.task_id)).task_id,
        error: null,
      })
    } catch (error) {
      if (error instanceof BeaverError && (error.code === 'no_daemon' || error.code === 'unreachable'))
        throw error
      outcomes.push({ ...origin, task_id: null, error: messageOf(error) })
    }
    if (options.json !== true)
      screen.print(`${index + 1} of ${tasks.length}  ${outcomeText(outcomes.at(-1) as Outcome)}`)
  }
  const failed = outcomes.filter(({ error }) => error !== null).length
  if (options.json === true) screen.json({ tasks: outcomes })
  else if (tasks.length === 0) screen.print('No failed task is left to retry.')
  else if (options.dryRun === true)
    screen.print(
      ...retryTable(tasks, screen),
      screen.style.dim(`${tasks.length} would be retried. Leave out --dry-run to retry them.`),
    )
  else
    screen.print(
      screen.style.dim(
        `${tasks.length - failed} retried${failed === 0 ? '' : `, ${failed} not`}. See them: ${commandName()} tasks`,
      ),
    )
  return failed === 0 ? 0 : 1
}

const outcomeText = ({ task_id, retry_of, error }: Outcome): string =>
  error === null ? `${retry_of} → ${task_id ?? ''}` : `${retry_of}: ${oneLine(error)}`

function retryTable(tasks: readonly TaskSummary[], screen: Pick<Screen, 'columns' | 'style'>): string[] {
  const now = Date.now()
  return table<TaskSummary>(
    [
      { title: 'TASK', cell: (task) => task.task_id },
      { title: 'STATUS', cell: (task) => statusWord(task.status) },
      {
        title: 'SUBMITTED',
        cell: (task) => (task.submitted_at === null ? '' : moment(task.submitted_at, now)),
        optional: 2,
      },
      { title: 'CLASS', cell: (task) => task.failure?.class ?? '', optional: 1 },
      { title: 'REQUEST', cell: (task) => oneLine(task.text ?? ''), flexible: true },
    ],
    tasks,
    { width: screen.columns, title: screen.style.dim },
  )
}
