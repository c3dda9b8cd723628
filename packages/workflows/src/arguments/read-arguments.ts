// Turns what a model sent into typed arguments, or into one error that says what to write instead: the first
// fault in the order of the schema's fields. Nothing is repaired silently: JSON text in a string, a single
// value for an array, "true" for true or another field name is refused. Only null for an optional field is
// accepted, because it can only mean that the field is absent.
import type { JsonObject } from '@beaver/core'
import type { z } from 'zod'
import { agentNameFault } from '../agent-name.ts'
import { type Refusal, refuse } from '../workflow-error.ts'
import { renamedAdvice, unknownFieldAdvice } from './field-names.ts'
import { isRecord, nearJson } from './json-text.ts'
import {
  itemsOf,
  type Path,
  propertiesOf,
  requiredOf,
  schemaAt,
  valueAt,
  withoutNulls,
} from './schema-place.ts'
import { alternativesOf, wholeSchema } from './tool-schema.ts'
import { didYouMean, example, quote, quoteAll } from './wording.ts'

interface Reading<Input extends z.ZodType> {
  readonly input: Input
  /** The whole JSON schema of `input`, if it is made already. */
  readonly schema?: JsonObject
  readonly shapeFault?: (args: Readonly<Record<string, unknown>>) => Refusal | null
}

type Issue = z.core.$ZodIssue

/**
 * Reads the arguments of a call. The first fault is refused, in words that help a model to correct it.
 *
 * @example
 * import { z } from 'zod'
 *
 * const input = z.strictObject({ task: z.string() })
 * const read = readArguments({ input }, { task: 'Draft.' })
 * if (read.ok) read.value // => { task: 'Draft.' }
 * const refused = readArguments({ input }, {})
 * if (!refused.ok) refused.error.path // => 'task'
 */
export function readArguments<Input extends z.ZodType>(
  reading: Reading<Input>,
  args: unknown,
): { ok: true; value: z.output<Input> } | Refusal {
  if (!isRecord(args)) return refuse('invalid_arguments', '', argumentsFault(args))
  const { input, schema = wholeSchema(input) } = reading
  const fault = wrapperFault(args, schema) ?? reading.shapeFault?.(args) ?? null
  if (fault !== null) return fault
  const parsed = input.safeParse(withoutNulls(args, schema))
  if (parsed.success) return { ok: true, value: parsed.data }
  const [issue] = parsed.error.issues
  return issue === undefined
    ? refuse('invalid_arguments', '', parsed.error.message)
    : refusalOf(issue, { args, schema })
}

/**
 * Reads the arguments of a call from a provider's JSON text. Text that is nearly JSON is refused with the
 * correct form.
 *
 * @example
 * const read = readArgumentsText('{"task": "Describe the tides."}')
 * if (read.ok) read.value // => { task: 'Describe the tides.' }
 * const refused = readArgumentsText("{task: 'Describe the tides.'}")
 * if (!refused.ok) refused.error.code // => 'invalid_arguments'
 */
export function readArgumentsText(text: string): { readonly ok: true; readonly value: unknown } | Refusal {
  if (text.trim() === '') return { ok: true, value: {} }
  try {
    return { ok: true, value: JSON.parse(text) as unknown }
  } catch (error) {
    return refuse(
      'invalid_arguments',
      '',
      textFault(text, error instanceof Error ? error.message : String(error)),
    )
  }
}

function textFault(text: string, reason: string): string {
  const near = nearJson(text)
  if (near !== null)
    return `The arguments are not JSON: there is ${near.faults.join(' and ')}. Send the object alone${example(near.value, ': ')}.`
  if (endsInTheMiddle(text, reason))
    return `The arguments are not JSON: they end in the middle, after ${text.length} characters. Send them whole; use fewer agents or shorter instructions if they are too long.`
  return `The arguments are not JSON (${reason}). Send one JSON object such as ${object}.`
}

/**
 * Whether JSON.parse reached the end of the text and expected more. V8 gives its SyntaxError no code, so its
 * words decide. If they change, only the advice gets worse.
 */
function endsInTheMiddle(text: string, reason: string): boolean {
  const [, position] = /at position (\d+)/.exec(reason) ?? []
  return /unexpected end|unterminated/i.test(reason) || Number(position) >= text.trimEnd().length
}

const object = '{"task": "…", "agents": [{"name": "…", "instruction": "…"}]}'

function argumentsFault(args: unknown): string {
  const inside = typeof args === 'string' ? jsonInside('object', args, 'The arguments are') : null
  if (inside !== null) return inside
  if (Array.isArray(args) && args.length === 1 && isRecord(args[0]))
    return 'The arguments are an array, but must be an object. Send its only item, without the brackets around it.'
  return `The arguments are ${quote(args)}, but must be an object such as ${object}.`
}

/** Recognises `{"input": {"task": …}}`. */
function wrapperFault(args: Readonly<Record<string, unknown>>, schema: JsonObject): Refusal | null {
  const [[key, value] = ['', null], ...others] = Object.entries(args)
  const fields = propertiesOf(schema, args)
  if (others.length > 0 || Object.hasOwn(fields, key)) return null
  const inner = typeof value === 'string' ? nearJson(value)?.value : value
  if (!isRecord(inner) || !Object.keys(inner).some((name) => Object.hasOwn(fields, name))) return null
  return refuse(
    'invalid_arguments',
    key,
    `The arguments stand inside ${quote(key)}, which is not a field. Send what is in it as the arguments${example(inner, ': ')}.`,
  )
}

interface Context {
  readonly args: Readonly<Record<string, unknown>>
  readonly schema: JsonObject
}

function refusalOf(issue: Issue, context: Context): Refusal {
  const path = issue.path.join('.')
  const value = valueAt(context.args, issue.path)
  const place = schemaAt(context.schema, issue.path, context.args)
  const about = textOr(place['description'], '')
  const refused = (message: string): Refusal => refuse('invalid_arguments', path, message)
  switch (issue.code) {
    case 'unrecognized_keys': {
      const [key = ''] = issue.keys
      const at = [...issue.path, key].join('.')
      const advice = unknownFieldAdvice(key, {
        at: issue.path,
        args: context.args,
        known: Object.keys(propertiesOf(place, value)),
        top: context.schema,
      })
      return refuse('invalid_arguments', at, `The field ${quote(at)} is not known. ${advice}`)
    }
    case 'too_small':
      if (path === 'agents')
        return refuse(
          'agents_empty',
          path,
          `"agents" is empty. Give at least one agent: ${example([agentForm])}. ${about}`,
        )
      return refused(
        typeof value === 'number'
          ? `${quote(path)} is ${value}, but must be at least ${issue.minimum}.`
          : `${quote(path)} is empty. ${about}`,
      )
    case 'too_big':
      return refused(
        typeof value === 'number'
          ? `${quote(path)} is ${value}, but must be at most ${issue.maximum}.`
          : `${quote(path)} has ${sizeOf(value)}; at most ${issue.maximum} are allowed.`,
      )
    case 'custom':
      return refused(`${quote(path)} ${issue.message}.`)
    case 'invalid_union':
      if (issue.discriminator !== undefined) return kindFault(issue.path, context)
      return (
        unionFault(issue, context) ??
        refused(`${quote(path)} is ${quote(value)}. ${alternativesAdvice(place)}`)
      )
    case 'invalid_type':
      return refused(typeFault(issue, context, about))
    default:
      return refused(`${quote(path)}: ${issue.message}. ${about}`)
  }
}

const agentForm = { name: '…', instruction: '…' }
const sizeOf = (value: unknown): string =>
  typeof value === 'string'
    ? `${value.length} characters`
    : `${Array.isArray(value) ? value.length : 'too many'} items`

/** The fault in the alternative that was probably meant: the one whose type fits. */
function unionFault(issue: Issue & { code: 'invalid_union' }, context: Context): Refusal | null {
  const meant = issue.errors.filter(
    ([first]) => first !== undefined && !(first.code === 'invalid_type' && first.path.length === 0),
  )
  const [first] = meant[0] ?? []
  return meant.length !== 1 || first === undefined
    ? null
    : refusalOf({ ...first, path: [...issue.path, ...first.path] } as Issue, context)
}

/** A value that no kind allows. `path` is that of the field that names the kind. */
function kindFault(path: Path, { args, schema }: Context): Refusal {
  const above = path.slice(0, -1)
  const place = schemaAt(schema, above, args)
  const kind = valueAt(args, path)
  const kinds = alternativesOf(place).map((each) =>
    valueAt(each, ['properties', String(path.at(-1)), 'const']),
  )
  const near = didYouMean(
    typeof kind === 'string' ? kind : '',
    kinds.filter((each) => typeof each === 'string'),
  )
  return refuse(
    'invalid_arguments',
    above.join('.'),
    `${quote(above.join('.'))} is ${quote(valueAt(args, above))}.${near} ${alternativesAdvice(place)}`,
  )
}

/** The allowed forms of a place with several forms, each in short. */
function alternativesAdvice(place: JsonObject): string {
  const forms = alternativesOf(place).map((each) => {
    if (!isRecord(each['properties']))
      return each['type'] === 'string' ? 'a text' : `a value of type ${textOr(each['type'], 'another')}`
    return formOf(each['properties'] as Record<string, JsonObject>, requiredOf(each, null))
  })
  return `Write ${forms.slice(0, -1).join(', ')}${forms.length > 1 ? ' or ' : ''}${forms.at(-1)}.`
}

/** An object in short: with its required fields, or with the first few. */
function formOf(properties: Readonly<Record<string, JsonObject>>, required: readonly string[]): string {
  const some = required.length > 1 ? required : Object.keys(properties).slice(0, 3)
  return `{${some.map((name) => `"${name}": ${valueForm(properties[name] ?? {})}`).join(', ')}}`
}

function valueForm(field: JsonObject): string {
  if (field['const'] !== undefined) return JSON.stringify(field['const'])
  const [{ type } = {}] = alternativesOf(field)
  return type === 'string'
    ? '"…"'
    : type === 'array'
      ? '["…"]'
      : type === 'integer' || type === 'number'
        ? '1'
        : type === 'boolean'
          ? 'true'
          : '{…}'
}

function typeFault(
  issue: Issue & { code: 'invalid_type' },
  { args, schema }: Context,
  about: string,
): string {
  const path = issue.path.join('.')
  const value = valueAt(args, issue.path)
  const above = issue.path.slice(0, -1)
  const [holder, holderSchema] = [valueAt(args, above), schemaAt(schema, above, args)]
  if (value === undefined) {
    const known = propertiesOf(holderSchema, holder)
    // Of a requirement, the whole form says more than what one of its fields means.
    const form =
      about === '' || Object.hasOwn(known, 'kind')
        ? `Write ${formOf(known, requiredOf(holderSchema, holder))}.`
        : about
    return [`${quote(path)} is missing.`, missingAdvice(issue.path, holder, Object.keys(known)), form]
      .filter((part) => part !== '')
      .join(' ')
  }
  const optional =
    value === null && !requiredOf(holderSchema, holder).includes(String(issue.path.at(-1)))
      ? ' (or leave the field out)'
      : ''
  const hint = spelling(issue.expected, value, schemaAt(schema, issue.path, args))
  return `${quote(path)} is ${quote(value)}, but must be ${article(issue.expected)}${optional}. ${hint ?? about}`
}

function missingAdvice(path: Path, holder: unknown, known: readonly string[]): string {
  const field = String(path.at(-1))
  const renamed = renamedAdvice(field, holder, known)
  if (renamed !== '' || !isRecord(holder)) return renamed
  const [[key, value] = ['', null], ...others] = Object.entries(holder)
  if (
    known.includes('instruction') &&
    others.length === 0 &&
    !known.includes(key) &&
    typeof value === 'string'
  )
    return `Write ${example({ name: key, instruction: value }) || example(agentForm)}.`
  const unknown = Object.keys(holder).filter((each) => !known.includes(each))
  return unknown.length === 0
    ? ''
    : `${quoteAll(unknown)} ${unknown.length === 1 ? 'is not a field' : 'are not fields'} here.`
}

const articles: Readonly<Record<string, string>> = {
  array: 'an array',
  object: 'an object',
  record: 'an object',
  int: 'a whole number',
}
const article = (type: string): string => articles[type] ?? `a ${type}`

function textOr(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback
}

// Advises how to write what a model wrote in a wrong form. It knows the shapes that models really produce,
// and builds the correct spelling from the model's own arguments.

/** How to write `value` if `expected` is required. `null` if the field's description is the best advice. */
function spelling(expected: string, value: unknown, schema: JsonObject): string | null {
  if (typeof value === 'string') {
    const inside = jsonInside(expected, value)
    if (inside !== null) return inside
  }
  switch (expected) {
    case 'array':
      return ofArray(value, schema)
    case 'object':
      return isAgent(schema) ? ofAgent(value) : null
    case 'string':
      return ofText(value)
    case 'boolean':
      return typeof value === 'string' && /^\s*(?:true|false)\s*$/i.test(value)
        ? `Write ${value.trim().toLowerCase()} without quotes.`
        : null
    case 'int':
    case 'number':
      return typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value))
        ? `Write ${Number(value)} without quotes.`
        : null
    default:
      return null
  }
}

/** For JSON in a text, if its value is required. */
function jsonInside(expected: string, text: string, subject = 'It is'): string | null {
  const near = nearJson(text)
  if (
    near === null ||
    (expected === 'array' ? !Array.isArray(near.value) : expected !== 'object' || !isRecord(near.value))
  )
    return null
  const faults = near.faults.length === 0 ? '' : `, with ${near.faults.join(' and ')}`
  return `${subject} JSON text inside a string${faults}: write the ${expected} itself, without quotes around it${example(near.value, ': ')}.`
}

function ofArray(value: unknown, schema: JsonObject): string | null {
  if (!isAgent(itemsOf(schema))) return ofList(value, itemsOf(schema))
  const members = agentsIn(value)
  return `Write an array with one object per agent: ${(members === null ? '' : example(members)) || '[{"name": "…", "instruction": "…"}]'}.`
}

function ofList(value: unknown, items: JsonObject): string | null {
  if (typeof value !== 'string')
    return isRecord(value) && items['type'] !== 'string'
      ? `Write an array, of one object too${example([value], ': ')}.`
      : null
  const names = value
    .split(/[,，、\n]/u)
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return `Write an array: ${quote(items['type'] === 'string' ? names : [value])}.`
}

function ofAgent(value: unknown): string | null {
  const [agent, ...others] = agentsIn(value) ?? []
  return agent === undefined || others.length > 0
    ? null
    : `Write an object: ${example(agent) || '{"name": "…", "instruction": "…"}'}.`
}

function ofText(value: unknown): string | null {
  if (typeof value === 'number' || typeof value === 'boolean') return `Write it in quotes: "${value}".`
  if (isRecord(value) && typeof value['name'] === 'string')
    return `Write one text in quotes: ${quote(value['name'])}.`
  if (Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string'))
    return `Write one text in quotes: ${quote(value.join(value.some((each: string) => each.includes(' ')) ? ' ' : ', '))}.`
  return value === null ? null : 'Write one text in quotes.'
}

interface Slot {
  readonly name: string
  readonly instruction: unknown
}

/** The agents that a value in a wrong form probably means. */
function agentsIn(value: unknown): Slot[] | null {
  if (typeof value === 'string') {
    const whole = slotOf(value)
    if (whole !== null) return [whole]
    const slots = value
      .split(/[,，、;；\n]|->|[→⇒]/u)
      .map((each) => each.trim())
      .map(slotOf)
    return slots.every((each) => each !== null) ? slots : null
  }
  if (Array.isArray(value)) {
    const [name, instruction] = value as unknown[]
    if (
      value.length === 2 &&
      typeof name === 'string' &&
      typeof instruction === 'string' &&
      agentNameFault(name) === null &&
      / /.test(instruction)
    )
      return [{ name, instruction }]
    if (value.length === 1 && isRecord(name)) return agentsIn(name)
    return null
  }
  if (!isRecord(value)) return null
  if (typeof value['name'] === 'string')
    return [{ instruction: '…', ...value, name: value['name'] }].map(nameFirst)
  const entries = Object.entries(value)
  const [first] = entries
  if (entries.length === 1 && Array.isArray(first?.[1])) return first[1] as Slot[]
  if (entries.length === 0 || !entries.every(([, each]) => typeof each === 'string' || isRecord(each)))
    return null
  return entries
    .map(([name, each]) =>
      typeof each === 'string'
        ? { name, instruction: each }
        : { instruction: '…', ...(each as object), name },
    )
    .map(nameFirst)
}

const nameFirst = ({ name, ...rest }: Slot): Slot => ({ name, ...rest })

/** Reads `collector`, or `collector: Find the filings.` */
function slotOf(text: string): Slot | null {
  const [, name = text.trim(), instruction = '…'] = /^([^:：]{1,64})[:：]\s*(\S[\s\S]*)$/u.exec(text) ?? []
  return agentNameFault(name) === null ? { name, instruction } : null
}

/** Whether the objects of a schema are agents. */
const isAgent = (schema: JsonObject): boolean => 'instruction' in propertiesOf(schema, null)
