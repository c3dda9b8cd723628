// `beaver budget`: lists the budgets that tasks share and those of tasks. `beaver budget raise` gives more to
// a shared budget, or to a budget of a task or of one of its nodes. When the command ends, the account or the journal has the request.
import {
  type BudgetLimits,
  budgetMeasures,
  type BudgetPeriod,
  budgetText,
  isShared,
  limitsText,
  type SharedOf,
} from '@beaver/core/budget'
import type { TaskStatusFilter } from '@beaver/contracts'
import { shellWord } from '@beaver/core'
import { commandName } from '../command-name.ts'
import type { BudgetAsk } from '@beaver/core/task-view'
import { connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import { findSystem } from '../system/find-system.ts'
import { count, counted } from '../text/figures.ts'
import { oneLine } from '../text/plain-text.ts'
import { budgetUses, budgetUseTable } from '../view/budget-use.ts'
import { sharedBudgetTable } from '../view/shared-budgets.ts'
import { findTask } from './find-task.ts'
import { amountOf, measureOptions } from './read-budget.ts'
import { type ListedTasks, listTasks } from './tasks.ts'

/** The amounts are texts, so that a wrong one is named as it was typed. */
export interface BudgetOptions {
  readonly user?: string
  readonly session?: string
  readonly profile?: string
  readonly tenant?: true
  readonly per?: BudgetPeriod
  readonly usd?: string
  readonly tokens?: string
  readonly modelCalls?: string
  readonly toolCalls?: string
  readonly wall?: string
  readonly node?: string
  readonly reason?: string
  readonly requestId?: string
  readonly of?: 'task' | SharedOf
  readonly status?: TaskStatusFilter
  readonly limit?: number
  readonly before?: number
  readonly json?: true
}

/** @param task whose budget is raised. Absent: the options name a budget that tasks share */
export async function budget(
  what: 'list' | 'raise',
  task: string | undefined,
  options: BudgetOptions,
  globals: GlobalOptions,
): Promise<number> {
  const shared = sharedNamed(options)
  if (what === 'list') return await listBudgets(task, shared, options, globals)
  const wrong = listOnly.find((option) => options[option] !== undefined)
  if (wrong !== undefined)
    throw new UsageError(`${typedAs(wrong)} is for the list of budgets, not for a raise.`)
  if (task === undefined && shared === null)
    throw new UsageError(
      'Say which budget gets more: that of a task, or with one of --user, --session, --profile and --tenant one that tasks share.',
    )
  if (task !== undefined && shared !== null)
    throw new UsageError(`Name a task or --${shared.of}, not both: each raise is for one budget.`)
  return shared === null
    ? await raiseTask(task ?? '', options, globals)
    : await raiseShared(shared, options, globals)
}

/** Whose shared budget it is. */
interface Sharer {
  readonly of: SharedOf
  /** Absent: that of the tenant. */
  readonly name?: string
}

/** @throws {UsageError} */
function sharedNamed({ user, session, profile, tenant }: BudgetOptions): Sharer | null {
  const named = (['user', 'session', 'profile'] as const).flatMap((of): Sharer[] => {
    const name = { user, session, profile }[of]
    return name === undefined ? [] : [{ of, name }]
  })
  const [first = null, second] = tenant === true ? [...named, { of: 'tenant' as const }] : named
  if (second !== undefined)
    throw new UsageError(`Give one of --${first?.of} and --${second.of}, because each budget is of one kind.`)
  return first
}

const listOnly = ['of', 'status', 'limit', 'before'] as const

const raiseOnly = [
  'per',
  'usd',
  'tokens',
  'modelCalls',
  'toolCalls',
  'wall',
  'node',
  'reason',
  'requestId',
] as const

/** The option as it is typed. */
const typedAs = (option: string): string =>
  `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

async function listBudgets(
  task: string | undefined,
  shared: Sharer | null,
  options: BudgetOptions,
  globals: GlobalOptions,
): Promise<number> {
  const wrong = raiseOnly.find((option) => options[option] !== undefined)
  if (wrong !== undefined) throw new UsageError(`${typedAs(wrong)} is for "beaver budget raise" only.`)
  if (task !== undefined)
    throw new UsageError(
      'The list has the budgets of all open tasks. "beaver show <task>" shows the budget of a task.',
    )
  const wanted = wantedLists(shared, options)
  const { config, screen } = contextOf(globals)
  const { limit = usual } = options
  await using connection = await connect(findSystem(config))
  const { budgets, more, total } =
    wanted.shared === null
      ? { budgets: [], more: false, total: 0 }
      : await connection.client.budgets({ ...wanted.shared, limit })
  const listed =
    wanted.tasks === null
      ? { tasks: [], next: null }
      : await listTasks(connection, { ...wanted.tasks, limit, before: options.before })
  const uses = budgetUses(listed.tasks)
  if (options.json === true) {
    screen.json({ budgets, total, more, tasks: uses, next: listed.next })
    return 0
  }
  const place = { columns: screen.columns, title: screen.style.dim }
  const parts = [
    [
      ...(budgets.length === 0 ? [] : sharedBudgetTable(budgets, place)),
      ...(more ? [screen.style.dim(moreText(total === undefined ? null : total - budgets.length))] : []),
    ],
    [
      ...(uses.length === 0 ? [] : budgetUseTable(uses, place)),
      ...(listed.tasks.some(({ node_uses: nodes = [] }) => nodes.length >= nodesMax)
        ? [screen.style.dim(`Of each task, at most ${nodesMax} nodes at work are listed.`)]
        : []),
      ...(listed.next === null
        ? []
        : [screen.style.dim(`There are more tasks. Show the next: ${nextPage(options, listed.next)}`)]),
    ],
  ].filter((part) => part.length > 0)
  if (parts.length === 0) screen.print(noneText(wanted))
  for (const [i, part] of parts.entries()) screen.print(...(i === 0 ? [] : ['']), ...part)
  return 0
}

/** The query has at most so many nodes of a task. */
const nodesMax = 20
/** At most so many budgets of each list, if nothing else is said. */
const usual = 20

/** What is listed. `null`: not this list. */
interface WantedLists {
  readonly shared: { readonly of?: SharedOf; readonly name?: string | undefined } | null
  readonly tasks: Omit<ListedTasks, 'limit' | 'before'> | null
}

/** @throws {UsageError} */
function wantedLists(
  shared: Sharer | null,
  { of, user, session, status, before }: BudgetOptions,
): WantedLists {
  if (of !== undefined && of !== 'task' && shared !== null && of !== shared.of)
    throw new UsageError(`--of ${of} and --${shared.of} are for budgets of two kinds. Give one of them.`)
  const ofTasks =
    of === undefined ? shared === null || shared.of === 'user' || shared.of === 'session' : of === 'task'
  const forTasks = status !== undefined ? '--status' : before !== undefined ? '--before' : null
  if (!ofTasks && forTasks !== null) throw new UsageError(`${forTasks} is for the budgets of tasks.`)
  if (of === 'task' && (shared?.of === 'profile' || shared?.of === 'tenant'))
    throw new UsageError(`--${shared.of} is for the budget that its tasks share, not for --of task.`)
  return {
    shared: of === 'task' || forTasks !== null ? null : (shared ?? (of === undefined ? {} : { of })),
    tasks: ofTasks ? { user, session, status: status ?? 'open' } : null,
  }
}

/** @param left how many are not in the list. `null`: an older daemon does not say it */
function moreText(left: number | null): string {
  const how = 'Show more with --limit, up to 1000, or only some with --of, --user or --session.'
  return left === null ? `There are more. ${how}` : `and ${count(left)} more. ${how}`
}

/** The command for the next page of tasks. */
function nextPage({ status, user, session, limit }: BudgetOptions, before: number): string {
  const options = [
    ...(status === undefined ? [] : ['--status', status]),
    ...(user === undefined ? [] : ['--user', shellWord(user)]),
    ...(session === undefined ? [] : ['--session', shellWord(session)]),
    ...(limit === undefined ? [] : ['--limit', limit]),
  ]
  return `${commandName()} budget ${['--of', 'task', ...options, '--before', before].join(' ')}`
}

function noneText({ shared, tasks }: WantedLists): string {
  if (shared === null) return 'No such task has a budget.'
  if (tasks !== null && Object.keys(shared).length === 0)
    return 'No tasks share a budget now, and no open task has one. "budgets" in the configuration sets them: docs/how-to/bound-spending.md.'
  return 'There is no such budget now. "beaver budget" lists all budgets.'
}

async function raiseTask(typed: string, options: BudgetOptions, globals: GlobalOptions): Promise<number> {
  const { per, node: nodeId, reason, requestId } = options
  if (per !== undefined)
    throw new UsageError(
      '--per is for the budgets that tasks share. The budget of a task counts for its whole life.',
    )
  const more = moreOf(options)
  const { config, screen } = contextOf(globals)
  await using connection = await connect(findSystem(config))
  const { taskId } = await findTask(connection, typed)
  const raised = await connection.client.raise(taskId, more, { nodeId, reason, requestId })
  if (options.json === true) screen.json(raised)
  else {
    const whose = nodeId === undefined ? taskId : `the node ${nodeId} of ${taskId}`
    screen.print(`Raised: ${whose} may use ${limitsText(more)} more.`)
  }
  return 0
}

async function raiseShared(shared: Sharer, options: BudgetOptions, globals: GlobalOptions): Promise<number> {
  const { node, wall, reason, requestId } = options
  if (node !== undefined) throw new UsageError(`--node is for the budget of a task, not for --${shared.of}.`)
  if (wall !== undefined)
    throw new UsageError(
      `--wall is for the budget of a task. The budget of a ${shared.of} does not bound time.`,
    )
  const per = options.per ?? (shared.of === 'session' ? 'run' : null)
  if (per === null)
    throw new UsageError(
      `Say with --per which budget of the ${shared.of} gets more: --per day or --per month.`,
    )
  const more = moreOf(options)
  const { config, screen } = contextOf(globals)
  await using connection = await connect(findSystem(config))
  const raised = await connection.client.raiseShared({ ...shared, per }, more, { reason, requestId })
  if (options.json === true) screen.json(raised)
  else screen.print(raisedText(raised, more))
  return 0
}

function raisedText(
  { budget: of, woken_tasks: woken }: Awaited<ReturnType<Client['raiseShared']>>,
  more: BudgetLimits,
): string {
  const now = Object.fromEntries(
    Object.keys(more).map((measure) => [measure, of.limits[measure as keyof BudgetLimits]]),
  )
  const told =
    woken === 0 ? '' : ` ${counted(woken, 'task')} that waited ${woken === 1 ? 'was' : 'were'} told.`
  return `Raised: ${oneLine(budgetText(of))} is ${limitsText(now)} now.${told}`
}

/**
 * Gives more to the budget for which a task waits.
 *
 * @throws {BeaverError} the codes of `BeaverClient.raise` and `BeaverClient.raiseShared`
 */
export async function giveMore(
  client: Client,
  taskId: string,
  { exceeded: { budget }, nodeId }: BudgetAsk,
  more: BudgetLimits,
): Promise<void> {
  if (isShared(budget)) await client.raiseShared(budget, more)
  else await client.raise(taskId, more, { nodeId })
}

type Client = Awaited<ReturnType<typeof connect>>['client']

/** @throws {UsageError} */
function moreOf(options: BudgetOptions): BudgetLimits {
  const { usd, tokens, modelCalls: model_calls, toolCalls: tool_calls, wall: wall_ms } = options
  const given = { usd, tokens, model_calls, tool_calls, wall_ms }
  const more: Record<string, number> = {}
  for (const measure of budgetMeasures) {
    const text = given[measure]
    if (text === undefined) continue
    const amount = amountOf(measure, text)
    if (amount === null || amount === 0)
      throw new UsageError(`${measureOptions[measure]} ${JSON.stringify(text)} is not an amount above 0.`)
    more[measure] = amount
  }
  if (Object.keys(more).length === 0)
    throw new UsageError(
      `Say what to give more: ${Object.values(measureOptions).join(', ')}. Such as: beaver budget raise <task> --usd 5`,
    )
  return more
}
