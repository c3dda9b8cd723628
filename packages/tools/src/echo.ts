// echo: returns its text, for trying things out.
import { defineTool } from '@beaver/agent/tool-kit'
import { z } from 'zod'

export const echo = defineTool({
  name: 'echo',
  description: 'Returns its text.',
  input: z.strictObject({ text: z.string().max(100_000) }),
  pure: true,
  run: ({ text }) => ({ text }),
})
