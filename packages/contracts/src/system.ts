// The state of a whole system, as one answer: what its daemons, its projector and its server say of themselves.
// Each part that did not answer in time says so, and the others are there all the same.
import { z } from 'zod'
import { count, textOrNull, time, timeOrNull } from './fields.ts'
import { sharedBudget } from './requests/budgets.ts'
import { endpointState } from './requests/status.ts'

const problem = textOrNull.describe('Why this part is not known, in a sentence. null: it is known.')

const stream = z
  .object({
    name: z.string().describe('The name of the stream.'),
    what: z
      .enum(['journal', 'wakes', 'blobs', 'memory', 'budgets', 'channels'])
      .describe('What it holds, in one word.'),
    state: z
      .enum(['answers', 'silent', 'refused'])
      .describe(
        'silent: no server answers for it, and the figures are 0. refused: the login may not ask about it, and the figures are 0.',
      ),
    messages: count.describe('How many messages it holds.'),
    bytes: count.describe('How many bytes it takes on a disk.'),
    replicas: count.describe('How many servers hold it, as configured.'),
    cluster: textOrNull.describe('The name of the cluster. null: the server is alone.'),
    leader: textOrNull.describe('The server that leads it. null: none does now, or the server is alone.'),
    followers: z
      .array(
        z.object({
          server: z.string().describe('The name of the server.'),
          current: z.boolean().describe('Whether it has all, or nearly all, that the leader has.'),
          offline: z.boolean().describe('Whether the leader has not heard it for some seconds.'),
          lag: count.describe('How many messages it is behind.'),
        }),
      )
      .describe('The servers that follow the leader.'),
    survives: z.boolean().describe('Whether the stream goes on if any one of its servers is lost now.'),
    moving: z.boolean().describe('Whether the servers still move it to its configured place.'),
  })
  .meta({ id: 'system_stream', description: 'A stream of Beaver at the NATS server.' })

const daemon = z
  .object({
    daemon: z.string().describe('The id of the daemon.'),
    state: z
      .enum(['answers', 'silent', 'gone'])
      .describe(
        'silent: it does not answer in time. gone: it has ended or is cut off, and was here a while ago.',
      ),
    seen_at: time.describe('When it answered last. RFC 3339, UTC.'),
    problem,
    version: textOrNull.describe('The version of Beaver that it runs. null: not known.'),
    started_at: timeOrNull.describe('When it began. RFC 3339, UTC. null: not known.'),
    tasks: count.nullable().describe('How many tasks it drives now. null: not known.'),
    tasks_max: count.nullable().describe('How many tasks it drives at most. null: not known.'),
    threads: z
      .array(
        z.object({
          loops: count.describe('How many loops run in it.'),
          answers: z.boolean().describe('Whether it answered within half a second.'),
        }),
      )
      .describe('Its worker threads.'),
    threads_max: count.nullable().describe('How many worker threads it should have. null: not known.'),
    thread_restarts: count
      .nullable()
      .describe('How many of its threads were lost in the period of their policy. null: not known.'),
    refused: count.describe('How many messages it refused, because nobody can use them.'),
    journal_silent_ms: count.describe(
      'How long its journal has not answered. It accepts no requests meanwhile.',
    ),
    journal_changed: textOrNull.describe('What is wrong with its journal. null: nothing.'),
    endpoints: z
      .array(endpointState)
      .nullable()
      .describe('Its endpoints of models. null: it does not say, because it is silent, gone or older.'),
  })
  .meta({ id: 'system_daemon', description: 'A daemon, as it says itself.' })

/** The state of a whole system. */
export const systemState = z.object({
  asked_at: time.describe('When this was asked. RFC 3339, UTC. Several readers may get one answer.'),
  gateway: z
    .object({
      version: z.string().describe('The version of Beaver that it runs.'),
      started_at: time.describe('When it began. RFC 3339, UTC.'),
    })
    .optional()
    .describe('The gateway that answers. Absent: no gateway was asked.'),
  nats: z.object({
    server: z.string().describe('The server of this connection.'),
    version: z.string().describe('Its version.'),
    connected: z.boolean().describe('Whether the connection works now.'),
  }),
  journal: z.object({
    stream: z.string().describe('The name of its stream.'),
    state: z
      .enum(['there', 'missing', 'unknown'])
      .describe('missing: somebody deleted it, or no daemon has made it yet. unknown: it does not answer.'),
    last_sequence: count.nullable().describe('The sequence number of its last message. null: not known.'),
    problem,
  }),
  streams: z.object({
    problem,
    list: z.array(stream).describe('The streams that there are, the journal first.'),
  }),
  daemons: z.object({
    problem,
    list: z.array(daemon).describe('The daemons, by id, and those that went away a while ago.'),
    left_out: count.describe('How many daemons are left out, because the answer has as many as it may.'),
  }),
  projector: z.object({
    problem,
    seen_at: timeOrNull.describe('When it answered last. RFC 3339, UTC. null: it has not answered yet.'),
    sequence: count
      .nullable()
      .describe('The last message that it had applied when it answered last. null: not known.'),
    behind: count
      .nullable()
      .describe(
        'How many messages it has still to apply. If it does not answer: at least as far as it had come. null: not known.',
      ),
    behind_since: timeOrNull.describe(
      'Since when it has messages to apply and applies none. RFC 3339, UTC. null: it is not behind, or not known.',
    ),
    moved_at: timeOrNull.describe('When it last applied a message. RFC 3339, UTC. null: not known.'),
    events: count.nullable().describe('The number of events in the read model. null: not known.'),
    quarantined: count
      .nullable()
      .describe('The number of messages in the journal that are no records. null: not known.'),
    findings: count.nullable().describe('The number of findings of the audit. null: not known.'),
    tasks_broken: count
      .nullable()
      .describe('The number of tasks whose hash chain does not hold. null: not known.'),
    texts_behind: count
      .nullable()
      .describe('The number of texts that are not in the search index yet. null: not known.'),
    fault: z
      .object({
        code: z.string().describe('A code for programs.'),
        message: z.string().describe('What is wrong, and what to do.'),
        since: time.describe('Since when. RFC 3339, UTC.'),
      })
      .nullable()
      .describe('Why it does not continue. null: it continues.'),
  }),
  tasks: z.object({
    problem,
    total: count.nullable().describe('The number of tasks. null: not known.'),
    by_status: z
      .record(z.string(), count)
      .describe(
        'The number of tasks in each state, as the list of tasks shows it. A task of which a call waits for a person is in waiting_for_person, and a suspended task in the state that says for what it waits.',
      ),
    waiting: count
      .nullable()
      .describe('The number of open tasks that no daemon drives, because they only wait. null: not known.'),
    oldest_submitted_at: timeOrNull.describe(
      'When the oldest task was submitted that no daemon has begun with. RFC 3339, UTC. null: there is none, or not known.',
    ),
  }),
  budgets: z.object({
    problem,
    list: z.array(sharedBudget).describe('The budgets that tasks share, as "budget.list" has them.'),
    total: count.nullable().describe('How many there are. null: not known.'),
  }),
})
/** The state of a whole system. */
export type SystemState = z.infer<typeof systemState>
