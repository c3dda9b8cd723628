// A supervisor at work: it starts, stops and restarts its children as supervise.ts decides, and writes each
// restart and escalation to the log. The starter of a child decides what it is: a process, a connection or a
// thread. At most one instance of a child runs at a time. `stop` resolves when every child is gone; `failed`
// settles at most once, after that.
import { BeaverError, messageOf } from '../errors.ts'
import { guarded, supervisionFacts } from '../log/facts.ts'
import { type Clock, pause, systemClock } from '../ports/clock.ts'
import { type LogFields, type Logger, silentLogger } from '../ports/logger.ts'
import {
  newSupervisor,
  supervise,
  type SupervisorAction,
  type SupervisorEvent,
  type SupervisorState,
} from './supervise.ts'
import type { SupervisorSpec } from './supervisor-spec.ts'

/** How a child ended. */
export interface ChildEnd {
  /** The reason in words, such as `exit code 1`. */
  readonly reason: string
}

/** A child that runs: a process, a connection or a thread. */
export interface RunningChild {
  /** Resolves when the child is gone. */
  readonly gone: Promise<ChildEnd>
  /** Asks the child to end. Resolves when it is gone, in bounded time. */
  stop(): Promise<void>
  /** Ends the child at once, if that is possible. */
  kill?(): void
}

/**
 * Resolves when the child is ready. @throws the reason why it did not start. In this case, or if `signal`
 * aborts, nothing of it may be left.
 */
export type StartChild<C extends RunningChild> = (signal: AbortSignal) => Promise<C>

/**
 * What happened to a child: it runs, it died and is started again after `pauseMs`, or its deaths exceeded the
 * intensity.
 */
export type SupervisionStatus<C extends RunningChild> =
  | { readonly kind: 'ready'; readonly id: string; readonly child: C; readonly restarted: boolean }
  | {
      readonly kind: 'died'
      readonly id: string
      readonly reason: string
      readonly pauseMs: number
      readonly deaths: number
    }
  /** `againMs` is the time until the child is started again. `null` means that it is not started again. */
  | {
      readonly kind: 'escalated'
      readonly id: string
      readonly reason: string
      readonly deaths: number
      readonly againMs: number | null
    }

/** The options of a `Supervision`. */
export interface SupervisionOptions<C extends RunningChild> {
  readonly spec: SupervisorSpec
  readonly logger?: Logger
  /** Further fields for every line of the log. */
  readonly fields?: LogFields
  readonly clock?: Clock
  /** A number in [0, 1) for the jitter. Default: always 0.5. */
  readonly random?: () => number
  /** Fields for the log about a child that runs. */
  fieldsOf?(child: C): LogFields
  onStatus?(status: SupervisionStatus<C>): void
  /** Makes the error with which `failed` rejects. Default: `start_failed` with a sentence. */
  failure?(escalated: { readonly id: string; readonly reason: string; readonly deaths: number }): Error
}

interface Kept<C extends RunningChild> {
  readonly start: StartChild<C>
  readonly first: PromiseWithResolvers<C>
  running: C | null
  /** Aborts the present life of the child, including the pause before it. */
  life: AbortController
  hadFirst: boolean
}

/**
 * A supervisor at work. It has no children until `add` gives it some. Its restarts, pauses and escalation are
 * those of `spec`.
 *
 * @example
 * const supervision = new Supervision({ spec: supervisors.services })
 * const { promise: gone, resolve } = Promise.withResolvers<ChildEnd>()
 * const child = { gone, stop: async () => resolve({ reason: 'stopped' }) }
 * await supervision.add('watcher', async () => child)
 * supervision.get('watcher') === child // => true
 * await supervision.stop()
 * supervision.get('watcher') // => null
 */
export class Supervision<C extends RunningChild> {
  /** Rejects if the supervisor escalates with `fail`, after its children are gone. */
  readonly failed: Promise<never>
  readonly #options: SupervisionOptions<C>
  readonly #spec: SupervisorSpec
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #kept = new Map<string, Kept<C>>()
  readonly #over = Promise.withResolvers<void>()
  readonly #failing = Promise.withResolvers<never>()
  #state: SupervisorState
  #failure: Error | null = null

  constructor(options: SupervisionOptions<C>) {
    const { spec, logger = silentLogger, clock = systemClock } = options
    this.#options = options
    this.#spec = spec
    this.#logger = logger
    this.#clock = clock
    this.#state = newSupervisor(spec)
    this.failed = this.#failing.promise
    this.failed.catch(() => {})
  }

  /**
   * Starts a further child. Resolves when it runs for the first time. @throws the reason why it never ran:
   * see `firstStart`
   *
   * @param id unique in the supervisor
   */
  add(id: string, start: StartChild<C>): Promise<C> {
    if (this.#state.status !== 'running')
      return Promise.reject(
        new BeaverError('start_failed', `${id} is not started, because its supervisor stops.`),
      )
    const first = Promise.withResolvers<C>()
    first.promise.catch(() => {}) // The caller of `add` handles the error. The process must not fail if the caller does not.
    this.#kept.set(id, { start, first, running: null, life: new AbortController(), hadFirst: false })
    this.#dispatch({ kind: 'child_added', id })
    return first.promise
  }

  /** The running child, or `null` if it does not run. */
  get(id: string): C | null {
    return this.#kept.get(id)?.running ?? null
  }

  async stop(): Promise<void> {
    this.#dispatch({ kind: 'stop' })
    await this.#over.promise
    for (const { first } of this.#kept.values())
      first.reject(new BeaverError('start_failed', 'The start was interrupted.'))
  }

  /** Ends all children at once. Nothing is started after it. */
  kill(): void {
    this.#dispatch({ kind: 'stop' })
    for (const { life, running } of this.#kept.values()) {
      life.abort()
      running?.kill?.()
    }
  }

  #dispatch(event: SupervisorEvent): void {
    const next = supervise(this.#state, event)
    this.#state = next.state
    for (const action of next.actions) this.#act(action)
  }

  #act(action: SupervisorAction): void {
    switch (action.kind) {
      case 'start':
        return void this.#live(action)
      case 'stop':
        return void this.#stopChild(action.id)
      case 'tell_restart': {
        const { id, reason, pauseMs, deaths } = action
        this.#report(() =>
          supervisionFacts.restarting(this.#logger, { ...this.#fieldsOf(id), reason, pauseMs, deaths }),
        )
        return this.#tell({ kind: 'died', id, reason, pauseMs, deaths })
      }
      case 'escalate':
        return this.#escalate(action)
      case 'ended':
        if (this.#failure !== null) this.#failing.reject(this.#failure)
        return this.#over.resolve()
      default:
        return action satisfies never
    }
  }

  #escalate({ id, reason, deaths, againMs }: SupervisorAction & { kind: 'escalate' }): void {
    const { escalation } = this.#spec
    const failure = (): BeaverError => failureOf(this.#spec, { id, reason, deaths })
    this.#report(() =>
      supervisionFacts.escalated(this.#logger, {
        ...this.#fieldsOf(id),
        reason,
        deaths,
        escalation: escalation.says,
      }),
    )
    if (escalation.kind === 'fail')
      this.#failure ??= this.#options.failure?.({ id, reason, deaths }) ?? failure()
    if (againMs === null) this.#kept.get(id)?.first.reject(this.#failure ?? failure())
    this.#tell({ kind: 'escalated', id, reason, deaths, againMs })
  }

  /** One life of a child: the pause, the start and the end. */
  async #live({ id, pauseMs, restart }: { id: string; pauseMs: number; restart: boolean }): Promise<void> {
    const kept = this.#kept.get(id)
    if (kept === undefined) return
    const life = (kept.life = new AbortController())
    if (pauseMs > 0) await pause(this.#clock, pauseMs, life.signal)
    if (life.signal.aborted) return this.#end(id, { reason: 'it was stopped' })
    let child: C
    try {
      child = await kept.start(life.signal)
    } catch (error) {
      if (kept.hadFirst || this.#spec.firstStart === 'counts_as_death' || life.signal.aborted)
        return this.#end(id, { reason: messageOf(error) })
      kept.first.reject(error)
      this.#kept.delete(id)
      return this.#dispatch({ kind: 'child_withdrawn', id })
    }
    kept.running = child
    if (life.signal.aborted) await child.stop()
    else {
      this.#dispatch({ kind: 'child_started', id })
      this.#report(() =>
        supervisionFacts.started(this.#logger, { ...this.#fieldsOf(id, child), restarted: restart }),
      )
      this.#tell({ kind: 'ready', id, child, restarted: restart })
      kept.hadFirst = true
      kept.first.resolve(child)
    }
    const end = await child.gone
    kept.running = null
    this.#end(id, end)
  }

  #end(id: string, { reason }: ChildEnd): void {
    const { random = () => 0.5 } = this.#options
    this.#dispatch({ kind: 'child_ended', id, reason, at: this.#clock.now(), random: random() })
  }

  async #stopChild(id: string): Promise<void> {
    const kept = this.#kept.get(id)
    kept?.life.abort()
    await kept?.running?.stop()
  }

  #fieldsOf(id: string, child: C | null = null): LogFields & { supervisor: string; child: string } {
    return {
      ...this.#options.fields,
      ...(child === null ? {} : this.#options.fieldsOf?.(child)),
      supervisor: this.#spec.id,
      child: id,
    }
  }

  #tell(status: SupervisionStatus<C>): void {
    this.#report(() => this.#options.onStatus?.(status))
  }

  /**
   * A report that fails must not stop a restart: the callback is the caller's, and the log may be a file on a
   * full disk.
   */
  #report(act: () => void): void {
    try {
      guarded(this.#logger, `supervisor ${this.#spec.id}`, act)()
    } catch {
      // Nothing is left to say it with.
    }
  }
}

function failureOf(
  { intensity, escalation }: SupervisorSpec,
  { id, reason, deaths }: { id: string; reason: string; deaths: number },
): BeaverError {
  const within = intensity.periodMs === null ? '' : ` within ${intensity.periodMs / 1000} s`
  return new BeaverError(
    'start_failed',
    `The ${id} ended ${deaths} times${within} (last: ${reason}): ${escalation.says}.`,
  )
}
