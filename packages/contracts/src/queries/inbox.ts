// `inbox`: everything in which a task waits for a person, oldest first: calls, questions, and budgets that are
// used up. One list, so that a person needs no other one to see what is to be done.
import { budgetMeasures, budgetName } from '@beaver/core/budget'
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  count,
  limitOf,
  onlyOfTenant,
  onlyOfUser,
  paged,
  runIdField,
  sessionIdField,
  taskIdField,
  tenantField,
  textOrNull,
  time,
} from '../fields.ts'
import { askedCall } from './approvals.ts'
import { askedQuestion } from './questions.ts'

const budgetAsk = z
  .object({
    budget: budgetName.describe('The budget.'),
    measure: z.enum(budgetMeasures).describe('What is used up.'),
    limit: z.number().describe('The limit as it is now, in US dollars, tokens, calls or milliseconds.'),
    used: z.number().describe('What is used.'),
    needed: z.number().describe('What the next calls need of everything that waits for this limit.'),
    reason: z.string().describe('Why the task waits, without a capital and without a full stop.'),
    shared: z
      .boolean()
      .describe('true: tasks share the budget, and "budget.raise" gives more. false: "task.raise" does.'),
    node_id: textOrNull.describe(
      'The node whose budget it is. null: the budget is that of the task, or one that tasks share.',
    ),
    spent_by: z
      .array(
        z.object({
          agent_name: textOrNull.describe('The name of the agent. null: the budget is one that tasks share.'),
          node_id: textOrNull.describe('The node of the agent. null: it belongs to no team.'),
          task_id: taskIdField
            .nullable()
            .describe('The task that used it, of a budget that tasks share. null: this task.'),
          used: z.number().describe('What it used.'),
        }),
      )
      .describe(
        'Who used most, the first one most. At most three. Empty if the query is for one user and tasks share the budget.',
      ),
    run_ids: z
      .array(runIdField)
      .optional()
      .describe('The runs that wait, at most 100. Absent: an older version answers.'),
    expires_at: time.describe('Until when more is waited for. Then the run ends. RFC 3339, UTC.'),
    taskseq: z.int().describe('The place of the event budget_exceeded in the log of the task.'),
  })
  .meta({ id: 'budget_ask', description: 'A budget in which a task waits for more.' })
/** A budget in which a task waits for more. */
export type BudgetAskAnswer = z.infer<typeof budgetAsk>

/** What every entry has: the task, and when it began to wait. */
const entryFields = {
  task_id: taskIdField,
  session_id: sessionIdField,
  tenant: tenantField,
  title: textOrNull.describe('The name that the client gave the task. null: none.'),
  text: textOrNull.describe('What the client asked for. It may be cut. null: not known.'),
  task_user_id: textOrNull.describe('The user on whose behalf the task was submitted. null: none was named.'),
  asked_at: time.describe('Since when it waits. RFC 3339, UTC.'),
}

const inboxEntry = z
  .discriminatedUnion('kind', [
    z.object({
      kind: z.literal('approval').describe('approval: a call waits until "task.decide" decides.'),
      ...entryFields,
      call: askedCall.describe('The call. Only of the kind approval.'),
    }),
    z.object({
      kind: z.literal('question').describe('question: a call waits until "task.answer" answers.'),
      ...entryFields,
      question: askedQuestion.describe('The question. Only of the kind question.'),
    }),
    z.object({
      kind: z.literal('budget').describe('budget: a call waits until a budget has a place for it.'),
      ...entryFields,
      budget: budgetAsk.describe('The budget. Only of the kind budget.'),
    }),
  ])
  .meta({ id: 'inbox_entry', description: 'Something in which a task waits for a person.' })
/** Something in which a task waits for a person. */
export type InboxEntry = z.infer<typeof inboxEntry>

export const inbox = contract(
  'Lists everything in which tasks wait for a person, oldest first: calls, questions and budgets.',
  {
    input: z.strictObject({
      task_id: z
        .string()
        .min(1)
        .max(128)
        .optional()
        .describe(
          'Only what this task waits for: its id or the beginning of its id. Absent: that of all tasks.',
        ),
      tenant: onlyOfTenant('tasks'),
      user_id: onlyOfUser('tasks'),
      limit: limitOf('entries', { usual: 50, max: 200 }),
      after: z
        .string()
        .regex(/^\d{1,16}\.\d{1,16}$/)
        .optional()
        .describe('The "next" of the page before. Absent: the first page.'),
    }),
    output: z.object({
      entries: z.array(inboxEntry).describe('The entries, oldest first.'),
      waiting: count.describe('How many entries there are in all, on this page and on all others.'),
      more: paged.more,
      next: textOrNull.describe('The "after" of the next page. null: this is the last page.'),
    }),
  },
)
