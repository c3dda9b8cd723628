// Sessions, search and the state of the system over HTTP.
import { requestContracts } from '@beaver/contracts'
import { z } from 'zod'
import { json, queryRoute, type Route, route } from './route.ts'

const sessions = queryRoute('sessions', { tag: 'sessions', at: '/api/v1/sessions', name: 'listSessions', gives: 'A page of sessions.' }, (input, { userId }) =>
  userId === undefined ? input : { ...input, user_id: userId },
)

const session = queryRoute('session', {
  tag: 'sessions',
  at: '/api/v1/sessions/{session_id}',
  name: 'showSession',
  gives: 'A page of the tasks of the session.',
  path: z.strictObject({ session_id: z.string().min(1).max(128).describe('The id of the session.') }),
})

const search = queryRoute('search', { tag: 'sessions', at: '/api/v1/search', name: 'search', gives: 'A page of hits.' })

const status = route(
  {
    role: 'read',
    method: 'get',
    tag: 'system',
    at: '/api/v1/status',
    name: 'showStatus',
    says: 'The state of one of the daemons.',
    answer: { status: 200, says: 'The state.', schema: requestContracts.status.output },
  },
  {},
  async ({ host }) => json(await host.client().status()),
)

export const readRoutes: readonly Route[] = [sessions, session, search, status]
