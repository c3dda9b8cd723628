// Sessions, search and the state of the system over HTTP.
import { queryContracts, requestContracts } from '@beaver/contracts'
import { z } from 'zod'
import { asked, fieldsOf, json, type Route, route } from './route.ts'

const read = { role: 'read', method: 'get' } as const

const sessions = route(
  {
    ...read,
    tag: 'sessions',
    at: '/api/v1/sessions',
    name: 'listSessions',
    says: queryContracts.sessions.says,
    answer: { status: 200, says: 'A page of sessions.', schema: queryContracts.sessions.output },
  },
  { query: fieldsOf(queryContracts.sessions.input) },
  async ({ query, host, caller }) => json(await asked({ host }, 'sessions', caller.userId === undefined ? query : { ...query, user_id: caller.userId })),
)

const session = route(
  {
    ...read,
    tag: 'sessions',
    at: '/api/v1/sessions/{session_id}',
    name: 'showSession',
    says: queryContracts.session.says,
    answer: { status: 200, says: 'A page of the tasks of the session.', schema: queryContracts.session.output },
  },
  {
    path: z.strictObject({ session_id: z.string().min(1).max(128).describe('The id of the session.') }),
    query: fieldsOf(queryContracts.session.input, ['session_id']),
  },
  async ({ path, query, host }) => json(await asked({ host }, 'session', { ...query, ...path })),
)

const search = route(
  {
    ...read,
    tag: 'sessions',
    at: '/api/v1/search',
    name: 'search',
    says: queryContracts.search.says,
    answer: { status: 200, says: 'A page of hits.', schema: queryContracts.search.output },
  },
  { query: fieldsOf(queryContracts.search.input) },
  async ({ query, host }) => json(await asked({ host }, 'search', query)),
)

const status = route(
  {
    ...read,
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
