// Shows the progress of long work on a terminal, as one line that is replaced. Without a terminal, it shows
// nothing.
import type { Screen } from '../screen.ts'
import { count, counted } from '../text/figures.ts'

export interface Progress {
  /** Shows how many messages of the journal were processed: `at` of `last`. */
  show(doing: string, at: number, last: number, events?: number): void
  /** Shows any text. */
  say(text: string): void
  end(): void
}

const everyMs = 100

/** The progress on this screen. It is shown only if `wanted`, at most every `everyMs`. */
export function progressOn(screen: Screen, wanted: boolean): Progress {
  let shownAt = 0
  const live = wanted && screen.live
  const say = (text: string): void => {
    const now = performance.now()
    if (!live || now - shownAt < everyMs) return
    shownAt = now
    screen.passing(screen.style.dim(text))
  }
  return {
    show: (doing, at, last, events) =>
      say(
        `${doing}: message ${count(at)} of ${count(last)}${events === undefined ? '' : `, ${counted(events, 'event')}`}`,
      ),
    say,
    end() {
      if (live) screen.passing(null)
    },
  }
}
