import { defineTool } from '@beaver/agent'
import { z } from 'zod'

export const daysBetween = defineTool({
  name: 'days_between',
  description: 'Counts the days from one date to another; negative when the second is the earlier one.',
  input: z.strictObject({ from: z.iso.date(), to: z.iso.date() }),
  pure: true,
  run: ({ from, to }) => ({ days: (Date.parse(to) - Date.parse(from)) / 86_400_000 }),
})
