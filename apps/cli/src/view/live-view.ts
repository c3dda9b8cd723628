// The live view: it draws a task in place on a terminal, at most ten times a second. However the process
// ends, the cursor is shown again. A frame is one write. Nothing is written if nothing changed. A narrower
// window wraps what was drawn. The view counts these lines and erases the whole frame. Nothing is drawn while
// the view is paused. What was drawn is erased line by line, and only the last frame may scroll. tmux and
// other terminals keep a screen that is erased from its first row to its end in their history: a view that
// reaches this row would put a copy there ten times a second.
import { writeSync } from 'node:fs'
import type { Screen } from '../screen.ts'
import type { LiveText } from './live-text.ts'
import { renderTask, rowsOf } from './render-task.ts'
import type { TaskView } from './task-view.ts'

export interface LiveView {
  /** Shown in yellow until it is set to null. */
  notice: string | null
  /**
   * Removes the view from the screen, for a question. The returned function brings it back, below what was
   * printed meanwhile.
   */
  pause(): () => void
  /** Draws the last frame without a foot, and leaves it on the screen. */
  finish(): void
}

const frameMs = 100
const hideCursor = '\u001B[?25l'
const showCursor = '\u001B[?25h'
const finalRowsMin = 60

export interface LiveOptions {
  readonly foot: string
  /** How a person calls `beaver` here. */
  readonly command: string
  readonly said: LiveText
}

export function liveView(screen: Screen, view: TaskView, options: LiveOptions): LiveView {
  const { foot, command, said } = options
  let drawn: readonly string[] = []
  let frame = 0
  let notice: string | null = null
  let finished = false
  process.once('exit', restore)
  screen.control(hideCursor)

  const eraseDrawn = (): string => {
    const rows = drawn.reduce((sum, line) => sum + rowsOf(line, screen.columns), 0)
    const up = rows === 0 ? '' : `\u001B[${rows}A`
    return `${up}\r${'\u001B[K\u001B[B'.repeat(rows)}\u001B[K${up}`
  }
  function draw(lines: readonly string[]): void {
    if (lines.length === drawn.length && lines.every((line, i) => line === drawn[i])) return
    screen.control(eraseDrawn(), `${lines.join('\n')}\n`)
    drawn = lines
  }

  const render = (rows: number, footLine: string | null): string[] => {
    const { columns, style, symbols } = screen
    return renderTask(view, {
      now: Date.now(),
      columns: columns - 1,
      rows,
      frame,
      style,
      symbols,
      foot: footLine,
      notice,
      command,
      said,
    })
  }
  const tick = (): void => {
    frame++
    draw(render(screen.rows - 1, foot))
  }
  tick()
  let timer: NodeJS.Timeout | null = setInterval(tick, frameMs)
  const still = (): void => {
    if (timer !== null) clearInterval(timer)
    timer = null
  }

  return {
    get notice() {
      return notice
    },
    set notice(text) {
      notice = text
    },
    pause() {
      // A question has the screen.
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
      notice = null
      draw(render(Math.max(screen.rows - 1, finalRowsMin), null))
      process.off('exit', restore)
      restore()
    },
  }
}

function restore(): void {
  try {
    writeSync(1, showCursor)
  } catch {
    // the terminal is gone
  }
}
