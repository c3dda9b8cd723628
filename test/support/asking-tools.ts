// A module of tools that ask a person while they run, for the tests of a daemon.
import { defineTool } from '@beaver/agent'
import { z } from 'zod'

/** It is not idempotent, so it holds its task while it asks. */
export const deploy = defineTool({
  name: 'deploy',
  description: 'Deploys.',
  input: z.strictObject({ to: z.string() }),
  async run({ to }, { ask }) {
    const { action, answers = [] } = await ask({ message: `Deploy to ${to}?`, options: ['Yes', 'No'] })
    return `${action} ${answers.join()}`
  },
})

const form = {
  type: 'object',
  properties: { name: { type: 'string', description: 'Your name' }, age: { type: 'integer' } },
  required: ['name'],
}

export const signUp = defineTool({
  name: 'sign_up',
  description: 'Signs up.',
  input: z.strictObject({}),
  idempotent: true,
  effects: 'reads',
  async run(_, { ask }) {
    const { action, content } = await ask({ message: 'Who are you?', form })
    const { name, age } = z
      .object({ name: z.string(), age: z.int() })
      .partial()
      .parse(content ?? {})
    return `${action} ${name} ${age}`
  },
})
