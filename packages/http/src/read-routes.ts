// The routes that only read: sessions, search, usage, memory, and the status of the system.
import { requestContracts } from '@beaver/contracts'
import { foreignId } from '@beaver/core'
import { z } from 'zod'
import { userOf } from './access.ts'
import { json, queryRoute, type Route, route } from './route.ts'

const sessions = queryRoute('sessions', {
  tag: 'sessions',
  at: '/api/v1/sessions',
  name: 'listSessions',
  gives: 'A page of sessions.',
})

const session = queryRoute('session', {
  tag: 'sessions',
  at: '/api/v1/sessions/{session_id}',
  name: 'showSession',
  gives: 'A page of the tasks of the session.',
  path: z.strictObject({ session_id: z.string().min(1).max(128).describe('The id of the session.') }),
})

const search = queryRoute('search', {
  tag: 'sessions',
  at: '/api/v1/search',
  name: 'search',
  gives: 'A page of hits.',
})

const usage = queryRoute('usage', {
  tag: 'system',
  at: '/api/v1/usage',
  name: 'showUsage',
  gives: 'The sums.',
})

const whose = foreignId
  .optional()
  .describe(
    'Whose list "user" is read. Absent: that of the user of the token, or else that of tasks without a user.',
  )

const memory = route(
  {
    role: 'read',
    method: 'get',
    tag: 'system',
    at: '/api/v1/memory',
    name: 'showMemory',
    says: requestContracts.memory.says,
    answer: { status: 200, says: 'The lists.', schema: requestContracts.memory.output },
  },
  { query: z.strictObject({ user_id: whose }) },
  async ({ host, caller, query }) =>
    json(await host.client().memory({ userId: userOf(caller, query.user_id) })),
)

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

export const readRoutes: readonly Route[] = [sessions, session, search, usage, memory, status]
