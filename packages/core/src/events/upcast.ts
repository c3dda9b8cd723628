// Versions of event types. A journal keeps every version that was ever written, and a reader (record.ts) sees
// only the newest one. To change a type, change its shape in catalog.ts and add a pure step here; never
// change a step after its release. Hashes stay those of the old version. A version above the newest known one
// was written by a newer Beaver, and its type counts as unknown.
import { invariant } from '../errors.ts'
import type { JsonValue } from '../json.ts'
import type { EventType } from './catalog.ts'
import { eventData } from './catalog.ts'

/**
 * Turns the data of one version into the data of the next. Beaver wrote the data, and it is not validated
 * before the step.
 */
export type Upcast = (data: JsonValue) => JsonValue

/** The steps of each type, from version 1 on. A type that never changed has none. */
export type Upcasts = Partial<Readonly<Record<EventType, readonly Upcast[]>>>

export const upcasts: Upcasts = {}

export interface EventVersions {
  /** The type of a record that is written now: `beaver.task_claimed.v1`. */
  wireTypeOf(type: EventType): string
  /** The event type of a record's type; `null` if this Beaver does not know it. */
  eventTypeOf(wireType: string): EventType | null
  /** The data of a record, in the newest version of its type. */
  newest(wireType: string, data: unknown): unknown
}

export function eventVersions(steps: Upcasts = upcasts): EventVersions {
  const known = new Map<string, { readonly type: EventType; readonly left: readonly Upcast[] }>()
  const written = new Map<EventType, string>()
  for (const type of Object.keys(eventData) as EventType[]) {
    const ofType = steps[type] ?? []
    for (let version = 1; version <= ofType.length + 1; version++) {
      const name = ['beaver', type, `v${version}`].join('.')
      known.set(name, { type, left: ofType.slice(version - 1) })
      written.set(type, name)
    }
  }
  return {
    wireTypeOf(type) {
      const name = written.get(type)
      invariant(name !== undefined, `There is no event type ${type}.`)
      return name
    },
    eventTypeOf: (wireType) => known.get(wireType)?.type ?? null,
    newest: (wireType, data) =>
      (known.get(wireType)?.left ?? []).reduce<unknown>((older, step) => step(older as JsonValue), data),
  }
}
