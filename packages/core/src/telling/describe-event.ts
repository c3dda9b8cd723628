// Describes an event for people: who did what, in one sentence. The timeline and the live view both tell
// events by it. Every type of event has a teller: a type without one does not compile. Texts say "Root agent"
// (D-07), have a bounded length, and never contain the body of a prompt or of a skill. Machine names stay as
// they are. Pure.
import type { DataOf, DomainEvent, EventType } from '../events/catalog.ts'
import { tellRun } from './tell-run.ts'
import { tellTask } from './tell-task.ts'
import { tellTeam } from './tell-team.ts'
import type { Surroundings, Teller, Told } from './told.ts'

const tellers: { readonly [T in EventType]: Teller<T> } = { ...tellTask, ...tellRun, ...tellTeam }

/**
 * An event in words for people.
 *
 * @param around what the sentence needs besides the event
 * @example
 * const around = { taskId: 't', runId: null, agentName: 'Root agent', team: null, nodeTool: null, asked:
 * null, takenOver: false } describeEvent(event('task_cancel_requested', { reason: 'too slow' }), around).text
 * // => 'Task is to be cancelled: too slow.'
 */
export function describeEvent(event: DomainEvent, around: Surroundings): Told {
  return tell(event, around)
}

type EventOf<T extends EventType> = { [K in T]: { readonly type: K; readonly data: DataOf<K> } }[T]

function tell<T extends EventType>({ type, data }: EventOf<T>, around: Surroundings): Told {
  const teller: Teller<T> = tellers[type]
  return teller(data, around)
}
