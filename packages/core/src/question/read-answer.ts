// Turns what a person typed into the answer to a question: numbers or texts for options, `field=value` for a
// form. Whether the answer fits is decided by `answerFault`.
import { BeaverError } from '../errors.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import type { Question, QuestionAnswer } from './question.ts'
import { formFields } from './question-text.ts'

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
 * answerInText({ message: 'Which?', options: ['a', 'b', 'c'], several: true }, '1, c').answers // => ['a',
 * 'c']
 */
export function answerInText(asked: Question, text: string): QuestionAnswer {
  const said = text.trim()
  if (asked.form !== undefined) return readAnswer(asked, fieldsIn(asked, said))
  const options = asked.options ?? []
  if (asked.several !== true || options.length === 0 || options.includes(said))
    return readAnswer(asked, [said])
  const parts = said
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
