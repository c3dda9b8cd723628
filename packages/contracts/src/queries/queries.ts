// The table of queries: what the projector answers, by name, at `beaver.<namespace>.query.<name>`.
import { jsonObject, jsonValue } from '@beaver/core'
import { imagePart } from '@beaver/core/images'
import { z } from 'zod'
import { type Contract, contract } from '../contract.ts'
import {
  after,
  archiveOfLog,
  before,
  count,
  cursor,
  inTime,
  limitOf,
  ofNode,
  onlyOfTenant,
  onlyOfUser,
  paged,
  runIdField,
  sessionIdField,
  taskIdField,
  taskNameOfUser,
  tenantField,
  textOrNull,
  time,
} from '../fields.ts'
import { approvals } from './approvals.ts'
import { audit } from './audit.ts'
import { failures } from './failures.ts'
import { graph } from './graph.ts'
import { inbox } from './inbox.ts'
import { node, oneRun } from './node.ts'
import { openTasks } from './open-tasks.ts'
import { prompt } from './prompt.ts'
import { proof } from './proof.ts'
import { questions } from './questions.ts'
import { oneSession, sessions } from './sessions.ts'
import { spans } from './spans.ts'
import { status } from './status.ts'
import { task } from './task.ts'
import { taskCount, tasks, usageFields } from './tasks.ts'

/** The inputs that say which events of a log are wanted, and in which order. */
const partOfLog = {
  node_id: ofNode,
  types: z
    .array(z.string().min(1).max(128))
    .min(1)
    .max(100)
    .optional()
    .describe('Only events of these types, such as run_started. Absent: events of all types.'),
  order: z
    .enum(['asc', 'desc'])
    .default('asc')
    .describe('asc: in the order of the log. desc: the newest event first.'),
  after: cursor
    .default(0)
    .describe(
      'Only events after this place in the log. With asc, it is the "next" of the page before. 0: from the first event on.',
    ),
  before: cursor
    .optional()
    .describe(
      'Only events before this place in the log. With desc, it is the "next" of the page before. Absent: up to the newest event.',
    ),
  ...inTime('events that were written'),
}

// `timeline`: what happened in one task, in words for people. One item for each event.

const timelineItem = z.object({
  event_id: z.string().describe('The id of the event: <task_id>.<taskseq>.'),
  taskseq: z.int().describe('The place of the event in the log of the task.'),
  run_id: runIdField.nullable().describe('The run to which the event belongs. null: it belongs to no run.'),
  parent_run_id: runIdField.nullable().describe('The run that called this run. null: none.'),
  node_id: textOrNull.describe('The node to which the event belongs. null: it belongs to no node.'),
  kind: z.string().describe('The type of the event.'),
  actor_type: z.string().describe('Who did it: client, system, daemon, agent, team, node, tool or provider.'),
  actor_id: z.string().describe('The id of who did it.'),
  actor_name: z.string().describe('The name of who did it.'),
  text: z.string().describe('What happened, in one sentence.'),
  created_at: time,
  offset_ms: z
    .int()
    .nullable()
    .describe('The time since the submission of the task, in milliseconds. null: not known.'),
  status: z
    .string()
    .describe('What came of it: started, waiting, done, skipped, failed, blocked or cancelled.'),
  metadata: jsonObject.describe('The task_id, the timeline_type, and more for some kinds of events.'),
})
export type TimelineItem = z.infer<typeof timelineItem>

const timeline = contract('Tells what happened in one task, with one sentence for each event.', {
  input: z.strictObject({
    ...taskNameOfUser,
    ...partOfLog,
    limit: limitOf('items', { usual: 500, max: 2000 }),
  }),
  output: z.object({
    task_id: taskIdField,
    session_id: sessionIdField,
    tenant: tenantField,
    events: z.array(timelineItem).describe('The items, in the order that was asked for.'),
    archive: archiveOfLog,
    ...paged,
  }),
})

// `usage`: what calls of models used and cost, by one of these groups.

const groups = ['day', 'user', 'tenant', 'model', 'workflow', 'skill', 'profile'] as const
/** By what usage is summed. */
export type UsageGroup = (typeof groups)[number]

const group = z
  .object({
    key: textOrNull.describe(
      'The day (YYYY-MM-DD), the user, the tenant, the model, the workflow to whose team the run belongs, the skills that the run had, with commas between them, or the profile that the request of the task names. null: no user, no workflow, no skill, the default profile, or a model without a name.',
    ),
    ...usageFields,
  })
  .meta({
    id: 'usage_group',
    description: 'What calls of models used in one group, such as on one day or for one user.',
  })

const usageAnswer = z.object({
  since: z.iso.date().describe('The first day that counts. YYYY-MM-DD, UTC.'),
  until: z.iso.date().describe('The last day that counts. YYYY-MM-DD, UTC.'),
  total: z.object(usageFields).describe('All groups together, also those that the answer leaves out.'),
  groups: z.array(group).describe('Days: newest first. All others: the one with most tokens first.'),
  more: paged.more.describe('Whether the answer leaves out groups.'),
})
export type UsageAnswer = z.infer<typeof usageAnswer>

const usage = contract(
  'What calls of models used, as providers reported it, and what they cost, by day, user, tenant, model, workflow, skill or profile. It does not count calls of archived events.',
  {
    input: z.strictObject({
      by: z.enum(groups).default('day').describe('By what to sum.'),
      since: z.iso
        .date()
        .optional()
        .describe('The first day that counts. YYYY-MM-DD, UTC. Default: 30 days before the last one.'),
      until: z.iso.date().optional().describe('The last day that counts. YYYY-MM-DD, UTC. Default: today.'),
      split_at: z
        .array(z.iso.date())
        .max(100)
        .optional()
        .describe(
          'Days on which a period begins. usage_by_model then has an item for each model and period. Default: one period.',
        ),
      tenant: onlyOfTenant('tasks'),
      user_id: onlyOfUser('tasks'),
      limit: limitOf('groups', { usual: 100, max: 1_000 }),
    }),
    output: usageAnswer,
  },
)

// `events`: the journal of one task as it was written.

/** One event as the journal has it. */
export const eventItem = z.object({
  taskseq: z.int().describe('The place of the event in the log of the task.'),
  type: z.string().describe('The type of the event.'),
  epoch: z.int().describe('The number of the claim under which the event was written.'),
  time,
  run_id: runIdField.nullable().describe('The run to which the event belongs. null: it belongs to no run.'),
  node_id: textOrNull.describe('The node to which the event belongs. null: it belongs to no node.'),
  data: jsonValue.describe('The data of the event. null: the data is larger than 512 KiB, or it is lost.'),
  data_bytes: count.describe('The size of the data in bytes.'),
  blob_sha256: textOrNull.describe(
    'The SHA-256 of the blob that has the data. null: the record itself has it.',
  ),
  hash: z.string().describe('The hash of the record.'),
  sequence: count.describe('The sequence number of the message in the journal stream.'),
})
export type EventItem = z.infer<typeof eventItem>

const events = contract('The events of one task as they are in the journal.', {
  input: z.strictObject({
    ...taskNameOfUser,
    ...partOfLog,
    limit: limitOf('events', { usual: 500, max: 2000 }),
  }),
  output: z.object({
    task_id: taskIdField,
    session_id: sessionIdField,
    tenant: tenantField,
    chain_ok: z.boolean().describe('Whether the hash chain of the task holds.'),
    events: z.array(eventItem).describe('The events, in the order that was asked for.'),
    archive: archiveOfLog,
    ...paged,
  }),
})

// `image`: where a task shows an image. The blob store has its content.

const image = contract('Says which event of a task shows an image, and what the image is.', {
  input: z.strictObject({
    ...taskNameOfUser,
    sha256: imagePart.shape.sha256.describe(
      'The SHA-256 of the content of the image, in hexadecimal digits.',
    ),
  }),
  output: z.object({
    task_id: taskIdField,
    session_id: sessionIdField,
    tenant: tenantField,
    taskseq: z.int().describe('The place of the first event that shows it in the log of the task.'),
    image: imagePart.describe('The image, as the event refers to it.'),
  }),
})

// `quarantine`: the messages of the journal that are no records.

const quarantinedMessage = z
  .object({
    sequence: count.describe('The sequence number of the message in the journal stream.'),
    tenant: textOrNull.describe(
      'The tenant in the subject of the message. null: the subject is none of a log.',
    ),
    session_id: textOrNull.describe(
      'The session in the subject of the message. null: the subject is none of a log.',
    ),
    task_id: textOrNull.describe(
      'The task in the subject of the message, which may not exist. null: the subject is none of a log.',
    ),
    subject: textOrNull.describe(
      'The subject of the message, if it is none of a log. null: it is the subject of a log.',
    ),
    reason: z.string().describe('Why the message is no record, in one sentence.'),
    bytes: count.describe('The size of the message.'),
    sha256: z.string().describe('The SHA-256 of the message.'),
    excerpt: z
      .string()
      .describe('How the message begins, at most 2,048 bytes. Empty for a message after the first 10,000.'),
  })
  .meta({ id: 'quarantined_message', description: 'A message of the journal that is no record.' })

const quarantine = contract(
  'Lists the messages of the journal that are no records. Somebody who is no daemon published them.',
  {
    input: z.strictObject({
      sequence: count
        .optional()
        .describe('Only the message with this sequence number. Absent: all messages.'),
      after: after.describe(
        'Only messages after this one: the "next" of the page before. 0: the first page.',
      ),
      limit: limitOf('messages', { usual: 20, max: 200 }),
    }),
    output: z.object({
      total: count.describe('The number of all such messages.'),
      messages: z.array(quarantinedMessage).describe('The messages, oldest first.'),
      more: z.boolean().describe('Whether there are more messages after this page.'),
      next: cursor.nullable().describe('The "after" of the next page. null: this is the last page.'),
    }),
  },
)

// `search`: full text over the visible transcript and over what failed, newest first.

const searchHit = z.object({
  task_id: taskIdField,
  session_id: sessionIdField,
  tenant: tenantField,
  taskseq: z.int().describe('The place of the event in the log of the task.'),
  run_id: runIdField.nullable().describe('The run that said it. null: none.'),
  agent_name: textOrNull.describe('The name of the agent. null: not known.'),
  role: z.string().describe('Who said it: user, assistant or tool. failure: the text tells what failed.'),
  name: textOrNull.describe('The name of the tool, or of the node that failed. null: neither.'),
  time,
  snippet: z.string().describe('The text around the first word that was found.'),
})

const search = contract('Searches the texts and the failures of all tasks. The newest hit comes first.', {
  input: z.strictObject({
    query: z
      .string()
      .max(1000)
      .describe('Words, separated by white space. All of them must occur, anywhere in the text.'),
    tenant: onlyOfTenant('tasks'),
    session_id: z.string().max(128).optional().describe('Only tasks of this session. Absent: any session.'),
    user_id: onlyOfUser('tasks'),
    ...inTime('texts that were written'),
    limit: limitOf('hits', { usual: 20, max: 100 }),
    before,
  }),
  output: z.object({ hits: z.array(searchHit).describe('The hits, newest first.'), ...paged }),
})
export type SearchAnswer = z.infer<(typeof search)['output']>

// `session_search`: what an agent finds of earlier sessions, newest first (D-46, D-67).

const hit = z.object({
  session_id: sessionIdField,
  task_id: taskIdField,
  role: z.enum(['user', 'assistant', 'tool']).describe('Who said it.'),
  excerpt: z.string().describe('The text around the first word that was found.'),
  at: time,
})

const sessionSearch = contract(
  "Searches a tenant's earlier sessions for an agent. The newest hit comes first.",
  {
    input: z.strictObject({
      query: z
        .string()
        .max(1000)
        .describe('Words, separated by white space. All of them must occur, anywhere in the text.'),
      tenant: z.string().min(1).max(128).describe('The tenant.'),
      user_id: onlyOfUser('sessions'),
      session_id: z
        .string()
        .max(128)
        .optional()
        .describe('The session of the agent. The search leaves it out, unless include_current is true.'),
      include_current: z
        .boolean()
        .default(false)
        .describe('Whether to search the session of the agent, too.'),
      limit: z
        .number()
        .default(10)
        .describe('At most this many hits, from 1 to 50. Beaver uses the nearest allowed number.'),
    }),
    output: z.object({ hits: z.array(hit).describe('The hits, newest first.') }),
  },
)

const table = {
  tasks,
  task_count: taskCount,
  task,
  run: oneRun,
  graph,
  node,
  prompt,
  spans,
  approvals,
  questions,
  inbox,
  timeline,
  events,
  image,
  search,
  session_search: sessionSearch,
  sessions,
  session: oneSession,
  audit,
  status,
  open_tasks: openTasks,
  proof,
  quarantine,
  usage,
  failures,
} as const

/** The name of a query. */
export type QueryName = keyof typeof table
type Asked = { [Name in QueryName]: z.input<(typeof table)[Name]['input']> }
type Read = { [Name in QueryName]: z.output<(typeof table)[Name]['input']> }
type Answers = { [Name in QueryName]: z.output<(typeof table)[Name]['output']> }
/** What the one who asks writes. */
export type QueryInput<Name extends QueryName> = Asked[Name]
/** What the one who answers reads: defaults are filled in. */
export type QueryRead<Name extends QueryName> = Read[Name]
/** The answer of a query. */
export type QueryOutput<Name extends QueryName> = Answers[Name]

/**
 * The contracts of all queries. Indexed by a type parameter, the input and the output belong to the same
 * query.
 */
export const queryContracts: {
  readonly [Name in QueryName]: Contract<QueryInput<Name>, QueryRead<Name>, QueryOutput<Name>>
} = table

export function isQueryName(name: string): name is QueryName {
  return Object.hasOwn(table, name)
}
