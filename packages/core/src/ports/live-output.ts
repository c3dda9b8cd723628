// The LiveOutput port: what a model says while it says it, and how far a call is while its tool runs. It is
// not journaled: it is a hint for clients that follow a task, never a fact.
import { z } from 'zod'

/** A piece of an answer that is under way. */
export const liveDelta = z.object({
  run_id: z.string().describe('The run to which the answer belongs.'),
  agent_name: z.string().describe('The name of the agent.'),
  node_id: z
    .string()
    .nullable()
    .describe('The node to which the run belongs. null: the run belongs to no team.'),
  call: z.number().int().positive().describe('The number of the call of the model in the run, from 1.'),
  offset: z
    .number()
    .int()
    .nonnegative()
    .describe(
      'The number of characters (UTF-16 units) of the answer before this piece. A gap shows that pieces were lost. 0: the answer starts again.',
    ),
  text: z.string().describe('The piece of the answer.'),
})
export type LiveDelta = z.infer<typeof liveDelta>

/** How far a call is while its tool runs. */
export const liveProgress = z.object({
  run_id: z.string().describe('The run to which the call belongs.'),
  agent_name: z.string().describe('The name of the agent.'),
  node_id: z
    .string()
    .nullable()
    .describe('The node to which the run belongs. null: the run belongs to no team.'),
  call_id: z.string().describe('The id of the call.'),
  tool_name: z.string().describe('The name of the tool.'),
  progress: z.number().describe("How far the call is, in a unit of the tool's own. It rises."),
  total: z.number().nullable().describe('What "progress" comes to at the end. null: it is not known.'),
  message: z
    .string()
    .nullable()
    .describe(
      'What the tool does now, for people: a text of the tool, of at most 200 characters. null: it does not say.',
    ),
})
export type LiveProgress = z.infer<typeof liveProgress>

/** What is published live of a task. */
export const liveUpdate = z.union([liveDelta, liveProgress])
export type LiveUpdate = z.infer<typeof liveUpdate>
