// The table of commands, with the options and an example of each. Building the table loads only commander, so
// that `beaver --help` is quick.
import type { CommandSpec } from './command-spec.ts'
import { gatewayCommands } from './gateway-commands.ts'
import { lookCommands } from './look-commands.ts'
import { systemCommands } from './system-commands.ts'
import { workCommands } from './work-commands.ts'

export const groups = { Work: 'Give work', Look: 'Look at work', System: 'This machine' } as const

export const commands: readonly CommandSpec[] = [
  ...workCommands,
  ...lookCommands,
  ...systemCommands,
  ...gatewayCommands,
]

/** The commands that the short help shows with what they do, in this order. */
export const everyDay: readonly string[] = [
  'up',
  'run',
  'submit',
  'tasks',
  'watch',
  'show',
  'approve',
  'answer',
  'cancel',
  'failures',
]
