// Colours and symbols, which a screen chooses once. Without colours, the functions return their texts
// unchanged.
import pc from 'picocolors'

export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

export interface Symbols {
  readonly done: string
  readonly failed: string
  readonly blocked: string
  readonly cancelled: string
  readonly skipped: string
  readonly waiting: string
  readonly active: string
  /** Something waits for a person. */
  readonly asks: string
  /** The frames of the spinner. A spinner with one frame does not turn. */
  readonly spinner: readonly string[]
  readonly branch: string
  readonly lastBranch: string
  readonly trunk: string
  /** Comes before text that an agent is writing. */
  readonly quote: string
  readonly ellipsis: string
  readonly dot: string
  readonly rule: string
}

export function styleOf(colours: boolean): Style {
  const { bold, dim, red, green, yellow, cyan } = pc.createColors(colours)
  return { bold, dim, red, green, yellow, cyan }
}

const unicode: Symbols = {
  done: '✔',
  failed: '✖',
  blocked: '⊘',
  cancelled: '◌',
  skipped: '↷',
  waiting: '·',
  active: '▸',
  asks: '?',
  spinner: ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'],
  branch: '├─ ',
  lastBranch: '└─ ',
  trunk: '│  ',
  quote: '›',
  ellipsis: '…',
  dot: '·',
  rule: '─',
}

const ascii: Symbols = {
  done: '+',
  failed: 'x',
  blocked: '!',
  cancelled: '-',
  skipped: '~',
  waiting: '.',
  active: '>',
  asks: '?',
  spinner: ['|', '/', '-', '\\'],
  branch: '|- ',
  lastBranch: '`- ',
  trunk: '|  ',
  quote: '>',
  ellipsis: '...',
  dot: '-',
  rule: '-',
}

/** @param options `utf8`: whether the terminal shows Unicode. `turning`: whether a spinner may turn */
export function symbolsOf(options: { utf8: boolean; turning: boolean }): Symbols {
  const set = options.utf8 ? unicode : ascii
  return options.turning ? set : { ...set, spinner: [set.active] }
}
