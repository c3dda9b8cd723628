// Asks the person at the editor a question, in the best way that the editor offers. An editor that supports
// forms shows a form. Any other editor shows a dialog with the options if the person must choose exactly one.
// In all other cases, the question is shown as text, and the next prompt answers it. Only an answer that the
// person gave counts: if a dialog is closed, or the editor cannot show it, the question keeps waiting.
import type { PermissionOption } from '@agentclientprotocol/sdk'
import type { JsonObject } from '@beaver/core'
import { answerInForm, type QuestionAnswer, questionForm, takesFreeText } from '@beaver/core/question'
import type { Editor } from './editor.ts'
import { questionContent } from './shown-call.ts'
import type { ShownQuestion } from './turn-updates.ts'

export interface Putting {
  readonly editor: Editor
  readonly sessionId: string
}

/** The way to ask a question. `prompt`: as text, which the next prompt answers. */
export function wayOf(
  { question }: ShownQuestion,
  { takesForms }: Pick<Editor, 'takesForms'>,
): 'form' | 'dialog' | 'prompt' {
  if (takesForms) return 'form'
  return (question.options ?? []).length > 0 && question.several !== true && !takesFreeText(question)
    ? 'dialog'
    : 'prompt'
}

/**
 * Asks a question in a form or a dialog.
 *
 * @returns the answer. `null`: the person gave none. Rejects if the editor cannot show the question
 */
export function putQuestion(
  asked: ShownQuestion,
  to: Putting,
  signal: AbortSignal,
): Promise<QuestionAnswer | null> {
  return to.editor.takesForms ? inForm(asked, to, signal) : inDialog(asked, to, signal)
}

async function inForm(
  { question, toolCallId }: ShownQuestion,
  { editor, sessionId }: Putting,
  signal: AbortSignal,
): Promise<QuestionAnswer | null> {
  const requestedSchema = questionForm(question) as { type: 'object' }
  const { action, ...form } = await editor.askForm(
    { mode: 'form', sessionId, toolCallId, message: question.message, requestedSchema },
    signal,
  )
  if (action === 'accept')
    return answerInForm(question, ((form as { content?: JsonObject | null }).content ?? {}) as JsonObject)
  return action === 'decline' ? { action } : null
}

const declined = 'decline'

async function inDialog(
  asked: ShownQuestion,
  { editor, sessionId }: Putting,
  signal: AbortSignal,
): Promise<QuestionAnswer | null> {
  const { question, toolCallId } = asked
  const choices = question.options ?? []
  const options: PermissionOption[] = [
    ...choices.map((name, i): PermissionOption => ({ optionId: String(i), name, kind: 'allow_once' })),
    { optionId: declined, name: 'Give no answer', kind: 'reject_once' },
  ]
  const toolCall = {
    toolCallId,
    title: question.message,
    status: 'pending' as const,
    content: questionContent(asked),
  }
  const { outcome } = await editor.ask({ sessionId, toolCall, options }, signal)
  if (outcome.outcome !== 'selected') return null
  if (outcome.optionId === declined) return { action: 'decline' }
  const chosen = choices[Number(outcome.optionId)]
  return chosen === undefined ? null : { action: 'accept', answers: [chosen] }
}
