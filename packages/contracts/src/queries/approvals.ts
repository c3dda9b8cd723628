// `approvals`: the calls that wait for a person, oldest first. Of one task, or of all. And the view of one call that other answers show.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { limitOf, paged, runIdField, sessionIdField, taskIdField, taskName, textOrNull, timeOrNull } from '../fields.ts'

export const askedCall = z
  .object({
    task_id: taskIdField,
    session_id: sessionIdField,
    run_id: runIdField.nullable().describe('The run that made the call. null: no run is known.'),
    agent_name: textOrNull.describe('The agent that made the call; "Root agent" for a run outside of a team.'),
    node_id: textOrNull.describe('The node of the team that the run belongs to. null: none.'),
    call_id: z.string().describe("The provider's id of the call."),
    tool: z.string().describe('The name of the tool.'),
    subject: z.string().describe('What the call would act on, as permission patterns see it. Cut after 500 characters.'),
    rule: textOrNull.describe('The permission rule that asks. null: the tool itself asks.'),
    arguments: textOrNull.describe('The arguments as the model wrote them; they may be cut. null: not recorded.'),
    state: z.string().describe('waiting, granted, denied, or left: its run ended before anybody decided.'),
    requested_at: timeOrNull.describe('When the person was asked. RFC 3339, UTC.'),
    taskseq: z.int().describe('The place of the event approval_requested in the log of the task.'),
    by: textOrNull.describe('Who decided. null: nobody has.'),
    reason: textOrNull.describe('Why the call was denied. null: it was not.'),
    decided_at: timeOrNull.describe('When it was decided. null: it was not.'),
  })
  .meta({ id: 'asked_call', description: 'A call that a person was asked about.' })
/** A call that a person was asked about. */
export type AskedCallAnswer = z.infer<typeof askedCall>

export const approvals = contract('The calls that wait for a person, oldest first; of one task, or of all.', {
  input: z.strictObject({
    ...taskName,
    task_id: taskName.task_id.optional().describe('Only the calls of this task: its id, or the beginning of it. Absent: of all tasks.'),
    limit: limitOf('calls', { usual: 50, max: 200 }),
  }),
  output: z.object({
    task_id: taskIdField.nullable().describe('The task that was named. null: none was.'),
    calls: z.array(askedCall),
    more: paged.more,
  }),
})
