// memory: what an agent keeps for later runs (D-45). The store decides; this file has only the tool's
// arguments and answers. The arguments are one flat object, because providers do not accept a union at the
// top.
import { defineTool, ToolFailure, ToolInputError } from '@beaver/agent/tool-kit'
import { type MemoryChange, memoryTarget } from '@beaver/core'
import { z } from 'zod'

/** More than the limit of any target. */
const textCharsMax = 200_000

export const memory = defineTool({
  name: 'memory',
  description: "Keeps facts for later runs, not this task's progress.",
  input: z.strictObject({
    action: z.enum(['add', 'replace', 'remove']),
    target: memoryTarget,
    content: z.string().max(textCharsMax).optional(),
    old_text: z.string().max(textCharsMax).optional(),
  }),
  // A second removal may find another entry.
  idempotent: false,
  sink: 'memory',
  async run(input, context) {
    const answer = await context.memory(changeOf(input))
    if (!answer.ok) throw new ToolFailure(answer.code, answer.message)
    const { changed, entries, chars, charsMax } = answer
    return { target: input.target, changed, entries, chars_used: chars, chars_max: charsMax }
  },
})

function changeOf(input: {
  action: MemoryChange['action']
  target: MemoryChange['target']
  content?: string | undefined
  old_text?: string | undefined
}): MemoryChange {
  const { action, target } = input
  const given = (name: 'content' | 'old_text'): string => {
    const text = input[name]
    if (text === undefined) throw new ToolInputError(`"${name}" is missing: ${action} needs it.`)
    return text
  }
  switch (action) {
    case 'add':
      return { action, target, content: given('content') }
    case 'replace':
      return { action, target, old_text: given('old_text'), content: given('content') }
    case 'remove':
      return { action, target, old_text: given('old_text') }
    default:
      return action satisfies never
  }
}
