// The LiveOutput port: what a model says while it says it, and how far a call is while its tool runs. It is
// not journaled: it is a hint for clients that follow a task, never a fact.
import { z } from 'zod'

/** A piece of an answer that is under way. */
export const liveDelta = z.object({
  run_id: z.string(),
  agent_name: z.string(),
  node_id: z.string().nullable(),
  /** The number of the provider call within the run, from 1. The journaled answer replaces its pieces. */
  call: z.number().int().positive(),
  /**
   * The number of characters (UTF-16 units) of this call's answer before this piece. A gap shows that pieces
   * were lost. 0 means that the answer starts again.
   */
  offset: z.number().int().nonnegative(),
  text: z.string(),
})
export type LiveDelta = z.infer<typeof liveDelta>

/** How far a call is while its tool runs. */
export const liveProgress = z.object({
  run_id: z.string(),
  agent_name: z.string(),
  node_id: z.string().nullable(),
  call_id: z.string(),
  tool_name: z.string(),
  /** It rises, in a unit of the tool's own. */
  progress: z.number(),
  /** What `progress` comes to at the end. `null`: it is not known. */
  total: z.number().nullable(),
  /**
   * What the tool does now, for people. It is a text of the tool, of at most 200 characters. `null`: it does
   * not say.
   */
  message: z.string().nullable(),
})
export type LiveProgress = z.infer<typeof liveProgress>

/** What is published live of a task. */
export const liveUpdate = z.union([liveDelta, liveProgress])
export type LiveUpdate = z.infer<typeof liveUpdate>

/**
 * Whether an update says how far a call is.
 *
 * @example
 * isProgress({ run_id: 'r', agent_name: 'root', node_id: null, call: 1, offset: 0, text: 'Once' }) // => false
 */
export const isProgress = (update: LiveUpdate): update is LiveProgress => 'progress' in update

/**
 * How far a call is, for people.
 *
 * @example
 * progressText({ progress: 2, total: 5, message: 'Reads page 2.' }) // => '40% · Reads page 2.'
 * progressText({ progress: 2, total: null, message: null }) // => '2'
 */
export function progressText({
  progress,
  total,
  message,
}: Pick<LiveProgress, 'progress' | 'total' | 'message'>): string {
  const isPart = total !== null && total > 0 && progress >= 0 && progress <= total
  const far = isPart ? `${Math.floor((progress / total) * 100)}%` : String(Number(progress.toPrecision(12)))
  return message === null ? far : `${far} · ${message}`
}
