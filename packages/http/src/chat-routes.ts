// The routes that run a conversation or a team. They answer when the run has ended, or with a stream (WEB-03
// to WEB-06, API-01, API-02, D-50).
//
// R1. A stream has exactly one terminal event: `result` or `error` for a chat, `team_run_completed` or
// `team_run_failed` for a team. If the token of the reader is revoked, the stream ends with `error` instead.
// A reader that disconnects cancels nothing: the task continues, and the reader has its id from the first
// event.
import { isAbsolute, relative, resolve, sep } from 'node:path'
import { AgentTeam } from '@beaver/client'
import { submitRequest, type SubmitTask } from '@beaver/contracts'
import { BeaverError, type LiveProgress, usage } from '@beaver/core'
import { failure } from '@beaver/core/supervision'
import { strategies, teamConfiguration, type TeamStreamEvent } from '@beaver/team-patterns'
import { z } from 'zod'
import { type Caller, hasRole, userOf } from './access.ts'
import { HttpProblem, problemOf } from './problem.ts'
import { forUser, json, type Route, route, type RouteOptions } from './route.ts'
import { eventStream, type ServerSentEvent } from './sse.ts'
import { reportedItems } from './reported-items.ts'

const asked = submitRequest.shape

/** WEB-03. */
const webChatRequest = z.strictObject({
  message: z.string().min(1).max(1_000_000).describe('What to do, in words.'),
  session_id: asked.session_id.describe(
    'The session with which to go on. Tasks of one session run one after the other. 1 to 128 characters. Absent: a new one.',
  ),
  user_id: forUser,
  profile: asked.profile,
  skill: asked.skill,
  skills: asked.skills,
  model: asked.model,
  model_settings: asked.model_settings,
  title: asked.title,
  time_zone: asked.time_zone,
  workspace_dir: z
    .string()
    .max(4_096)
    .optional()
    .describe(
      'The folder in which the agents may work: absolute, or relative to the folder of the gateway. It must exist.',
    ),
  stream: z.boolean().default(false).describe('Whether the answer is a stream of events.'),
})

/** WEB-03. */
const webChatResponse = z.object({
  task_id: z.string().describe('The id of the task.'),
  session_id: z.string().describe('The session, for the next message.'),
  status: z.enum(['completed', 'incomplete', 'failed', 'cancelled']).describe('How the task ended.'),
  output_text: z.string().describe('The answer. Empty if there is none.'),
  finish_reason: z.string().describe('Why the last answer of the model ended.'),
  tool_iterations: z.int().describe('How many answers of the root agent called tools.'),
  provider_name: z.string().nullable().describe('The provider. null: no model answered.'),
  model: z.string().nullable().describe('The model. null: no model answered.'),
  usage: usage.describe('What all runs of the task used.'),
  simulated: z.boolean().describe("Whether Beaver's simulated model answered."),
  failure: failure.nullable().describe('Why the task did not complete. null: it completed.'),
})

/** API-01. A member is a configuration or the name of a loaded profile. */
const teamRunRequest = z.strictObject({
  ...teamConfiguration.shape,
  members: z
    .array(z.union([z.string().min(1), teamConfiguration.shape.members.element]))
    .min(1)
    .describe('The members: {"name": "…", "instruction": "…"}, or the name of a loaded profile.'),
  coordinator: z
    .union([z.string().min(1), teamConfiguration.shape.coordinator.unwrap()])
    .optional()
    .describe('Plans and writes the result: a configuration, or the name of a loaded profile.'),
  workspace_dir: webChatRequest.shape.workspace_dir,
  session_id: webChatRequest.shape.session_id,
  user_id: webChatRequest.shape.user_id,
  stream: webChatRequest.shape.stream,
})

/** API-02. */
const teamRunResponse = z.looseObject({
  task_id: z.string().describe('The id of the task.'),
  session_id: z.string().describe('The session of the run.'),
  success: z.boolean().describe('Whether the team completed with a result.'),
  final_output: z.string().describe('The result of the team.'),
  member_outputs: z.record(z.string(), z.string()).describe('What each member wrote.'),
  interactions: z
    .array(z.unknown())
    .describe('What the members were asked and what they answered, in the order of the graph.'),
  steps: z.int().describe('How many times a member or the coordinator worked.'),
  logs: z.array(z.unknown()).describe('What happened, one line for each event.'),
})

/**
 * The folder of a request as an absolute path, if the request names one.
 *
 * @throws {HttpProblem} `invalid_arguments` for a relative path without a root, or one that leads out of the
 * root
 */
function workspaceOf(
  dir: string | undefined,
  { workspaceRoot }: Pick<RouteOptions, 'workspaceRoot'>,
): string | undefined {
  if (dir === undefined || isAbsolute(dir)) return dir
  const wrong = (message: string): never => {
    throw new HttpProblem('invalid_arguments', `The request is not valid: body.workspace_dir ${message}.`, {
      problems: [{ path: 'body.workspace_dir', message }],
    })
  }
  if (workspaceRoot === null) return wrong('must be absolute: no root is configured for relative paths')
  const path = resolve(workspaceRoot, dir)
  const way = relative(workspaceRoot, path)
  if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way))
    return wrong('leads out of the folder to which it is relative')
  return path
}

const chat = route(
  {
    tag: 'chat',
    role: 'submit',
    method: 'post',
    at: '/api/chat',
    name: 'chat',
    says: 'Asks, and waits for the answer. A message with a session_id goes on with a conversation.',
    answer: {
      status: 200,
      says: 'How the task ended.',
      schema: webChatResponse,
      events:
        'submitted (the ids), delta (a piece of the answer), progress (how far a call is), event (the type of what was journaled), and at the end one of result and error.',
    },
  },
  { body: webChatRequest },
  async ({ body, host, caller, options, signal }) => {
    const { message, stream, workspace_dir, user_id, ...rest } = body
    const task: SubmitTask = {
      ...rest,
      task: message,
      workspace: workspaceOf(workspace_dir, options),
      user_id: userOf(caller, user_id),
      source: `http:${caller.name}`,
    }
    const within = AbortSignal.any([
      signal,
      AbortSignal.timeout(options.runMsMax[stream ? 'stream' : 'answer']),
    ])
    if (!stream) return json(webChatResponse.parse(await host.run(task, { signal: within })))
    host.client()
    return eventStream(
      reportedItems<ServerSentEvent>(
        (report) =>
          host
            .run(task, {
              signal: within,
              onSubmitted: (data) => report({ event: 'submitted', data }),
              onEvent: ({ type, taskseq, time, runId }) =>
                report({ event: 'event', data: { type, taskseq, time, run_id: runId ?? null } }),
              onDelta: (data) => report({ event: 'delta', data }),
              onProgress(update) {
                const data = progressFor(caller, update)
                if (data !== null) report({ event: 'progress', data })
              },
            })
            .then((result) => report({ event: 'result', data: webChatResponse.parse(result) })),
        ({ event }) => event === 'delta' || event === 'progress',
      ),
      options,
    )
  },
)

/**
 * The progress of a call as the caller may see it. The messages of tools and the progress of workers need the
 * role `read`. `null`: nothing.
 */
function progressFor(caller: Caller, update: LiveProgress): LiveProgress | null {
  if (hasRole(caller, 'read')) return update
  return update.node_id === null ? { ...update, message: null } : null
}

const teamRun = route(
  {
    tag: 'teams',
    role: 'submit',
    method: 'post',
    at: '/api/v1/team/run',
    name: 'runTeam',
    says: 'Runs a team, and waits for its report.',
    answer: {
      status: 200,
      says: 'The report. A team that failed has one too.',
      schema: teamRunResponse,
      events:
        'team_run_started, member_started, member_delta, member_completed, member_failed, and at the end one of team_run_completed and team_run_failed.',
    },
  },
  { body: teamRunRequest },
  async ({ body, host, caller, options, signal }) => {
    const { stream, workspace_dir, session_id: sessionId, user_id, ...configuration } = body
    const team = AgentTeam.read(host.client(), configuration)
    const within = AbortSignal.any([
      signal,
      AbortSignal.timeout(options.runMsMax[stream ? 'stream' : 'answer']),
    ])
    const place = {
      workspaceDir: workspaceOf(workspace_dir, options),
      sessionId,
      userId: userOf(caller, user_id),
      signal: within,
    }
    const run = Object.fromEntries(
      Object.entries(place).filter(([, value]) => value !== undefined),
    ) as Parameters<AgentTeam['run']>[1]
    return stream
      ? eventStream(teamEvents(team.runStream(undefined, run), options), options)
      : json(await team.run(undefined, run))
  },
)

/** The events of a team run. R1 holds even if the run cannot be followed to its end. */
async function* teamEvents(
  events: AsyncGenerator<TeamStreamEvent>,
  { failed = (error) => problemOf(error).details }: Pick<RouteOptions, 'failed'>,
): AsyncGenerator<ServerSentEvent> {
  let ids: Partial<Pick<TeamStreamEvent, 'task_id' | 'team_run_id'>> = {}
  try {
    for await (const event of events) {
      const { type, task_id, team_run_id } = event
      ids = { task_id, team_run_id }
      yield { event: type, data: event }
      if (type === 'team_run_completed' || type === 'team_run_failed') return
    }
    throw new BeaverError(
      'timeout',
      `The team run did not end in time. It continues${typeof ids.task_id === 'string' ? ` as task ${ids.task_id}` : ''}.`,
    )
  } catch (error) {
    const { detail: message } = failed(error)
    const data = {
      type: 'team_run_failed',
      ...ids,
      outcome: 'incomplete',
      message,
      final_output: '',
      outputs: [],
      failures: [],
    }
    yield { event: 'team_run_failed', data }
  }
}

const whatStrategiesDo: Readonly<Record<string, string>> = {
  leader_worker:
    'The coordinator plans, the members work on parts of the task, and the coordinator writes the result.',
  round_robin: 'The members take turns, one task each.',
  broadcast:
    'All members get the same task. The coordinator, if there is one, writes the result from all answers.',
  sequential: 'Each member gets the answer of the one before.',
}

const strategy = z.object({
  name: z.string().describe('What a request calls it.'),
  description: z.string().describe('What the members do.'),
})
const strategyAnswer = z.object({ strategies: z.array(strategy).describe('All of them.') })

const strategyList = route(
  {
    tag: 'teams',
    role: 'read',
    method: 'get',
    at: '/api/v1/team/strategies',
    name: 'listStrategies',
    says: 'How the members of a team may work together.',
    answer: { status: 200, says: 'The strategies.', schema: strategyAnswer },
  },
  {},
  () => json({ strategies: strategies.map((name) => ({ name, description: whatStrategiesDo[name] ?? '' })) }),
)

export const chatRoutes: readonly Route[] = [chat, teamRun, strategyList]
