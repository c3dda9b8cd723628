// Reads the form of an elicitation: the flat JSON Schema of a server becomes a form of a question, in which
// only known keywords are left. What the form allows, the server's schema allows: a keyword that cannot be
// checked makes the form a fault and is not dropped, unless it only describes the field. A field with a
// default may be left out, and the server gets the default then. Names, texts and choices are bounded. A
// choice is never cut, because another value would be sent.
import { type JsonObject, type JsonValue, questionBounds, schemaMismatch } from '@beaver/core'
import { plainWords } from './plain-words.ts'

export interface FormField {
  readonly name: string
  /** What is shown for it. Default: its name. */
  readonly title: string
  readonly description: string | null
  /** Its JSON Schema, as the form of the question has it. */
  readonly schema: JsonObject
  /** The values that may be chosen, with what is shown for each; `null`: it has none. */
  readonly choices: ReadonlyMap<string, string> | null
  readonly required: boolean
  readonly default: JsonValue | undefined
}

export type FormRead =
  | { readonly kind: 'form'; readonly fields: readonly FormField[] }
  /** `why` is a clause without a subject, such as "has no fields". */
  | { readonly kind: 'fault'; readonly why: string }

const nameCharsMax = 100
const titleCharsMax = 150
const descriptionCharsMax = 500
const choicesMax = 200
const formats = new Set(['email', 'uri', 'date', 'date-time'])

type Raw = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function readForm(schema: unknown): FormRead {
  if (!isObject(schema) || schema['type'] !== 'object' || !isObject(schema['properties']))
    return fault('is not the JSON Schema of an object')
  const names = Object.keys(schema['properties'])
  if (names.length > questionBounds.fields)
    return fault(`has ${names.length} fields, and the limit is ${questionBounds.fields}`)
  const required = Array.isArray(schema['required'])
    ? schema['required'].filter((name): name is string => typeof name === 'string')
    : []
  const fields: FormField[] = []
  for (const name of names) {
    const read = readField(name, schema['properties'][name], required.includes(name))
    if (typeof read === 'string') return fault(read)
    fields.push(read)
  }
  const unknown = required.find((name) => !names.includes(name))
  if (unknown !== undefined) return fault(`requires the field ${shown(unknown)}, which it does not have`)
  return { kind: 'form', fields }
}

const fault = (why: string): FormRead => ({ kind: 'fault', why })
const shown = (name: string): string => JSON.stringify(name.slice(0, nameCharsMax))
const textOf = (value: unknown, charsMax: number): string | null =>
  typeof value === 'string' && value.trim() !== '' ? plainWords(value, charsMax) : null

/** The field, or why there is none. */
function readField(name: string, raw: unknown, required: boolean): FormField | string {
  if (name === '' || name.length > nameCharsMax)
    return `has a field whose name does not have 1 to ${nameCharsMax} characters`
  if (!isObject(raw)) return `has a field ${shown(name)} without a JSON Schema`
  if (asksForSecret(name, raw))
    return `asks for a secret (${shown(name)}). A form must not do that; a server may ask for a secret on a page of its own (URL mode)`
  const read = typed(raw)
  if (read === null)
    return `has a field ${shown(name)} that is no text, number, boolean or list of choices, or whose choices are too many or too long`
  const title = textOf(raw['title'], titleCharsMax)
  const description = textOf(raw['description'], descriptionCharsMax)
  const given = raw['default'] as JsonValue | undefined
  const usable =
    given !== undefined && schemaMismatch(read.schema, JSON.stringify(given)) === null ? given : undefined
  const said = {
    ...(title === null ? {} : { title }),
    ...(description === null ? {} : { description }),
    ...(usable === undefined ? {} : { default: usable }),
  }
  return {
    name,
    title: title ?? name,
    description,
    schema: { ...read.schema, ...said },
    choices: read.choices,
    required: required && usable === undefined,
    default: usable,
  }
}

interface Typed {
  readonly schema: JsonObject
  readonly choices: ReadonlyMap<string, string> | null
}

function typed(raw: Raw): Typed | null {
  switch (raw['type']) {
    case 'boolean':
      return { schema: { type: 'boolean' }, choices: null }
    case 'number':
    case 'integer':
      return {
        schema: {
          type: raw['type'],
          ...kept(raw, 'number', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'),
        },
        choices: null,
      }
    case 'string': {
      if (['enum', 'oneOf', 'anyOf'].every((key) => raw[key] === undefined))
        return { schema: textSchema(raw), choices: null }
      const choices = choicesOf(raw)
      return choices === null
        ? null
        : { schema: { type: 'string', ...choiceSchema('oneOf', choices) }, choices }
    }
    case 'array': {
      const choices = isObject(raw['items']) ? choicesOf(raw['items']) : null
      if (choices === null) return null
      return {
        schema: {
          type: 'array',
          items: choiceSchema('anyOf', choices),
          ...kept(raw, 'number', 'minItems', 'maxItems'),
        },
        choices,
      }
    }
    default:
      return null
  }
}

/** A format that is not known only describes the text. */
function textSchema(raw: Raw): JsonObject {
  const format =
    typeof raw['format'] === 'string' && formats.has(raw['format']) ? { format: raw['format'] } : {}
  return {
    type: 'string',
    ...kept(raw, 'number', 'minLength', 'maxLength'),
    ...kept(raw, 'string', 'pattern'),
    ...format,
  }
}

const kept = (raw: Raw, type: 'number' | 'string', ...keys: readonly string[]): JsonObject =>
  Object.fromEntries(
    keys.filter((key) => typeof raw[key] === type).map((key) => [key, raw[key] as JsonValue]),
  )

/** The titles are only kept if there are any. */
function choiceSchema(list: 'oneOf' | 'anyOf', choices: ReadonlyMap<string, string>): JsonObject {
  const each = [...choices]
  if (each.every(([value, title]) => value === title))
    return { type: 'string', enum: each.map(([value]) => value) }
  return { [list]: each.map(([value, title]) => ({ const: value, title })) }
}

/** `null`: there are none that can be shown. */
function choicesOf(raw: Raw): ReadonlyMap<string, string> | null {
  const titled = raw['oneOf'] ?? raw['anyOf']
  const listed = raw['enum'] ?? titled
  if (!Array.isArray(listed) || listed.length === 0 || listed.length > choicesMax) return null
  const names: readonly unknown[] = Array.isArray(raw['enumNames']) ? raw['enumNames'] : []
  const choices = new Map<string, string>()
  for (const [i, each] of (listed as readonly unknown[]).entries()) {
    const value: unknown = isObject(each) ? each['const'] : each
    const title: unknown = isObject(each) ? each['title'] : names[i]
    if (typeof value !== 'string' || value.length > questionBounds.optionChars || choices.has(value))
      return null
    choices.set(value, textOf(title, titleCharsMax) ?? plainWords(value, titleCharsMax))
  }
  return choices
}

// Decides whether a field of a form asks for a secret. The protocol forbids servers to do that, and the
// journal keeps every answer. A field is judged by its name, its title and its format, word by word:
// `max_tokens` is no secret, `access_token` is one.

const words = new Set([
  'password',
  'passwd',
  'passphrase',
  'passcode',
  'pwd',
  'secret',
  'apikey',
  'cvv',
  'cvc',
  'otp',
  'ssn',
  'passwort',
  'credential',
  'credentials',
])
const pairs = new Set([
  'api key',
  'private key',
  'access key',
  'secret key',
  'encryption key',
  'recovery code',
  'seed phrase',
  'card number',
  'pin code',
  'security code',
])

/** @param title what the form shows for the field, or nothing */
function asksForSecret(
  name: string,
  { title, format }: { readonly title?: unknown; readonly format?: unknown },
): boolean {
  return format === 'password' || [name, typeof title === 'string' ? title : ''].some(namesSecret)
}

function namesSecret(text: string): boolean {
  const parts = text
    .slice(0, 300)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((part) => part !== '')
  if (parts.some((part, i) => words.has(part) || pairs.has(`${part} ${parts[i + 1] ?? ''}`))) return true
  const last = parts.at(-1)
  return last === 'token' || last === 'pin'
}
