// A question as a form, for interfaces that show forms, and the answer in it. A question that has a form is
// shown by it.
import type { JsonObject } from '../json.ts'
import type { Question, QuestionAnswer } from './question.ts'
import { questionBounds, takesFreeText } from './question-bounds.ts'

/**
 * The JSON Schema of a form that asks the question. Its fields are primitive. Without a form of its own the
 * question has the field `answer`, and `other` for a text that is no option.
 *
 * @example
 * questionForm({ message: 'Which branch?', options: ['main', 'next'] }).required // => ['answer']
 */
export function questionForm(asked: Question): JsonObject {
  const { form, options = [], several = false } = asked
  if (form !== undefined) return form
  const text = { type: 'string', minLength: 1, maxLength: questionBounds.answerChars }
  if (options.length === 0)
    return { type: 'object', properties: { answer: { ...text, title: 'Answer' } }, required: ['answer'] }
  const choice = { type: 'string', enum: options }
  const answer = several
    ? { type: 'array', title: 'Answers', items: choice, minItems: 1 }
    : { ...choice, title: 'Answer' }
  if (!takesFreeText(asked)) return { type: 'object', properties: { answer }, required: ['answer'] }
  return { type: 'object', properties: { answer, other: { ...text, title: 'Another answer' } } }
}

/**
 * The answer that such a form was filled in with. Whether it fits is decided by `answerFault`.
 *
 * @example
 * answerInForm({ message: 'Which branch?' }, { answer: 'main' }).answers // => ['main']
 */
export function answerInForm(asked: Question, content: JsonObject): QuestionAnswer {
  if (asked.form !== undefined) return { action: 'accept', content }
  const answers = [content['answer'], content['other']]
    .flat()
    .filter((each) => typeof each === 'string' && each !== '')
  return { action: 'accept', answers: answers as string[] }
}
