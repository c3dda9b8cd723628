// The budgets of one task that this daemon drives: it reserves the largest amounts of a call before the call,
// and settles them by the events of the run. A call that does not fit waits: until other calls are settled, or
// for a person who gives more; or its run ends. core's grant.ts decides, and spend.ts counts.
// U1. A reservation is durable before its call begins.
// U2. What is used and reserved is exactly what the log says: it is folded from the same events that are
// written, so a takeover continues with the same amounts.
import type { CallNeeds, Granted, LoopSpec } from '@beaver/agent'
import { type Clock, type DataOf, type DomainEvent, event, type TaskRequest } from '@beaver/core'
import {
  addAmounts,
  type Amounts,
  type Budget,
  type BudgetLimits,
  type BudgetMeasure,
  budgetMeasures,
  type BudgetName,
  budgetKey,
  dayOf,
  type Grant,
  grantCall,
  grantToolCall,
  lowerLimits,
  newSpend,
  noAmounts,
  noPlaceText,
  type PriceFor,
  raisedLimits,
  reachedKey,
  reservedBy,
  shareReached,
  spendEvent,
  type Standing,
  type TaskSpend,
} from '@beaver/core/budget'
import { usdOf } from '@beaver/core/cost'
import { type Draft, draft, type RecordedEvent } from '@beaver/core/journal'

/** What a daemon knows of budgets. */
export interface BudgetRules {
  readonly budgets: readonly Budget[]
  readonly priceFor: PriceFor
  /** What a task may use whose root has this profile, or the default one. Absent: no profile says anything. */
  readonly ofProfile?: (name: string | null) => BudgetLimits | undefined
  /** Whether a call of this model is refused because nobody knows its price. */
  readonly refuses: (call: { readonly provider: string; readonly model: string }) => boolean
}

/** Nothing is bounded. */
export const unbounded: BudgetRules = {
  budgets: [],
  priceFor: () => ({ input: 0, output: 0 }),
  refuses: () => false,
}

export interface TaskBudgetPorts {
  /** The task's own clock. */
  readonly clock: Clock
  /** The journal's time, in milliseconds since 1970. */
  now(): number
  readonly unattended: 'wait' | 'refuse'
  readonly waitMsMax: number
  append(drafts: readonly Draft[]): Promise<number>
  /** Writes that a share of a budget is used. Nobody waits for it. */
  tell(draft: Draft, data: DataOf<'budget_reached'>): void
  /** Called when a run begins to wait for a person, and when it stops. */
  waits(run: LoopSpec['start'], begins: boolean): void
}

/** A call that has no place yet. */
interface Waiter extends PromiseWithResolvers<Granted> {
  readonly run: LoopSpec['start']
  readonly needs: CallNeeds
  /** Set once it waits for a person. */
  untilMs: number | null
  deadline: { cancel(): void } | null
  /** A grant or a refusal is being written. */
  settled: boolean
}

interface Applied {
  readonly name: BudgetName
  readonly standing: Standing
  readonly exceeded: Budget['exceeded']
}

type Short = Extract<Grant, { kind: 'short' }>

export class TaskBudget {
  readonly #rules: BudgetRules
  readonly #ports: TaskBudgetPorts
  readonly #task: BudgetLimits
  readonly #taskExceeded: Budget['exceeded']
  readonly #node: Budget | undefined
  readonly #spend: TaskSpend = newSpend()
  readonly #waiters = new Set<Waiter>()
  /** The calls of tools that were granted and have not begun, by run. */
  readonly #granted = new Map<string, number>()
  /** The runs whose events were seen. */
  readonly #starts = new Map<string, LoopSpec['start']>()

  /** @param events the log of the task so far */
  constructor(
    request: Budgetable,
    events: readonly RecordedEvent[],
    { rules, ports }: { readonly rules: BudgetRules; readonly ports: TaskBudgetPorts },
  ) {
    this.#rules = rules
    this.#ports = ports
    const ofTask = rules.budgets.find(({ of }) => of === 'task')
    this.#task = limitsOfTask(rules, request)
    this.#taskExceeded = ofTask?.exceeded ?? 'wait'
    this.#node = rules.budgets.find(({ of }) => of === 'node')
    if (this.#bounds) for (const each of events) this.#takeEvent(each, Date.parse(each.time))
  }

  /** Which calls are reserved. `undefined`: nothing is bounded. */
  get budgeted(): LoopSpec['budgeted'] {
    if (!this.#bounds) return undefined
    return { toolCalls: this.#task.tool_calls !== undefined || this.#node?.tool_calls !== undefined }
  }

  get #bounds(): boolean {
    return Object.keys(this.#task).length > 0 || this.#node !== undefined
  }

  /** Takes in events that were given to the log. */
  take(drafts: readonly Draft[]): void {
    if (!this.#bounds) return
    const { total } = this.#spend
    let changed = false
    for (const { type, runId, dataJson } of drafts) {
      if (!countedTypes.has(type)) continue
      const data = JSON.parse(dataJson) as unknown
      this.#takeEvent(
        (runId === undefined ? { type, data } : { type, runId, data }) as DomainEvent,
        this.#ports.now(),
      )
      changed = true
    }
    if (!changed) return
    if (this.#spend.total !== total) this.#tellShares()
    if (this.#waiters.size > 0) this.#serve()
  }

  /** Tells once for each limit of the task when 50, 80 and 100 % of it are used. */
  #tellShares(): void {
    const name: BudgetName = { of: 'task', per: 'run' }
    const { limits, used } = this.#ofTask()
    for (const measure of budgetMeasures) {
      const limit = limits[measure]
      if (limit === undefined || limit === 0) continue
      const told = this.#spend.reached.get(reachedKey(name, measure, limit)) ?? 0
      const percent = shareReached({ used: numberOf(used, measure), limit }, told)
      if (percent === null) continue
      const data = { budget: name, measure, percent, used: numberOf(used, measure), limit }
      const made = event('budget_reached', data)
      this.#takeEvent(made, this.#ports.now())
      this.#ports.tell(draft(made), data)
    }
  }

  #takeEvent(each: DomainEvent, atMs: number): void {
    if (each.type === 'run_started') this.#starts.set(each.data.run_id, each.data)
    if (each.type === 'tool_call_started' && each.runId !== undefined) this.#begun(each.runId)
    spendEvent(this.#spend, each, { atMs, priceFor: this.#rules.priceFor })
  }

  /** A granted call of a tool has begun, and is counted by its event. */
  #begun(runId: string): void {
    const granted = this.#granted.get(runId) ?? 0
    if (granted > 1) this.#granted.set(runId, granted - 1)
    else this.#granted.delete(runId)
  }

  /** Reserves a call if it fits at once. The event must go into the log with what leads to the call. */
  tryReserve(run: LoopSpec['start'], needs: ModelCallNeeds): Reserved | null {
    if (this.#waiters.size > 0 || this.#refusal(needs) !== null) return null
    const grant = this.#decide(run, needs)
    return grant.kind === 'granted' ? reserved(run, needs, grant) : null
  }

  /** Resolves when the call has its place, when its run has to end, or when the signal aborts. */
  reserve(run: LoopSpec['start'], needs: CallNeeds, signal: AbortSignal): Promise<Granted> {
    const refusal = signal.aborted ? ({ kind: 'cancelled' } as const) : this.#refusal(needs)
    if (refusal !== null) return Promise.resolve(refusal)
    const waiter: Waiter = {
      ...Promise.withResolvers<Granted>(),
      ...{ run, needs, untilMs: null, deadline: null, settled: false },
    }
    this.#waiters.add(waiter)
    signal.addEventListener('abort', () => this.#settle(waiter, { kind: 'cancelled' }), { once: true })
    this.#serve()
    return waiter.promise
  }

  /** The time that is left for a person to give more; `null`: the run does not wait for that. */
  waitsMs(runId: string): number | null {
    for (const { run, untilMs } of this.#waiters)
      if (run.run_id === runId && untilMs !== null) return Math.max(0, untilMs - this.#ports.now())
    return null
  }

  /** How many runs wait for a person. */
  get waiting(): number {
    return [...this.#waiters].filter(({ untilMs }) => untilMs !== null).length
  }

  /**
   * The call of a model that was under way when the process or thread of the run ended; `null`: there was none.
   * Its calls of tools that had their place and have not begun give it back.
   */
  lostCall(runId: string): DomainEvent | null {
    this.#granted.delete(runId)
    const open = this.#spend.runs.get(runId)?.open ?? null
    if (open === null) return null
    const usage = {
      input_tokens: open.inputTokens,
      output_tokens: open.outputTokens,
      calls: 1,
      estimated_calls: 1,
    }
    return event('model_call_lost', { provider_name: open.provider, model: open.model, usage }, runId)
  }

  /** Ends all waits, because this daemon releases the task. */
  close(): void {
    for (const waiter of this.#waiters) this.#settle(waiter, { kind: 'cancelled' })
  }

  /** Gives every call its place that fits by now. */
  #serve(): void {
    for (const waiter of [...this.#waiters]) {
      if (waiter.settled) continue
      const { run, needs } = waiter
      const grant = this.#decide(run, needs)
      if (grant.kind === 'granted') {
        if (needs.kind === 'model') this.#grant(waiter, reserved(run, needs, grant))
        else {
          this.#granted.set(run.run_id, (this.#granted.get(run.run_id) ?? 0) + 1)
          this.#settle(waiter, { kind: 'granted', outputTokensMax: null })
        }
      } else if (!grant.later && waiter.untilMs === null) this.#exceed(waiter, grant)
    }
  }

  #grant(waiter: Waiter, { granted, event: made }: Reserved): void {
    waiter.settled = true
    const written = draft(made)
    const appended = this.#ports.append([written])
    this.take([written])
    appended.then(
      () => this.#settle(waiter, granted),
      (error: unknown) => this.#reject(waiter, error as Error),
    )
  }

  /** The call does not fit beside what is really used. */
  #exceed(waiter: Waiter, short: Short): void {
    const { run } = waiter
    const { unattended, waitMsMax } = this.#ports
    const at = this.#applied(run)[short.budget]
    if (at === undefined) return
    const ends = unattended === 'refuse' || at.exceeded === 'end'
    const known = this.#spend.runs.get(run.run_id)?.waits ?? null
    if (known !== null && !ends) {
      // The run waited before this daemon claimed the task.
      const leftMs = Math.max(0, known.sinceMs + known.waitMs - this.#ports.now())
      return this.#waitFor(waiter, { ms: leftMs, at, short })
    }
    const data = {
      ...{ budget: at.name, measure: short.measure },
      limit: at.standing.limits[short.measure] ?? 0,
      used: numberOf(at.standing.used, short.measure),
      needed: short.needed,
      spent_by: this.#spenders(short.measure),
      wait_ms: ends ? null : waitMsMax,
    }
    const written = draft(event('budget_exceeded', data, run.run_id))
    waiter.settled = true
    const appended = this.#ports.append([written])
    this.take([written])
    appended.then(
      () => {
        waiter.settled = false
        if (ends) this.#settle(waiter, refusedBy(at, short))
        else this.#waitFor(waiter, { ms: waitMsMax, at, short })
        // Somebody may have given more meanwhile.
        this.#serve()
      },
      (error: unknown) => this.#reject(waiter, error as Error),
    )
  }

  #waitFor(waiter: Waiter, { ms, at, short }: { ms: number; at: Applied; short: Short }): void {
    if (!this.#waiters.has(waiter)) return
    waiter.untilMs = this.#ports.now() + ms
    waiter.deadline = this.#ports.clock.after(ms, () => this.#settle(waiter, refusedBy(at, short)))
    this.#ports.waits(waiter.run, true)
  }

  #settle(waiter: Waiter, granted: Granted): void {
    if (!this.#waiters.delete(waiter)) return
    waiter.settled = true
    waiter.deadline?.cancel()
    if (waiter.untilMs !== null) this.#ports.waits(waiter.run, false)
    waiter.resolve(granted)
  }

  #reject(waiter: Waiter, error: Error): void {
    this.#waiters.delete(waiter)
    waiter.reject(error)
  }

  #refusal(needs: CallNeeds): Granted | null {
    if (needs.kind !== 'model' || !this.#rules.refuses(needs)) return null
    return {
      kind: 'refused',
      failure: {
        class: 'invalid_configuration',
        message: `Nobody knows the price of the model ${needs.model}, and the configuration refuses such models ("prices": { "unknown": "refuse" }). Add its price to "prices".`,
      },
    }
  }

  #decide(run: LoopSpec['start'], needs: CallNeeds): Grant {
    const standings = this.#applied(run).map(({ standing }) => standing)
    if (needs.kind === 'tool') return grantToolCall(standings)
    const day = dayOf(this.#ports.now())
    return grantCall(standings, needs, this.#rules.priceFor({ ...needs, day }))
  }

  /** The budgets that bound a run. */
  #applied(run: LoopSpec['start']): readonly Applied[] {
    const name: BudgetName = { of: 'task', per: 'run' }
    const ofTask: Applied = { name, standing: this.#ofTask(), exceeded: this.#taskExceeded }
    if (this.#node === undefined || run.node_id === null) return [ofTask]
    const ofNode: BudgetName = { of: 'node', name: run.node_id, per: 'run' }
    const own = this.#spend.runs.get(run.run_id)
    const standing: Standing = {
      limits: this.#raised(ofNode, limitsIn(this.#node)),
      used: own?.used ?? noAmounts,
      reserved: addAmounts(
        own === undefined ? noAmounts : reservedBy(own),
        toolCalls(this.#granted.get(run.run_id) ?? 0),
      ),
    }
    return [ofTask, { name: ofNode, standing, exceeded: this.#node.exceeded }]
  }

  #ofTask(): Standing {
    const { used, reserved: reservedNow } = this.#spend.total
    const granted = [...this.#granted.values()].reduce((sum, calls) => sum + calls, 0)
    return {
      limits: this.#raised({ of: 'task', per: 'run' }, this.#task),
      used: { ...used, wall_ms: this.#ports.clock.now() },
      reserved: addAmounts(reservedNow, toolCalls(granted)),
    }
  }

  #raised(name: BudgetName, limits: BudgetLimits): BudgetLimits {
    const more = this.#spend.raised.get(budgetKey(name))
    return more === undefined ? limits : raisedLimits(limits, more)
  }

  /** Who used most of a measure. */
  #spenders(measure: BudgetMeasure) {
    return [...this.#spend.runs]
      .map(([runId, { used }]) => {
        const start = this.#starts.get(runId)
        return {
          agent_name: start?.agent_name ?? runId,
          node_id: start?.node_id ?? null,
          used: numberOf(used, measure),
        }
      })
      .filter(({ used }) => used > 0)
      .toSorted((a, b) => b.used - a.used)
      .slice(0, 3)
  }
}

/** The limits of a configured budget. */
const limitsIn = (of: Budget | undefined): BudgetLimits => lowerLimits(of ?? {}, {})

/**
 * The limits that a budget of a task has by its request and the configuration. `null`: the task has no such
 * budget.
 */
export function limitsOf(
  rules: Pick<BudgetRules, 'budgets' | 'ofProfile'>,
  request: Budgetable,
  { of }: BudgetName,
): BudgetLimits | null {
  if (of === 'task') return limitsOfTask(rules, request)
  const configured = rules.budgets.find((each) => each.of === of)
  return of === 'node' && configured !== undefined ? limitsIn(configured) : null
}

type Budgetable = Pick<TaskRequest, 'budget' | 'profile' | 'workflow'>

/** The lowest of what the configuration, the profile of the root and the request say. */
function limitsOfTask(
  { budgets, ofProfile }: Pick<BudgetRules, 'budgets' | 'ofProfile'>,
  { budget, profile, workflow }: Budgetable,
): BudgetLimits {
  const configured = limitsIn(budgets.find(({ of }) => of === 'task'))
  const own = workflow === undefined ? ofProfile?.(profile ?? null) : undefined
  return lowerLimits(lowerLimits(configured, own ?? {}), budget ?? {})
}

/** The events that the fold of spending reads. */
const countedTypes: ReadonlySet<string> = new Set([
  'run_started',
  'model_call_reserved',
  'model_call_lost',
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

type ModelCallNeeds = Extract<CallNeeds, { kind: 'model' }>

interface Reserved {
  readonly granted: Extract<Granted, { kind: 'granted' }>
  /** The reservation. */
  readonly event: DomainEvent
}

function reserved(
  { run_id: runId }: LoopSpec['start'],
  needs: ModelCallNeeds,
  { amounts, outputTokens, outputTokensMax }: Extract<Grant, { kind: 'granted' }>,
): Reserved {
  const data = {
    provider_name: needs.provider,
    model: needs.model,
    input_tokens_max: needs.inputTokensMax,
    output_tokens_max: outputTokens,
    usd_max: usdOf(amounts.usd),
  }
  return {
    granted: { kind: 'granted', outputTokensMax },
    event: event('model_call_reserved', data, runId),
  }
}

const numberOf = (amounts: Amounts, measure: BudgetMeasure): number =>
  measure === 'usd' ? usdOf(amounts.usd) : amounts[measure]

function refusedBy({ name, standing }: Applied, { measure, needed }: Short): Granted {
  const used = numberOf(standing.used, measure)
  const why = noPlaceText({ budget: name, measure, limit: standing.limits[measure] ?? 0, used, needed })
  return {
    kind: 'refused',
    failure: {
      class: 'budget_exceeded',
      message: `${why.slice(0, 1).toUpperCase()}${why.slice(1)}. Retry the task with a larger budget.`,
    },
  }
}

const toolCalls = (calls: number): Amounts => (calls === 0 ? noAmounts : { ...noAmounts, tool_calls: calls })
