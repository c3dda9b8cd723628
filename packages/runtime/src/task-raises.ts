// What people and programs give more to the budgets of one task. Each raise is durable before it counts, and a
// repeated id changes nothing.
import { type Asker, BeaverError, type DomainEvent, event, type LogId } from '@beaver/core'
import { type BudgetLimits, budgetMeasures, type BudgetName, budgetText, isShared } from '@beaver/core/budget'
import { raiseText, type TaskState } from '@beaver/core/fold'
import { type LimitRules, limitsOf } from './budget-rules.ts'

/** What somebody gives more to a budget of a task. */
export interface RaiseRequest extends Asker {
  readonly requestId: string
  /** Absent: the budget of the task. */
  readonly budget?: BudgetName | undefined
  readonly more: BudgetLimits
  readonly reason?: string | undefined
}

/** How often the budgets of one task may be raised. */
const raisesMax = 100

export type Raisable = Pick<TaskState, 'submitted' | 'ended' | 'status' | 'cancelReason' | 'raises' | 'teams'>

/**
 * The event of a raise, or `null` if the log has it already.
 *
 * @param task as it is in the journal
 * @throws {BeaverError} `conflict`, `not_found`
 */
export function raiseEvent(
  log: LogId,
  task: Raisable,
  { requestId, budget = { of: 'task', per: 'run' }, more, reason, by, user_id }: RaiseRequest,
  rules: LimitRules | undefined,
): DomainEvent | null {
  const known = task.raises.get(requestId)
  if (known !== undefined) {
    if (known === raiseText({ budget, more })) return null
    throw new BeaverError(
      'conflict',
      `The request ${requestId} raised a budget of the task ${log.task} already, by another amount. Use another request_id.`,
    )
  }
  if (task.ended !== null)
    throw new BeaverError(
      'conflict',
      `The task ${log.task} has ended already: ${task.status}.${task.status === 'completed' ? '' : ' Retry it with a larger budget.'}`,
    )
  if (task.cancelReason !== null)
    throw new BeaverError('conflict', `The task ${log.task} is being cancelled.`)
  if (task.raises.size >= raisesMax)
    throw new BeaverError(
      'conflict',
      `The budgets of the task ${log.task} were raised ${raisesMax} times. They cannot be raised again.`,
    )
  if (!isShared(budget)) mustBound(log, task, { budget, more, rules: rules ?? { budgets: [] } })
  return event('budget_raised', {
    request_id: requestId,
    budget,
    more,
    ...(reason === undefined ? {} : { reason }),
    ...(by === undefined ? {} : { by }),
    ...(user_id === undefined ? {} : { user_id }),
  })
}

/** @throws {BeaverError} `conflict` if a measure has no limit; `not_found` if there is no such node */
function mustBound(
  log: LogId,
  task: Raisable,
  {
    budget,
    more,
    rules,
  }: { readonly budget: BudgetName; readonly more: BudgetLimits; readonly rules: LimitRules },
): void {
  const limits = limitsOf(rules, task.submitted?.request ?? {}, budget)
  const unbounded = budgetMeasures.find(
    (measure) => more[measure] !== undefined && limits?.[measure] === undefined,
  )
  if (unbounded !== undefined)
    throw new BeaverError(
      'conflict',
      `There is no limit of ${unbounded} in ${budgetText(budget)}${budget.of === 'node' ? ' of the task' : ''} ${log.task}, so it cannot be raised. ${boundsText(limits ?? {})}`,
    )
  const nodes = [...task.teams.values()].flatMap((team) => [...team.nodes.keys()])
  if (budget.of === 'node' && !nodes.includes(budget.name ?? ''))
    throw new BeaverError(
      'not_found',
      `The task ${log.task} has no node ${JSON.stringify(budget.name)}. ${nodesText(nodes)}`,
    )
}

const namedMax = 8

function nodesText(nodes: readonly string[]): string {
  const names = nodes.slice(0, namedMax).map((name) => JSON.stringify(name))
  return names.length === 0
    ? 'It has no nodes.'
    : `Its nodes: ${names.join(', ')}${nodes.length > namedMax ? ', …' : ''}.`
}

function boundsText(limits: BudgetLimits): string {
  const bounded = budgetMeasures.filter((measure) => limits[measure] !== undefined)
  return bounded.length === 0 ? 'Nothing of it is bounded.' : `It bounds ${bounded.join(', ')}.`
}
