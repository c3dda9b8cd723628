import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { smallTerminal, type SmallTerminal } from '../../test/small-terminal.ts'
import * as log from '../../test/task-events.ts'
import type { Screen } from '../screen.ts'
import { styleOf, symbolsOf } from '../text/style.ts'
import { liveText } from '../view/live-text.ts'
import { liveView } from './present-task.ts'

const screenOn = (terminal: SmallTerminal): Screen => ({
  print: (...lines) => terminal.write(`${lines.join('\n')}\n`),
  json: () => {},
  jsonLine: () => {},
  write: (text) => terminal.write(text),
  control: (sequences, text = '') => terminal.write(sequences + text),
  paced: async () => {},
  passing: () => {},
  warn: () => {},
  live: true,
  interactive: true,
  columns: terminal.columns,
  rows: terminal.rows,
  style: styleOf(false),
  errorStyle: styleOf(false),
  symbols: symbolsOf({ utf8: true, turning: true }),
})
const options = { foot: 'Ctrl-C stops watching', command: 'beaver', liveTexts: liveText() }
const frames = (n: number): unknown => vi.advanceTimersByTime(n * 100)
const agents = (n: number) => log.teamStarted(...Array.from({ length: n }, (_, i) => `agent ${i}`))
const largeTeam = () =>
  log.foldView(log.recorded([...log.teamAtWork.slice(0, 5), agents(60), log.nodeStarted('agent 0')]))

beforeEach(() => void vi.useFakeTimers({ now: log.startedAt }))
afterEach(() => void vi.useRealTimers())

describe('a view that reaches the first row', () => {
  test('leaves nothing in the history of the terminal, whatever it draws', () => {
    const terminal = smallTerminal(80, 24)
    const view = liveView(screenOn(terminal), largeTeam(), options)
    frames(80)
    expect(terminal.history).toEqual([])
    expect(terminal.screen()[0]).toBe('Report on this folder')
    expect(terminal.screen().at(-1)).toBe('Ctrl-C stops watching')
    expect(terminal.screen().filter((line) => line.includes('agent 0 '))).toHaveLength(1)
    view.finish()
  })

  test('is gone during a question, and comes back below it', () => {
    const terminal = smallTerminal(80, 24)
    const view = liveView(screenOn(terminal), largeTeam(), options)
    frames(3)
    const resume = view.pause()
    expect(terminal.screen()).toEqual([])
    terminal.write('Allow it? [y/N] y\n')
    resume()
    frames(30)
    expect([...terminal.history, ...terminal.screen()].slice(0, 2)).toEqual([
      'Allow it? [y/N] y',
      'Report on this folder',
    ])
    expect(terminal.history.length).toBeLessThanOrEqual(1)
    view.finish()
  })

  test('is erased whole after the window became narrower', () => {
    const terminal = smallTerminal(40, 24)
    let columns = 40
    const screen = {
      ...screenOn(terminal),
      get columns() {
        return columns
      },
    }
    const view = liveView(screen, log.foldView(log.recorded(log.teamAtWork)), options)
    columns = 30
    frames(1)
    expect(terminal.screen().filter((line) => line.startsWith('Report on'))).toHaveLength(1)
    view.finish()
  })
})
