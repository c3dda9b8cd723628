// The tools of the agents. beaver.config.json names this file.
import { defineTool, z } from '@beaver/agent/tool'

export const daysBetween = defineTool({
  name: 'days_between',
  description: 'Counts the days from one date to another. Returns {"days"}.',
  input: z.strictObject({ from: z.iso.date(), to: z.iso.date() }),
  pure: true,
  run: ({ from, to }) => ({ days: (Date.parse(to) - Date.parse(from)) / 86_400_000 }),
})
