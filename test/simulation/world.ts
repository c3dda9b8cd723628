// A simulated world: daemons, the server they share, the people and programs that use them, and the faults
// that befall them.
import { BeaverError, type Ids } from '@beaver/core'
import type { Command } from './commands.ts'
import { type SimDaemon, startSimDaemon } from './daemon.ts'
import { FaultsOf } from './faults.ts'
import { planText } from './loop.ts'
import type { Blow } from './prompt.ts'
import { type Random, randomOf } from './random.ts'
import type { Scenario, TaskOf } from './scenario.ts'
import { newScheduler, type Scheduler, worldBegins } from './scheduler.ts'
import { newServer, type SimServer } from './server.ts'
import { Watch } from './watch.ts'

/** The place of a daemon: after a crash another one stands there. */
export interface Place {
  readonly index: number
  daemon: SimDaemon
  /** Events of those who were here before. */
  stepsBefore: number
  restarts: number
  /** How much its wall clock is ahead. */
  offsetMs: number
}

const answerMsMax = 10_000
const retryMs = 1_000

export class World {
  readonly scenario: Scenario
  readonly scheduler: Scheduler
  readonly watch: Watch
  readonly server: SimServer
  readonly places: Place[] = []
  readonly trace: string[] = []
  readonly #random: Random
  readonly #ids: Ids
  readonly #daemons = new Map<string, SimDaemon>()
  readonly #faults: FaultsOf
  #open = 0

  constructor(scenario: Scenario, tracing: boolean) {
    const { seed, leaseMs } = scenario
    this.scenario = scenario
    this.scheduler = newScheduler(randomOf(seed, 'scheduler'))
    this.watch = new Watch(
      (what) =>
        tracing && this.trace.push(`${String(this.scheduler.now() - worldBegins).padStart(7)} ${what()}`),
      () => this.scheduler.now(),
    )
    this.#random = randomOf(seed, 'world')
    let last = 0
    this.#ids = { next: (kind) => `${kind}_${++last}` }
    this.server = newServer({ seed, scheduler: this.scheduler, leaseMs, watch: this.watch })
    this.#faults = new FaultsOf(this)
  }

  tell(what: string): void {
    this.watch.tell(() => what)
  }

  begin(): void {
    this.scenario.daemons.forEach(({ offsetMs }, index) =>
      this.places.push({
        index,
        daemon: this.#start(index, { restarts: 0, offsetMs }),
        stepsBefore: 0,
        restarts: 0,
        offsetMs,
      }),
    )
    for (const task of this.scenario.tasks) this.#user(task)
  }

  /** After each event: what it gave cause to. */
  look(): void {
    this.#faults.look()
    for (const { daemon } of this.places)
      if (daemon.daemon.tasks.size > daemon.tasksMax)
        this.watch.broken(
          'room for tasksMax',
          `${daemon.id} drives ${daemon.daemon.tasks.size} of at most ${daemon.tasksMax} tasks`,
        )
  }

  #start(index: number, { restarts, offsetMs }: Pick<Place, 'restarts' | 'offsetMs'>): SimDaemon {
    const { tasksMax } = this.scenario.daemons[index] as Scenario['daemons'][number]
    const daemon = startSimDaemon({
      id: `d${index + 1}${'ʹ'.repeat(restarts)}`,
      seed: this.scenario.seed,
      scheduler: this.scheduler,
      server: this.server,
      watch: this.watch,
      tasksMax,
      offsetMs,
      leaseMs: this.scenario.leaseMs,
      ids: this.#ids,
      peer: (id) => this.#daemons.get(id),
    })
    daemon.life.slow = this.scenario.slowMs
    this.#daemons.set(daemon.id, daemon)
    return daemon
  }

  crash(place: Place): void {
    const { daemon } = place
    if (!daemon.life.alive) return
    daemon.life.die()
    for (const other of this.living) {
      if (this.scenario.faults.length > 1 && this.#random.chance(0.3)) continue // its watch has not noticed
      this.scheduler.after(200 + this.#random.int(600), () =>
        other.life.deliver(() => void other.sweep.now(daemon.id)),
      )
    }
  }

  restart(place: Place): void {
    if (place.daemon.life.alive) return
    place.stepsBefore += place.daemon.life.steps
    place.restarts++
    place.daemon = this.#start(place.index, place)
    this.tell(`${place.daemon.id} starts`)
  }

  get living(): SimDaemon[] {
    return this.places.map(({ daemon }) => daemon).filter(({ life }) => life.alive)
  }

  /** Daemons that do what they are asked. */
  get able(): SimDaemon[] {
    return this.living.filter(({ life, draining }) => life.runs && life.cut === 'none' && !draining)
  }

  get submitted(): boolean {
    return this.#open === 0
  }
  get atRest(): boolean {
    return [...this.watch.tasks.values()].every((task) => this.watch.atRest(task))
  }
  get ended(): boolean {
    return [...this.watch.tasks.values()].every((task) => task.ended !== null)
  }
  get idle(): boolean {
    return this.able.every(({ daemon }) => daemon.tasks.size === 0)
  }
  get faultsOver(): boolean {
    return this.#faults.over
  }
  get blows(): readonly Blow[] {
    return this.#faults.begun
  }

  endFaults(of: { all: boolean }): void {
    this.tell(of.all ? '--- all faults end' : '--- faults end')
    this.#faults.end(of)
  }

  standStill(when: string): void {
    if (!this.submitted) this.watch.broken('nothing stands still', `${when}, a submission is not answered`)
    for (const task of this.watch.tasks.values()) {
      if (when.startsWith('after') ? task.ended !== null : this.watch.atRest(task)) continue
      const last = task.events.at(-1)
      this.watch.broken(
        'nothing stands still',
        `${when}, ${task.log.task} stands at ${last?.type ?? '?'} since ${(last?.atMs ?? 0) - worldBegins} ms`,
      )
    }
  }

  holdSlots(): void {
    for (const { id, daemon } of this.able)
      if (daemon.tasks.size > 0)
        this.watch.broken(
          'a waiting task holds no slot',
          `${id} drives ${daemon.tasks.size} tasks that only wait`,
        )
  }

  decideAll(): void {
    for (const task of this.scenario.tasks)
      if (task.plan.approval) this.#decide(task)
      else if (task.plan.client === true) this.#answer(task)
  }

  drain(): { readonly id: string; over: boolean }[] {
    return this.living.map((daemon) => {
      const drained = { id: daemon.id, over: false }
      const draining = daemon.draining ? Promise.resolve() : daemon.drain(1_000)
      draining.then(
        () => (drained.over = true),
        (error: unknown) => this.watch.broken('no error is unheard', String(error)),
      )
      return drained
    })
  }

  /** Somebody who submits a task, and asks again when no answer comes. */
  #user(task: TaskOf): void {
    const named = { task_id: task.id, task: planText(task.plan) }
    const session = task.session === null ? {} : { session_id: task.session }
    this.#submit(task, { ...named, ...session })
    if (task.twice === 'same') this.#submit(task, { ...named, ...session })
    if (task.twice === 'other_session') this.#submit(task, { ...named, session_id: 'other' })
    const { cancelAtMs, decideAtMs, steerAtMs } = task
    steerAtMs.forEach((atMs, i) => {
      const text = { requestId: `s${i}`, text: `text ${i}` }
      for (const lateMs of [0, 50])
        this.scheduler.after(task.atMs + atMs + lateMs, () => this.#steer(task, text))
    })
    if (cancelAtMs !== null) this.scheduler.after(task.atMs + cancelAtMs, () => this.#cancel(task))
    if (decideAtMs !== null && task.plan.approval)
      this.scheduler.after(task.atMs + decideAtMs, () => this.#decide(task))
    // A client that had no answer in time sends its own again, and another one may be wrong.
    if (decideAtMs !== null && task.plan.client === true)
      for (const [lateMs, content] of [
        [0, 'blue'],
        [20, 'blue'],
        [40, 'red'],
      ] as const)
        this.scheduler.after(task.atMs + decideAtMs + lateMs, () => this.#answer(task, content))
  }

  #submit(task: TaskOf, request: Parameters<SimDaemon['submit']>[0]): void {
    this.#open++
    const over = (): void => void this.#open--
    this.scheduler.after(task.atMs, () =>
      this.#try((daemon) => daemon.submit(request).then(() => undefined), {
        over,
        final: (error) =>
          error instanceof BeaverError && error.code === 'conflict' && task.twice === 'other_session',
      }),
    )
  }

  #cancel(task: TaskOf): void {
    this.#command(
      task,
      { kind: 'cancel', reason: 'Cancelled on request.' },
      () =>
        this.watch.tasks.get(task.id)?.events.some(({ type }) => type === 'task_cancel_requested') === true,
    )
  }

  #steer(task: TaskOf, text: { readonly requestId: string; readonly text: string }): void {
    this.#command(
      task,
      { kind: 'steer', ...text },
      () => this.watch.tasks.get(task.id)?.steers.has(text.requestId) === true,
    )
  }

  #decide(task: TaskOf): void {
    const { approved } = task
    this.#command(task, { kind: 'decide', callId: 'c0', approved }, () => {
      const seen = this.watch.tasks.get(task.id)
      return (
        seen === undefined ||
        seen.events.some(({ type }) => type === 'approval_granted' || type === 'approval_denied')
      )
    })
  }

  #answer(task: TaskOf, content = 'blue'): void {
    this.#command(
      task,
      { kind: 'client', callId: 'c0', content },
      () => this.watch.tasks.get(task.id)?.clients.get(`${this.#runOf(task)} c0`) === 'answered',
    )
  }

  #runOf({ id }: TaskOf): string {
    return this.watch.tasks.get(id)?.events.find(({ runId }) => runId !== null)?.runId ?? ''
  }

  /** Sent again until it shows that it was done. */
  #command(task: TaskOf, command: Command, done: () => boolean): void {
    const seen = this.watch.tasks.get(task.id)
    if (done() || (seen !== undefined && seen.ended !== null)) return
    const again = (): void => void this.scheduler.after(retryMs, () => this.#command(task, command, done))
    if (seen === undefined) return again()
    this.#try((daemon) => daemon.command(seen.log, command), { over: again, final: () => true })
  }

  /** Asks one daemon after the other until one answers. */
  #try(
    ask: (daemon: SimDaemon) => Promise<void>,
    of: { over: () => void; final: (error: unknown) => boolean },
  ): void {
    const { able } = this
    const again = (): void => void this.scheduler.after(retryMs, () => this.#try(ask, of))
    if (able.length === 0) return again()
    const { life } = this.#random.pick(able)
    const daemon = this.#daemons.get(life.id) as SimDaemon
    let open = true
    const settle = (then: () => void): void => {
      if (!open) return
      open = false
      then()
    }
    this.scheduler.after(answerMsMax, () => settle(again))
    life.deliver(() => {
      ask(daemon).then(
        () => settle(of.over),
        (error: unknown) => settle(of.final(error) ? of.over : again),
      )
    })
  }
}
