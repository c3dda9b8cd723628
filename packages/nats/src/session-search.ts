// The SessionSearch port, asked of the projector: its query `session_search`.
import { BeaverError, type SessionSearch } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import { call } from './rpc.ts'
import type { Subjects } from './subjects.ts'

const answerMsMax = 10_000

const found = z.object({
  hits: z.array(z.object({ session_id: z.string(), task_id: z.string(), role: z.enum(['user', 'assistant', 'tool']), excerpt: z.string(), at: z.string() })),
})

export function natsSessionSearch(nc: NatsConnection, subjects: Subjects): SessionSearch {
  return {
    async search(tenant, { query, limit, session, includeCurrent }) {
      const request = { tenant, query, limit, session, include_current: includeCurrent }
      const parsed = found.safeParse(await call(nc, subjects.query('session_search'), request, { timeoutMs: answerMsMax, whom: 'projector' }))
      if (!parsed.success) throw new BeaverError('internal', `The projector answered in an unknown shape: ${z.prettifyError(parsed.error)}`)
      return parsed.data.hits
    },
  }
}
