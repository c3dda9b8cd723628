// What a schema found wrong with an input, for people: each fault with its place.
import type { z } from 'zod'
import type { Problem } from './errors.ts'

/** The kinds of a schema and of JSON, in words. */
const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
}

/**
 * The faults of an input.
 *
 * @param issues what the schema found
 * @param input what the schema read
 * @param at the input as a part of a larger one, such as `body`. Default: it is the whole
 * @example
 * import { z } from 'zod'
 *
 * const input = { limit: 'many' }
 * const { error } = z.object({ task: z.string(), limit: z.number() }).safeParse(input)
 * problemsOf(error?.issues ?? [], input) // => [{ path: 'task', message: 'is missing' }, { path: 'limit', message: 'must be a number, not a string' }]
 */
export function problemsOf(issues: readonly z.core.$ZodIssue[], input: unknown, at?: string): Problem[] {
  return issues.flatMap(ofUnion).map((issue) => ({
    path: [...(at === undefined ? [] : [at]), ...issue.path.map(String)].join('.'),
    message: problemText(issue, input),
  }))
}

/**
 * The faults in one line.
 *
 * @example
 * problemsText([{ path: 'task', message: 'is missing' }, { path: '', message: 'must be an object, not null' }]) // => 'task: is missing; must be an object, not null'
 */
export const problemsText = (problems: readonly Problem[]): string =>
  problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')

/**
 * Of a union, the faults in the one option that has the kind of the value. What fits no option is a fault of
 * the union itself.
 */
function ofUnion(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const near = issue.errors.filter(
    (faults) => !faults.some(({ code, path }) => code === 'invalid_type' && path.length === 0),
  )
  const [only] = near
  return only === undefined || near.length > 1
    ? [issue]
    : only.flatMap((fault) => ofUnion({ ...fault, path: [...issue.path, ...fault.path] }))
}

function problemText(issue: z.core.$ZodIssue, input: unknown): string {
  if (issue.code !== 'invalid_type') return issue.message
  const value = issue.path.reduce<unknown>(
    (inside, key) => (inside as Record<PropertyKey, unknown> | null | undefined)?.[key],
    input,
  )
  if (value === undefined) return 'is missing'
  const [wanted, given] = [kinds[issue.expected], kindOf(value)]
  if (wanted === undefined || given === undefined || Number.isNaN(value)) return issue.message
  return issue.expected === 'int' && given === kinds['number']
    ? `must be ${wanted}`
    : `must be ${wanted}, not ${given}`
}

function kindOf(value: unknown): string | undefined {
  if (typeof value === 'boolean') return String(value)
  return kinds[value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value]
}
