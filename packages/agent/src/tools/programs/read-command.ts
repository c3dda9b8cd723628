// The form in which rules see a program that starts: its words, or their beginning.

/** A command that a call may start. */
export interface ReadCommand {
  /** The program and its arguments, as far as they are known. */
  readonly words: readonly string[]
  /** Whether any other words may follow. */
  readonly open: boolean
}

/** A command of which nothing is known. Every rule that asks or denies holds for it. */
export const anything: ReadCommand = { words: [], open: true }

/** The words as a line to type in a POSIX shell. Other words give another line. */
export const commandLine = (words: readonly string[]): string =>
  words.map((each) => (/^[\w@%+=:,./-]+$/.test(each) ? each : `'${each.replaceAll("'", `'\\''`)}'`)).join(' ')

/**
 * The words of a line that `commandLine` made, or that says as little. `null`: only a shell could read it.
 */
export function readLine(line: string): string[] | null {
  if (!/^(?:[\w@%+=:,./-]|'[^']*'|\\'| (?! |$))+$/.test(line) || line.startsWith(' ')) return null
  const words = [...line.matchAll(/(?:[^ '\\]|'[^']*'|\\')+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|\\(')/g, '$1$2'),
  )
  return /^\w+=/.test(words[0] ?? '') ? null : words
}

/**
 * The name by which a program is known, whatever folder it is started from. A file system may ignore case.
 */
export const programName = (program: string): string =>
  program
    .slice(Math.max(program.lastIndexOf('/'), program.lastIndexOf('\\')) + 1)
    .normalize('NFC')
    .toLowerCase()
    .replace(/\.(?:exe|cmd|bat|com)$/, '')

/** The words before the first that another program fills in: `{}` of find and xargs. */
export function beforeFilled(command: ReadCommand, filled = '{}'): ReadCommand {
  const at = command.words.findIndex((word) => filled !== '' && word.includes(filled))
  return at === -1 ? command : { words: command.words.slice(0, at), open: true }
}

/** What a command starts. `by` is the place of the word that says so; the program has the place 0. */
export type Inside = InsideCommand | InsideScript

interface InsideCommand {
  readonly by: number
  readonly command: ReadCommand
  /** The place where it begins. */
  readonly from: number
  /** Whether it is one of many guesses, so that what else its arguments could name is left out. */
  readonly guessed: boolean
}

interface InsideScript {
  readonly by: number
  /** A shell reads it. */
  readonly script: string
  readonly from: number
  readonly guessed: boolean
}
