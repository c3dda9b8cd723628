import { expect, test } from 'vitest'
import { commands } from './command-table/index.ts'
import { overview } from './run-command-line.ts'

test('the help shows every command with an example, within 80 columns', () => {
  const help = overview('1.2.3')
  for (const { usage, says, example } of commands)
    for (const text of [usage, says, example]) expect(help).toContain(text)
  for (const line of help.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  for (const { usage } of commands) expect(help).toMatch(new RegExp(`^ ${RegExp.escape(usage)}( |$)`, 'm'))
})
