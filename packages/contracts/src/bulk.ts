// What the HTTP interface takes and answers to cancel or retry all tasks of a filter. A count comes first, and
// changes nothing. It gives a place, and only tasks that were submitted before this place are cancelled or
// retried afterwards.
import { z } from 'zod'
import { count, cursor, taskIdField } from './fields.ts'
import { taskFilter, taskSummary } from './queries/tasks.ts'

const verb = z.enum(['cancel', 'retry'])
export type BulkVerb = z.infer<typeof verb>

/** The most tasks of one request. */
const bulkTasksMax = 1_000

export const bulkRequest = z.strictObject({
  verb: verb.describe(
    'cancel: the tasks that have not ended. retry: the tasks that failed or are incomplete and have no retry; cancelled tasks only if "status" of the filter has cancelled.',
  ),
  filter: z.strictObject(taskFilter).describe('Which tasks. All that is given must hold.'),
  all: z
    .boolean()
    .default(false)
    .describe('true: a filter that leaves out no task is meant. Otherwise such a filter is refused.'),
  dry_run: z
    .boolean()
    .describe('true: only count the tasks, and change nothing. false: cancel or retry them.'),
  before: cursor
    .optional()
    .describe(
      'Only tasks before this place in the order of submission. With "dry_run": false it is required: the "before" of the count, and then the "next" of each answer. The same place again is harmless.',
    ),
  limit: z
    .int()
    .min(1)
    .max(bulkTasksMax)
    .default(bulkTasksMax)
    .describe('The most tasks that this request cancels or retries.'),
  reason: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('Why the tasks are cancelled. The journal keeps it. Absent: that the token cancelled them.'),
})
export type BulkRequest = z.input<typeof bulkRequest>

export const bulkCount = z.object({
  dry_run: z.literal(true).describe('Nothing was changed.'),
  matched: count.describe('How many tasks the filter has.'),
  able: count.describe('How many of them can be cancelled or retried.'),
  at_least: z
    .boolean()
    .describe('Whether there may be more tasks than were counted. The count of tasks says how far it looks.'),
  left_out: z
    .array(
      z.object({
        why: z
          .enum(['ended', 'not_failed', 'already_retried', 'cancelled'])
          .describe(
            'Why the tasks are left out. ended: they cannot be cancelled any more. not_failed: they are open, or completed. already_retried: they have a retry. cancelled: they were cancelled, and the filter does not say that these are meant.',
          ),
        tasks: count.describe('How many tasks.'),
      }),
    )
    .describe(
      'The other tasks of the filter, by the reason why they are left out. Empty if "at_least" is true.',
    ),
  tasks: z.array(taskSummary).describe('The newest of the tasks that can be cancelled or retried.'),
  before: cursor.describe('The place to send with the request that cancels or retries them.'),
})
export type BulkCount = z.infer<typeof bulkCount>

const fault = {
  code: z.string().describe('Why, for programs: the code of a problem, such as conflict.'),
  message: z.string().describe('Why, for people.'),
}

export const bulkResult = z.object({
  dry_run: z.literal(false).describe('The tasks were cancelled or retried.'),
  done: count.describe(
    'For how many tasks the journal has the request. A task that was asked to cancel before counts, too.',
  ),
  refused: z
    .array(z.object({ task_id: taskIdField, ...fault }))
    .describe('The tasks that could not be cancelled or retried, each with the reason.'),
  next: cursor
    .nullable()
    .describe(
      'The place to send as "before" with the next request, for the tasks that are left. null: none is left.',
    ),
  stopped: z
    .object(fault)
    .nullable()
    .describe(
      'Why the rest was not tried, such as no_daemon: ask again later from "next" on. null: the limit of this request came, or none is left.',
    ),
})
export type BulkResult = z.infer<typeof bulkResult>
