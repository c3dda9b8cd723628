// echo: says back what it was told; for trying things out.
import { z } from 'zod'
import { defineTool } from '../tool.ts'

export const echo = defineTool({
  name: 'echo',
  description: 'Returns the text it is given, unchanged.',
  input: z.strictObject({ text: z.string().max(100_000) }),
  pure: true,
  run: ({ text }) => ({ text }),
})
