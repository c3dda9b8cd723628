// The LiveOutput port: what a model is saying, while it says it. Not journaled: a hint for who watches, never a fact.
import { z } from 'zod'

/** A piece of an answer under way. */
export const liveDelta = z.object({
  run_id: z.string(),
  agent_name: z.string(),
  node_id: z.string().nullable(),
  /** Which provider call of the run, from 1. The answer that is journaled replaces its pieces. */
  call: z.number().int().positive(),
  /** Characters (UTF-16 units) of this call's answer before this piece: a gap shows that pieces were lost. 0 begins again. */
  offset: z.number().int().nonnegative(),
  text: z.string(),
})
export type LiveDelta = z.infer<typeof liveDelta>
