// session_search: finds what was said in earlier sessions (D-46). The projector searches; this tool only
// asks. Models send numbers as text, too.
import { defineTool, ToolFailure } from '@beaver/agent/tool-kit'
import { messageOf } from '@beaver/core'
import { z } from 'zod'

const limitDefault = 10
const limitMax = 50

export const sessionSearch = defineTool({
  name: 'session_search',
  description: 'Searches earlier sessions, newest first. All words must occur.',
  input: z.strictObject({
    query: z.string().max(1_000),
    limit: z.coerce.number().optional(),
    include_current: z.boolean().default(false),
  }),
  idempotent: true,
  effects: 'reads',
  async run({ query, limit, include_current: includeCurrent }, context) {
    try {
      return {
        query,
        matches: await context.searchSessions({ query, limit: clamped(limit), includeCurrent }),
      }
    } catch (error) {
      context.signal.throwIfAborted()
      throw new ToolFailure(
        'session_search_failed',
        `The sessions could not be searched: ${messageOf(error)}`,
      )
    }
  },
})

function clamped(limit: number | undefined): number {
  if (limit === undefined || Number.isNaN(limit)) return limitDefault
  return Math.trunc(Math.min(limitMax, Math.max(1, limit)))
}
