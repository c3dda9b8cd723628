import { expect, test } from 'vitest'
import { commands, everyDay } from './command-table/index.ts'
import { shortHelp, wholeHelp } from './help.ts'

const shown = commands.filter(({ hidden }) => hidden !== true)

test('the whole help shows every command with an example, within 80 columns', () => {
  const help = wholeHelp('1.2.3')
  for (const { usage, says, example } of shown)
    for (const text of [usage, says, example]) expect(help).toContain(text)
  for (const line of help.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  for (const { usage } of shown) expect(help).toMatch(new RegExp(`^ ${RegExp.escape(usage)}( |$)`, 'm'))
  for (const { usage, says } of commands.filter(({ hidden }) => hidden === true)) {
    expect(help).not.toMatch(new RegExp(`^ ${RegExp.escape(usage)}( |$)`, 'm'))
    expect(help).not.toContain(says)
  }
})

test('the short help has the commands of every day first and names all others, on 80 columns and 24 rows', () => {
  const lines = shortHelp('1.2.3').trimEnd().split('\n')
  // The last row is the prompt after the help.
  expect(lines.length).toBeLessThanOrEqual(23)
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
  for (const [at, name] of everyDay.entries()) {
    const { usage, says } = shown.find((command) => command.name === name) ?? { usage: '?', says: '?' }
    expect(lines[4 + at]).toMatch(new RegExp(`^ ${RegExp.escape(usage)} +${RegExp.escape(says)}$`))
  }
  const words = lines.slice(4 + everyDay.length).flatMap((line) => line.split(' '))
  for (const { name } of shown) if (!everyDay.includes(name)) expect(words).toContain(name)
})
