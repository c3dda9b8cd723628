import { expect, onTestFinished, test } from 'vitest'
import { commands } from './command-table/index.ts'
import { wholeHelp } from './help.ts'
import { parseCommandLine } from './run-command-line.ts'

test.each([
  [['team', 'run'], 'Required option \'-f, --file <team.json>\' not specified. See "beaver team --help".'],
  [['run', '--nope'], 'See "beaver run --help".'],
  [['nope'], 'See "beaver --help".'],
  [['taks'], 'Unknown command \'taks\'. Did you mean tasks? See "beaver --help".'],
  [['help', 'taks'], 'Unknown command \'taks\'. Did you mean tasks? See "beaver --help".'],
  [['tasks', '--statu', 'x'], 'Did you mean --status? See "beaver tasks --help".'],
])('%j points to the help of its own command', async (argv, message) => {
  await expect(parseCommandLine(argv, '1.2.3')).rejects.toThrow(message)
})

test.each([
  [
    ['audit', '--offline', 'export.ndjson'],
    '"beaver audit show" has no option --offline. It is for: beaver audit verify.',
  ],
  [
    ['audit', 'show', 'task_1'],
    '"beaver audit show" takes no tasks: it compares the newest ones. Verify some tasks: beaver audit verify task_1',
  ],
  [
    ['audit', 'verify', '--out', 'x'],
    '"beaver audit verify" has no option --out. It is for: beaver audit export.',
  ],
  [
    ['audit', 'export', '--operator', 'x'],
    '"beaver audit export" has no option --operator. It is for: beaver audit verify.',
  ],
  [
    ['audit', 'redact', 'task_1', '--against', 'x'],
    '"beaver audit redact" has no option --against. It is for: beaver audit verify, beaver audit export.',
  ],
  [
    ['keys', 'list', '--reason', 'x'],
    '"beaver keys list" has no option --reason. It is for: beaver keys revoke.',
  ],
  [
    ['show', 'task_1', '--node', 'a', '--all'],
    'The option --all shows all agents of a task. Leave it out with --node.',
  ],
  [['watch', 'task_1', '--deltas'], 'The option --deltas needs --json.'],
])('%j is refused, because a part of it would do nothing', async (argv, message) => {
  const parsed = await parseCommandLine(argv, '1.2.3')
  await expect(parsed?.()).rejects.toThrow(message)
})

test('help with the name of a command prints what the command prints with --help', async () => {
  const texts = printed()
  const printedBy = async (...argv: string[]): Promise<string> => {
    texts.length = 0
    await parseCommandLine(argv, '1.2.3')
    return texts.join('')
  }
  expect(await printedBy('help', 'show')).toContain('Usage: beaver show')
  expect(await printedBy('help', 'show')).toBe(await printedBy('show', '--help'))
  expect(await printedBy('help', '--all')).toBe(wholeHelp('1.2.3'))
  expect(await printedBy('--help', '--all')).toBe(wholeHelp('1.2.3'))
})

test.each([40, 60, 80])('the help has whole words at %i columns', async (columns) => {
  const texts = printed({ isTTY: true, columns })
  for (const argv of [['--help'], ['help', '--all'], ...commands.map(({ name }) => [name, '--help'])])
    await parseCommandLine(argv, '1.2.3')
  const tooLong = texts
    .join('')
    .split('\n')
    // A command that a person may copy is not broken.
    .filter((line) => line.length > columns && !/^ *beaver /.test(line) && line.trim().split(' ').length > 2)
  expect(tooLong).toEqual([])
})

/** What the test prints to stdout from now on. */
function printed(terminal: { isTTY?: boolean; columns?: number } = {}): string[] {
  const { stdout } = process
  const { write, isTTY, columns } = stdout
  const texts: string[] = []
  Object.assign(stdout, { ...terminal, write: (text: string) => texts.push(text) > 0 })
  onTestFinished(() => void Object.assign(stdout, { isTTY, columns, write }))
  return texts
}
