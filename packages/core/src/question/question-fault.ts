// The only place that decides whether a question can be asked, and whether an answer fits. An answer that does
// not fit is refused with what is allowed, and the question stays open. Everything has a bound.
import { schemaFault, schemaMismatch } from '../evidence/output-schema.ts'
import type { Question, QuestionAnswer } from './question.ts'
import { questionBounds, takesFreeText } from './question-bounds.ts'

/**
 * Why nobody can be asked this; `null` if it can be asked.
 *
 * @example
 * questionFault({ message: 'Which branch?', options: ['main', 'next'] }) // => null
 * questionFault({ message: '' }) // => 'The question has no text.'
 */
export function questionFault({
  message,
  options = [],
  free_text,
  form,
  timeout_ms: timeoutMs,
}: Question): string | null {
  const { messageChars, options: optionsMax, optionChars, timeoutMsMin, timeoutMsMax } = questionBounds
  if (message.trim() === '') return 'The question has no text.'
  if (message.length > messageChars)
    return `The question has ${message.length} characters. The limit is ${messageChars}.`
  if (
    timeoutMs !== undefined &&
    !(Number.isInteger(timeoutMs) && timeoutMs >= timeoutMsMin && timeoutMs <= timeoutMsMax)
  )
    return `A question waits for ${timeoutMsMin / 1_000} s to ${timeoutMsMax / 86_400_000} days, in whole milliseconds, and not for ${timeoutMs} ms.`
  if (form !== undefined)
    return options.length > 0 ? 'A question has options or a form, not both.' : formFault(form)
  if (options.length > optionsMax)
    return `The question has ${options.length} options. The limit is ${optionsMax}.`
  const odd = options.find((each) => each.trim() === '' || each.length > optionChars)
  if (odd !== undefined) return `An option has 1 to ${optionChars} characters; one has ${odd.length}.`
  if (new Set(options).size < options.length) return 'Two options are the same.'
  return options.length === 0 && free_text === false
    ? 'The question has no options and takes no text, so nobody can answer it.'
    : null
}

const primitives = new Set(['string', 'number', 'integer', 'boolean'])
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function formFault(form: Readonly<Record<string, unknown>>): string | null {
  const fields = isObject(form['properties']) ? Object.entries(form['properties']) : []
  if (form['type'] !== 'object' || fields.length === 0)
    return 'A form is a JSON Schema of type "object" with "properties".'
  if (fields.length > questionBounds.fields)
    return `The form has ${fields.length} fields. The limit is ${questionBounds.fields}.`
  const deep = fields.find(([, schema]) => !isField(schema))
  if (deep !== undefined)
    return `The field ${JSON.stringify(deep[0])} of the form is no text, number, integer, boolean or list of choices.`
  const fault = schemaFault(form)
  return fault === null ? null : `The form ${['', ...fault.path].join('/')} ${fault.message}.`
}

/** A list is allowed if its items are choices. */
function isField(schema: unknown): boolean {
  if (!isObject(schema)) return false
  if (schema['type'] === 'array')
    return (
      isObject(schema['items']) &&
      (Array.isArray(schema['items']['enum']) || Array.isArray(schema['items']['anyOf']))
    )
  return (
    primitives.has(String(schema['type'])) || Array.isArray(schema['enum']) || Array.isArray(schema['oneOf'])
  )
}

/**
 * Why this is no answer to the question, with what is allowed; `null` if it is one.
 *
 * @example
 * const asked = { message: 'Which branch?', options: ['main', 'next'] }
 * answerFault(asked, { action: 'accept', answers: ['main'] }) // => null
 * answerFault(asked, { action: 'accept', answers: ['old'] }) // => '"old" is not one of the options. Answer with one of: "main", "next".'
 * answerFault(asked, { action: 'decline' }) // => null
 */
export function answerFault(
  asked: Question,
  { action, answers = [], content }: QuestionAnswer,
): string | null {
  if (action !== 'accept')
    return answers.length > 0 || content !== undefined
      ? `An answer with the action ${action} has no content.`
      : null
  if (asked.form !== undefined)
    return answers.length > 0
      ? 'The question has a form. Answer with the fields of the form.'
      : contentFault(asked.form, content)
  if (content !== undefined) return 'The question has no form. Answer with an option or a text.'
  const { options = [], several = false } = asked
  const allowed = allowedAnswers(asked)
  if (answers.length === 0) return `The answer is empty. ${allowed}`
  if (answers.length > 1 && !several)
    return `The question takes one answer, and there are ${answers.length}. ${allowed}`
  if (answers.length > questionBounds.options)
    return `There are ${answers.length} answers. The limit is ${questionBounds.options}.`
  if (new Set(answers).size < answers.length) return `An answer is given twice. ${allowed}`
  for (const each of answers) {
    if (each.trim() === '') return `An answer is empty. ${allowed}`
    if (each.length > questionBounds.answerChars)
      return `An answer has ${each.length} characters. The limit is ${questionBounds.answerChars}.`
    if (!options.includes(each) && !takesFreeText(asked))
      return `${JSON.stringify(each.slice(0, 100))} is not one of the options. ${allowed}`
  }
  return null
}

function allowedAnswers({ options = [], several = false, ...rest }: Question): string {
  if (options.length === 0) return 'Answer with a text.'
  const list = options.map((each) => JSON.stringify(each)).join(', ')
  return `Answer with ${several ? 'one or more' : 'one'} of: ${list}${takesFreeText({ ...rest, options }) ? ', or with a text of your own' : ''}.`
}

function contentFault(
  form: Readonly<Record<string, unknown>>,
  content: QuestionAnswer['content'],
): string | null {
  const names = Object.keys(isObject(form['properties']) ? form['properties'] : {})
  const fields = `The form has these fields: ${names.map((name) => JSON.stringify(name)).join(', ')}.`
  if (content === undefined) return `The answer has no fields. ${fields}`
  const text = JSON.stringify(content)
  if (text.length > questionBounds.contentChars)
    return `The answer has ${text.length} characters. The limit is ${questionBounds.contentChars}.`
  const unknown = Object.keys(content).find((name) => !names.includes(name))
  if (unknown !== undefined) return `The form has no field ${JSON.stringify(unknown)}. ${fields}`
  const mismatch = schemaMismatch(form, text)
  return mismatch === null ? null : `The answer ${mismatch}. ${fields}`
}
