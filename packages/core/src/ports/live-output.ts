// The LiveOutput port: what a model says while it says it. It is not journaled: it is a hint for clients that follow a task, never a fact.
import { z } from 'zod'

/** A piece of an answer that is under way. */
export const liveDelta = z.object({
  run_id: z.string(),
  agent_name: z.string(),
  node_id: z.string().nullable(),
  /** The number of the provider call within the run, from 1. The journaled answer replaces its pieces. */
  call: z.number().int().positive(),
  /**
   * The number of characters (UTF-16 units) of this call's answer before this piece. A gap shows that pieces were lost. 0 means that the answer
   * starts again.
   */
  offset: z.number().int().nonnegative(),
  text: z.string(),
})
export type LiveDelta = z.infer<typeof liveDelta>
