// The live view: draws a task in place on a terminal, at most ten times a second.
// L1. The cursor is shown again however the process ends. L2. One write a frame; nothing is written when nothing changed.
// L3. A narrower window wraps what was drawn; that is counted, so that the whole frame is erased.
import { writeSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import type { Screen } from '../screen.ts'
import { textWidth } from '../text/width.ts'
import { renderTask } from './render-task.ts'
import type { TaskView } from './task-view.ts'

export interface LiveView {
  /** Said in yellow until it is set to null. */
  notice: string | null
  /** Draws the last frame, without a foot, and leaves it on the screen. */
  finish(): void
}

const frameMs = 100
const hideCursor = '\u001B[?25l'
const showCursor = '\u001B[?25h'
const finalRowsMin = 60

export function liveView(screen: Screen, view: TaskView, foot: string): LiveView {
  let drawn: readonly string[] = []
  let frame = 0
  let notice: string | null = null
  const restore = (): void => {
    try {
      writeSync(1, showCursor)
    } catch {
      // the terminal is gone
    }
  }
  process.once('exit', restore)
  screen.raw(hideCursor)

  function draw(lines: readonly string[]): void {
    if (lines.length === drawn.length && lines.every((line, i) => line === drawn[i])) return
    const up = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(textWidth(stripVTControlCharacters(line)) / screen.columns)), 0)
    screen.raw(`${up === 0 ? '' : `\u001B[${up}A`}\r\u001B[J${lines.join('\n')}\n`)
    drawn = lines
  }

  const render = (rows: number, footLine: string | null): string[] =>
    renderTask(view, { now: Date.now(), columns: screen.columns - 1, rows, frame, style: screen.style, symbols: screen.symbols, foot: footLine, notice })
  const tick = (): void => {
    frame++
    draw(render(screen.rows - 1, foot))
  }
  tick()
  const timer = setInterval(tick, frameMs)

  return {
    get notice() {
      return notice
    },
    set notice(text) {
      notice = text
    },
    finish() {
      clearInterval(timer)
      notice = null
      draw(render(Math.max(screen.rows - 1, finalRowsMin), null))
      process.off('exit', restore)
      restore()
    },
  }
}
