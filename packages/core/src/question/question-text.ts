// A question as lines that a person reads, and what the person may type. A model or a server writes the
// question, so its hidden characters are shown as escapes.
import { visible } from '../hidden-characters.ts'
import { counted } from '../telling/text.ts'
import { type Question, takesFreeText } from './question.ts'

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
    const given = schema['default'] === undefined ? '' : `default ${JSON.stringify(schema['default'])}`
    const says = [schema['description'] ?? schema['title'] ?? '', kind, given]
      .map(String)
      .filter((part) => part !== '')
      .join('; ')
    return { name, type: typeOf(schema) ?? 'string', says, required: required.includes(name) }
  })
}

function kindOf(schema: Record<string, unknown>): string {
  const items = schema['items']
  const of = typeof items === 'object' && items !== null ? (items as Record<string, unknown>) : schema
  const choices = [of['enum'], of['oneOf'], of['anyOf']].find((each) => Array.isArray(each)) as
    | readonly unknown[]
    | undefined
  if (choices === undefined) return typeOf(schema) ?? 'text'
  return `${of === schema ? 'one' : 'some, with commas between them,'} of ${choices.map(choiceText).join(', ')}`
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
