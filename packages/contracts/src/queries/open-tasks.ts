// `open_tasks`: the tasks of a tenant that have not ended, for the daemons' sweep. The one that was quiet for longest comes first.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count, limitOf, paged, sessionIdField, taskIdField, textOrNull, time, timeOrNull } from '../fields.ts'

const openTask = z.object({
  task_id: taskIdField,
  session_id: sessionIdField,
  owner: textOrNull.describe('The daemon that claimed it. null: none has.'),
  taskseq: count.describe('The place of its last event.'),
  epoch: count,
  last_event_at: time,
  status: z.string(),
  waits_for: textOrNull.describe('person, provider or limit. null: it waits for nothing.'),
  wake_at: timeOrNull.describe('Its alarm. null: it has none.'),
  previous_task_id: taskIdField.nullable().describe('The task accepted before it in its session. null: it is the first.'),
})

export const openTasks = contract('The tasks of a tenant that have not ended; the one that was quiet for longest comes first.', {
  input: z.strictObject({
    tenant: z.string().min(1).max(128),
    owner: z.string().min(1).max(256).optional().describe('Only tasks that this daemon owns.'),
    idle_ms_min: z.int().nonnegative().optional().describe('Only tasks whose last event is at least this old, in milliseconds.'),
    needs_daemon: z
      .boolean()
      .default(false)
      .describe('Only tasks that have a daemon, whatever its state, and tasks without one that nothing tells to wait; idle_ms_min is for the latter.'),
    limit: limitOf('tasks', { usual: 100, max: 1_000 }),
  }),
  output: z.object({
    tasks: z.array(openTask),
    more: paged.more,
    applied_sequence: count.describe('The last message of the journal that this answer knows.'),
  }),
})
