// From whatever a model sent to typed arguments, or to one error that tells it what to write instead.
// R1. The first fault is reported, in the order of the schema's fields; the order of the sent keys does not matter.
// R2. Nothing is repaired silently: JSON text in a string, a lone value for an array, "true" for true are refused with the
//     correct spelling.
import type { JsonObject } from '@beaver/core'
import type { z } from 'zod'
import { type Refusal, refuse } from './workflow-error.ts'
import { quote, quoteAll } from './wording.ts'
import { isRecord, parsedJson, spelling } from './spelling.ts'

interface Reading<Input extends z.ZodType> {
  readonly input: Input
  readonly parameters: JsonObject
  readonly shapeFault?: (args: Readonly<Record<string, unknown>>) => Refusal | null
}

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

export function readArguments<Input extends z.ZodType>(reading: Reading<Input>, args: unknown): { ok: true; value: z.output<Input> } | Refusal {
  if (!isRecord(args)) return refuse('invalid_arguments', '', argumentsFault(args))
  const fault = reading.shapeFault?.(args) ?? null
  if (fault !== null) return fault
  const parsed = reading.input.safeParse(args)
  if (parsed.success) return { ok: true, value: parsed.data }
  const [issue] = parsed.error.issues
  return issue === undefined
    ? refuse('invalid_arguments', '', parsed.error.message)
    : refusalOf(issue, { args, parameters: reading.parameters, issues: parsed.error.issues })
}

interface Context {
  readonly args: Readonly<Record<string, unknown>>
  readonly parameters: JsonObject
  readonly issues: readonly Issue[]
}

function refusalOf(issue: Issue, context: Context): Refusal {
  const path = issue.path.join('.')
  const about = descriptionAt(context.parameters, issue.path)
  switch (issue.code) {
    case 'unrecognized_keys': {
      const [key = ''] = issue.keys
      const at = [...issue.path, key].join('.')
      const known = quoteAll(fieldsAt(context.parameters, issue.path))
      return refuse('invalid_arguments', at, `The field ${quote(at)} is not known. Remove it${known === '' ? '' : `; the fields here are ${known}`}.`)
    }
    case 'too_small':
      if (path === 'agents') return refuse('agents_empty', path, `"agents" is empty. Give at least one agent: ${about}`)
      return refuse('invalid_arguments', path, `${quote(path)} is empty. ${about}`)
    case 'custom':
      return refuse('invalid_arguments', path, `${quote(path)} ${issue.message}.`)
    case 'invalid_union':
      return refuse(
        'invalid_arguments',
        path,
        `${quote(path)} is ${quote(valueAt(context.args, issue.path))}. Write a text of at most 2000 characters, or one of ${evidenceForms}.`,
      )
    case 'invalid_type':
      return refuse('invalid_arguments', path, typeFault(issue, context, about))
    default:
      return refuse('invalid_arguments', path, `${quote(path)}: ${issue.message}. ${about}`)
  }
}

const evidenceForms =
  '{"kind": "tool_succeeded", "tool": "<name>", "times_min": 1}, {"kind": "output_length", "min": 1, "max": 1000}, {"kind": "output_matches", "pattern": "<regular expression>"}'

function typeFault(issue: Issue & { code: 'invalid_type' }, context: Context, about: string): string {
  const path = issue.path.join('.')
  const value = valueAt(context.args, issue.path)
  if (value === undefined) {
    const parent = issue.path.slice(0, -1).join('.')
    const unknown = context.issues.flatMap((other) => (other.code === 'unrecognized_keys' && other.path.join('.') === parent ? other.keys : []))
    const renamed = unknown.length === 0 ? '' : ` (${quoteAll(unknown)} is not a field here: was ${quote(String(issue.path.at(-1)))} meant?)`
    return `${quote(path)} is missing${renamed}. ${about}`
  }
  const required = schemaAt(context.parameters, issue.path.slice(0, -1))['required'] ?? []
  const optional = value === null && !(required as string[]).includes(String(issue.path.at(-1))) ? ' (or leave the field out)' : ''
  const hint = spelling(issue.expected, value, schemaAt(context.parameters, issue.path))
  return `${quote(path)} is ${quote(value)}, but must be ${article(issue.expected)}${optional}. ${hint ?? about}`
}

function argumentsFault(args: unknown): string {
  if (typeof args === 'string' && isRecord(parsedJson(args)))
    return 'The arguments are JSON text inside a string. Send the object itself, without quotes around it.'
  return `The arguments are ${quote(args)}, but must be an object such as {"task": "…", "agents": [{"name": "…", "instruction": "…"}]}.`
}

const article = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`)

function valueAt(value: unknown, path: Path): unknown {
  let at = value
  for (const key of path) at = typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as Record<PropertyKey, unknown>)[key] : undefined
  return at
}

/** The JSON schema of a place; of alternatives, the first that has the place. */
function schemaAt(schema: JsonObject, path: Path): JsonObject {
  let at: JsonObject = schema
  for (const key of path) {
    const holder = [at, ...((at['anyOf'] ?? []) as JsonObject[])].find((each) => each['properties'] !== undefined || each['items'] !== undefined)
    const next = typeof key === 'number' ? holder?.['items'] : (holder?.['properties'] as JsonObject | undefined)?.[String(key)]
    if (!isRecord(next)) return {}
    at = next as JsonObject
  }
  return at
}

const descriptionAt = (schema: JsonObject, path: Path): string => textOr(schemaAt(schema, path)['description'], '')

const fieldsAt = (schema: JsonObject, path: Path): string[] => Object.keys((schemaAt(schema, path)['properties'] ?? {}) as JsonObject)

function textOr(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback
}
