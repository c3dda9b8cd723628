import { expect, it } from 'vitest'
import { interruptText } from './interrupts.ts'

it.each([
  [130, 'Interrupted by the user (Ctrl-C).'],
  [143, 'The command was ended by a signal (SIGTERM).'],
  [129, 'The terminal of the command was closed.'],
])('the record says what ended a command with the exit code %i', (exitCode, text) => {
  expect(interruptText(exitCode)).toBe(text)
})
