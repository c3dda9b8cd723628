// What the pages of usage and failures show, as it is in the address, and the questions that follow from it.
// Pure.
import type { QueryInput } from '@beaver/contracts'
import { filterOf, type TaskSearch, timeOf } from '../pages/task-search.ts'

/** By what usage is summed, with the word of the page. */
export const usageGroups = [
  ['day', 'Day'],
  ['model', 'Model'],
  ['skill', 'Skill'],
  ['workflow', 'Workflow'],
  ['profile', 'Profile'],
  ['user', 'User'],
] as const
export type UsageBy = (typeof usageGroups)[number][0]

/** What the bars show, with the word of the page. */
export const measures = [
  ['tokens', 'Tokens'],
  ['cost', 'Cost'],
] as const
export type Measure = (typeof measures)[number][0]

export interface UsageSearch {
  /** Absent: by day. */
  readonly by?: UsageBy
  /** Absent: tokens. */
  readonly show?: Measure
  /** The first and the last day, or how long ago it is: 2026-11-01 or 7d. Days are those of UTC. */
  readonly since?: string
  readonly until?: string
  readonly user?: string
}

const chosenFrom = <Name extends string>(
  choices: readonly (readonly [Name, string])[],
  value: unknown,
): Name | undefined => choices.find(([name]) => name === value)?.[0]

/** The fields of an address that have a text. The address may be written by anybody. */
function textsIn<Field extends string>(
  raw: Readonly<Record<string, unknown>>,
  fields: readonly Field[],
): { readonly [Name in Field]?: string } {
  const found = fields.flatMap((field) => {
    const value = raw[field]
    const text = typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''
    return text === '' ? [] : [[field, text] as const]
  })
  return Object.fromEntries(found) as { readonly [Name in Field]?: string }
}

export function readUsageSearch(raw: Readonly<Record<string, unknown>>): UsageSearch {
  const by = chosenFrom(usageGroups, raw['by'])
  const show = chosenFrom(measures, raw['show'])
  return {
    ...(by === undefined ? {} : { by }),
    ...(show === undefined ? {} : { show }),
    ...textsIn(raw, ['since', 'until', 'user']),
  }
}

const dayMs = 86_400_000
const groupsMax = 1_000

/** A question, or the field that cannot be read and what it takes. */
export type Read<Input> = { readonly input: Input } | { readonly field: string; readonly takes: string }

/**
 * A day of UTC. "7d" is the first of seven days, of which today is the last.
 *
 * @returns YYYY-MM-DD; `null`: it is no day
 */
function dayOf(text: string, now: number): string | null {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return Number.isNaN(Date.parse(text)) ? null : text
  const days = /^(\d{1,4})\s*d$/.exec(text)?.[1]
  const time =
    days === undefined ? timeOf(text, now) : new Date(now - (Number(days) - 1) * dayMs).toISOString()
  return time?.slice(0, 'YYYY-MM-DD'.length) ?? null
}

/** @param now what relative times such as "7d" are relative to, in milliseconds */
export function usageInput(search: UsageSearch, by: UsageBy, now: number): Read<QueryInput<'usage'>> {
  const input: { -readonly [Name in keyof QueryInput<'usage'>]: QueryInput<'usage'>[Name] } = {
    by,
    limit: groupsMax,
  }
  for (const field of ['since', 'until'] as const) {
    const given = search[field]
    if (given === undefined) continue
    const day = dayOf(given, now)
    if (day === null) return { field, takes: 'a day such as 2026-11-29 or 7d' }
    input[field] = day
  }
  if (search.user !== undefined) input.user_id = search.user
  return { input }
}

/** The filters of failures. They mean what those of the tasks mean. */
export const failureFilters = ['user', 'session', 'workflow', 'skill', 'profile', 'model', 'failure'] as const
export type FailureFilter = (typeof failureFilters)[number]
export type FailureSearch = {
  readonly [Field in FailureFilter | 'since' | 'until']?: string
}

export const readFailureSearch = (raw: Readonly<Record<string, unknown>>): FailureSearch =>
  textsIn(raw, [...failureFilters, 'since', 'until'])

export function failuresInput(search: FailureSearch, now: number): Read<QueryInput<'failures'>> {
  // The fields are some of those of the list of tasks.
  const read = filterOf(search, now)
  return 'field' in read ? read : { input: { ...(read.filter as QueryInput<'failures'>), limit: 200 } }
}

/** The filter of the list of tasks for a group of failures: these tasks and no others. */
export const tasksOf = (
  group: { readonly failure_class: string; readonly pattern: string },
  search: FailureSearch,
): TaskSearch => ({
  ...search,
  failure: group.failure_class,
  ...(group.pattern === '' ? {} : { pattern: group.pattern }),
})
