// ask_user: an agent asks the person for whom it works. How a call waits is decided in the loop
// (ask-person.ts of @beaver/agent).
import { defineTool, ToolFailure } from '@beaver/agent/tool-kit'
import { askUserTool, type Question } from '@beaver/core'
import { z } from 'zod'

export const askUser = defineTool({
  name: askUserTool,
  description: 'Asks the user, only if you need the answer.',
  input: z.strictObject({
    // Bounds are checked where the question is asked: a bound here would be sent with each request to the
    // model.
    question: z.string(),
    options: z.array(z.string()).optional(),
    free_text: z.boolean().optional(),
    several: z.boolean().optional(),
    wait_minutes: z.number().optional(),
  }),
  // It changes nothing, and a call that is made again gets the recorded answer.
  idempotent: true,
  effects: 'reads',
  subject: ({ question }) => question,
  async run({ question: message, wait_minutes: minutes, ...rest }, { ask }) {
    const timeout = minutes === undefined ? {} : { timeout_ms: Math.round(minutes * 60_000) }
    const given = await ask({ message, ...rest, ...timeout } as Question)
    switch (given.action) {
      case 'accept':
        return (given.answers ?? []).join('\n')
      case 'decline':
        throw new ToolFailure(
          'declined',
          `The user does not want to answer${because(given.reason)} Go on without the answer, or say what is missing.`,
        )
      case 'cancel':
        throw new ToolFailure(
          'not_answered',
          `${unanswered(given.reason)} Go on without the answer, or say what is missing.`,
        )
      default:
        return given.action satisfies never
    }
  },
})

const unanswered = (reason = ''): string =>
  reason.trim() === '' ? 'Nobody answered.' : `There is no answer: ${reason.trim().replace(/\.$/, '')}.`
const because = (reason = ''): string =>
  reason.trim() === '' ? '.' : ` (${reason.trim().replace(/\.$/, '')}).`
