// What daemons ask each other at `beaver.<namespace>.daemon.<daemon>`: the subject of one daemon, which
// answers as the owner of a task. Only daemons of the same version send them. A client uses the requests
// beside them, which any daemon answers.
import { foreignId, sessionId, taskId } from '@beaver/core'
import { type BudgetName, budgetName } from '@beaver/core/budget'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count, taskIdField } from '../fields.ts'
import { type CommandName, commands } from './commands.ts'

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

/** What one command about a task has beside its request. */
interface HandedOn<Name> {
  readonly command: Name
  readonly by: string
}
/** Tells a task that waits for a budget that this one has more. Its account has it already. */
const sharedRaise = {
  shared: budgetName
    .optional()
    .describe('The budget that tasks share. Absent: the budget is one of the task.'),
}
type Request<Name extends CommandName> = z.output<(typeof commands)[Name]['input']>
/** A command about a task, as its owner reads it. The daemon that was asked has made an absent `request_id`. */
export type TaskCommand = {
  [Name in CommandName]: Request<Name> &
    HandedOn<Name> &
    Readonly<Record<Extract<keyof Request<Name>, 'request_id'>, string>> &
    (Name extends 'raise' ? { readonly shared?: BudgetName | undefined } : unknown)
}[CommandName]

/** The same request, from the daemon that was asked. */
function handedOn(name: CommandName) {
  const { shape } = commands[name].input
  return contract(
    `Hands a request task.${name} to the owner of the task. The error "fenced" means that the daemon does not own the task.`,
    {
      input: z.strictObject({
        ...shape,
        ...('request_id' in shape ? { request_id: foreignId.describe('The id of the request.') } : {}),
        ...(name === 'raise' ? sharedRaise : {}),
        command: z.literal(name),
        by: byField,
      }),
      output: obeyed,
    },
  )
}
const taskCommands = (Object.keys(commands) as CommandName[]).map((name) => [name, handedOn(name)] as const)

/** The contracts of the commands between daemons. */
export const daemonContracts = { ping, lease, ...Object.fromEntries(taskCommands) }

/** Any command between daemons. */
export const daemonCommand = z.discriminatedUnion('command', [
  ping.input,
  lease.input,
  ...taskCommands.map(([, { input }]) => input),
]) as z.ZodType<z.output<typeof ping.input> | z.output<typeof lease.input> | TaskCommand>
