// Compares the pattern of a rule with a command. A rule that asks or denies holds if the call starts a
// command that the pattern covers; it could hold if nobody can read what the call starts. A rule that allows
// holds for one plain command, as it is written: what this starts besides must be named by the pattern before
// its first `*`.
import { matchesPattern } from '../rule-pattern.ts'
import { knownOf } from './known-programs.ts'
import { commandLine, programName, readLine, type ReadCommand } from './read-command.ts'
import { isPlainScript, readingsOf } from './readings.ts'

/** How a rule that asks or denies holds. */
export interface Held {
  /** As which command, if that is not the line itself. */
  readonly as: string | null
  /** Whether it only could hold, because nobody can read the whole command. */
  readonly possible: boolean
}

/** A command line that rules are compared with. It is read only if a rule needs it. */
export interface JudgedLine {
  restricts(pattern: string): Held | null
  allows(pattern: string): boolean
}

export function judgedLine(line: string): JudgedLine {
  const words = readLine(line)
  let written: readonly WrittenCommand[] | undefined
  return {
    restricts(pattern) {
      if (matchesPattern(pattern, line)) return { as: null, possible: false }
      const spellings = spellingsOf(pattern)
      const commands = (written ??= readingsOf(words ?? line).map(writtenOf))
      const held = commands.find((command) => spellings.some((each) => isOf(each, command)))
      if (held !== undefined) return { as: shownAs(held), possible: false }
      const possible = commands.find((command) => spellings.some((each) => couldBe(each, command)))
      return possible === undefined ? null : { as: shownAs(possible), possible: true }
    },
    allows(pattern) {
      if (!matchesPattern(pattern, line)) return false
      if (/^\**$/.test(pattern) || pattern === line) return true
      return words !== null && isNamed(words, pattern)
    },
  }
}

/** Whether a pattern that allows holds for a command. */
export const allowsCommand = (pattern: string, command: readonly string[]): boolean =>
  judgedLine(commandLine(command)).allows(pattern)

/**
 * Whether the words of a pattern before its first `*` name everything that the command starts. `git *` names
 * whatever git starts, and `sh -c *` every script.
 */
function isNamed(words: readonly string[], pattern: string): boolean {
  const [head = '', ...rest] = pattern.split('*')
  const trailing = rest.every((part) => part === '')
  let fixed = 0
  while (fixed < words.length && head.startsWith(`${commandLine(words.slice(0, fixed + 1))} `)) fixed++
  const reaches = head.length > commandLine(words.slice(0, fixed)).length + (fixed === 0 ? 0 : 1)
  if (pattern === commandLine(words) || (fixed === 1 && !reaches && trailing)) return true
  return knownOf({ words, open: false }).inside.every((inside) => {
    const { by, from, guessed } = inside
    if (guessed) return !('script' in inside) || from < fixed
    if (by >= fixed) return false
    if (trailing && (fixed < from || (fixed === from && !reaches))) return true
    if ('script' in inside) return isPlainScript(inside.script)
    if (inside.command.words.length === 0) return true
    const before = `${commandLine(words.slice(0, from))} `
    const inner = head.startsWith(before)
      ? pattern.slice(before.length)
      : pattern.slice(head.length).replace(/^\*+ */, '')
    return matchesPattern(inner, commandLine(inside.command.words)) && isNamed(inside.command.words, inner)
  })
}

/** The pattern, and the pattern with the program by its name alone. */
function spellingsOf(pattern: string): string[] {
  const [, program = '', rest = ''] = /^(\S*)(.*)$/s.exec(pattern) ?? []
  const folder = program.slice(0, Math.max(program.lastIndexOf('/'), program.lastIndexOf('\\')) + 1)
  return folder.includes('*') ? [pattern, pattern.normalize('NFC')] : [pattern, programName(program) + rest]
}

interface WrittenCommand {
  readonly bare: string
  readonly quoted: string
  readonly open: boolean
}

const writtenOf = ({ words, open }: ReadCommand): WrittenCommand => ({
  bare: words.join(' '),
  quoted: commandLine(words),
  open,
})

const shownAs = ({ bare, quoted, open }: WrittenCommand): string =>
  bare === '' ? 'something that cannot be read' : `${quoted}${open ? ' …' : ''}`

const isOf = (pattern: string, { bare, quoted }: WrittenCommand): boolean =>
  bare !== '' && (matchesPattern(pattern, bare) || matchesPattern(pattern, quoted))

function couldBe(pattern: string, { bare, open }: WrittenCommand): boolean {
  if (!open) return false
  const known = bare === '' ? '' : `${bare} `
  const [head = '', ...rest] = pattern.split('*')
  return head.startsWith(known) || (rest.length > 0 && known.startsWith(head))
}
