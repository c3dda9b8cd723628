// Simulated loops, at the port of the worker pool: they ask a model that does not exist, and run tools that
// only count. As a real loop: what is asked for is durable before it is done; a run that is taken up again
// goes on from its events. A tool that had begun when its run was lost is in doubt and does not run again.
import type { ApprovalDecision, ClientAnswered, LoopEnd, LoopHost, LoopSpec, Steer } from '@beaver/agent'
import { type DomainEvent, event, noUsage } from '@beaver/core'
import { evolveRun, type OpenCall, type RunState, startRun } from '@beaver/core/fold'
import { draft } from '@beaver/core/journal'
import type { Failure } from '@beaver/core/supervision'
import type { WorkerPool } from '@beaver/runtime'
import type { Life } from './life.ts'
import type { Watch } from './watch.ts'

/** What a task does, written in its text. */
export interface Plan {
  /** Answers with a call, before the last one. */
  readonly steps: number
  /** The first call waits for a person. */
  readonly approval: boolean
  /** The first call waits for the client instead. Absent: it does not. */
  readonly client?: true
  /** Before its first answer the provider wants to be left alone for so long; 0: not. */
  readonly pauseMs: number
}

export const planText = (plan: Plan): string => JSON.stringify(plan)

type LoopOutcome = Awaited<ReturnType<WorkerPool['start']>['outcome']>

const usage = { input_tokens: 1, output_tokens: 1, calls: 1 }
const answerMsMax = 400
/** After so long a loop asks its host whether the task is still ours, as a real one does. */
const lateMs = 500

export interface SimPool extends WorkerPool {
  /** The thread dies, and each loop in it. */
  lose(): void
}

export function simPool(life: Life, source: string, watch: Watch): SimPool {
  const running = new Set<(outcome: LoopOutcome) => void>()
  return {
    failed: new Promise<never>(() => {}),
    threads: 1,
    get loops() {
      return running.size
    },
    start(spec, host) {
      const { promise: outcome, resolve } = Promise.withResolvers<LoopOutcome>()
      const stop = new AbortController()
      const steers = new Map((spec.steers ?? []).map((each) => [each.requestId, each]))
      let lost = false
      const settle = (how: LoopOutcome): void => {
        lost ||= how.kind === 'lost'
        running.delete(settle)
        resolve(how)
      }
      running.add(settle)
      const loop = new SimLoop({
        spec,
        host,
        life,
        source,
        watch,
        stop: stop.signal,
        lost: () => lost,
        steers: () => [...steers.values()],
      })
      loop.run().then(
        (end) => lost || settle({ kind: 'ended', end }),
        (error: Error) => lost || settle({ kind: 'broke', message: error.message }),
      )
      return {
        outcome,
        cancel: (reason) => void life.after(life.random.int(3), () => stop.abort(reason)),
        // One port carries it and the answers of the host, so it comes before the answers that follow.
        steer: (steer) => void steers.set(steer.requestId, steer),
        drop(reason) {
          settle({ kind: 'broke', message: reason })
          lost = true // nothing it asks for is heard any more
        },
      }
    },
    setExternalTools: () => {},
    setAgentTexts: () => {},
    setSecrets: () => {},
    lose: () =>
      [...running].forEach((settle) =>
        settle({
          kind: 'lost',
          failureClass: 'worker_lost',
          message: 'The worker thread was lost.',
          charge: null,
        }),
      ),
    close: async () => {},
  }
}

interface SimLoopOf {
  readonly spec: LoopSpec
  readonly host: LoopHost
  readonly life: Life
  readonly source: string
  readonly watch: Watch
  readonly stop: AbortSignal
  readonly lost: () => boolean
  readonly steers: () => readonly Steer[]
}

class SimLoop {
  readonly #of: SimLoopOf
  readonly #plan: Plan
  readonly #runId: string
  #run: RunState | null = null
  #oursAt = -Infinity

  constructor(of: SimLoopOf) {
    this.#of = of
    this.#runId = of.spec.start.run_id
    this.#plan = JSON.parse(of.spec.part.kind === 'root' ? of.spec.part.text : '{}') as Plan
  }

  async run(): Promise<LoopEnd> {
    const { spec, stop } = this.#of
    for (const each of spec.resume ?? []) this.#evolve(each, each.taskseq)
    if (this.#run === null)
      await this.#write([
        event('run_started', { ...spec.start, tools: ['act'] }, this.#runId),
        event('user_message_added', { content: 'x' }, this.#runId),
      ])
    for (;;) {
      const run = this.#run as unknown as RunState
      if (stop.aborted)
        return this.#end(
          event('run_cancelled', { reason: String(stop.reason), tool_iterations: 0, usage }, this.#runId),
        )
      const open = run.calls.find((call) => call.result === null)
      if (open !== undefined) await this.#call(open)
      else if (run.answers > this.#plan.steps && run.status === 'finalizing')
        return this.#end(
          event('run_completed', { finish_reason: 'stop', tool_iterations: run.answers, usage }, this.#runId),
        )
      else if (run.answers === 0 && this.#plan.pauseMs > 0 && run.tries === 0) await this.#refused()
      else if (await this.#answer(run.answers)) return this.#endOf(null)
    }
  }

  /** Asks the model. @returns whether the run has ended with its answer */
  async #answer(index: number): Promise<boolean> {
    const { watch, source, spec, life, stop } = this.#of
    const told = this.#toldNow()
    if (told.length > 0) await this.#write(told)
    await this.#untilOurs()
    if (stop.aborted) return false
    watch.asked(source, { task: spec.taskId, runId: this.#runId, index })
    await this.#passing(life.random.chance(0.1) ? life.random.int(8_000) : life.random.int(answerMsMax))
    if (stop.aborted) return false
    const last = index >= this.#plan.steps
    const answered = event(
      'assistant_message_added',
      {
        content: last ? 'done' : null,
        tool_calls: last ? [] : [{ id: `c${index}`, name: 'act', arguments: '{}' }],
        finish_reason: last ? 'stop' : 'tool_calls',
        usage,
        provider_name: 'p',
        model: 'm',
        response_id: null,
        duration_ms: 1,
      },
      this.#runId,
    )
    if (!last) {
      const asks =
        this.#plan.approval && index === 0
          ? [
              event(
                'approval_requested',
                { call_id: 'c0', tool_name: 'act', subject: '', rule: null },
                this.#runId,
              ),
            ]
          : []
      await this.#write([answered, ...asks])
      return false
    }
    const completed = event(
      'run_completed',
      { finish_reason: 'stop', tool_iterations: index, usage },
      this.#runId,
    )
    const end = { ...this.#endOf(null), facts: { outputText: 'done', outputSeq: 0, tools: [] } }
    if (this.#toldNow().length > 0 || !(await this.#append([answered, completed], end))) {
      await this.#write([answered, ...this.#toldNow()])
      return false
    }
    this.#evolve(answered, 0)
    this.#evolve(completed, 0)
    return true
  }

  /** The texts with which the task was steered, and which the run was not given. */
  #toldNow(): DomainEvent[] {
    const given = this.#run?.steersGiven ?? []
    const due = this.#of.steers().filter(({ requestId }) => !given.includes(requestId))
    return due.map(({ requestId, text }) =>
      event('user_message_added', { content: text, steer_request_id: requestId }, this.#runId),
    )
  }

  async #call(call: OpenCall): Promise<void> {
    const { host, stop, watch, source, spec, life } = this.#of
    if (this.#plan.client === true && call.id === 'c0') return this.#callOfClient(call)
    if (call.started) return this.#result(call, { success: false, error: 'in_doubt' })
    if (call.approval === 'requested') {
      const decision = await Promise.race([this.#heard(host.approval(call.id)), this.#stopped()])
      if (!stop.aborted) this.#evolve((decision as ApprovalDecision).event, 0)
      return
    }
    if (call.approval === 'denied') return this.#result(call, { success: false, error: 'denied' })
    await this.#write([
      event('tool_call_started', { call_id: call.id, tool_name: 'act', idempotent: false }, this.#runId),
    ])
    await this.#untilOurs()
    if (stop.aborted) return
    watch.effect(source, { task: spec.taskId, runId: this.#runId, callId: call.id })
    await this.#passing(life.random.int(50))
    await this.#result(call, { success: true, error: null })
  }

  /** As a real loop: it is with the client once, and a recorded answer is taken. */
  async #callOfClient(call: OpenCall): Promise<void> {
    const { host, stop } = this.#of
    if (call.clientAnswer !== null) return this.#result(call, { success: true, error: null })
    if (!call.started)
      return this.#write([
        event('tool_call_started', { call_id: call.id, tool_name: 'act', idempotent: true }, this.#runId),
      ])
    if (!call.atClient)
      return this.#write([
        event('client_call_requested', { call_id: call.id, tool_name: 'act' }, this.#runId),
      ])
    const answered = await Promise.race([this.#heard(host.clientAnswer(call.id, stop)), this.#stopped()])
    if (!stop.aborted) this.#evolve((answered as ClientAnswered).event, 0)
  }

  #result(call: OpenCall, of: { success: boolean; error: string | null }): Promise<void> {
    return this.#write([
      event(
        'tool_result_recorded',
        { call_id: call.id, tool_name: 'act', content: 'ok', duration_ms: 1, ...of },
        this.#runId,
      ),
    ])
  }

  /** The provider wants to be left alone. */
  async #refused(): Promise<void> {
    const { watch, source, spec, host, stop } = this.#of
    await this.#untilOurs()
    if (stop.aborted) return
    watch.asked(source, { task: spec.taskId, runId: this.#runId, index: 0 })
    const failure: Failure = { class: 'rate_limited', message: 'Slow down.' }
    await this.#write([
      event(
        'provider_call_failed',
        { failure, tries: 1, retry_in_ms: this.#plan.pauseMs, status: 429 },
        this.#runId,
      ),
    ])
    await this.#heard(host.pause({ ms: this.#plan.pauseMs, waitsFor: 'limit', reason: 'Slow down.' }, stop))
  }

  async #write(events: readonly DomainEvent[]): Promise<void> {
    await this.#append(events, null)
    for (const each of events) this.#evolve(each, 0)
  }

  async #end(last: DomainEvent): Promise<LoopEnd> {
    const cancelled = last.type === 'run_cancelled'
    const end = this.#endOf(cancelled ? { class: 'cancelled', message: 'cancelled' } : null)
    await this.#append([last], end)
    return end
  }

  #endOf(failure: Failure | null): LoopEnd {
    const outputText = failure === null ? 'done' : ''
    const status = failure === null ? 'completed' : 'cancelled'
    const steersGiven = this.#run?.steersGiven ?? []
    return {
      status,
      facts: { outputText, outputSeq: 0, tools: [] },
      failure,
      usage: noUsage,
      provider: 'p',
      model: 'm',
      steersGiven,
    }
  }

  /** @returns whether the events are durable: an end is not if the task was steered meanwhile */
  async #append(events: readonly DomainEvent[], end: LoopEnd | null): Promise<boolean> {
    const askedAt = this.#of.life.clock.now()
    const first = await this.#heard(this.#of.host.append(events.map(draft), end))
    this.#oursAt = askedAt
    return first !== null
  }

  async #untilOurs(): Promise<void> {
    const { host, life, stop } = this.#of
    while (!stop.aborted && life.clock.now() - this.#oursAt > lateMs) {
      const askedAt = life.clock.now()
      await this.#heard(Promise.resolve(host.stillOurs()))
      this.#oursAt = askedAt
    }
  }

  /** What crosses the thread takes a moment; a thread that is lost hears nothing. */
  async #heard<T>(answer: Promise<T>): Promise<T> {
    const value = await answer
    const { life } = this.#of
    if (life.random.chance(0.3)) await this.#passing(life.random.int(2))
    return this.#of.lost() ? new Promise(() => {}) : value
  }

  #passing(ms: number): Promise<void> {
    const { life, lost, stop } = this.#of
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel()
        stop.removeEventListener('abort', done)
        if (!lost()) resolve()
      }
      const timer = life.after(ms, done)
      stop.addEventListener('abort', done, { once: true })
    })
  }

  #stopped(): Promise<void> {
    const { stop } = this.#of
    return new Promise((resolve) =>
      stop.aborted ? resolve() : stop.addEventListener('abort', () => resolve(), { once: true }),
    )
  }

  #evolve(event: DomainEvent, taskseq: number): void {
    if (event.type === 'run_started') this.#run = startRun(event.data)
    else if (this.#run !== null) this.#run = evolveRun(this.#run, event, { taskseq })
  }
}
