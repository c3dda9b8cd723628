// What the list of tasks shows, as it is in the address. Pure: text in, filter out.
import type { QueryInput } from '@beaver/contracts'

/** The filters of the list. Each is a text, as a person types it into its field. */
export const filterFields = [
  'status',
  'text',
  'workflow',
  'skill',
  'profile',
  'model',
  'user',
  'session',
  'since',
  'until',
  'failure',
  'cost',
  'tokens',
] as const
export type FilterField = (typeof filterFields)[number]
export type TaskSearch = { readonly [Field in FilterField]?: string }

/** The states by which the list is filtered, with the words of the page. */
export const statusChoices = [
  ['', 'All'],
  ['open', 'Open'],
  ['waiting_for_person', 'Waits for you'],
  ['completed', 'Completed'],
  ['incomplete', 'Incomplete'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
] as const

/** Reads the query string of the address. Unknown fields and empty texts are left out. */
export function readTaskSearch(raw: Readonly<Record<string, unknown>>): TaskSearch {
  const found = filterFields.flatMap((field) => {
    const value = raw[field]
    const text = typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''
    return text === '' ? [] : [[field, text] as const]
  })
  return Object.fromEntries(found)
}

const spans: Readonly<Record<string, number>> = { min: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/**
 * A time as a person writes it: "2h", "7d", "2026-11-29" or RFC 3339. A day is a day of the reader's zone.
 *
 * @returns RFC 3339, UTC; `null`: it is none of these
 */
export function timeOf(text: string, now: number): string | null {
  const [, amount, unit = ''] = /^(\d{1,5})\s*(min|h|d|w)$/.exec(text) ?? []
  const span = spans[unit]
  if (amount !== undefined && span !== undefined) return new Date(now - Number(amount) * span).toISOString()
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00` : text
  const at = /^\d{4}-\d{2}-\d{2}T/.test(day) ? Date.parse(day) : Number.NaN
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}

/** A filter, or the first field that cannot be read and what it takes. */
export type ReadFilter =
  | { readonly filter: QueryInput<'tasks'> }
  | { readonly field: FilterField; readonly takes: string }

export function filterOf(search: TaskSearch, now: number): ReadFilter {
  const { status, workflow, user, session } = search
  return {
    filter: {
      ...(status === undefined
        ? {}
        : { status: (status === 'waiting_for_person' ? 'waiting_for_approval' : status) as 'open' }),
      ...(workflow === undefined ? {} : { workflow }),
      ...(user === undefined ? {} : { user_id: user }),
      ...(session === undefined ? {} : { session_id: session }),
    },
  }
}
