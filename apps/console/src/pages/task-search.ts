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
  'pattern',
  'cost',
  'tokens',
] as const
export type FilterField = (typeof filterFields)[number]
export type TaskSearch = { readonly [Field in FilterField]?: string }

/** The states by which the list is filtered, with the words of the page. */
export const statusChoices = [
  ['', 'All'],
  ['open', 'Open'],
  ['waiting_for_person', 'Asks you'],
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
  | { readonly filter: QueryInput<'task_count'> }
  | { readonly field: FilterField; readonly takes: string }

type Filter = QueryInput<'task_count'>

/** @param now what relative times such as "2h" are relative to, in milliseconds */
export function filterOf(search: TaskSearch, now: number): ReadFilter {
  const filter: { -readonly [Field in keyof Filter]: Filter[Field] } = {}
  const { status, text, workflow, skill, profile, model, user, session, failure, pattern } = search
  if (status !== undefined) filter.status = status as 'open'
  if (text !== undefined) filter.text = text
  if (workflow !== undefined) filter.uses_workflow = workflow
  if (skill !== undefined) filter.skill = skill
  if (profile !== undefined) filter.profile = profile
  if (model !== undefined) filter.model = model
  if (user !== undefined) filter.user_id = user
  if (session !== undefined) filter.session_id = session
  if (failure !== undefined) filter.failure_class = failure as NonNullable<Filter['failure_class']>
  if (pattern !== undefined) filter.failure_pattern = pattern
  for (const [field, name] of [
    ['since', 'submitted_since'],
    ['until', 'submitted_before'],
  ] as const) {
    const given = search[field]
    if (given === undefined) continue
    const time = timeOf(given, now)
    if (time === null) return { field, takes: 'a time such as 2h, 7d, 2026-11-29 or 2026-11-29T09:30' }
    filter[name] = time
  }
  for (const [field, name] of [
    ['cost', 'cost_usd_min'],
    ['tokens', 'tokens_min'],
  ] as const) {
    const given = search[field]
    if (given === undefined) continue
    const amount = Number(given)
    const fits = Number.isFinite(amount) && amount >= 0 && (field === 'cost' || Number.isInteger(amount))
    if (!fits)
      return { field, takes: field === 'cost' ? 'US dollars, such as 0.50' : 'a whole number of tokens' }
    filter[name] = amount
  }
  return { filter }
}
