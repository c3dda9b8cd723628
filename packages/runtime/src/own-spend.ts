// What the calls of one task use and reserve, and how its own budgets, of the task and of its nodes, stand. It is
// folded from the events of the log (core's spend.ts), and it knows the calls that have their place and are not
// in the log yet.
import type { LoopSpec } from '@beaver/agent'
import { type Clock, type DataOf, type DomainEvent, event } from '@beaver/core'
import {
  addAmounts,
  type Amounts,
  type Budget,
  type BudgetLimits,
  type BudgetMeasure,
  type BudgetName,
  budgetKey,
  newSpend,
  noAmounts,
  numberOf,
  raisedLimits,
  reachedKey,
  reservedBy,
  reservedIn,
  type RunSpend,
  sharesReached,
  spendEvent,
  takeAmounts,
  type TaskSpend,
  usedIn,
} from '@beaver/core/budget'
import type { Draft } from '@beaver/core/journal'
import { type Applied, mostFirst, toolCalls } from './budget-answers.ts'
import { type Budgetable, type BudgetRules, exceededOfTask, limitsIn, limitsOfTask } from './budget-rules.ts'
import { isPresent, type OwnAmounts } from './shared-budgets.ts'

export interface OwnSpendPorts {
  /** The task's own clock. */
  readonly clock: Pick<Clock, 'now'>
  /** The journal's time, in milliseconds since 1970. */
  now(): number
  /** For how long the node of a run has worked, in milliseconds. */
  nodeMs(run: LoopSpec['start']): number
}

/** A call that gets its place in the accounts of shared budgets. */
export interface AskingCall {
  readonly runId: string
  /** What it may use at most. */
  amounts: Amounts
  readonly day: string
  /** What it has in each account by now. */
  readonly placed: Map<string, Amounts>
}

/** What an outcome gives back. */
export interface Freed {
  readonly day: string
  readonly amounts: Amounts
}

/** What events have changed. `null`: nothing that counts. */
export type Taken = {
  /** Whether what is used has changed. */
  readonly used: boolean
  /** Whether what is used or reserved has changed. */
  readonly moved: boolean
  /** What their outcomes give back. */
  readonly freed: readonly Freed[]
} | null

const ofTask: BudgetName = { of: 'task', per: 'run' }

export class OwnSpend {
  readonly #ports: OwnSpendPorts
  readonly #priceFor: BudgetRules['priceFor']
  readonly #task: BudgetLimits
  readonly #taskExceeded: Applied['exceeded']
  readonly #node: Budget | undefined
  readonly #spend: TaskSpend = newSpend()
  /** The calls of tools that were granted and have not begun, by run. */
  readonly #granted = new Map<string, number>()
  /** A run that was started again may have one that is void. */
  readonly #asking = new Set<AskingCall>()
  /** The runs whose events were seen. */
  readonly #starts = new Map<string, LoopSpec['start']>()
  /** The runs with new events, of whose budgets nothing was told since. */
  readonly #changed = new Set<string>()

  constructor(rules: BudgetRules, request: Budgetable, ports: OwnSpendPorts) {
    this.#ports = ports
    this.#priceFor = rules.priceFor
    this.#task = limitsOfTask(rules, request)
    this.#taskExceeded = exceededOfTask(rules, request)
    this.#node = rules.budgets.find(({ of }) => of === 'node')
  }

  /** Whether anything is bounded. */
  get bounds(): boolean {
    return Object.keys(this.#task).length > 0 || this.#node !== undefined
  }

  /** Whether calls of tools are bounded. */
  get toolCalls(): boolean {
    return this.#task.tool_calls !== undefined || this.#node?.tool_calls !== undefined
  }

  /** What the events say. */
  get spend(): TaskSpend {
    return this.#spend
  }

  /** Takes in an event of the log. */
  takeEvent(each: DomainEvent, atMs: number): void {
    if (each.type === 'run_started') this.#starts.set(each.data.run_id, each.data)
    // A granted call of a tool has begun, and is counted by its event.
    if (each.type === 'tool_call_started' && each.runId !== undefined) this.#begun(each.runId)
    spendEvent(this.#spend, each, { atMs, priceFor: this.#priceFor })
  }

  /** Takes in events that were given to the log. */
  take(drafts: readonly Draft[]): Taken {
    const { total, runs } = this.#spend
    const freed: Freed[] = []
    let counted = false
    for (const { type, runId, dataJson } of drafts) {
      if (!countedTypes.has(type)) continue
      counted = true
      const data = JSON.parse(dataJson) as unknown
      const before = runId === undefined ? undefined : runs.get(runId)
      this.takeEvent(
        (runId === undefined ? { type, data } : { type, runId, data }) as DomainEvent,
        this.#ports.now(),
      )
      const after = runId === undefined ? undefined : runs.get(runId)
      if (runId !== undefined) this.#changed.add(runId)
      if (before !== undefined && before.open !== null && after !== undefined)
        freed.push({ day: before.open.day, amounts: amountsAbove(takenBy(before), takenBy(after)) })
    }
    const now = this.#spend.total
    return counted ? { used: now.used !== total.used, moved: now !== total, freed } : null
  }

  /** The shares of limits that are used and were not told. They count as told from now on. */
  tellShares(): readonly DataOf<'budget_reached'>[] {
    const changed = [...this.#changed].flatMap((runId) => this.#starts.get(runId) ?? [])
    this.#changed.clear()
    return this.#budgets(changed).flatMap(({ name, standing }) => {
      const told = (...of: [BudgetMeasure, number]): number | undefined =>
        this.#spend.reached.get(reachedKey(name, ...of))
      return sharesReached(standing, told).map((share) => {
        const data = { budget: name, ...share }
        this.takeEvent(event('budget_reached', data), this.#ports.now())
        return data
      })
    })
  }

  /** The budgets of the task alone that bound a run. */
  budgetsOf(run: LoopSpec['start']): readonly Applied[] {
    return this.#budgets([run])
  }

  #budgets(runs: readonly LoopSpec['start'][]): readonly Applied[] {
    return [
      { name: ofTask, standing: this.#standingOfTask(), exceeded: this.#taskExceeded },
      ...runs.flatMap((run) => this.#budgetOfNode(run)),
    ]
  }

  /** A call begins to ask accounts. */
  asks(call: AskingCall): void {
    this.#asking.add(call)
  }

  /** A call has asked all accounts, or it gives back what it has in them. */
  asked(call: AskingCall): void {
    this.#asking.delete(call)
  }

  /** A call of a tool may begin. */
  toolGranted(runId: string): void {
    this.#granted.set(runId, (this.#granted.get(runId) ?? 0) + 1)
  }

  /** The calls of tools of a run that have not begun will not begin. */
  toolsLost(runId: string): void {
    this.#granted.delete(runId)
  }

  #begun(runId: string): void {
    const granted = this.#granted.get(runId) ?? 0
    if (granted > 1) this.#granted.set(runId, granted - 1)
    else this.#granted.delete(runId)
  }

  /**
   * What the task used in a period, and what its calls may use that are under way or get their place.
   *
   * @param account only calls that have their place in it get one. Absent: all
   */
  amountsIn(period: string, account?: string): OwnAmounts {
    const asking = [...this.#asking]
      .filter(({ day }) => isIn(period, day))
      .map(({ amounts, placed }) => (account === undefined ? amounts : (placed.get(account) ?? noAmounts)))
    const granted = isPresent(period, this.#ports.now())
      ? [...this.#granted.values()].reduce((sum, calls) => sum + calls, 0)
      : 0
    return {
      used: usedIn(this.#spend, period),
      reserved: [reservedIn(this.#spend, period), ...asking, toolCalls(granted)].reduce(addAmounts),
    }
  }

  /** The runs that used most of a measure. */
  spenders(measure: BudgetMeasure): DataOf<'budget_exceeded'>['spent_by'] {
    const runs = [...this.#spend.runs].map(([runId, { used }]) => {
      const start = this.#starts.get(runId)
      return {
        agent_name: start?.agent_name ?? runId,
        node_id: start?.node_id ?? null,
        used: numberOf(used, measure),
      }
    })
    return [...mostFirst(runs)]
  }

  #standingOfTask(): Applied['standing'] {
    const { used, reserved } = this.amountsIn('run')
    return {
      limits: this.#raised(ofTask, this.#task),
      used: { ...used, wall_ms: this.#ports.clock.now() },
      reserved,
    }
  }

  #budgetOfNode(run: LoopSpec['start']): readonly Applied[] {
    if (this.#node === undefined || run.node_id === null) return []
    const name: BudgetName = { of: 'node', name: run.node_id, per: 'run' }
    const own = this.#spend.runs.get(run.run_id)
    const standing = {
      limits: this.#raised(name, limitsIn(this.#node)),
      used: { ...(own?.used ?? noAmounts), wall_ms: this.#ports.nodeMs(run) },
      reserved: [
        own === undefined ? noAmounts : reservedBy(own),
        ...[...this.#asking].filter(({ runId }) => runId === run.run_id).map(({ amounts }) => amounts),
        toolCalls(this.#granted.get(run.run_id) ?? 0),
      ].reduce(addAmounts),
    }
    const { exceeded } = this.#node
    return [{ name, standing, exceeded: () => exceeded }]
  }

  #raised(name: BudgetName, limits: BudgetLimits): BudgetLimits {
    const more = this.#spend.raised.get(budgetKey(name))
    return more === undefined ? limits : raisedLimits(limits, more)
  }
}

/** Whether a day belongs to a period. */
export const isIn = (period: string, day: string): boolean => period === 'run' || day.startsWith(period)

const takenBy = (run: RunSpend): Amounts => addAmounts(run.used, reservedBy(run))

/** How much more one amount is than another, in each measure. */
function amountsAbove(a: Amounts, b: Amounts): Amounts {
  const { usd, tokens, model_calls, tool_calls, wall_ms } = takeAmounts(a, b)
  return {
    usd: usd > 0n ? usd : 0n,
    tokens: Math.max(0, tokens),
    model_calls: Math.max(0, model_calls),
    tool_calls: Math.max(0, tool_calls),
    wall_ms: Math.max(0, wall_ms),
  }
}

/** The events that the fold of spending reads. */
const countedTypes: ReadonlySet<string> = new Set([
  'run_started',
  'model_call_reserved',
  'model_call_lost',
  'model_call_paid',
  'budget_exceeded',
  'budget_raised',
  'assistant_message_added',
  'context_summarized',
  'summary_refused',
  'provider_call_failed',
  'skill_selection_recorded',
  'tool_call_started',
  'run_completed',
  'run_failed',
  'run_cancelled',
])
