// Draws frames in place on a terminal, at most ten times a second. A frame is one write, and an unchanged frame
// is not written. Nothing is drawn during a pause. The cursor is shown again, however the process ends. A
// narrower window wraps the lines on the screen, so the rows that they take are counted, and all of them are
// erased. They are erased line by line, and only the last frame may scroll: tmux and other terminals copy a
// screen that is erased from its first to its last row into their history, which would get ten copies a second.
import { writeSync } from 'node:fs'
import type { Screen } from '../screen.ts'
import { rowsOf } from '../text/width.ts'

/** What is drawn now. */
export interface Frame {
  /** The number of the frame, from 1, for what turns. */
  readonly number: number
  readonly columns: number
  readonly rows: number
  /** Whether this frame stays on the screen, after the last one. */
  readonly isLast: boolean
}

export interface LiveFrames {
  /** Draws now, without waiting for the next frame. */
  draw(): void
  /**
   * Removes the frame from the screen, for a question. The returned function draws it again, below what was
   * printed in the meantime.
   */
  pause(): () => void
  /** Draws the last frame and leaves it on the screen. */
  finish(): void
}

const frameMs = 100
const hideCursor = '\u001B[?25l'
const showCursor = '\u001B[?25h'

/**
 * Starts drawing. `finish` must be called at the end.
 *
 * @param render the lines of a frame
 * @param options `lastRowsMin`: the last frame may be that high, and scroll. Default: 0
 */
export function liveFrames(
  screen: Screen,
  render: (frame: Frame) => readonly string[],
  { lastRowsMin = 0 }: { readonly lastRowsMin?: number } = {},
): LiveFrames {
  let drawn: readonly string[] = []
  let number = 0
  let finished = false
  process.once('exit', restore)
  screen.control(hideCursor)

  const eraseDrawn = (): string => {
    const rows = drawn.reduce((sum, line) => sum + rowsOf(line, screen.columns), 0)
    const up = rows === 0 ? '' : `\u001B[${rows}A`
    return `${up}\r${'\u001B[K\u001B[B'.repeat(rows)}\u001B[K${up}`
  }
  function draw(rows: number, isLast: boolean): void {
    const lines = render({ number, columns: screen.columns - 1, rows, isLast })
    if (lines.length === drawn.length && lines.every((line, i) => line === drawn[i])) return
    screen.control(eraseDrawn(), `${lines.join('\n')}\n`)
    drawn = lines
  }
  const tick = (): void => {
    number++
    draw(screen.rows - 1, false)
  }
  tick()
  let timer: NodeJS.Timeout | null = setInterval(tick, frameMs)
  const still = (): void => {
    if (timer !== null) clearInterval(timer)
    timer = null
  }

  return {
    draw() {
      if (timer !== null) tick()
    },
    pause() {
      // A question has already paused the view.
      if (timer === null) return () => {}
      still()
      screen.control(eraseDrawn() + showCursor)
      drawn = []
      return () => {
        if (timer !== null || finished) return
        screen.control(hideCursor)
        tick()
        timer = setInterval(tick, frameMs)
      }
    },
    finish() {
      still()
      finished = true
      draw(Math.max(screen.rows - 1, lastRowsMin), true)
      process.off('exit', restore)
      restore()
    },
  }
}

function restore(): void {
  try {
    writeSync(1, showCursor)
  } catch {
    // The terminal is gone.
  }
}
