// Turns an elicitation of an MCP server into a question to the person, and the answer into one that fits the
// server's schema. It asks nobody. The question names the server and marks the server's words. It has options
// for one choice, a free text if any text fits, and otherwise a form. A URL is shown whole with its host
// first, but only http and https without a name or password; nothing here opens it.
import type { JsonObject, JsonValue } from '@beaver/core'
import { schemaMismatch } from '@beaver/core/evidence'
import {
  answerFault,
  type Question,
  type QuestionAnswer,
  questionBounds,
  questionFault,
} from '@beaver/core/question'

/** The answer of the protocol. */
export interface ElicitationAnswer {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: JsonObject
}

export type ElicitationRead =
  /** `answerOf`: the protocol's answer; `null` if the person's answer does not fit. */
  | {
      readonly kind: 'question'
      readonly question: Question
      answerOf(answer: QuestionAnswer): ElicitationAnswer | null
    }
  /** `why` is a sentence. */
  | { readonly kind: 'refused'; readonly why: string }

const wordsCharsMax = 1_500
const urlCharsMax = 2_000
const defaultCharsMax = 200
const [yes, no, go, done] = ['yes', 'no', 'continue', 'done'] as const
const noSecrets =
  'Do not answer with a password, a key or another secret: the answer goes to the server and into the journal.'

/**
 * @param server its name in the configuration
 * @param params those of `elicitation/create`
 */
export function readElicitation(server: string, params: unknown): ElicitationRead {
  const { mode = 'form', message, requestedSchema, url } = (params ?? {}) as Readonly<Record<string, unknown>>
  if (typeof message !== 'string')
    return refused(`The MCP server ${server} asked something without a message.`)
  if (mode === 'url') return readUrl(server, words(message), url)
  if (mode !== 'form') return refused(`The MCP server ${server} asked in a mode that Beaver does not know.`)
  const form = readForm(requestedSchema)
  if (form.kind === 'fault')
    return refused(
      `A question of the MCP server ${server} was not shown to anybody, because its form ${form.why}.`,
    )
  return checked(
    server,
    form.fields.length <= 1
      ? single(server, words(message), form.fields[0])
      : whole(server, words(message), form.fields),
  )
}

const refused = (why: string): ElicitationRead => ({ kind: 'refused', why })
type Asked = Extract<ElicitationRead, { kind: 'question' }>

const words = (text: string): string => plainWords(text, wordsCharsMax)
const says = (server: string, what: string): string =>
  `The MCP server ${server} asks${what === '' ? '.' : `: "${what}"`}`

function checked(server: string, asked: Asked): ElicitationRead {
  const fault = questionFault(asked.question)
  return fault === null
    ? asked
    : refused(`A question of the MCP server ${server} was not shown to anybody. ${fault}`)
}

function readUrl(server: string, reason: string, url: unknown): ElicitationRead {
  const read = typeof url === 'string' && url.length <= urlCharsMax && URL.canParse(url) ? new URL(url) : null
  if (read === null)
    return refused(
      `The MCP server ${server} asked to open something that is no URL of at most ${urlCharsMax} characters.`,
    )
  if (read.protocol !== 'https:' && read.protocol !== 'http:')
    return refused(
      `The MCP server ${server} asked to open a URL of the scheme ${plainWords(read.protocol, 40)} Beaver shows only http and https.`,
    )
  if (read.username !== '' || read.password !== '')
    return refused(
      `The MCP server ${server} asked to open a URL at ${read.host} with a name or a password in it, which hides where it leads.`,
    )
  const lines = [
    `The MCP server ${server} asks you to open a page at the host ${read.host}.`,
    `Its reason: "${reason}"`,
    `The page: ${read.href}`,
    `Beaver does not open it. Open it in a browser if you trust this host, and answer "${done}" then; otherwise decline.`,
  ]
  return checked(server, {
    kind: 'question',
    question: { message: lines.join('\n'), options: [done] },
    answerOf: ({ action }) => ({ action }),
  })
}

/** Asks for one field, without a form if possible. */
function single(server: string, message: string, field: FormField | undefined): Asked {
  if (field === undefined) return options(says(server, message), new Map([[go, {}]]))
  const { name, schema, choices, required } = field
  const asked = [says(server, message), label(field)].filter((part) => part !== '').join('\n')
  const one = (value: JsonValue): JsonObject => ({ [name]: value })
  if (schema['type'] === 'boolean') return options(asked, new Map([[yes, one(true)], [no, one(false)]])) // prettier-ignore
  if (choices !== null && mayBeOptions(choices)) {
    if (schema['type'] === 'string')
      return options(asked, new Map([...choices].map(([value, title]) => [title, one(value)])))
    if (schema['minItems'] === undefined && schema['maxItems'] === undefined)
      return several(asked, name, choices)
  }
  const isFree =
    required && Object.keys(schema).every((key) => key === 'type' || key === 'title' || key === 'description')
  if (!isFree || schema['type'] !== 'string') return whole(server, message, [field])
  return {
    kind: 'question',
    question: { message: `${asked}\n${noSecrets}`, free_text: true },
    answerOf: (answer) =>
      fitting(answer, answer.answers?.[0] === undefined ? undefined : one(answer.answers[0])),
  }
}

function label({ name, title, description, default: given }: FormField): string {
  const shown = words(title === name ? name : `${title} (${name})`)
  const parts = [
    description === null ? shown : `${shown}: ${words(description)}`,
    given === undefined ? '' : `Its default: ${plainWords(JSON.stringify(given), defaultCharsMax)}.`,
  ]
  return parts.filter((part) => part !== '').join(' ')
}

const mayBeOptions = (choices: ReadonlyMap<string, string>): boolean =>
  choices.size <= questionBounds.options &&
  new Set(choices.values()).size === choices.size &&
  [...choices.values()].every((title) => title.trim() !== '')

function options(message: string, contents: ReadonlyMap<string, JsonObject>): Asked {
  return {
    kind: 'question',
    question: { message, options: [...contents.keys()] },
    answerOf: (answer) => fitting(answer, contents.get(answer.answers?.[0] ?? '')),
  }
}

function several(message: string, name: string, choices: ReadonlyMap<string, string>): Asked {
  const values = new Map([...choices].map(([value, title]) => [title, value]))
  return {
    kind: 'question',
    question: { message, options: [...values.keys()], several: true },
    answerOf: (answer) => {
      const chosen = (answer.answers ?? []).map((title) => values.get(title))
      return fitting(answer, chosen.includes(undefined) ? undefined : { [name]: chosen as string[] })
    },
  }
}

function whole(server: string, message: string, fields: readonly FormField[]): Asked {
  const form = {
    type: 'object',
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
    required: fields.filter(({ required }) => required).map(({ name }) => name),
  }
  const takesText = fields.some(({ schema, choices }) => schema['type'] === 'string' && choices === null)
  const question = { message: `${says(server, message)}${takesText ? `\n${noSecrets}` : ''}`, form }
  const defaults = Object.fromEntries(
    fields.flatMap(({ name, default: given }) => (given === undefined ? [] : [[name, given]])),
  )
  return {
    kind: 'question',
    question,
    answerOf: (answer) => {
      const content = { ...defaults, ...answer.content }
      return fitting(
        answer,
        answerFault(question, { action: 'accept', content }) === null ? content : undefined,
      )
    },
  }
}

/** @param content the content of an accepted answer; `undefined`: it does not fit */
function fitting({ action }: QuestionAnswer, content: JsonObject | undefined): ElicitationAnswer | null {
  if (action !== 'accept') return { action }
  return content === undefined ? null : { action, content }
}

// Reads the server's flat JSON Schema into a question's form with known keywords only. An unknown keyword
// makes the form a fault unless it only describes the field, so that the server's schema allows what the form
// allows. A field with a default may be left out; the server then gets the default. A choice is never cut,
// because another value would be sent.

interface FormField {
  readonly name: string
  /** The shown text. Default: its name. */
  readonly title: string
  readonly description: string | null
  /** Its JSON Schema in the question's form. */
  readonly schema: JsonObject
  /** The values to choose from, each with its shown text; `null`: none. */
  readonly choices: ReadonlyMap<string, string> | null
  readonly required: boolean
  readonly default: JsonValue | undefined
}

type FormRead =
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

function readForm(schema: unknown): FormRead {
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

/** The field, or why it cannot be read. */
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
  const defaultValue = raw['default'] as JsonValue | undefined
  const usable =
    defaultValue !== undefined && schemaMismatch(read.schema, JSON.stringify(defaultValue)) === null
      ? defaultValue
      : undefined
  const annotations = {
    ...(title === null ? {} : { title }),
    ...(description === null ? {} : { description }),
    ...(usable === undefined ? {} : { default: usable }),
  }
  return {
    name,
    title: title ?? name,
    description,
    schema: { ...read.schema, ...annotations },
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

/** An unknown format only describes the text. */
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

/** Titles are kept only if there are any. */
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

const formWords = new Set([
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

/**
 * Whether a field asks for a secret. The protocol forbids servers to do that, and the journal keeps every
 * answer. Words of the name, the title and the format count: `max_tokens` is no secret, `access_token` is
 * one.
 * @param title the shown text of the field, or nothing
 */
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
  if (parts.some((part, i) => formWords.has(part) || pairs.has(`${part} ${parts[i + 1] ?? ''}`))) return true
  const last = parts.at(-1)
  return last === 'token' || last === 'pin'
}

/**
 * The words of a server as shown in a question: one line, without characters that hide or reverse text, and
 * without the closing quotation mark.
 * @param charsMax the most characters that are kept; a longer text says that it was cut
 */
function plainWords(text: string, charsMax: number): string {
  const plain = text
    .slice(0, 2 * charsMax)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replaceAll('"', "'")
    .trim()
  return plain.length <= charsMax && text.length <= 2 * charsMax ? plain : `${plain.slice(0, charsMax)} [cut]`
}
