import { expect, test } from 'vitest'
import { parseCommandLine } from './program.ts'

test.each([
  [['team', 'run'], 'Required option \'-f, --file <team.json>\' not specified. See "beaver team --help".'],
  [['run', '--nope'], 'See "beaver run --help".'],
  [['nope'], 'See "beaver --help".'],
])('%j points to the help of its own command', async (argv, message) => {
  await expect(parseCommandLine(argv, '1.2.3')).rejects.toThrow(message)
})
