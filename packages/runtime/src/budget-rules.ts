// What a daemon knows of budgets, and which of them bound a task. Pure.
// R1. Of several budgets for one task, the lowest limit counts. A budget with a name replaces the one without
// a name of the same kind and period.
// R2. A budget `run` of a user, a profile or the tenant bounds each of its tasks; one of a day or a month, and
// every budget of a session, is shared by its tasks.
import type { LogId, TaskRequest } from '@beaver/core'
import {
  type AppliedBudget,
  type Budget,
  type BudgetLimits,
  type BudgetMeasure,
  budgetMeasures,
  type BudgetName,
  type BudgetPeriod,
  lowerLimits,
  type PriceFor,
  type SharedOf,
} from '@beaver/core/budget'

/** What a daemon knows of budgets. */
export interface BudgetRules {
  readonly budgets: readonly Budget[]
  readonly priceFor: PriceFor
  /** What a task may use whose root has this profile, or the default one. Absent: no profile says anything. */
  readonly ofProfile?: (name: string | null) => BudgetLimits | undefined
  /** The name of the profile of a root that names none. Absent: it has none. */
  readonly profileDefault?: () => string | null
  /** Whether a call of this model is refused because nobody knows its price. */
  readonly refuses: (call: { readonly provider: string; readonly model: string }) => boolean
}

/** Nothing is bounded. */
export const unbounded: BudgetRules = {
  budgets: [],
  priceFor: () => ({ input: 0, output: 0 }),
  refuses: () => false,
}

/** The rules that say which limits a task has. */
export type LimitRules = Pick<BudgetRules, 'budgets' | 'ofProfile' | 'profileDefault'>

/** What decides which budgets bound a task. */
export type Budgetable = Pick<TaskRequest, 'budget' | 'profile' | 'workflow' | 'user_id'>

/** A budget that a task shares with others. */
export interface SharedBudget {
  readonly of: SharedOf
  /** `''`: that of the tenant. */
  readonly name: string
  readonly per: BudgetPeriod
  readonly limits: BudgetLimits
  readonly exceeded: Budget['exceeded']
}

/** The limits of a configured budget. */
export const limitsIn = (of: Budget | undefined): BudgetLimits => lowerLimits(of ?? {}, {})

/**
 * The limits that a budget of a task has by its request and the configuration. `null`: the task has no such
 * budget of its own.
 */
export function limitsOf(rules: LimitRules, request: Budgetable, { of }: BudgetName): BudgetLimits | null {
  if (of === 'task') return limitsOfTask(rules, request)
  const configured = rules.budgets.find((each) => each.of === of)
  return of === 'node' && configured !== undefined ? limitsIn(configured) : null
}

/** The lowest of what the configuration, the profile of the root and the request say. */
export const limitsOfTask = (rules: LimitRules, request: Budgetable): BudgetLimits =>
  boundsOfTask(rules, request).reduce<BudgetLimits>((lowest, { limits }) => lowerLimits(lowest, limits), {})

/**
 * What happens at the limit of a measure of a task: what the budget says that sets it. If several set the same
 * limit and one of them says so, the run ends.
 */
export function exceededOfTask(
  rules: LimitRules,
  request: Budgetable,
): (measure: BudgetMeasure) => Budget['exceeded'] {
  const bounds = boundsOfTask(rules, request)
  const lowest = limitsOfTask(rules, request)
  return (measure) =>
    lowest[measure] !== undefined &&
    bounds.some(({ limits, exceeded }) => exceeded === 'end' && limits[measure] === lowest[measure])
      ? 'end'
      : 'wait'
}

/** All that bounds a task alone. The profile and the request lower the budget of tasks. */
function boundsOfTask(
  rules: LimitRules,
  request: Budgetable,
): readonly { readonly limits: BudgetLimits; readonly exceeded: Budget['exceeded'] }[] {
  const { budget, profile, workflow } = request
  const ofTask = rules.budgets.find(({ of }) => of === 'task')
  const exceeded = ofTask?.exceeded ?? 'wait'
  const ofProfile = workflow === undefined ? rules.ofProfile?.(profile ?? null) : undefined
  return [
    ...[limitsIn(ofTask), ofProfile ?? {}, budget ?? {}].map((limits) => ({ limits, exceeded })),
    ...sharers(rules, request).flatMap(({ of, name }) => {
      const configured = configuredFor(rules.budgets, { of, name, per: 'run' })
      return configured === undefined ? [] : [{ limits: limitsIn(configured), exceeded: configured.exceeded }]
    }),
  ]
}

/** The budgets that a task shares with others, those of fewer tasks first. */
export function sharedBudgets(
  rules: LimitRules,
  request: Budgetable,
  { session }: Pick<LogId, 'session'>,
): readonly SharedBudget[] {
  const all = [{ of: 'session' as const, name: session as string }, ...sharers(rules, request)]
  return all.flatMap(({ of, name }) =>
    (of === 'session' ? (['run', 'day', 'month'] as const) : (['day', 'month'] as const)).flatMap((per) => {
      const configured = configuredFor(rules.budgets, { of, name, per })
      const limits = limitsIn(configured)
      return configured === undefined || Object.keys(limits).length === 0
        ? []
        : [{ of, name, per, limits, exceeded: configured.exceeded }]
    }),
  )
}

/** All budgets that bound a task, as its claim says them. */
export function appliedBudgets(
  rules: LimitRules,
  request: Budgetable,
  log: Pick<LogId, 'session'>,
): AppliedBudget[] {
  const ofNode = rules.budgets.find(({ of }) => of === 'node')
  const limits = limitsOfTask(rules, request)
  const exceeded = exceededOfTask(rules, request)
  const ends = budgetMeasures.some((each) => exceeded(each) === 'end')
  return [
    {
      of: 'task' as const,
      per: 'run' as const,
      limits,
      // Where the limits differ in this, that of each measure counts (`exceededOfTask`).
      exceeded: ends ? ('end' as const) : ('wait' as const),
    },
    {
      of: 'node' as const,
      per: 'run' as const,
      limits: limitsIn(ofNode),
      exceeded: ofNode?.exceeded ?? 'wait',
    },
    ...sharedBudgets(rules, request, log).map(({ of, name, per, limits, exceeded }) => ({
      ...{ of, ...(name === '' ? {} : { name }), per, limits, exceeded },
    })),
  ].filter(({ limits }) => Object.keys(limits).length > 0)
}

/** Whose budgets bound a task beside its session. A task without a user has no budget of a user. */
function sharers(
  { profileDefault }: Pick<BudgetRules, 'profileDefault'>,
  { profile, workflow, user_id: user }: Budgetable,
): readonly { readonly of: Exclude<SharedOf, 'session'>; readonly name: string }[] {
  const root = workflow === undefined ? (profile ?? profileDefault?.() ?? null) : null
  return [
    ...(user === undefined || user === null ? [] : [{ of: 'user' as const, name: user }]),
    ...(root === null ? [] : [{ of: 'profile' as const, name: root }]),
    { of: 'tenant' as const, name: '' },
  ]
}

/** The configured budget of somebody: the one with the name, or the one for all (R1). */
export function configuredFor(
  budgets: readonly Budget[],
  { of, name, per }: { readonly of: SharedOf; readonly name: string; readonly per: BudgetPeriod },
): Budget | undefined {
  const such = budgets.filter((each) => each.of === of && each.per === per)
  return such.find((each) => each.name === name) ?? such.find((each) => each.name === undefined)
}
