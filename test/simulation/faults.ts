// The faults of a scenario: when each of them begins, what it does, and how it ends. A fault begins behind an
// event of its daemon: between any two of its awaits. One daemon at least is able when faults last.
import type { Blow } from './prompt.ts'
import type { Fault } from './scenario.ts'
import type { Place, World } from './world.ts'

interface Open {
  readonly fault: Fault
  readonly end: () => void
}

const cutOf = { cut_requests: 'requests', cut_answers: 'answers' } as const

export class FaultsOf {
  readonly #world: World
  #due: readonly Fault[]
  #open: Open[] = []
  /** Those that began. */
  readonly begun: Blow[] = []

  constructor(world: World) {
    this.#world = world
    this.#due = world.scenario.faults
  }

  /** Whether those that began are over. The others wait for events that may never come. */
  get over(): boolean {
    return this.#open.every(({ fault }) => fault.lasts)
  }

  /** Begins what is due. */
  look(): void {
    if (this.#due.length === 0) return
    const isDue = (fault: Fault): boolean => {
      const { stepsBefore, daemon } = this.#world.places[fault.daemon] as Place
      return stepsBefore + daemon.life.steps >= fault.afterSteps
    }
    const due = this.#due.filter(isDue)
    if (due.length === 0) return
    this.#due = this.#due.filter((fault) => !due.includes(fault))
    for (const fault of due) this.#begin(fault)
  }

  /** Ends those that are open; what is not due yet never comes. */
  end({ all }: { all: boolean }): void {
    this.#due = []
    const open = this.#open
    this.#open = []
    for (const each of open) {
      if (!all && each.fault.lasts && this.#othersAreAble(each.fault)) this.#open.push(each)
      else each.end()
    }
  }

  /** Others than the one it befalls, whom nothing befalls that lasts. */
  #othersAreAble({ daemon }: Fault): boolean {
    if (this.#world.places.length === 1) return false
    const hit = new Set(this.#open.map(({ fault }) => fault.daemon))
    return this.#world.places.some(
      ({ index, daemon: { draining } }) => index !== daemon && !hit.has(index) && !draining,
    )
  }

  #begin(fault: Fault): void {
    const place = this.#world.places[fault.daemon] as Place
    this.#world.tell(
      `*** ${fault.kind} ${place.daemon.id} (${fault.forMs} ms${fault.lasts ? ', lasts' : ''}, ${fault.probability})`,
    )
    this.begun.push({
      source: `/beaver/daemons/${place.daemon.id}`,
      kind: fault.kind,
      atMs: this.#world.scheduler.now(),
    })
    const end = this.#act(fault, place)
    if (end === null) return
    const open: Open = {
      fault,
      end: () => {
        this.#world.tell(`*** ${fault.kind} of place ${place.index + 1} is over`)
        end()
      },
    }
    this.#open.push(open)
    this.#world.scheduler.after(fault.forMs, () => {
      if (fault.lasts || !this.#open.includes(open)) return
      this.#open = this.#open.filter((each) => each !== open)
      open.end()
    })
  }

  /** @returns what ends it; `null` when it is over at once */
  #act({ kind, probability, forMs }: Fault, place: Place): (() => void) | null {
    const { daemon } = place
    const { life, lies } = daemon
    const { server, scheduler } = this.#world
    switch (kind) {
      case 'crash':
        this.#world.crash(place)
        return () => this.#world.restart(place)
      case 'stop':
        life.stop()
        return () => life.goOn()
      case 'cut_requests':
      case 'cut_answers':
        life.cut = cutOf[kind]
        life.cutSince = scheduler.now()
        return () => void (life.cut = 'none')
      case 'lose_commands':
        life.lost.commands = probability
        return () => void (life.lost.commands = 0)
      case 'lose_answers':
        life.lost.answers = probability
        return () => void (life.lost.answers = 0)
      case 'lose_hints':
        life.lost.hints = probability
        return () => void (life.lost.hints = 0)
      case 'fail_reads':
        life.reads.fail = probability
        return () => void (life.reads.fail = 0)
      case 'stale_reads':
        life.reads.stale = probability
        return () => void (life.reads.stale = 0)
      case 'double_deliveries':
        server.queue.doubled = probability
        return () => void (server.queue.doubled = 0)
      case 'lose_queue':
        server.queue.lose(probability)
        return null
      case 'recreate_consumer':
        server.queue.recreate()
        return null
      case 'clock':
        // Daemons measure time by a clock that no jump of the wall clock moves: a wrong one counts from the
        // next start on.
        place.offsetMs += (probability < 1 ? -1 : 1) * (90_000_000 - forMs)
        this.#world.crash(place)
        return () => this.#world.restart(place)
      case 'lag_read_model':
        server.readModel.lagMs = forMs
        return () => void (server.readModel.lagMs = 0)
      case 'away_read_model':
        server.readModel.away = true
        return () => void (server.readModel.away = false)
      case 'lie_gone':
        lies.gone = probability
        return () => void (lies.gone = 0)
      case 'lie_silent':
        lies.silent = probability
        return () => void (lies.silent = 0)
      case 'drain':
        return this.#drain(place, forMs)
      case 'lose_thread':
        daemon.pool.lose()
        return null
      default:
        return kind satisfies never
    }
  }

  #drain(place: Place, forMs: number): (() => void) | null {
    const { daemon } = place
    if (!daemon.life.alive || daemon.draining) return null
    let over = false
    const restart = (): void => {
      over = true
      daemon.life.die()
      this.#world.restart(place)
    }
    daemon.drain(Math.min(forMs, 5_000)).then(
      () => over || (this.#world.tell(`${daemon.id} has drained`), restart()),
      (error: unknown) => this.#world.watch.broken('no error is unheard', String(error)),
    )
    return () => over || restart()
  }
}
