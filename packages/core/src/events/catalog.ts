// Every event that a journal may contain: its name and the shape of its data, in snake_case. Every written
// event stays readable: a change of a shape needs a step in upcast.ts. A fact is recorded once: an output,
// for example, is only the content of an `assistant_message_added`.
import type { z } from 'zod'
import { runEvents } from './run-events.ts'
import { taskEvents } from './task-events.ts'
import { teamEvents } from './team-events.ts'

/**
 * The shape of the data of each event, by event type. Each shape and each field says what it means: the wire
 * reference and `beaver schema` show it.
 */
export const eventData = { ...taskEvents, ...runEvents, ...teamEvents } as const satisfies Record<
  string,
  z.ZodType
>

/** The name of an event type, without its version. */
export type EventType = keyof typeof eventData
/** The data of an event of this type. */
export type DataOf<T extends EventType> = z.infer<(typeof eventData)[T]>

/**
 * What happened, before the journal assigns its place. `runId` names the run, if the event belongs to one.
 */
export type DomainEvent = {
  [T in EventType]: { readonly type: T; readonly runId?: string; readonly data: DataOf<T> }
}[EventType]

/**
 * Makes an event.
 *
 * @param ofRun the run to which the event belongs; absent: it belongs to the task or to a team
 * @example
 * event('task_claimed', { daemon: 'daemon_01k' }) // => { type: 'task_claimed', data: { daemon: 'daemon_01k' } }
 */
export function event<T extends EventType>(type: T, data: DataOf<T>, ofRun?: string): DomainEvent {
  return (ofRun === undefined ? { type, data } : { type, runId: ofRun, data }) as DomainEvent
}
