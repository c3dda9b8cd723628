// How large a question may be, and which answers it takes. The schemas are in question.ts, so a screen can use
// this file without them.
import type { Question } from './question.ts'

/** The built-in tool by which an agent asks its user. */
export const askUserTool = 'ask_user'

/** The most that a question and its answer may have. */
export const questionBounds = {
  messageChars: 4_000,
  options: 20,
  optionChars: 200,
  answerChars: 10_000,
  fields: 30,
  contentChars: 100_000,
  ofCall: 20,
  timeoutMsMin: 1_000,
  timeoutMsMax: 30 * 86_400_000,
} as const

/**
 * Whether a text that is no option is an answer.
 *
 * @example
 * takesFreeText({ message: 'Which branch?' }) // => true
 * takesFreeText({ message: 'Which branch?', options: ['main', 'next'] }) // => false
 */
export const takesFreeText = ({ options = [], free_text, form }: Question): boolean =>
  form === undefined && (free_text ?? options.length === 0)
