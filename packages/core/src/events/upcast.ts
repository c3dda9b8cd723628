// Versions of event types. A journal keeps every version that was ever written; a reader sees the newest one only.
// U1. The name of a record's type says its version: `beaver.task_claimed.v1`. U2. To change a type: change its shape in catalog.ts, and
//     add here the step that makes the data of the version before into it. A step is pure, and is never changed afterwards.
// U3. Steps are taken in one place, on reading (record.ts). Hashes and what the journal shows as written stay those of the old version.
// U4. A version that is higher than the newest one known was written by a newer Beaver: its type is not known.
import { invariant } from '../errors.ts'
import type { JsonValue } from '../json.ts'
import type { EventType } from './catalog.ts'
import { eventData } from './catalog.ts'

/** The data of the next version, from the data of one version, which was written by Beaver and is not checked before. */
export type Upcast = (data: JsonValue) => JsonValue

/** Of each type the steps from version 1 on; none for a type that is as it was at first. */
export type Upcasts = Partial<Readonly<Record<EventType, readonly Upcast[]>>>

export const upcasts: Upcasts = {}

export interface EventVersions {
  /** The type of a record that is written now: `beaver.task_claimed.v1`. */
  wireTypeOf(type: EventType): string
  /** The event type of a record's type; `null` for one that this Beaver does not know. */
  eventTypeOf(wireType: string): EventType | null
  /** The data of a record in the newest version of its type. */
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
    newest: (wireType, data) => (known.get(wireType)?.left ?? []).reduce<unknown>((older, step) => step(older as JsonValue), data),
  }
}
