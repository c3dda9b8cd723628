// The fields that several contracts share. An id has one name everywhere on the wire: `task_id`,
// `session_id`, `run_id`, `node_id`, `call_id` (D-70).
import { foreignId } from '@beaver/core'
import { failure } from '@beaver/core/supervision'
import { z } from 'zod'

export const count = z.int().nonnegative()
/** RFC 3339, UTC. */
export const time = z.string().describe('A time. RFC 3339, UTC.')
export const timeOrNull = time.nullable().describe('A time. RFC 3339, UTC. null: it has not come yet.')
export const textOrNull = z.string().nullable()

export const taskIdField = z.string().describe('The id of the task.')
export const sessionIdField = z.string().describe('The id of the session to which the task belongs.')
export const tenantField = z.string().describe('The tenant to which the task belongs.')
export const runIdField = z.string().describe('The id of the run.')

/** The user for whom a request is made, in each request that changes something. */
export const onBehalfOf = foreignId
  .optional()
  .describe(
    'The user on whose behalf the caller asks. The journal keeps it. It may differ from the caller only in a request on the subject for others: see "On behalf of others". 1 to 128 characters.',
  )

/** The inputs that name a task; `session_id` and `tenant` narrow the choice. */
export const taskName = {
  task_id: z
    .string()
    .min(1)
    .max(128)
    .describe(
      'The id of the task, a beginning of the id that no other task has, or `latest` for the newest task.',
    ),
  session_id: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe('Only a task of this session. Absent: any session.'),
  tenant: z.string().min(1).max(128).optional().describe('Only a task of this tenant. Absent: any tenant.'),
}

/** The input that narrows an answer to what belongs to one tenant. */
export const onlyOfTenant = (what: string): z.ZodOptional<z.ZodString> =>
  z.string().max(128).optional().describe(`Only ${what} of this tenant. Absent: any tenant.`)

/** The input that narrows an answer to what belongs to one user. */
export const onlyOfUser = (what: string): z.ZodOptional<z.ZodNullable<z.ZodString>> =>
  z
    .string()
    .min(1)
    .max(128)
    .nullable()
    .optional()
    .describe(`Only ${what} of this user. null: only ${what} without a user. Absent: all of them.`)

/** As `taskName`, in the queries that may be asked for one user. */
export const taskNameOfUser = { ...taskName, user_id: onlyOfUser('tasks') }

/** The input that names a run of the task. */
export const runNamed = z.string().min(1).max(128).describe('The id of the run.')

/** The input that narrows an answer to one node. */
export const ofNode = z
  .string()
  .min(1)
  .max(128)
  .optional()
  .describe('Only what belongs to the node with this id, in any team of the task. Absent: everything.')

/** How many rows; a page may hold fewer and still have `more`. */
export const limitOf = (what: string, limits: { usual: number; max: number }): z.ZodDefault<z.ZodInt> =>
  z
    .int()
    .min(1)
    .max(limits.max)
    .default(limits.usual)
    .describe(`At most this many ${what}. A page may have fewer although more pages follow.`)

/** A place in a list: the `next` of the page before. */
export const cursor = z.int().nonnegative()
export const before = cursor.optional().describe('The "next" of the page before. Absent: the first page.')
export const after = cursor.default(0).describe('The "next" of the page before. 0: the first page.')

/** The input that narrows an answer to a time. */
export const inTime = (what: string) => ({
  since: z.iso
    .datetime()
    .optional()
    .describe(`Only ${what} at this time or later. RFC 3339, UTC. Absent: all of them.`),
  until: z.iso
    .datetime()
    .optional()
    .describe(`Only ${what} before this time. RFC 3339, UTC. Absent: all of them.`),
})

/** The end of a page. */
export const paged = {
  more: z.boolean().describe('Whether more pages follow.'),
  next: cursor.nullable().describe('What to pass to get the next page. null: this is the last page.'),
}

/** Amounts of a budget that tasks share, or of calls under way. */
export const amounts = z.object({
  usd: z.number().describe('US dollars.'),
  tokens: count.describe('Tokens, those that were sent and those that the models wrote.'),
  model_calls: count.describe('Calls of models.'),
  tool_calls: count.describe('Calls of tools.'),
})

/** Where the rest of a log is. */
export const archiveOfLog = z
  .object({
    events: count.describe('How many events of the log are in the file and not in the journal.'),
    file: z.string().describe('The path of the file, on the machine of the person who wrote it.'),
    sha256: z.string().describe('The SHA-256 of the file.'),
  })
  .optional()
  .describe(
    'Where the events between the first and the last entry of the log are. Absent: the journal has them.',
  )

export const failureOrNull = failure.nullable().describe('What failed. null: nothing failed.')
