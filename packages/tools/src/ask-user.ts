// ask_user: an agent asks the person for whom it works. How a call waits is decided in the loop (ask-person.ts of @beaver/agent).
import { defineTool, ToolFailure } from '@beaver/agent/tool-kit'
import { askUserTool, type Question, questionBounds } from '@beaver/core'
import { z } from 'zod'

const { messageChars, optionChars } = questionBounds

export const askUser = defineTool({
  name: askUserTool,
  description: 'Asks the user. Only if you cannot go on without the answer.',
  input: z.strictObject({
    question: z.string().min(1).max(messageChars),
    // The number of options is bounded where the question is asked: a bound here would be sent with each request to the model.
    options: z.array(z.string().min(1).max(optionChars)).optional(),
    free_text: z.boolean().optional(),
    several: z.boolean().optional(),
  }),
  // It changes nothing, and a call that is made again gets the recorded answer.
  idempotent: true,
  effects: 'reads',
  subject: ({ question }) => question,
  async run({ question: message, ...rest }, { ask }) {
    const given = await ask({ message, ...rest } as Question)
    switch (given.action) {
      case 'accept':
        return (given.answers ?? []).join('\n')
      case 'decline':
        throw new ToolFailure('declined', `The user does not want to answer${because(given.reason)} Go on without the answer, or say what is missing.`)
      case 'cancel':
        throw new ToolFailure('not_answered', `Nobody answered${because(given.reason)} Go on without the answer, or say what is missing.`)
      default:
        return given.action satisfies never
    }
  },
})

const because = (reason = ''): string => (reason.trim() === '' ? '.' : ` (${reason.trim().replace(/\.$/, '')}).`)
