// The budgets of one task that this daemon drives: it reserves the largest amounts of a call before the call,
// and settles them by the events of the run. A call that does not fit waits: until other calls are settled, or
// for a person who gives more; or its run ends. core's grant.ts decides. The budgets of the task alone come first
// (own-spend.ts), those that it shares with others last (shared-budgets.ts).
// U1. A reservation is durable before its call begins.
// U2. What is used and reserved is exactly what the log says: it is folded from the same events that are
// written, so a takeover continues with the same amounts.
// U3. An outcome gives back to the accounts what its call did not use when it is durable, and not before: if
// the process dies before that, the call is lost and counts with all that was reserved.
import type { CallNeeds, Granted, LoopSpec } from '@beaver/agent'
import { BeaverError, type Clock, type DataOf, type DomainEvent, event, type LogId } from '@beaver/core'
import {
  addAmounts,
  type BudgetMeasure,
  dayOf,
  exceededKey,
  type Grant,
  grantCall,
  grantToolCall,
  numberOf,
  periodAt,
  periodEndMs,
  type Standing,
} from '@beaver/core/budget'
import { type Draft, draft, type RecordedEvent } from '@beaver/core/journal'
import type { AccountBook } from './account-lines.ts'
import {
  type Applied,
  exceededBy,
  type ModelCallNeeds,
  mostFirst,
  type Placed,
  refusedBy,
  refusedPrice,
  reserved,
  type Reserved,
  type Short,
} from './budget-answers.ts'
import { type Budgetable, type BudgetRules, sharedBudgets } from './budget-rules.ts'
import { type AskingCall, type Freed, isIn, OwnSpend, type OwnSpendPorts } from './own-spend.ts'
import { type OwnAmounts, SharedBudgets, type SharedNow } from './shared-budgets.ts'

export interface TaskBudgetPorts extends OwnSpendPorts {
  /** The task's own clock. */
  readonly clock: Clock
  readonly unattended: 'wait' | 'refuse'
  readonly waitMsMax: number
  append(drafts: readonly Draft[]): Promise<number>
  /** Resolves when all events that were given to the log are durable. */
  stored(): Promise<void>
  /** Writes events, too, that the log holds back until the next ones. */
  flush(): void
  /** Whether the log still takes events. */
  canTell(): boolean
  /** Writes that a share of a budget is used. Nobody waits for it. */
  tell(draft: Draft, data: DataOf<'budget_reached'>): void
  /** Called when a run begins to wait for a person, and when it stops. */
  waits(run: LoopSpec['start'], begins: boolean): void
  /** The accounts of budgets that tasks share. Absent or `null`: no such budget may be configured. */
  readonly book?: AccountBook | null | undefined
}

/** Which task it is. */
export interface BudgetedTask {
  readonly log: LogId
  readonly request: Budgetable
  /** How often it was claimed. */
  readonly epoch: number
  /** Its log so far. */
  readonly events: readonly RecordedEvent[]
}

/** A call that has no place yet. */
interface Waiter extends PromiseWithResolvers<Granted> {
  readonly run: LoopSpec['start']
  readonly needs: CallNeeds
  /** Set once it waits for a person. */
  untilMs: number | null
  /** The limit for which it waits, if it waits for a person (`exceededKey`). */
  waitsOf: string | null
  /** The account for which it waits, if it waits for a person. */
  account: string | null
  deadline: { cancel(): void } | null
  /** Its accounts are asked, or a grant or a refusal is being written. */
  busy: boolean
  /** The revision of each account that had no place for it, by account. */
  readonly refused: Map<string, number>
  /** Ends the reading of accounts that have no place for it. */
  readonly watches: Map<string, () => void>
}

/** A budget that bounds a call. `shared`: tasks share it. */
interface Bound extends Applied {
  readonly shared?: SharedNow
}

export class TaskBudget {
  readonly #rules: BudgetRules
  readonly #ports: TaskBudgetPorts
  readonly #log: LogId
  readonly #own: OwnSpend
  readonly #shared: SharedBudgets
  readonly #waiters = new Set<Waiter>()
  /** What outcomes give back that are not durable yet. */
  readonly #freed = new Set<Freed>()

  constructor(
    { log, request, epoch, events }: BudgetedTask,
    { rules, ports }: { readonly rules: BudgetRules; readonly ports: TaskBudgetPorts },
  ) {
    this.#rules = rules
    this.#ports = ports
    this.#log = log
    this.#own = new OwnSpend(rules, request, ports)
    const budgets = sharedBudgets(rules, request, log)
    const { book } = ports
    if (budgets.length > 0 && (book ?? null) === null)
      throw new BeaverError(
        'invalid_configuration',
        'A budget that tasks share needs a place for its account, and this daemon has none.',
      )
    this.#shared = new SharedBudgets({
      ...{ log, epoch, budgets, book: book as AccountBook, now: () => ports.now() },
      amounts: (period, account) => this.#withFreed(period, this.#own.amountsIn(period, account)),
      waitsFor: (account) => [...this.#waiters].some((each) => each.account === account),
      changed: () => this.#serve(),
      canTell: () => ports.canTell(),
      tell: (data) => ports.tell(draft(event('budget_reached', data)), data),
    })
    if (!this.#bounds) return
    for (const each of events) this.#own.takeEvent(each, Date.parse(each.time))
    const { runs, days } = this.#own.spend
    if (this.#shared.any && runs.size > 0) this.#shared.enterAll(days.keys())
  }

  /** Which calls are reserved. `undefined`: nothing is bounded. */
  get budgeted(): LoopSpec['budgeted'] {
    if (!this.#bounds) return undefined
    return { toolCalls: this.#own.toolCalls || this.#shared.toolCalls }
  }

  get #bounds(): boolean {
    return this.#own.bounds || this.#shared.any
  }

  /** Takes in events that were given to the log. */
  take(drafts: readonly Draft[]): void {
    if (!this.#bounds) return
    const taken = this.#own.take(drafts)
    if (taken === null) return
    if (taken.moved) {
      if (taken.used) this.#tellShares()
      if (this.#shared.any && taken.freed.length > 0) this.#giveBack(taken.freed)
      else this.#shared.write()
    }
    this.#serve()
  }

  #tellShares(): void {
    for (const data of this.#own.tellShares()) this.#ports.tell(draft(event('budget_reached', data)), data)
  }

  /** Gives it back to the accounts when the events that free it are durable (U3). */
  #giveBack(freed: readonly Freed[]): void {
    for (const each of freed) this.#freed.add(each)
    // Nothing else may be written while the other calls of the task wait for this.
    if (this.#waiters.size > 0) this.#ports.flush()
    this.#ports.stored().then(
      () => {
        for (const each of freed) this.#freed.delete(each)
        this.#shared.write()
        this.#serve()
      },
      // The next owner finds in the log what is used.
      () => {},
    )
  }

  #withFreed(period: string, { used, reserved: open }: OwnAmounts): OwnAmounts {
    const freed = [...this.#freed].filter(({ day }) => isIn(period, day))
    return { used, reserved: freed.reduce((sum, { amounts }) => addAmounts(sum, amounts), open) }
  }

  /** Reserves a call if it fits at once. The event must go into the log with what leads to the call. */
  tryReserve(run: LoopSpec['start'], needs: ModelCallNeeds): Reserved | null {
    if (this.#shared.any || this.#waiters.size > 0 || this.#refusal(needs) !== null) return null
    const grant = this.#decide(run, needs)
    return grant.kind === 'granted' ? reserved(run, needs, { ...grant, day: null }) : null
  }

  /** Resolves when the call has its place, when its run has to end, or when the signal aborts. */
  reserve(run: LoopSpec['start'], needs: CallNeeds, signal: AbortSignal): Promise<Granted> {
    const refusal = signal.aborted ? ({ kind: 'cancelled' } as const) : this.#refusal(needs)
    if (refusal !== null) return Promise.resolve(refusal)
    const waiter: Waiter = {
      ...Promise.withResolvers<Granted>(),
      ...{ run, needs, untilMs: null, waitsOf: null, account: null, deadline: null, busy: false },
      ...{ refused: new Map(), watches: new Map() },
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
   * Its calls that have not begun give their place back, and nobody waits for them any more.
   */
  lostCall(runId: string): DomainEvent | null {
    this.#own.toolsLost(runId)
    for (const waiter of [...this.#waiters])
      if (waiter.run.run_id === runId) this.#settle(waiter, { kind: 'cancelled' })
    const open = this.#own.spend.runs.get(runId)?.open ?? null
    if (open === null) return null
    const usage = {
      input_tokens: open.inputTokens,
      output_tokens: open.outputTokens,
      calls: 1,
      estimated_calls: 1,
    }
    return event('model_call_lost', { provider_name: open.provider, model: open.model, usage }, runId)
  }

  /** Looks at the accounts again, because somebody may have given more. */
  look(): void {
    for (const now of this.#shared.now()) this.#shared.look(now).catch(() => {})
  }

  /** Resolves when the accounts of shared budgets have what the log has. */
  async written(): Promise<void> {
    if (this.#shared.any) await this.#shared.written()
  }

  /** Closes the accounts of a task that has ended. */
  async closeAccounts(): Promise<void> {
    await this.#shared.close(this.#own.spend)
  }

  /** Changes no account any more. Its calls still wait: the next owner finds them as they are. */
  leave(): void {
    this.#shared.leave()
  }

  /** Ends all waits, because this daemon releases the task. */
  close(): void {
    for (const waiter of this.#waiters) this.#settle(waiter, { kind: 'cancelled' })
  }

  /** Gives every call its place that fits by now. */
  #serve(): void {
    for (const waiter of [...this.#waiters]) {
      if (waiter.busy) continue
      const { run, needs } = waiter
      const bounds = this.#applied(run)
      const grant = this.#decide(run, needs, bounds)
      if (grant.kind === 'granted') {
        if (this.#shared.any) void this.#ask(waiter, grant)
        else this.#place(waiter, grant, null)
        continue
      }
      const at = bounds[grant.budget]
      if (at?.shared !== undefined) this.#shortOfShared(waiter, grant, { ...at, shared: at.shared })
      else if (at !== undefined && !grant.later) this.#exceed(waiter, grant, at)
    }
  }

  /** Asks the accounts of the shared budgets, one after another. Each may shorten the answer. */
  async #ask(waiter: Waiter, first: Placed): Promise<void> {
    const { run, needs } = waiter
    const day = dayOf(this.#ports.now())
    waiter.busy = true
    let grant = first
    const asking: AskingCall = { runId: run.run_id, amounts: grant.amounts, day, placed: new Map() }
    const release = (): void => {
      this.#own.asked(asking)
      this.#shared.write()
    }
    this.#own.asks(asking)
    try {
      for (const shared of this.#shared.now()) {
        const bounded = needs.kind === 'model' ? { ...needs, outputTokensMax: grant.outputTokensMax } : needs
        const answer = await this.#shared.reserve(
          shared,
          (standing) => this.#grantIn([standing], bounded),
          (amounts) => {
            if (amounts === null) asking.placed.delete(shared.account)
            else asking.placed.set(shared.account, amounts)
          },
        )
        if (answer.kind === 'superseded')
          throw new BeaverError('fenced', `Another daemon owns the task ${this.#log.task} now.`)
        if (!this.#waiters.has(waiter)) return release()
        if (answer.grant.kind === 'short') {
          release()
          waiter.busy = false
          waiter.refused.set(shared.account, answer.revision)
          const { name, budget } = shared
          const at = { name, shared, standing: answer.standing, exceeded: () => budget.exceeded }
          this.#shortOfShared(waiter, answer.grant, at)
          // What this call gave back may be enough for another one.
          return this.#serve()
        }
        grant = answer.grant
        asking.amounts = grant.amounts
      }
      this.#own.asked(asking)
      this.#place(waiter, grant, this.#shared.byDay ? day : null)
    } catch (error) {
      release()
      this.#reject(waiter, error as Error)
    }
  }

  /** An account has no place for a call. It counts once it was asked, and not from memory. */
  #shortOfShared(waiter: Waiter, short: Short, at: Bound & { readonly shared: SharedNow }): void {
    const { shared } = at
    const revision = this.#shared.revision(shared)
    if (waiter.refused.get(shared.account) !== revision) {
      waiter.busy = true
      this.#shared.look(shared).then(
        () => {
          waiter.busy = false
          waiter.refused.set(shared.account, this.#shared.revision(shared))
          this.#serve()
        },
        (error: unknown) => this.#reject(waiter, error as Error),
      )
      return
    }
    if (!waiter.watches.has(shared.account)) {
      waiter.watches.set(shared.account, this.#shared.watch(shared))
      this.#ports.flush()
    }
    if (!short.later) this.#exceed(waiter, short, at)
  }

  /** The call has its place in every account, and now in the log. */
  #place(waiter: Waiter, grant: Placed, day: string | null): void {
    const { run, needs } = waiter
    if (needs.kind === 'tool') {
      this.#own.toolGranted(run.run_id)
      return this.#settle(waiter, { kind: 'granted', outputTokensMax: null })
    }
    const { granted, event: made } = reserved(run, needs, { ...grant, day })
    waiter.busy = true
    const written = draft(made)
    const appended = this.#ports.append([written])
    this.take([written])
    appended.then(
      () => this.#settle(waiter, granted),
      (error: unknown) => this.#reject(waiter, error as Error),
    )
  }

  /** The call does not fit beside what is really used. */
  #exceed(waiter: Waiter, short: Short, at: Bound): void {
    const { run } = waiter
    const limit = exceededKey({ ...short, budget: at.name, limit: at.standing.limits[short.measure] ?? 0 })
    if (waiter.waitsOf === limit) return
    // It waited for another limit, and somebody gave more to that, or used it.
    if (waiter.untilMs !== null) this.#waitsNoMore(waiter)
    const { unattended, waitMsMax } = this.#ports
    const nowMs = this.#ports.now()
    const ends = unattended === 'refuse' || at.exceeded(short.measure) === 'end'
    const known = this.#own.spend.runs.get(run.run_id)?.waits ?? null
    const { per } = at.name
    const isKnown = known?.of === limit && periodAt(per, known.sinceMs) === periodAt(per, nowMs)
    if (known !== null && !ends && isKnown) {
      // The run waited before this daemon claimed the task.
      const leftMs = Math.max(0, known.sinceMs + known.waitMs - nowMs)
      return this.#waitFor(waiter, { ms: leftMs, at, short })
    }
    const waitMs = ends ? null : Math.min(waitMsMax, periodEndMs(per, nowMs) - nowMs)
    const data = exceededBy(at, short, { spent_by: this.#spenders(short.measure, at), waitMs })
    const written = draft(event('budget_exceeded', data, run.run_id))
    waiter.busy = true
    const appended = this.#ports.append([written])
    this.take([written])
    appended.then(
      () => {
        waiter.busy = false
        if (waitMs === null) this.#settle(waiter, refusedBy(at, short))
        else this.#waitFor(waiter, { ms: waitMs, at, short })
        // Somebody may have given more meanwhile.
        this.#serve()
      },
      (error: unknown) => this.#reject(waiter, error as Error),
    )
  }

  #waitFor(waiter: Waiter, { ms, at, short }: { ms: number; at: Bound; short: Short }): void {
    if (!this.#waiters.has(waiter)) return
    const { name, shared } = at
    const nowMs = this.#ports.now()
    waiter.untilMs = nowMs + ms
    waiter.waitsOf = exceededKey({ ...short, budget: name, limit: at.standing.limits[short.measure] ?? 0 })
    waiter.account = shared?.account ?? null
    waiter.deadline = this.#ports.clock.after(ms, () => {
      // The budget of the next day or month may have a place.
      if (periodAt(name.per, this.#ports.now()) === periodAt(name.per, nowMs))
        return this.#settle(waiter, refusedBy(at, short))
      this.#waitsNoMore(waiter)
      this.#serve()
    })
    this.#ports.waits(waiter.run, true)
    this.#shared.write()
  }

  #waitsNoMore(waiter: Waiter): void {
    waiter.deadline?.cancel()
    if (waiter.untilMs !== null) this.#ports.waits(waiter.run, false)
    waiter.untilMs = null
    waiter.waitsOf = null
    waiter.account = null
    for (const end of waiter.watches.values()) end()
    waiter.watches.clear()
  }

  #settle(waiter: Waiter, granted: Granted): void {
    if (!this.#waiters.delete(waiter)) return
    const waited = waiter.account !== null
    waiter.busy = true
    this.#waitsNoMore(waiter)
    if (waited) this.#shared.write()
    waiter.resolve(granted)
  }

  #reject(waiter: Waiter, error: Error): void {
    if (error instanceof BeaverError && (error.code === 'budget_corrupt' || error.code === 'too_large'))
      return this.#settle(waiter, {
        kind: 'refused',
        failure: { class: 'internal', message: error.message },
      })
    if (!this.#waiters.delete(waiter)) return
    this.#waitsNoMore(waiter)
    waiter.reject(error)
  }

  #refusal(needs: CallNeeds): Granted | null {
    return needs.kind === 'model' && this.#rules.refuses(needs) ? refusedPrice(needs) : null
  }

  #decide(run: LoopSpec['start'], needs: CallNeeds, bounds: readonly Bound[] = this.#applied(run)): Grant {
    return this.#grantIn(
      bounds.map(({ standing }) => standing),
      needs,
    )
  }

  #grantIn(standings: readonly Standing[], needs: CallNeeds): Grant {
    if (needs.kind === 'tool') return grantToolCall(standings)
    const day = dayOf(this.#ports.now())
    return grantCall(standings, needs, this.#rules.priceFor({ ...needs, day }))
  }

  /** The budgets that bound a run, as far as this daemon knows them. */
  #applied(run: LoopSpec['start']): readonly Bound[] {
    return [
      ...this.#own.budgetsOf(run),
      ...this.#shared.now().flatMap((shared) => {
        const standing = this.#shared.standing(shared)
        const { name: of, budget } = shared
        return standing === null ? [] : [{ name: of, standing, exceeded: () => budget.exceeded, shared }]
      }),
    ]
  }

  /** Who used most of a measure of a budget. */
  #spenders(measure: BudgetMeasure, { shared }: Bound): DataOf<'budget_exceeded'>['spent_by'] {
    if (shared !== undefined)
      return [
        ...mostFirst(
          this.#shared
            .spenders(shared)
            .map(({ task_id, used }) => ({ task_id, node_id: null, used: numberOf(used, measure) })),
        ),
      ]
    return this.#own.spenders(measure)
  }
}
