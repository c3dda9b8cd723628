// Lets the person at an editor that shows forms change the arguments of a call before it is made.
import type { JsonObject } from '@beaver/core'
import type { Putting } from './put-question.ts'
import type { AskedCall } from './turn-updates.ts'

/**
 * The text that the person wrote. `null`: the form was closed. It rejects if the editor cannot show the form.
 */
export async function putArguments(
  { toolCallId, written, title }: AskedCall,
  { editor, sessionId }: Putting,
  signal: AbortSignal,
): Promise<string | null> {
  const requestedSchema = {
    type: 'object' as const,
    properties: {
      arguments: {
        type: 'string' as const,
        title: 'Arguments',
        description: 'A JSON object.',
        default: written,
      },
    },
    required: ['arguments'],
  }
  const message = `With which arguments is the call made? ${title}`
  const { action, ...given } = await editor.askForm(
    { mode: 'form', sessionId, toolCallId, message, requestedSchema },
    signal,
  )
  if (action !== 'accept') return null
  const { content } = given as { readonly content?: JsonObject | null }
  const text = content?.['arguments']
  return typeof text === 'string' ? text : ''
}
