// The table of commands about a task. Each is a request to any daemon (requests.ts), which hands it on to the
// owner of the task (daemon-commands.ts).
import { answer } from './answer.ts'
import { cancel } from './cancel.ts'
import { clientAnswer } from './client-answer.ts'
import { decide } from './decide.ts'
import { raise } from './raise.ts'
import { steer } from './steer.ts'

export const commands = { cancel, steer, decide, answer, raise, client_answer: clientAnswer } as const

export type CommandName = keyof typeof commands
