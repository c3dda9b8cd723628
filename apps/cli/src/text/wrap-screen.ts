// Breaks what a screen prints between words, where a terminal would break it anywhere.
// W1. What is to be copied is not broken: a command, a word without a space, a row of a table, code, JSON. The terminal breaks it, and copies it whole.
// W2. A continued line stands below the text of its line: below the value of a field, below the text of a list's item.
import { stripVTControlCharacters } from 'node:util'
import { commandName } from '../command-name.ts'
import { textWidth } from './width.ts'

/** Stands for a space at which no line is broken. No text on a screen has it: control characters are removed before. */
const held = '\u0000'

const fence = /^\s*(?:`{3,}|~{3,})/
const data = /^\s*["|{}[\]]/
const listItem = /^\s*(?:[-*>•›?·✔✖+x]|\d+[.)]) +/u
const fieldName = /^\s*\S[^\n]{0,13}? {2,}(?=\S)/u
const textColumnsMin = 24

/** The text as it is written to stdout or stderr: broken between words, if that is a terminal. */
export function wrappedFor({ isTTY, columns }: Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>, text: string): string {
  return isTTY === true ? wrapScreen(text, columns || columnsUsual, commandName) : text
}

const columnsUsual = 80

/** @param command how a person calls `beaver` here */
export function wrapScreen(text: string, columns: number, command: () => string): string {
  let isCode = false
  return text
    .split('\n')
    .flatMap((line) => {
      const plain = stripVTControlCharacters(line)
      if (fence.test(plain)) isCode = !isCode
      if (isCode || textWidth(plain) <= columns || data.test(plain)) return [line]
      return wrapLine(holdCommands(line, command()), columns, indentOf(plain, columns)).map((part) => part.replaceAll(held, ' '))
    })
    .join('\n')
}

/** A command ends where its quote ends; without a quote, where the line ends or at a gap of two spaces. */
function holdCommands(line: string, command: string): string {
  const name = command.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  const typed = new RegExp(String.raw`(?<=["\x60])${name} [^"\x60]+|(?<=^\s*|: )${name} (?:(?! {2}).)+`, 'g')
  return line.replaceAll(typed, (found) => found.replaceAll(' ', held))
}

function indentOf(plain: string, columns: number): string {
  const before = listItem.exec(plain)?.[0] ?? fieldName.exec(plain)?.[0] ?? /^\s*/.exec(plain)?.[0] ?? ''
  const width = textWidth(before)
  return ' '.repeat(columns - width < textColumnsMin ? 0 : width)
}

function wrapLine(line: string, columns: number, indent: string): string[] {
  const widthOf = (text: string): number => textWidth(stripVTControlCharacters(text).replaceAll(held, ' '))
  const lines: string[] = []
  const [first = '', ...words] = line.split(' ')
  let part = first
  for (const word of words) {
    const longer = `${part} ${word}`
    const isBlank = part.trim() === ''
    // Spaces before the first word are kept, and those at which a line is broken are not.
    if (!isBlank && widthOf(longer) > columns) {
      lines.push(part.trimEnd())
      part = indent + word
    } else part = isBlank && lines.length > 0 ? indent + word : longer
  }
  return [...lines, part]
}
