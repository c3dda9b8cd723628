// Shows the progress of a long reading on a terminal, as one line that is replaced. Without a terminal it shows nothing.
import type { Screen } from '../screen.ts'
import { count, counted } from '../text/figures.ts'

export interface Progress {
  /** `at` and `last` are messages of the journal. */
  show(doing: string, at: number, last: number, events?: number): void
  end(): void
}

const everyMs = 100

export function progressOn(screen: Screen, wanted: boolean): Progress {
  let shownAt = 0
  const live = wanted && screen.live
  return {
    show(doing, at, last, events) {
      const now = performance.now()
      if (!live || now - shownAt < everyMs) return
      shownAt = now
      const of = events === undefined ? '' : `, ${counted(events, 'event')}`
      screen.passing(screen.style.dim(`${doing}: message ${count(at)} of ${count(last)}${of}`))
    },
    end() {
      if (live) screen.passing(null)
    },
  }
}
