// `open_tasks`: the tasks of a tenant that have not ended, for the daemons' sweep. The one that was quiet for
// longest comes first.
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  count,
  limitOf,
  paged,
  sessionIdField,
  taskIdField,
  textOrNull,
  time,
  timeOrNull,
} from '../fields.ts'

const openTask = z.object({
  task_id: taskIdField,
  session_id: sessionIdField,
  owner: textOrNull.describe('The daemon that owns the task. null: no daemon claimed it.'),
  taskseq: count.describe('The place of the last event in the log of the task.'),
  epoch: count.describe('The number of the latest claim.'),
  last_event_at: time,
  status: z.string().describe('The state of the task.'),
  waits_for: textOrNull.describe(
    'What the task waits for: person, provider or limit. null: it waits for nothing.',
  ),
  wake_at: timeOrNull.describe('When the alarm of the task wakes it. RFC 3339, UTC. null: it has no alarm.'),
  previous_task_id: taskIdField
    .nullable()
    .describe('The task that was accepted before this one in its session. null: this is the first task.'),
})

export const openTasks = contract(
  'The tasks of a tenant that have not ended. The one with the oldest last event comes first.',
  {
    input: z.strictObject({
      tenant: z.string().min(1).max(128).describe('The tenant.'),
      owner: z
        .string()
        .min(1)
        .max(256)
        .optional()
        .describe('Only tasks that this daemon owns. Absent: tasks of any owner.'),
      idle_ms_min: z
        .int()
        .nonnegative()
        .optional()
        .describe(
          'Only tasks whose last event is at least this old, in milliseconds. Absent: tasks of any age.',
        ),
      needs_daemon: z
        .boolean()
        .default(false)
        .describe(
          'Only tasks that have an owner, and tasks without an owner that do not have to wait. idle_ms_min then limits only the tasks without an owner.',
        ),
      limit: limitOf('tasks', { usual: 100, max: 1_000 }),
    }),
    output: z.object({
      tasks: z.array(openTask).describe('The tasks.'),
      more: paged.more,
      applied_sequence: count.describe(
        'The sequence number of the last journal message that this answer includes.',
      ),
    }),
  },
)
