// Tells readers which tasks changed, after their rows are in the read model, so that a reader who asks again
// gets the new rows. It merges the changes of many batches: it tells at most ten times a second, and while
// the projector is behind the journal at most once in `behindMs`. Nothing is sent while nothing changes.
import { type ChangedMessage, type ChangedTask, MergedChanges } from '@beaver/contracts'
import type { Clock } from '@beaver/core'

/** The shortest time between two messages. */
const everyMs = 100
/** The same while the projector is behind, for example while it builds the read model. */
const behindMs = 5_000

/** A part of the journal that the read model has applied. */
export interface AppliedPart {
  /** The last message that is applied. */
  readonly sequence: number
  readonly tasks: readonly ChangedTask[]
  /** Whether nothing more is stored. */
  readonly caughtUp: boolean
}

export interface TellerParts {
  /** Names this process of a projector. */
  readonly projector: string
  readonly clock: Clock
  readonly tell: (message: ChangedMessage) => void
}

export class ChangeTeller {
  readonly #parts: TellerParts
  readonly #changes = new MergedChanges()
  #toldAtMs: number
  #toldTo = 0
  #caughtUp = false
  #timer: { readonly dueMs: number; cancel(): void } | null = null

  constructor(parts: TellerParts) {
    this.#parts = parts
    this.#toldAtMs = parts.clock.now()
  }

  /**
   * Call it when the following of the journal begins, also again after a fault: the rows may be other ones.
   * This is told with the next applied part.
   */
  begun(sequence: number): void {
    this.#changes.reset(sequence)
    this.#toldAtMs = this.#parts.clock.now()
  }

  /** Call it after the rows are stored. */
  applied({ sequence, tasks, caughtUp }: AppliedPart): void {
    this.#caughtUp = caughtUp
    this.#changes.add(sequence, tasks)
    this.#tellInTime()
  }

  /** Call it when messages may have been lost on their way. */
  lost(): void {
    this.#changes.reset()
    this.#tellInTime()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  #tellInTime(): void {
    if (this.#changes.isEmpty) return
    const { clock } = this.#parts
    const dueMs = this.#toldAtMs + (this.#caughtUp ? everyMs : behindMs)
    if (dueMs <= clock.now()) return this.#tell()
    if (this.#timer?.dueMs === dueMs) return
    this.#timer?.cancel()
    const { cancel } = clock.after(dueMs - clock.now(), () => this.#tell())
    this.#timer = { dueMs, cancel }
  }

  #tell(): void {
    this.stop()
    const change = this.#changes.take()
    if (change === null) return
    const { projector, clock, tell } = this.#parts
    const sequence = change.sequence ?? 0
    const tasks = change.kind === 'changed' ? [...change.tasks] : []
    tell({ projector, after: this.#toldTo, sequence, reset: change.kind === 'reset', tasks })
    this.#toldAtMs = clock.now()
    this.#toldTo = sequence
  }
}
