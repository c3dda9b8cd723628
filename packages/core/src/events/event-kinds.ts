// Which events end a task, and which become part of a prompt. The schemas of the events are in catalog.ts, so
// a screen can use this file without them.
import type { EventType } from './catalog.ts'

/**
 * The events that may become part of a prompt or a transcript. All other events are hidden and are only for
 * the record (SE-07).
 */
export const visibleEventTypes: ReadonlySet<EventType> = new Set([
  'user_message_added',
  'assistant_message_added',
  'tool_result_recorded',
])

/** The events that end a task. If a log contains several, the first one counts. */
export const terminalTaskEvents = [
  'task_completed',
  'task_incomplete',
  'task_failed',
  'task_cancelled',
] as const
/** The type of an event that ends a task. */
export type TerminalTaskEvent = (typeof terminalTaskEvents)[number]

/**
 * Whether an event of this type ends its task.
 *
 * @example
 * isTerminalTaskEvent('task_completed') // => true
 * isTerminalTaskEvent('run_completed') // => false
 */
export function isTerminalTaskEvent(type: string): type is TerminalTaskEvent {
  return (terminalTaskEvents as readonly string[]).includes(type)
}
