// How far a call is while its tool runs, for people. The schemas are in ports/live-output.ts.
import type { LiveProgress, LiveUpdate } from '../ports/live-output.ts'

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
