// Breaks the lines for a screen between words; a terminal would break them anywhere. Text that a person may
// copy is not broken here: a command, a word without a space, a row of a table, code, JSON. The terminal
// breaks such text, and copies it whole. A continued line begins below the text of its first line: below the
// value of a field, or below the text of a list item. In scripts without spaces, a line may be broken between
// any two characters, but not before punctuation.
import { stripVTControlCharacters } from 'node:util'
import { commandName } from '../command-name.ts'
import { codeLines } from './code-lines.ts'
import { textWidth } from './width.ts'

/**
 * Replaces a space at which no line may be broken. No text for a screen contains this character, because
 * control characters are removed before.
 */
const held = '\u0000'

const data = /^\s*(?:\||"[^"]*": |"(?:[^"\\]|\\.)*",?$|[{[]\s*["{[]|[{}[\]]+,?$)/
const listItem = /^\s*(?:[-*>•›?·✔✖+x]|\d+[.)]) +/u
const fieldName = /^\s*[^\s.,;:!?][^\n.,;:!?]{0,13}? {2,}(?=\S)/u
const textColumnsMin = 24
const columnsUsual = 80

/**
 * The texts as they are written to stdout or stderr. Lines are broken between words if the stream is a
 * terminal.
 */
export function wrappedFor(
  { isTTY, columns }: Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>,
  ...texts: readonly string[]
): string {
  return (
    isTTY === true ? texts.map((text) => wrapScreen(text, columns || columnsUsual, commandName)) : texts
  ).join('\n')
}

/** @param command returns the command with which a person calls `beaver` here */
export function wrapScreen(text: string, columns: number, command: () => string): string {
  const isCode = codeLines()
  return text
    .split('\n')
    .flatMap((line) => {
      const plain = stripVTControlCharacters(line)
      if (isCode(plain) || textWidth(plain) <= columns || data.test(plain)) return [line]
      return wrapLine(holdCommands(line, command()), columns, indentOf(plain, columns)).map((part) =>
        part.replaceAll(held, ' '),
      )
    })
    .join('\n')
}

/**
 * Replaces the spaces in commands. A command in quotes ends with its closing quote. A command on its own line
 * or after a colon ends with the line or the sentence, or at a gap of two spaces. A command within a sentence
 * includes its options, and the values that are quoted, in angle brackets, or have a digit, an underscore or
 * a slash.
 */
function holdCommands(line: string, command: string): string {
  const name = String.raw`(?:[A-Z_]+=\S+ )*(?:beaver|${command.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)})`
  const value = String.raw`(?:--?[a-z][\w-]*|"[^"]*"|<[^>]+>|[\w./:-]*[\d_/][\w/:-]*)`
  const typed = new RegExp(
    String.raw`(?<=["\x60])${name} [^"\x60]+|(?<=^\s*(?:\u001B\[\d+m)*|: )${name} (?:(?! {2}|\. [A-Z]|\u001B).)+|${name} [a-z-]+(?: ${value})+`,
    'g',
  )
  return line.replaceAll(typed, (found) => found.replaceAll(' ', held))
}

function indentOf(plain: string, columns: number): string {
  const before = listItem.exec(plain)?.[0] ?? fieldName.exec(plain)?.[0] ?? /^\s*/.exec(plain)?.[0] ?? ''
  const width = textWidth(before)
  return ' '.repeat(columns - width < textColumnsMin ? 0 : width)
}

function wrapLine(line: string, columns: number, indent: string): string[] {
  const widthOf = (text: string): number => textWidth(text.replaceAll(held, ' '))
  const lines: string[] = []
  let part = ''
  for (const [at, piece] of piecesOf(line).entries()) {
    const longer = at === 0 ? piece : part + piece
    // Spaces at a break are dropped. The part before the text, such as the name of a field, is never alone on
    // its line.
    if (widthOf(part) > indent.length && part.trim() !== '' && widthOf(longer.trimEnd()) > columns) {
      lines.push(part.trimEnd())
      part = indent + piece.trimStart()
    } else part = longer
  }
  return [...lines, part]
}

/** The pieces that are not broken, each with the spaces before it. */
function piecesOf(line: string): string[] {
  return (
    line.match(/ +|[^ ]+/g)?.reduce<string[]>((pieces, run) => {
      const before = pieces.at(-1)?.trim() === '' ? (pieces.pop() ?? '') : ''
      if (run.startsWith(' ')) return [...pieces, run]
      const [first = '', ...more] = run.split(betweenWide)
      return [...pieces, before + first, ...more]
    }, []) ?? []
  )
}

const wide = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303F\uFF01-\uFF60]`
const closing = String.raw`[\u3001\u3002\u3009\u300B\u300D\u300F\u3011\u3015\u3017\uFF01\uFF09\uFF0C\uFF0E\uFF1A\uFF1B\uFF1F\uFF3D\uFF5D”’…、。]`
const opening = String.raw`[\u3008\u300A\u300C\u300E\u3010\u3014\u3016\uFF08\uFF3B\uFF5B“‘]`
const betweenWide = new RegExp(
  String.raw`(?<=${wide}|${closing})(?<!${opening})(?!${closing})|(?<!${opening})(?=${wide})(?!${closing})`,
  'u',
)
