// The routes that only read: sessions, search, usage, memory, one node of a task, whether the journal is intact,
// the state of the system, its changes, what a daemon has loaded, and plans. What is about the journal as a
// whole needs a caller who reaches the tasks of all users.
import { changeData, requestContracts, type RequestRead, systemState } from '@beaver/contracts'
import { BeaverError, foreignId } from '@beaver/core'
import { beaverVersion } from '@beaver/platform'
import { z } from 'zod'
import { doneFor, reaches, reachOf, userOf } from './access.ts'
import { inPath } from './event-routes.ts'
import { HttpProblem } from './problem.ts'
import { fieldsOf, json, queryRoute, type Route, route } from './route.ts'
import { eventStream } from './sse.ts'

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

const failures = queryRoute('failures', {
  tag: 'system',
  at: '/api/v1/failures',
  name: 'showFailures',
  gives: 'The groups.',
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

const changes = route(
  {
    role: 'read',
    method: 'get',
    tag: 'tasks',
    at: '/api/v1/changes',
    name: 'followChanges',
    says: 'The changes of all tasks that the token reaches, for somebody who shows them. With "Accept: text/event-stream" they are followed; otherwise only the sequence is read.',
    answer: {
      status: 200,
      says: 'How far the read model is, or the stream of changes, which does not end.',
      schema: changeData,
      events:
        'hello comes first, and from then on nothing is missed unnoticed. changed names tasks that changed: the other routes already give their new state. reset says that any task may have changed. Ask again for what you show after hello and after reset. The id is the sequence, and the data has the shape of the JSON answer. Changes of the past are not repeated.',
    },
  },
  {},
  async ({ host, caller, streamed, signal, options }) => {
    options.mayRead?.()
    if (!host.running()) throw new BeaverError('unreachable', 'Beaver does not answer now. Ask again.')
    const reader = options.changes.join(({ user_id: user }) => reaches(caller, user ?? undefined))
    signal.addEventListener('abort', reader.close, { once: true })
    try {
      await reader.begun
      options.mayRead?.() // The app may be closing.
      if (streamed) return eventStream(reader, options)
      const { sequence } = reader
      reader.close()
      return json({ sequence })
    } catch (error) {
      reader.close()
      throw error
    }
  },
)

const loaded = route(
  {
    role: 'read',
    method: 'get',
    tag: 'system',
    at: '/api/v1/loaded',
    name: 'listLoaded',
    says: requestContracts.loaded.says,
    answer: { status: 200, says: 'A page of entries.', schema: requestContracts.loaded.output },
  },
  { query: fieldsOf(requestContracts.loaded.input) },
  async ({ host, query }) => json(await host.client().loaded(query as RequestRead<'loaded'>)),
)

const addWorkflow = route(
  {
    role: 'admin',
    method: 'post',
    tag: 'system',
    at: '/api/v1/profiles/{name}/workflows',
    name: 'addWorkflow',
    says: requestContracts['profile.add_workflow'].says,
    answer: {
      status: 200,
      says: 'What the profile has now.',
      schema: requestContracts['profile.add_workflow'].output,
    },
  },
  {
    path: z.strictObject({
      name: z.string().min(1).max(200).describe('The name of a profile that the daemon has loaded.'),
    }),
    body: fieldsOf(requestContracts['profile.add_workflow'].input, ['profile', 'user_id']),
  },
  async ({ path, body, host, caller }) =>
    json(
      await host
        .client()
        .addWorkflow(path.name, (body as { workflow: string }).workflow, { userId: doneFor(caller) }),
    ),
)

const plan = route(
  {
    role: 'read',
    method: 'post',
    tag: 'system',
    at: '/api/v1/plan',
    name: 'planWorkflow',
    says: requestContracts.plan.says,
    answer: {
      status: 200,
      says: 'The plan, or why there is none.',
      schema: requestContracts.plan.output,
    },
  },
  { body: fieldsOf(requestContracts.plan.input) },
  async ({ host, body }) => {
    const { workflow, arguments: args } = body as RequestRead<'plan'>
    return json(await host.client().plan(workflow, args))
  },
)
const node = queryRoute('node', {
  tag: 'tasks',
  at: '/api/v1/tasks/{task_id}/nodes/{node_id}',
  name: 'showNode',
  gives: 'The node, with a page of its calls.',
  path: inPath.extend({ node_id: z.string().min(1).max(128).describe('The id of the node.') }),
})

const taskAudit = queryRoute('audit', {
  tag: 'tasks',
  at: '/api/v1/tasks/{task_id}/audit',
  name: 'auditTask',
  gives: 'What the audit found in the log of the task.',
  path: inPath,
})

const wholeAudit = queryRoute('audit', {
  tag: 'system',
  at: '/api/v1/audit',
  name: 'audit',
  gives: 'What the audit found in the logs of the tasks that the token reaches.',
})

const quarantine = ofAllUsers(
  queryRoute('quarantine', {
    tag: 'system',
    at: '/api/v1/quarantine',
    name: 'listQuarantine',
    gives: 'A page of messages.',
  }),
)

const projector = ofAllUsers(
  queryRoute('status', {
    tag: 'system',
    at: '/api/v1/projector',
    name: 'showProjector',
    gives: 'The state of the projector.',
  }),
)

const system = ofAllUsers(
  route(
    {
      role: 'read',
      method: 'get',
      tag: 'system',
      at: '/api/v1/system',
      name: 'showSystem',
      says: 'The state of the whole system: daemons, endpoints of models, projector, streams, tasks and budgets. A part that does not answer within some seconds says so, and the others are there all the same.',
      answer: { status: 200, says: 'The state.', schema: systemState },
    },
    {},
    async ({ host, options }) =>
      json({
        ...(await host.client().system()),
        gateway: { version: beaverVersion, started_at: options.startedAt },
      }),
  ),
)

/** The same route, for callers that reach the tasks of all users only. */
function ofAllUsers(of: Route): Route {
  return {
    ...of,
    says: `${of.says} A token that reaches the tasks of one user alone is refused.`,
    handle(request) {
      const user = reachOf(request.caller)
      if (user !== undefined)
        throw new HttpProblem(
          'not_allowed',
          `The token ${JSON.stringify(request.caller.name)} reaches only the tasks of the user ${JSON.stringify(user)}, and this is about all tasks.`,
        )
      return of.handle(request)
    },
  }
}

export const readRoutes: readonly Route[] = [
  sessions,
  session,
  search,
  usage,
  failures,
  memory,
  status,
  changes,
  loaded,
  plan,
  addWorkflow,
  node,
  taskAudit,
  wholeAudit,
  quarantine,
  projector,
  system,
]
