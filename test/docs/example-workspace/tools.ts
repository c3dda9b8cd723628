import { defineTool, z } from '@beaver/agent'

export const daysBetween = defineTool({
  name: 'days_between',
  description: 'Counts the days from one date to another.',
  input: z.strictObject({ from: z.iso.date(), to: z.iso.date() }),
  pure: true,
  run: ({ from, to }) => ({ days: (Date.parse(to) - Date.parse(from)) / 86_400_000 }),
})
