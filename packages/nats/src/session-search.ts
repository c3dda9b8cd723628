// The SessionSearch port. It asks the projector with the query `session_search`.
import type { SessionSearch } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import { askProjector } from './ask-by-contract.ts'
import type { Subjects } from './subjects.ts'

const answerMsMax = 10_000

export function natsSessionSearch(nc: NatsConnection, subjects: Subjects): SessionSearch {
  return {
    async search({ tenant, user }, { query, limit, session, includeCurrent }) {
      const input = {
        tenant,
        user_id: user,
        query,
        limit,
        session_id: session,
        include_current: includeCurrent,
      }
      return (await askProjector({ nc, subjects, timeoutMs: answerMsMax }, 'session_search', input)).hits
    },
  }
}
