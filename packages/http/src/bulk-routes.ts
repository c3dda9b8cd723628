// The route that cancels or retries all tasks of a filter. The read model says which tasks these are, and each
// is cancelled or retried as by the route for one task: with the same rights, the same journal and the same
// refusals.
// - A count comes first. It gives a place, and a task that was submitted after this place is never reached.
// - One request does a bounded part of the work, and says where the next one goes on. So a caller can stop, and
//   a request whose answer was lost can be sent again: a task has one retry at most, and it ends once, however
//   often it is asked to cancel. What the read model knows of is not asked again.
import {
  bulkCount,
  type BulkCount,
  bulkRequest,
  bulkResult,
  type BulkResult,
  type QueryInput,
  type TaskStatusFilter,
} from '@beaver/contracts'
import { searchWords, systemClock } from '@beaver/core'
import { z } from 'zod'
import { mustHave } from './access.ts'
import { HttpProblem, problemOf } from './problem.ts'
import { asked, type Asked, json, type Route, route } from './route.ts'
import { cancelTask, retryTask } from './task-routes.ts'

type Filter = QueryInput<'task_count'>
type Bulk = z.output<typeof bulkRequest>
type Context = Pick<Asked<{ body: typeof bulkRequest }>, 'host' | 'caller' | 'options' | 'signal'>

const bulk = route(
  {
    tag: 'tasks',
    role: 'submit',
    method: 'post',
    at: '/api/v1/tasks/bulk',
    name: 'bulkTasks',
    says: 'Cancels or retries all tasks of a filter, a part of them with each request. A count of them comes first. The token also needs the role read.',
    answer: {
      status: 200,
      says: 'How many tasks there are, or what was done.',
      schema: z.discriminatedUnion('dry_run', [bulkCount, bulkResult]),
    },
  },
  { body: bulkRequest },
  async ({ body, ...context }) => {
    // A filter tells what tasks hold.
    mustHave(context.caller, 'read')
    mustBeMeant(body)
    return json(body.dry_run ? await counted(body, context) : await carriedOut(body, context))
  },
)

/** The filters that leave out no task, however many others there are. */
const leavesOutNone: { readonly [Name in keyof Filter]?: (value: Filter[Name]) => boolean } = {
  tenant: () => true,
  text: (words) => searchWords(words ?? '').length === 0,
  tokens_min: (tokens) => tokens === 0,
  cost_usd_min: (usd) => usd === 0,
}

/** @throws {HttpProblem} `invalid_arguments` if the request may not mean what it says */
function mustBeMeant({ filter, all, dry_run, before, verb, reason }: Bulk): void {
  const isWhole = Object.entries(filter).every(
    ([name, value]) =>
      value === undefined ||
      (leavesOutNone[name as keyof Filter] as ((value: unknown) => boolean) | undefined)?.(value) === true,
  )
  if (isWhole && !all)
    refuse('body.filter', 'leaves out no task. Name the tasks, or send "all": true if you mean all of them')
  if (!isWhole && all)
    refuse('body.all', 'says that all tasks are meant, but the filter leaves out some. Send one of both')
  if (!dry_run && before === undefined)
    refuse('body.before', 'is missing. Send "dry_run": true first, and then the "before" of its answer')
  if (verb === 'retry' && reason !== undefined)
    refuse('body.reason', 'is only for tasks that are cancelled. Leave it out')
}

function refuse(path: string, message: string): never {
  throw new HttpProblem('invalid_arguments', `The request is not valid: ${path} ${message}.`, {
    problems: [{ path, message }],
  })
}

const openStates: readonly TaskStatusFilter[] = [
  ...['open', 'submitted', 'running', 'waiting'],
  ...['waiting_for_person', 'waiting_for_approval', 'waiting_for_answer'],
  ...['waiting_for_provider', 'waiting_for_limit'],
] as const
const failedStates: readonly TaskStatusFilter[] = ['failed', 'incomplete', 'cancelled']

/** The states of a filter. `null`: it names none. */
const statesOf = ({ status }: Filter): readonly TaskStatusFilter[] | null =>
  status === undefined ? null : typeof status === 'string' ? [status] : status

/** The filter with a part of the states that it has. `null`: no state is left, and so no task. */
function withStates(filter: Filter, states: readonly TaskStatusFilter[]): Filter | null {
  const own = statesOf(filter)
  const status = own === null ? states : states.filter((each) => own.includes(each))
  return status.length === 0 ? null : { ...filter, status: [...status] }
}

const withRetry = (filter: Filter | null, retried: boolean): Filter | null =>
  filter === null || (filter.retried ?? retried) !== retried ? null : { ...filter, retried }

/** Which tasks of the filter can be cancelled or retried. `null`: none. */
function ableOf({ verb, filter }: Pick<Bulk, 'verb' | 'filter'>): Filter | null {
  if (verb === 'retry') return withRetry(failedOf(filter), false)
  return withStates(filter, statesOf(filter) === null ? ['open'] : openStates)
}

/** A person who cancelled a task does not expect that it comes back, unless somebody says so. */
const failedOf = (filter: Filter): Filter | null =>
  withStates(
    filter,
    statesOf(filter) === null ? failedStates.filter((each) => each !== 'cancelled') : failedStates,
  )

const firstMax = 20

async function counted(body: Bulk, context: Context): Promise<BulkCount> {
  const { filter, before: within } = body
  const all = await asked(context, 'task_count', { ...filter, before: within })
  const { before } = all
  const countOf = async (some: Filter | null): Promise<{ tasks: number; at_least: boolean }> =>
    some === null ? { tasks: 0, at_least: false } : asked(context, 'task_count', { ...some, before })
  const able = ableOf(body)
  const [ables, retried, cancelled, first] = await Promise.all([
    countOf(able),
    countOf(body.verb === 'retry' ? withRetry(failedOf(filter), true) : null),
    countOf(body.verb === 'retry' && statesOf(filter) === null ? { ...filter, status: 'cancelled' } : null),
    able === null ? { tasks: [] } : asked(context, 'tasks', { ...able, before, limit: firstMax }),
  ])
  const at_least = all.at_least || ables.at_least
  const rest = all.tasks - ables.tasks - retried.tasks - cancelled.tasks
  const left_out = [
    { why: body.verb === 'cancel' ? ('ended' as const) : ('not_failed' as const), tasks: rest },
    { why: 'already_retried' as const, tasks: retried.tasks },
    { why: 'cancelled' as const, tasks: cancelled.tasks },
  ].filter(({ tasks }) => tasks > 0)
  return {
    ...{ dry_run: true, matched: all.tasks, able: ables.tasks, at_least },
    ...{ left_out: at_least ? [] : left_out, tasks: first.tasks, before },
  }
}

/** So many tasks are cancelled or retried at a time. */
const atOnce = 8
/** After this time, a request begins nothing more. */
const workMsMax = 5_000

/**
 * Each page has as many tasks as are done at a time, so that the place behind them is always known. If the
 * system is away, its whole page comes again: what is done of it is not done twice.
 *
 * @throws what the system answers, if it is away before anything is done
 */
async function carriedOut(body: Bulk, context: Context): Promise<BulkResult> {
  const able = ableOf(body)
  const until = systemClock.now() + workMsMax
  let [done, left] = [0, body.limit]
  const refused: BulkResult['refused'] = []
  let next = able === null ? null : (body.before ?? null)
  while (next !== null && left > 0 && !context.signal.aborted && systemClock.now() < until) {
    const page = await pageOf({ ...able, before: next, limit: Math.min(atOnce, left) }, body, context)
    done += page.done
    if (page.away !== null) {
      if (done + refused.length === 0) throw page.away
      const { code, detail } = problemOf(page.away).details
      return { dry_run: false, done, refused, next, stopped: { code, message: detail } }
    }
    refused.push(...page.refused)
    left -= page.done + page.refused.length
    next = page.next
  }
  return { dry_run: false, done, refused, next, stopped: null }
}

interface DonePage extends Pick<BulkResult, 'done' | 'refused' | 'next'> {
  /** That the system does not answer. `null`: it answers. */
  readonly away: Error | null
}

async function pageOf(filter: QueryInput<'tasks'>, body: Bulk, context: Context): Promise<DonePage> {
  const { options } = context
  try {
    const { tasks, next } = await asked(context, 'tasks', { ...filter })
    const outcomes = await Promise.allSettled(tasks.map(({ task_id }) => carryOut(task_id, body, context)))
    const errors = outcomes.map((each) => (each.status === 'rejected' ? [each.reason as unknown] : []))
    const refused = errors.flatMap((thrown, at) =>
      thrown.map((error) => {
        const { code, detail } = options.failed?.(error) ?? problemOf(error).details
        return { task_id: tasks[at]?.task_id ?? '', code, message: detail }
      }),
    )
    const away = errors.flat().find(isAway) ?? null
    return { done: tasks.length - refused.length, refused, next, away }
  } catch (error) {
    if (!isAway(error)) throw error
    return { done: 0, refused: [], next: null, away: error }
  }
}

/** Whether nobody answers. A request without an answer may have been carried out, so its task comes again. */
const isAway = (error: unknown): error is Error =>
  error instanceof Error && [503, 504].includes(problemOf(error).details.status)

async function carryOut(taskId: string, { verb, reason }: Bulk, context: Context): Promise<void> {
  if (verb === 'retry') await retryTask(taskId, context)
  else if (!(await isCancelling(taskId, context))) await cancelTask(taskId, context, { reason })
}

/** Whether the task was asked to cancel already. A call of a tool may take its time before it ends. */
async function isCancelling(taskId: string, context: Context): Promise<boolean> {
  const { events } = await asked(context, 'events', {
    task_id: taskId,
    types: ['task_cancel_requested'],
    limit: 1,
  })
  return events.length > 0
}

export const bulkRoutes: readonly Route[] = [bulk]
