// Compares the pattern of a rule with a command. A rule that asks or denies holds if the call could start a
// command that the pattern covers. A rule that allows holds for one plain command, as it is written. A
// pattern that reaches into a script of a shell does not cover more of it.
import { matchesPattern } from '../rule-pattern.ts'
import { commandLine, programName, readLine, type ReadCommand } from './read-command.ts'
import { isPlainScript } from './inside-shell.ts'
import { type Readings, readingsOf } from './readings.ts'

/** A command line that rules are compared with. It is read only if a rule needs it. */
export interface JudgedLine {
  /** Whether a rule that asks or denies holds. Says as which command, if that is not the line itself. */
  restricts(pattern: string): { readonly as: string | null } | null
  allows(pattern: string): boolean
}

export function judgedLine(line: string): JudgedLine {
  const words = readLine(line)
  let read: Readings | undefined
  let written: readonly WrittenCommand[] | undefined
  const readings = (): Readings => (read ??= readingsOf(words ?? line))
  return {
    restricts(pattern) {
      if (matchesPattern(pattern, line)) return { as: null }
      const spellings = spellingsOf(pattern)
      const found = (written ??= readings().commands.map(writtenOf)).find((command) =>
        spellings.some((each) => couldBe(each, command)),
      )
      if (found === undefined) return null
      return {
        as: found.bare === '' ? 'something that cannot be read' : `${found.quoted}${found.open ? ' …' : ''}`,
      }
    },
    allows(pattern) {
      if (!matchesPattern(pattern, line)) return false
      if (/^\**$/.test(pattern) || pattern === line) return true
      if (words === null) return false
      const { scripts } = readings()
      const at = words.findIndex((word) => scripts.includes(word))
      if (at === -1 || isPlainScript(words[at] ?? '')) return true
      const [head = '', ...rest] = pattern.split('*')
      return rest.every((part) => part === '') && head.length <= commandLine(words.slice(0, at)).length + 1
    },
  }
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

function couldBe(pattern: string, { bare, quoted, open }: WrittenCommand): boolean {
  if (matchesPattern(pattern, bare) || matchesPattern(pattern, quoted)) return true
  if (!open) return false
  const known = bare === '' ? '' : `${bare} `
  const [head = '', ...rest] = pattern.split('*')
  return head.startsWith(known) || (rest.length > 0 && known.startsWith(head))
}
