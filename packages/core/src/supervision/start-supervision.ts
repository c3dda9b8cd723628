// A supervisor at work: it starts, stops and restarts its children as ./supervise.ts decides, and says so in the log.
// What a child is belongs to its starter: a process, a connection, a thread.
// S1. At most one of a child runs at a time. S2. After `stop` nothing is started, and it resolves when every child is gone.
// S3. `failed` settles at most once, after the children are gone. S4. Each restart and each escalation is one line of the log.
import { BeaverError, messageOf } from '../errors.ts'
import { supervisionFacts } from '../log/facts.ts'
import { type Clock, pause, systemClock } from '../ports/clock.ts'
import { type LogFields, type Logger, silentLogger } from '../ports/logger.ts'
import { newSupervisor, supervise, type SupervisorAction, type SupervisorEvent } from './supervise.ts'
import type { ChildSpec, SupervisorSpec } from './supervisor-spec.ts'

export interface ChildEnd {
  /** In words: `exit code 1`. */
  readonly reason: string
  /** As planned: a `transient` child is not started again. */
  readonly normal: boolean
}

export interface RunningChild {
  /** Resolves when it is gone. */
  readonly gone: Promise<ChildEnd>
  /** Asks it to end; resolves when it is gone, in bounded time. */
  stop(): Promise<void>
  /** Ends it at once, where it can be. */
  kill?(): void
}

/** Resolves when the child is ready. @throws what kept it from that; nothing of it is left then, also when `signal` aborts */
export type StartChild<C extends RunningChild> = (signal: AbortSignal) => Promise<C>

export type SupervisionStatus<C extends RunningChild> =
  | { readonly kind: 'ready'; readonly id: string; readonly child: C; readonly restarted: boolean }
  | { readonly kind: 'died'; readonly id: string; readonly reason: string; readonly pauseMs: number; readonly deaths: number }
  /** `againMs`: until it is started again; `null`: it is not. */
  | { readonly kind: 'escalated'; readonly id: string; readonly reason: string; readonly deaths: number; readonly againMs: number | null }

export interface SupervisionOptions<C extends RunningChild> {
  readonly spec: SupervisorSpec
  readonly logger?: Logger
  /** What every line of the log says besides. */
  readonly fields?: LogFields
  readonly clock?: Clock
  /** In [0, 1); for jitter. */
  readonly random?: () => number
  /** What the log says of a child that runs. */
  fieldsOf?(child: C): LogFields
  onStatus?(status: SupervisionStatus<C>): void
  /** What `failed` rejects with. Default: `start_failed` with a sentence. */
  failure?(escalated: { readonly id: string; readonly reason: string; readonly deaths: number }): Error
}

export interface Supervision<C extends RunningChild> {
  /** Starts a further child. Resolves when it runs for the first time. @throws what kept it from that, if it must succeed */
  add(child: ChildSpec, start: StartChild<C>): Promise<C>
  /** The running child; `null` while there is none. */
  get(id: string): C | null
  /** Rejects when the supervisor escalates with `fail`. */
  readonly failed: Promise<never>
  stop(): Promise<void>
  /** Ends all children at once; nothing is started any more. */
  kill(): void
}

interface Kept<C extends RunningChild> {
  readonly start: StartChild<C>
  readonly first: PromiseWithResolvers<C>
  running: C | null
  /** Of its present life, the pause before it included. */
  life: AbortController
  hadFirst: boolean
}

export function startSupervision<C extends RunningChild>(options: SupervisionOptions<C>): Supervision<C> {
  const { spec, logger = silentLogger, fields = {}, clock = systemClock, random = () => 0.5, onStatus = () => {} } = options
  const kept = new Map<string, Kept<C>>()
  const over = Promise.withResolvers<void>()
  const failing = Promise.withResolvers<never>()
  failing.promise.catch(() => {})
  let state = newSupervisor(spec)
  let failure: Error | null = null

  function dispatch(event: SupervisorEvent): void {
    const next = supervise(state, event)
    state = next.state
    for (const action of next.actions) act(action)
  }

  function act(action: SupervisorAction): void {
    switch (action.kind) {
      case 'start':
        return void live(action)
      case 'stop':
        return void stopChild(action.id)
      case 'tell_restart': {
        const { id, reason, pauseMs, deaths } = action
        supervisionFacts.restarting(logger, { ...fields, supervisor: spec.id, child: id, reason, pauseMs, deaths })
        return onStatus({ kind: 'died', id, reason, pauseMs, deaths })
      }
      case 'escalate':
        return escalate(action)
      case 'ended':
        if (failure !== null) failing.reject(failure)
        return over.resolve()
      default:
        return action satisfies never
    }
  }

  function escalate({ id, reason, deaths, againMs }: SupervisorAction & { kind: 'escalate' }): void {
    const { escalation } = spec
    supervisionFacts.escalated(logger, { ...fields, supervisor: spec.id, child: id, reason, deaths, escalation: escalation.says })
    if (escalation.kind === 'fail') failure ??= options.failure?.({ id, reason, deaths }) ?? failureOf(spec, { id, reason, deaths })
    if (againMs === null) kept.get(id)?.first.reject(failure ?? failureOf(spec, { id, reason, deaths }))
    onStatus({ kind: 'escalated', id, reason, deaths, againMs })
  }

  /** One life of a child: the pause, the start, the end. */
  async function live({ id, pauseMs, restart }: { id: string; pauseMs: number; restart: boolean }): Promise<void> {
    const of = kept.get(id)
    if (of === undefined) return
    const life = (of.life = new AbortController())
    const end = (reason: string, normal = false): void => dispatch({ kind: 'child_ended', id, reason, normal, at: clock.now(), random: random() })
    if (pauseMs > 0) await pause(clock, pauseMs, life.signal)
    if (life.signal.aborted) return end('it was stopped', true)
    let child: C
    try {
      child = await of.start(life.signal)
    } catch (error) {
      if (of.hadFirst || spec.firstStart === 'counts_as_death' || life.signal.aborted) return end(messageOf(error))
      of.first.reject(error)
      kept.delete(id)
      return dispatch({ kind: 'child_withdrawn', id })
    }
    of.running = child
    if (life.signal.aborted) await child.stop()
    else {
      dispatch({ kind: 'child_started', id })
      supervisionFacts.started(logger, { ...fields, ...options.fieldsOf?.(child), supervisor: spec.id, child: id, restarted: restart })
      onStatus({ kind: 'ready', id, child, restarted: restart })
      of.hadFirst = true
      of.first.resolve(child)
    }
    const { reason, normal } = await child.gone
    of.running = null
    end(reason, normal)
  }

  async function stopChild(id: string): Promise<void> {
    const of = kept.get(id)
    of?.life.abort()
    await of?.running?.stop()
  }

  return {
    add(child, start) {
      if (state.status !== 'running') return Promise.reject(new BeaverError('start_failed', `${child.id} is not started: its supervisor stops.`))
      const first = Promise.withResolvers<C>()
      first.promise.catch(() => {}) // who asked is told; a supervisor that stops tells nobody
      kept.set(child.id, { start, first, running: null, life: new AbortController(), hadFirst: false })
      dispatch({ kind: 'child_added', child })
      return first.promise
    },
    get: (id) => kept.get(id)?.running ?? null,
    failed: failing.promise,
    async stop() {
      dispatch({ kind: 'stop' })
      await over.promise
      for (const { first } of kept.values()) first.reject(new BeaverError('start_failed', 'The start was interrupted.'))
    },
    kill() {
      dispatch({ kind: 'stop' })
      for (const { life, running } of kept.values()) {
        life.abort()
        running?.kill?.()
      }
    },
  }
}

function failureOf({ intensity, escalation }: SupervisorSpec, { id, reason, deaths }: { id: string; reason: string; deaths: number }): BeaverError {
  const within = intensity.periodMs === null ? '' : ` within ${intensity.periodMs / 1000} s`
  return new BeaverError('start_failed', `The ${id} ended ${deaths} times${within} (last: ${reason}): ${escalation.says}.`)
}
