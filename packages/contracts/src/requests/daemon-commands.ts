// What daemons ask each other at `beaver.<namespace>.daemon.<daemon>`: the subject of one daemon, which
// answers as the owner of a task. Only daemons of the same version send them. A client uses the requests
// beside them, which any daemon answers.
import { foreignId, sessionId, taskId } from '@beaver/core'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count, taskIdField } from '../fields.ts'
import { answerRequest } from './answer.ts'
import { cancelRequest } from './cancel.ts'
import { decisionRequest } from './decide.ts'
import { steerRequest } from './steer.ts'

const byField = z
  .string()
  .describe('Who asked, by the name under which the NATS server let the request pass.')
const obeyed = z.object({ task_id: taskIdField })

const ping = contract('Asks whether the daemon is there.', {
  input: z.strictObject({ command: z.literal('ping') }),
  output: z.object({ daemon: z.string().describe('The id of the daemon.') }),
})
const lease = contract(
  'Hands the delivery of a task, which is its lease, to the daemon that claimed the task.',
  {
    input: z.strictObject({
      command: z.literal('lease'),
      tenant: foreignId.describe('The tenant to which the task belongs.'),
      session_id: sessionId.describe('The id of the session to which the task belongs.'),
      task_id: taskId.describe('The id of the task.'),
      cause: z.enum(['accepted', 'woken', 'alarm']).describe('Why the task is delivered.'),
      deliveries: count.min(1).describe('How often the task was delivered.'),
      lease: z.string().describe('The subject at which the delivery is acknowledged.'),
    }),
    output: z.object({
      how: z
        .enum(['taken', 'ended', 'refused'])
        .describe(
          'taken: the daemon drives the task. ended: the task has ended. refused: the daemon does not drive it.',
        ),
    }),
  },
)
const cancel = contract(
  'Hands a request to cancel to the owner of the task. The error "fenced" means that the daemon does not own the task.',
  {
    input: cancelRequest.extend({ command: z.literal('cancel'), by: byField }),
    output: obeyed,
  },
)
const steer = contract(
  'Hands a text that steers a task to the owner of the task. The error "fenced" means that the daemon does not own the task.',
  {
    input: steerRequest.extend({
      request_id: foreignId.describe('The id of the request.'),
      command: z.literal('steer'),
      by: byField,
    }),
    output: obeyed,
  },
)
const decide = contract(
  'Hands a decision about a tool call to the owner of the task. The error "fenced" means that the daemon does not own the task.',
  {
    input: decisionRequest.extend({ command: z.literal('decide'), by: byField }),
    output: obeyed,
  },
)

const answer = contract(
  'Hands an answer to the owner of the task. The error "fenced" means that the daemon does not own the task.',
  {
    input: answerRequest.extend({ command: z.literal('answer'), by: byField }),
    output: obeyed,
  },
)

/** The contracts of the commands between daemons. */
export const daemonContracts = { ping, lease, cancel, steer, decide, answer } as const

/** Any command between daemons. */
export const daemonCommand = z.discriminatedUnion('command', [
  ping.input,
  lease.input,
  cancel.input,
  steer.input,
  decide.input,
  answer.input,
])
/** A command about a task, as its owner reads it. */
export type TaskCommand =
  | z.output<typeof cancel.input>
  | z.output<typeof steer.input>
  | z.output<typeof decide.input>
  | z.output<typeof answer.input>
