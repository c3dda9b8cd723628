// `actors`: what one daemon holds at this moment, as the tree of its actors: its worker threads, its tasks,
// their loops and teams, and the policy of each supervisor on that tree.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count, runIdField, sessionIdField, taskIdField, textOrNull, time } from '../fields.ts'

/** The most tasks in one answer. */
export const actorTasksMax = 200
/** The most loops in one answer, so that it fits into a message of NATS. */
export const actorLoopsMax = 1_000

const policy = z.object({
  supervisor: z.string().describe('The name of the policy in the table of supervisors.'),
  children: z
    .enum(['worker_thread', 'task', 'loop'])
    .describe('What is started again: a worker thread, the owner of a task, or a loop.'),
  strategy: z
    .enum(['one_for_one'])
    .describe('Which children a death affects. one_for_one: only the one that died.'),
  restarts_max: count.describe('More restarts than this within the period exceed the policy.'),
  period_ms: count.nullable().describe('The period, in milliseconds. null: the whole life of the child.'),
  counts: z
    .enum(['each_child', 'all_children'])
    .describe('Whether the restarts of each child count alone, or those of all children together.'),
  pause: z
    .object({
      ms_min: count.describe('The first pause, in milliseconds. It doubles with each death.'),
      ms_max: count.describe('The longest pause, in milliseconds.'),
      jitter: z.boolean().describe('Whether the pause is between half and all of this.'),
    })
    .nullable()
    .describe('The pause before a restart. null: there is none.'),
  when_exceeded: z
    .enum(['fail', 'leave', 'wait'])
    .describe('fail: the supervisor fails. leave: the child is given up. wait: it starts again later.'),
  says: z.string().describe('What happens then.'),
})
/** The policy of a supervisor. */
export type ActorPolicy = z.infer<typeof policy>

const loop = z.object({
  run_id: runIdField,
  agent: z.string().describe('The name of the agent.'),
  node_id: textOrNull.describe('The node of its team. null: it belongs to no team.'),
  attempt: count.describe('The number of the attempt at the task, from 1.'),
  status: textOrNull.describe(
    'assembling, thinking, acting, waiting_for_approval, waiting_for_answer, waiting_for_client, finalizing, as the loop itself says, or waiting_for_provider or waiting_for_limit. null: it has no thread yet, or its thread did not answer.',
  ),
  thread: count.nullable().describe('The number of its worker thread. null: it has none yet.'),
  restarts: count.describe('How often it was started again and charged for it.'),
})
/** A loop of a daemon. */
export type ActorLoop = z.infer<typeof loop>

const team = z.object({
  team_run_id: z.string().describe('The id of the team run.'),
  workflow: z.string().describe('The workflow of the team.'),
  state: z
    .enum(['stepping', 'watching', 'ended'])
    .describe(
      'stepping: it decides what follows and writes it. watching: it waits for its nodes. ended: it hands over its result.',
    ),
  nodes: count.describe('How many nodes it has now.'),
  nodes_ended: count.describe('How many of them have ended, in whatever way.'),
  loops: z.array(loop).describe('The loops of its nodes.'),
  loops_left_out: count.describe('How many loops are left out, because the answer has as many as it may.'),
})
/** A team of a daemon. */
export type ActorTeam = z.infer<typeof team>

const task = z.object({
  task_id: taskIdField,
  session_id: sessionIdField,
  title: textOrNull.describe('The title of the task. null: it has none.'),
  workflow: textOrNull.describe('The workflow that the task is. null: it has a root agent.'),
  state: z.enum(['running', 'finishing', 'suspending', 'releasing']).describe('The state of its supervisor.'),
  driven_ms: count.describe('For how long this daemon has driven it, in milliseconds.'),
  owners_lost: z
    .object({
      charged: count.describe('Those that may have died of a tool of the task: they count for "task".'),
      in_a_row: count.describe('Those since the last progress: they count for "task_without_progress".'),
    })
    .describe('How many owners the task had lost when this daemon claimed it.'),
  root: loop.nullable().describe('The loop of the root agent. null: there is none now.'),
  teams: z.array(team).describe('The teams that run.'),
})
/** A task that a daemon drives. */
export type ActorTask = z.infer<typeof task>

const answer = z.object({
  daemon: z.string().describe('The id of the daemon that answers.'),
  version: z
    .string()
    .optional()
    .describe('The version of Beaver that the daemon runs. Absent: an older daemon.'),
  started_at: time.optional().describe('When the daemon began. RFC 3339, UTC. Absent: an older daemon.'),
  pid: count.describe('The number of its process, on its machine.'),
  tasks_driven: count.describe('How many tasks the daemon drives now.'),
  tasks_max: count.describe('How many tasks the daemon drives at most.'),
  policies: z.array(policy).describe('The policies of its supervisors, with the configured numbers.'),
  threads: z
    .array(
      z.object({
        thread: count.describe('The number of the thread.'),
        loops: count.describe('How many loops run in it.'),
        answers: z.boolean().describe('Whether it answered within half a second.'),
      }),
    )
    .describe('The worker threads that take loops now.'),
  threads_max: count.describe('How many worker threads the daemon has if none is being replaced.'),
  thread_restarts: count.describe(
    'How many lost threads count for "worker_pool" now: those within the period that no loop was charged for.',
  ),
  tasks: z.array(task).describe('The tasks, those that have been driven longest first.'),
  tasks_left_out: count.describe('How many tasks are left out, because the answer has as many as it may.'),
})
/** The actors of one daemon. */
export type DaemonActors = z.infer<typeof answer>

export const actors = contract(
  'Asks one daemon for its worker threads, its tasks, their loops and teams, and the policies of their supervisors. With the id of a daemon as one more token at the end, the subject asks this daemon.',
  {
    input: z.strictObject({
      tasks: z
        .enum(['all', 'none'])
        .default('all')
        .describe('none: the answer has no tasks and no policies, and is short.'),
    }),
    output: answer,
  },
)
