// Reads an object that a model wrote by the names that models usually give its fields, without case, spaces,
// `_` and `-`. The field's own name wins. Unknown fields are ignored: models add reasons and summaries, and
// the rest of the answer is still good. A list of names may be one name, or names with commas.
import { isRecord } from '@beaver/workflows'
import { z } from 'zod'

/** For each field, the other names that are known for it. */
type Aliases = Readonly<Record<string, readonly string[]>>

/** The schema of an object whose fields may have other names. Further fields are ignored. */
export function namedFields<Shape extends z.ZodRawShape>(shape: Shape, aliases: Aliases) {
  const known = new Map(
    Object.entries(aliases).flatMap(([field, names]) => names.map((name) => [folded(name), field] as const)),
  )
  const own = new Map(Object.keys(shape).map((field) => [folded(field), field] as const))
  return z.preprocess((value) => (isRecord(value) ? renamed(value, { own, known }) : value), z.object(shape))
}

function renamed(
  value: Readonly<Record<string, unknown>>,
  { own, known }: { own: ReadonlyMap<string, string>; known: ReadonlyMap<string, string> },
) {
  const fields: Record<string, unknown> = {}
  for (const names of [own, known]) {
    for (const [name, each] of Object.entries(value)) {
      const field = names.get(folded(name))
      if (field !== undefined && (fields[field] === undefined || fields[field] === null)) fields[field] = each
    }
  }
  return fields
}

const folded = (name: string): string => name.toLowerCase().replaceAll(/[\s_-]/g, '')

/** A list of names. */
export const namesField = (max: number) =>
  z.preprocess(
    (value) =>
      typeof value === 'string'
        ? value.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]))
        : (value ?? undefined),
    z
      .array(z.union([z.string(), z.number().transform(String)]))
      .max(max)
      .optional(),
  )

/** The usual other names for the fields of an assignment. */
export const dependencyNames = [
  'dependencies',
  'depends',
  'dependency',
  'deps',
  'after',
  'requires',
  'prerequisites',
]
export const assigneeNames = [
  'member',
  'worker',
  'agent',
  'assignee',
  'assigned_to',
  'name',
  'member_name',
  'worker_name',
  'agent_name',
]
export const workNames = [
  'task',
  'instruction',
  'instructions',
  'subtask',
  'sub_task',
  'description',
  'work',
  'prompt',
]
export const listNames = ['plan', 'assignments', 'delegations', 'tasks', 'subtasks', 'sub_tasks', 'steps']
