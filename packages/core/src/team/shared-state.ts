// The state that the members of a team share (D-51): a JSON object, changed by journaled operations.
// H1. Pure. The state after a change depends only on the state before it and the change, so parallel members
// lose no update.
// H2. A change that does not fit the state is refused and changes nothing.
// H3. A path never reaches a prototype.
import { z } from 'zod'
import { BeaverError } from '../errors.ts'
import { canonicalJson } from '../canonical-json.ts'
import { type JsonObject, type JsonValue, jsonValue } from '../json.ts'

/**
 * A path: `member_outputs.researcher`, `custom_data.findings.0`. It consists of keys and list indexes with
 * dots between them. If a key contains a dot, write the path as a list of keys.
 */
const path = z
  .union([z.string().min(1).max(500), z.array(z.string().min(1).max(500)).min(1).max(50)])
  .describe('The path of the value: keys and list indexes with dots between them, or a list of keys.')

/** A change of the shared state. It makes missing objects on its path, except for `delete`. */
export const sharedStateChange = z.discriminatedUnion('action', [
  z.strictObject({ action: z.literal('set'), path, value: jsonValue.describe('The new value.') }),
  z.strictObject({
    action: z.literal('increment'),
    path,
    by: z.number().describe('The number that is added. A missing value counts as 0.'),
  }),
  z.strictObject({
    action: z.literal('append'),
    path,
    value: jsonValue.describe('The value that becomes the last item of the list. A missing list is made.'),
  }),
  z.strictObject({ action: z.literal('delete'), path }),
])
export type SharedStateChange = z.infer<typeof sharedStateChange>

/** The result of a change. `message` says why it was refused. */
export type SharedStateResult =
  | { readonly ok: true; readonly state: JsonObject; readonly value: JsonValue }
  | { readonly ok: false; readonly message: string }

/** The largest shared state, in bytes of its canonical JSON. */
export const sharedStateBytesMax = 256 * 1024

const forbidden = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * The state after a change, and the new value at its path (`null` after a delete).
 *
 * @example
 * changeSharedState({ count: 1 }, { action: 'increment', path: 'count', by: 2 }) // => { ok: true, state: { count: 3 }, value: 3 }
 */
export function changeSharedState(state: JsonObject, change: SharedStateChange): SharedStateResult {
  const keys = keysOf(change.path)
  if (keys.some((key) => key === '' || forbidden.has(key)))
    return refused(`The path ${JSON.stringify(change.path)} is not valid: join keys with dots.`)
  const next = structuredClone(state) as MutableObject
  const parent = parentAt(next, keys, change.action !== 'delete')
  if (typeof parent === 'string') return refused(parent)
  if (parent === null) return { ok: true, state, value: null }
  const key = keys.at(-1) as string
  if (Array.isArray(parent) && !isPlace(key, parent.length)) {
    return refused(
      `${where(keys.slice(0, -1))} is a list of ${parent.length}; ${JSON.stringify(key)} is not a place in it. To add at its end, use append on the list.`,
    )
  }
  const before = Object.hasOwn(parent, key) ? (parent as MutableObject)[key] : undefined
  const value = valueAfter(before, change)
  if ('refusal' in value) return refused(value.refusal)
  if (value.now === undefined) {
    if (Array.isArray(parent)) parent.splice(Number(key), 1)
    else delete parent[key]
  } else (parent as MutableObject)[key] = value.now
  const bytes = bytesOf(next)
  if (bytes === null) return refused('The value is nested too deeply. Store it flatter, or as text.')
  if (bytes > sharedStateBytesMax)
    return refused(
      `The shared state would be ${bytes} bytes; the limit is ${sharedStateBytesMax}. Store less, or delete something.`,
    )
  return { ok: true, state: next as JsonObject, value: value.now ?? null }
}

/**
 * The value at a path; `undefined` if there is none. The empty path gives the whole state.
 *
 * @example
 * readSharedState({ review: { open: 2 } }, 'review.open') // => 2
 * readSharedState({ review: { open: 2 } }, 'review.closed') // => undefined
 */
export function readSharedState(state: JsonObject, at: string | readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = state
  for (const key of at === '' ? [] : keysOf(at)) {
    if (
      typeof value !== 'object' ||
      value === null ||
      !Object.hasOwn(value, key) ||
      (Array.isArray(value) && key === 'length')
    )
      return undefined
    value = (value as JsonObject)[key]
  }
  return value
}

/** The size of the state; `null` if it is nested deeper than a record may be. */
function bytesOf(state: MutableObject): number | null {
  try {
    return Buffer.byteLength(canonicalJson(state))
  } catch (error) {
    if (error instanceof BeaverError) return null
    throw error
  }
}

type Mutable = string | number | boolean | null | Mutable[] | MutableObject
interface MutableObject {
  [key: string]: Mutable
}

/**
 * The object or list with the last key; `null` if a delete finds nothing; a text if the path cannot be
 * reached.
 */
function parentAt(
  state: MutableObject,
  keys: readonly string[],
  create: boolean,
): MutableObject | Mutable[] | string | null {
  let parent: Mutable = state
  for (const [depth, key] of keys.slice(0, -1).entries()) {
    const here: MutableObject | Mutable[] = parent as MutableObject
    if (!Object.hasOwn(here, key)) {
      if (!create) return null
      if (Array.isArray(here))
        return `${where(keys.slice(0, depth))} is a list and has no place ${JSON.stringify(key)}.`
      here[key] = {}
    }
    const value = (here as MutableObject)[key] as Mutable
    if (typeof value !== 'object' || value === null)
      return `${where(keys.slice(0, depth + 1))} is ${kindOf(value)}, so it cannot have members.`
    parent = value
  }
  const last = parent as MutableObject | Mutable[]
  return create || Object.hasOwn(last, keys.at(-1) as string) ? last : null
}

function valueAfter(
  before: Mutable | undefined,
  change: SharedStateChange,
): { readonly now: Mutable | undefined } | { readonly refusal: string } {
  switch (change.action) {
    case 'set':
      return { now: change.value as Mutable }
    case 'delete':
      return { now: undefined }
    case 'increment': {
      if (before !== undefined && typeof before !== 'number')
        return {
          refusal: `${whereOf(change)} is ${kindOf(before)}, not a number, so it cannot be incremented.`,
        }
      const sum = (before ?? 0) + change.by
      return Number.isFinite(sum)
        ? { now: sum }
        : { refusal: `${whereOf(change)} would no longer be a finite number.` }
    }
    case 'append':
      if (before === undefined) return { now: [change.value as Mutable] }
      return Array.isArray(before)
        ? { now: [...before, change.value as Mutable] }
        : { refusal: `${whereOf(change)} is ${kindOf(before)}, not a list, so nothing can be appended.` }
    default:
      return change satisfies never
  }
}

const isPlace = (key: string, last: number): boolean =>
  /^(?:0|[1-9]\d{0,6})$/.test(key) && Number(key) <= last
const where = (keys: readonly string[]): string =>
  keys.length === 0 ? 'The state' : JSON.stringify(keys.join('.'))
const kindOf = (value: Mutable): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`
const keysOf = (at: string | readonly string[]): readonly string[] =>
  typeof at === 'string' ? at.split('.') : at
const whereOf = ({ path: at }: SharedStateChange): string => where(typeof at === 'string' ? [at] : at)
const refused = (message: string): SharedStateResult => ({ ok: false, message })
