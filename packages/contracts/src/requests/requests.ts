// The table of requests: what any daemon answers, by name, at `beaver.<namespace>.service.<name>`.
import { foreignId } from '@beaver/core'
import { budgetLimits } from '@beaver/core/budget'
import { z } from 'zod'
import { type Contract, contract } from '../contract.ts'
import { count, onBehalfOf, taskIdField } from '../fields.ts'
import { actors } from './actors.ts'
import { listBudgets, raiseShared } from './budgets.ts'
import { type CommandName, commands } from './commands.ts'
import { loaded, plan } from './loaded.ts'
import { addWorkflow } from './profiles.ts'
import { status } from './status.ts'
import { storeImage } from './store-image.ts'
import { run, submit, submittedFields } from './submit.ts'

// `task.retry`: a retry of a task that ended without completing.

const retried = z.object({
  ...submittedFields,
  task_id: taskIdField.describe('The id of the new task.'),
  retry_of: taskIdField.describe('The id of the old task.'),
})
/** The task that retries another one. */
export type RetriedTask = z.infer<typeof retried>

const retry = contract(
  'Retries a task that failed, is incomplete or was cancelled. The same request again gives the same answer.',
  {
    input: z.strictObject({
      task_id: foreignId.describe('The id of the task that ended.'),
      budget: budgetLimits
        .optional()
        .describe(
          'The most that the new task may use. What the old task used does not count. Absent: the budget of the old task.',
        ),
      user_id: onBehalfOf,
    }),
    output: retried,
  },
)

// `memory`: what agents keep for later runs, as a run that began now would see it.

const list = z.object({
  entries: z.array(z.string()).describe('The entries, oldest first.'),
  chars: count.describe('The length of all entries together, in UTF-16 units.'),
  chars_max: count.describe('The limit of that length.'),
})

const memoryAnswer = z.object({
  memory: list.describe('What agents keep about the work. It belongs to the tenant.'),
  user: list.describe('What agents keep about the user. Without a user it belongs to the tenant.'),
})
/** What agents keep for later runs. */
export type MemoryReport = z.infer<typeof memoryAnswer>

const memory = contract(
  'Reads what agents keep for later runs: the list of the tenant, and the list of one user.',
  {
    input: z.strictObject({ user_id: onBehalfOf }),
    output: memoryAnswer,
  },
)

const commandRequests = Object.fromEntries(
  Object.entries(commands).map(([name, command]) => [`task.${name}`, command]),
) as { readonly [Name in CommandName as `task.${Name}`]: (typeof commands)[Name] }

const table = {
  'task.submit': submit,
  'task.run': run,
  ...commandRequests,
  'task.retry': retry,
  'budget.list': listBudgets,
  'budget.raise': raiseShared,
  'image.store': storeImage,
  memory,
  status,
  loaded,
  plan,
  'profile.add_workflow': addWorkflow,
  actors,
} as const

export type RequestName = keyof typeof table
type Asked = { [Name in RequestName]: z.input<(typeof table)[Name]['input']> }
type Read = { [Name in RequestName]: z.output<(typeof table)[Name]['input']> }
type Answers = { [Name in RequestName]: z.output<(typeof table)[Name]['output']> }
/** What the one who asks writes. */
export type RequestInput<Name extends RequestName> = Asked[Name]
/** What the daemon reads: defaults are filled in. */
export type RequestRead<Name extends RequestName> = Read[Name]
export type RequestOutput<Name extends RequestName> = Answers[Name]

/**
 * The contracts of all requests. Indexed by a type parameter, the input and the output belong to the same
 * request.
 */
export const requestContracts: {
  readonly [Name in RequestName]: Contract<RequestInput<Name>, RequestRead<Name>, RequestOutput<Name>>
} = table
