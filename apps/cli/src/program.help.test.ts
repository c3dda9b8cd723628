import { expect, test } from 'vitest'
import { commands } from './command-table/index.ts'
import { overview } from './run-command-line.ts'

test('the help shows every command with an example, within 80 columns', () => {
  const help = overview('1.2.3')
  const shown = commands.filter(({ hidden }) => hidden !== true)
  for (const { usage, says, example } of shown)
    for (const text of [usage, says, example]) expect(help).toContain(text)
  for (const line of help.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  for (const { usage } of shown) expect(help).toMatch(new RegExp(`^ ${RegExp.escape(usage)}( |$)`, 'm'))
  for (const { usage, says } of commands.filter(({ hidden }) => hidden === true)) {
    expect(help).not.toMatch(new RegExp(`^ ${RegExp.escape(usage)}( |$)`, 'm'))
    expect(help).not.toContain(says)
  }
})
