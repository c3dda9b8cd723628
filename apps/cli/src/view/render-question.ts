// Shows a question and the commands that answer it. A model or a server writes the question, so it is shown
// as plain text.
import { shellWord } from '@beaver/core'
import { askUserTool, formFields, type Question, takesFreeText } from '@beaver/core/question'
import type { OpenQuestion } from '@beaver/core/task-view'
import { oneLine } from '../text/plain-text.ts'
import { textWidth } from '../text/width.ts'

const messageCharsMax = 4_000

/** The question with its numbered options, or with the fields of its form. */
export function questionText({
  agent,
  tool,
  question,
}: Pick<OpenQuestion, 'agent' | 'tool' | 'question'>): string[] {
  const by = tool === askUserTool ? oneLine(agent) : `${oneLine(agent)} (${oneLine(tool)})`
  const options = (question.options ?? []).map((each, i) => `  ${i + 1}) ${oneLine(each, messageCharsMax)}`)
  const fields = formFields(question).map(
    ({ name, says, required }) =>
      `  ${oneLine(name)}${required ? '' : ' (optional)'}${says === '' ? '' : `: ${oneLine(says)}`}`,
  )
  return [`${by} asks: ${oneLine(question.message, messageCharsMax)}`, ...options, ...fields]
}

/** The commands that answer and decline a question, in one line if there is room. A command is never cut. */
export function answerCommands(
  names: { readonly taskId: string; readonly command: string; readonly name: string | null },
  question: Question,
  columns: number,
): string[] {
  const typed = `${names.command} answer ${shellWord(names.taskId)}`
  const call = names.name === null ? '' : ` --call ${shellWord(names.name)}`
  const example =
    question.form !== undefined
      ? '<field>=<value> …'
      : (question.options ?? []).length > 0
        ? `<number${takesFreeText(question) ? ' or text' : ''}>`
        : '"<text>"'
  const both = `  answer: ${typed}${call} ${example}   decline: ${typed}${call} --decline`
  return textWidth(both) <= columns
    ? [both]
    : [`  answer:  ${typed}${call} ${example}`, `  decline: ${typed}${call} --decline`]
}
