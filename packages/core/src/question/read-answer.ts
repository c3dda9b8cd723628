// Turns what a person typed into the answer to a question: numbers or texts for options, `field=value` for a
// form. Whether the answer fits is decided by `answerFault`.
import { BeaverError } from '../errors.ts'
import { visible } from '../hidden-characters.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import { counted } from '../telling/text.ts'
import type { Question, QuestionAnswer } from './question.ts'
import { takesFreeText } from './question-bounds.ts'

/**
 * The answer in texts, such as the arguments of a command.
 *
 * @param typed one text for each answer, or `field=value` for each field
 * @throws {BeaverError} `invalid_arguments`
 * @example
 * readAnswer({ message: 'Which branch?', options: ['main', 'next'] }, ['2']).answers // => ['next']
 */
export function readAnswer(asked: Question, typed: readonly string[]): QuestionAnswer {
  if (asked.form !== undefined) return { action: 'accept', content: fieldsOf(asked, typed) }
  const options = asked.options ?? []
  return { action: 'accept', answers: typed.map((text) => chosen(options, text)) }
}

/**
 * The answer in one text, such as a message of a chat. Several answers have commas between them. The fields
 * of a form may be in one line or in several.
 *
 * @throws {BeaverError} `invalid_arguments`
 * @example
 * answerInText({ message: 'Which?', options: ['a', 'b', 'c'], several: true }, '1, c').answers // => ['a', 'c']
 */
export function answerInText(asked: Question, text: string): QuestionAnswer {
  const trimmed = text.trim()
  if (asked.form !== undefined) return readAnswer(asked, fieldsIn(asked, trimmed))
  const options = asked.options ?? []
  if (asked.several !== true || options.length === 0 || options.includes(trimmed))
    return readAnswer(asked, [trimmed])
  const parts = trimmed
    .split(/[,\n]/)
    .map((each) => each.trim())
    .filter((each) => each !== '')
  return readAnswer(asked, parts)
}

/** `a=1 b=2` or a line each. A form with one field takes a text without its name, too. */
function fieldsIn(asked: Question, text: string): string[] {
  if (text.startsWith('{')) return [text]
  const names = formFields(asked).map(({ name }) => name)
  const starts = names
    .flatMap((name) => {
      const at = text.startsWith(`${name}=`) ? 0 : text.search(new RegExp(`\\s${RegExp.escape(name)}=`))
      return at < 0 ? [] : [at]
    })
    .toSorted((a, b) => a - b)
  const [only] = names
  if (starts.length === 0 && names.length === 1 && only !== undefined) return [`${only}=${text}`]
  if (starts[0] !== 0) return text.split('\n').filter((line) => line.trim() !== '')
  return starts.map((at, i) => text.slice(at, starts[i + 1]).trim())
}

/** A number chooses an option, unless an option has that text. */
function chosen(options: readonly string[], text: string): string {
  if (options.includes(text)) return text
  const number = /^\d{1,3}$/.test(text.trim()) ? Number(text) : 0
  const same = options.find((each) => each.toLowerCase() === text.trim().toLowerCase())
  return options[number - 1] ?? same ?? text
}

function fieldsOf(asked: Question, typed: readonly string[]): JsonObject {
  const [only = ''] = typed
  if (typed.length === 1 && only.trimStart().startsWith('{')) return jsonOf(only)
  const fields = new Map(formFields(asked).map((field) => [field.name, field]))
  return Object.fromEntries(
    typed.map((each) => {
      const at = each.indexOf('=')
      if (at < 1)
        throw refused(
          `${JSON.stringify(each.slice(0, 100))} names no field. Write <field>=<value>; the fields are ${[...fields.keys()].join(', ')}.`,
        )
      const name = each.slice(0, at)
      return [name, fieldValue(fields.get(name)?.type ?? 'string', each.slice(at + 1))]
    }),
  )
}

/** @param text what was typed for a field of this type */
function fieldValue(type: string, text: string): JsonValue {
  switch (type) {
    case 'number':
    case 'integer':
      return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
    case 'boolean':
      return /^(y|yes|true)$/i.test(text.trim()) ? true : /^(n|no|false)$/i.test(text.trim()) ? false : text
    case 'array':
      return text.split(',').map((each) => each.trim())
    default:
      return text
  }
}

function jsonOf(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject
  } catch (cause) {
    throw refused('The answer begins with "{" and is not JSON.', cause)
  }
}

const refused = (message: string, cause?: unknown): BeaverError =>
  new BeaverError('invalid_arguments', message, { cause })

// A question as lines that a person reads, and what the person may type. A model or a server writes the
// question, so its hidden characters are shown as escapes.

/** A field of a form. */
export interface FormField {
  readonly name: string
  readonly type: string
  /** What it is for, and what it takes. */
  readonly says: string
  readonly required: boolean
}

/**
 * The fields of the form of a question. Empty: it has no form.
 *
 * @example
 * formFields({ form: { type: 'object', properties: { age: { type: 'integer' } } } })[0]?.says // => 'integer'
 */
export function formFields({ form }: Pick<Question, 'form'>): FormField[] {
  const { properties = {}, required = [] } = (form ?? {}) as {
    properties?: Record<string, Record<string, unknown>>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, schema]) => {
    const kind = kindOf(schema)
    const defaultText = schema['default'] === undefined ? '' : `default ${JSON.stringify(schema['default'])}`
    const says = [schema['description'] ?? schema['title'] ?? '', kind, defaultText]
      .map(String)
      .filter((part) => part !== '')
      .join('; ')
    return { name, type: typeOf(schema) ?? 'string', says, required: required.includes(name) }
  })
}

function kindOf(schema: Record<string, unknown>): string {
  const items = schema['items']
  const choiceSchema =
    typeof items === 'object' && items !== null ? (items as Record<string, unknown>) : schema
  const choices = [choiceSchema['enum'], choiceSchema['oneOf'], choiceSchema['anyOf']].find((each) =>
    Array.isArray(each),
  ) as readonly unknown[] | undefined
  if (choices === undefined) return typeOf(schema) ?? 'text'
  return `${choiceSchema === schema ? 'one' : 'some, with commas between them,'} of ${choices.map(choiceText).join(', ')}`
}

function choiceText(choice: unknown): string {
  if (typeof choice !== 'object' || choice === null) return String(choice)
  const { const: value, title } = choice as { readonly const?: unknown; readonly title?: unknown }
  return typeof title === 'string' && title !== value ? `${String(value)} (${title})` : String(value)
}

const typeOf = ({ type }: Record<string, unknown>): string | null => (typeof type === 'string' ? type : null)

/**
 * The question, its numbered options or its fields, and how to answer it in words.
 *
 * @example
 * questionLines({ message: 'Why?' }) // => ['Why?', 'Answer with a text.']
 */
export function questionLines(asked: Question): string[] {
  const options = (asked.options ?? []).map((each, i) => `  ${i + 1}) ${visible(each)}`)
  const fields = formFields(asked).map(
    ({ name, says, required }) => `  ${visible(name)}${required ? '' : ' (optional)'}: ${visible(says)}`,
  )
  return [visible(asked.message, '\n\t'), ...options, ...fields, `${howToAnswer(asked)}${howLong(asked)}`]
}

function howLong({ timeout_ms: timeoutMs }: Question): string {
  if (timeoutMs === undefined) return ''
  const isShort = timeoutMs < 120_000
  return ` The question waits for ${isShort ? counted(timeoutMs / 1_000, 'second') : counted(timeoutMs / 60_000, 'minute')}.`
}

function howToAnswer(asked: Question): string {
  const { form, options = [], several = false } = asked
  if (form !== undefined) return 'Answer with a line <field>=<value> for each field.'
  if (options.length === 0) return 'Answer with a text.'
  const chosen = several
    ? 'the numbers or the texts of options, with commas between them'
    : 'the number or the text of an option'
  return `Answer with ${chosen}${takesFreeText(asked) ? ', or with a text of your own' : ''}.`
}
