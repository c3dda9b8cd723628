// Turns the input of a run of AG-UI 1.0 into a task. The thread is the session.
// - The id of a message that Beaver sent contains the id of its task. So the newest such message in the list
//   shows up to which task the session has the conversation. The messages after it are history that only the
//   client has, except the last one of the user, which is the task.
// - Messages of other threads are history, too, because an interface may copy them.
// - Agents read text. As the specification wants, other parts are left out; only a last message without any
//   text is refused.
// - The tools of the interface become tools of the client. A workflow has no agent that could call them.
import type { SubmitTask } from '@beaver/contracts'
import { BeaverError, foreignId } from '@beaver/core'
import { z } from 'zod'
import { type Caller, reaches, userOf } from '../access.ts'
import { argumentsOf, defaultAgent, isWorkflow } from '../agents.ts'
import type { Asker, TaskHost } from '../host.ts'
import { keyedId } from '../idempotency.ts'
import { HttpProblem } from '../problem.ts'

const messagesMax = 2_000

const message = z.looseObject({
  id: z.string().max(1_000).describe('The id of the message, as the run told it.'),
  role: z
    .string()
    .max(100)
    .describe(
      'user, assistant, system, developer or tool. Messages of other roles are left out. Behind the newest message of the agent, one with the role tool is the result of a call of the client.',
    ),
  toolCallId: z.string().max(1_000).optional().describe('The call whose result the message is.'),
  error: z.string().optional().describe('Why the client could not make the call. Absent: it made the call.'),
  content: z.unknown().optional().describe('A text, or parts, of which those of type text are read.'),
})
export type Message = z.infer<typeof message>

export const runInput = z.looseObject({
  threadId: foreignId.describe('The session.'),
  runId: z
    .string()
    .min(1)
    .max(255)
    .describe('The run. A request that is sent again with the same run is the same task.'),
  protocolVersion: z
    .string()
    .max(100)
    .optional()
    .describe(
      'The version of the client, such as 1.0. Absent: an older one, which gets no outcome that is new in 1.0.',
    ),
  messages: z
    .array(message)
    .max(messagesMax)
    .describe('The conversation so far. The last message of the user is the task.'),
  context: z
    .array(z.looseObject({ description: z.string().max(10_000), value: z.string() }))
    .max(1_000)
    .optional()
    .describe('What the agent should know besides. It becomes a part of the instructions.'),
  tools: z
    .array(
      z.looseObject({
        name: z.string(),
        description: z.string().optional(),
        parameters: z.record(z.string(), z.unknown()).nullable().optional(),
      }),
    )
    .optional()
    .describe(
      'Tools of the interface. If the agent calls one, the run ends, and the next run brings the result as a message with the role tool. A workflow has none. A task keeps the tools of its first run.',
    ),
  resume: z
    .array(
      z.looseObject({
        interruptId: z.string().min(1).max(1_000),
        status: z.enum(['resolved', 'cancelled']),
        payload: z.unknown().optional(),
      }),
    )
    .max(1_000)
    .optional()
    .describe(
      'Answers to the interrupts that ended the run before. About a call, payload: {"approved": true}, or false and a "reason". To a question: what its "responseSchema" says, or a text.',
    ),
  forwardedProps: z
    .unknown()
    .optional()
    .describe(
      '{"beaver": {"goes_on": true}}: the task goes on if the client goes away. Default: it is cancelled.',
    ),
})
export type RunInput = z.infer<typeof runInput>

const goesOn = z.object({ beaver: z.object({ goes_on: z.literal(true) }) })

/** Whether the task continues when its client disconnects. */
export const wantsToGoOn = ({ forwardedProps }: RunInput): boolean => goesOn.safeParse(forwardedProps).success

/** The id of the task that a run submits, if it goes on with no other. */
export const taskOfRun = (
  { threadId, runId }: Pick<RunInput, 'threadId' | 'runId'>,
  { caller, agent }: { readonly caller: Caller; readonly agent: string },
): string => keyedId({ caller, userId: userOf(caller, undefined) }, 'ag-ui', agent, threadId, runId)

/** The `source` of a task that AG-UI submits. */
export const sourceOf = ({ name }: Caller): string => `ag-ui:${name}`

/** The id of a message or a call in the events of a task. `part` must not contain a colon. */
export const tellsId = (taskId: string, part: string): string => `beaver:${taskId}:${part}`

/** The task in the id of a message. `null`: the message is not from Beaver. */
const tellerOf = (id: string): string | null => /^beaver:(.{1,128}):[^:]+$/s.exec(id)?.[1] ?? null

/** How many tasks are looked up for one request, newest first. */
const tellersMax = 20

/** The newest message that comes from a task of the thread, and that task. `null`: there is none. */
async function newestFromTask(
  { messages, threadId }: RunInput,
  asker: Asker,
): Promise<{ readonly at: number; readonly taskId: string } | null> {
  const looked = new Set<string>()
  for (const [at, { id }] of [...messages.entries()].toReversed()) {
    const taskId = tellerOf(id)
    if (taskId === null || looked.has(taskId)) continue
    if (looked.size === tellersMax) return null
    looked.add(taskId)
    if (await isOfThread(taskId, threadId, asker)) return { at, taskId }
  }
  return null
}

async function isOfThread(taskId: string, threadId: string, { host, caller }: Asker): Promise<boolean> {
  for await (const { type, data } of host.client().events(taskId))
    return type === 'task_submitted' && data.session_id === threadId && reaches(caller, data.request.user_id)
  return false
}

/**
 * The task of a run, without its ids and its user.
 *
 * @throws {HttpProblem} `invalid_arguments`, `unknown_workflow`
 */
export async function workOf(agent: string, input: RunInput, { host, caller }: Asker): Promise<SubmitTask> {
  const { messages, context = [] } = input
  const earlier = isWorkflow(agent) ? null : await newestFromTask(input, { host, caller })
  const behind = messages.slice((earlier?.at ?? -1) + 1).flatMap((each) => turnOf(each))
  const last = behind.at(-1)
  if (last?.role !== 'user' || last.content.trim() === '')
    throw invalid(
      'messages',
      'must end with a message of the user that has a text, or with results of calls of the client',
    )
  if (isWorkflow(agent))
    return { workflow: { name: agent, arguments: await mustHaveArguments(agent, last.content, host) } }
  const history = behind.slice(0, -1).filter(({ content }) => content !== '')
  const tools = input.tools?.map(({ name, description, parameters }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined || parameters === null ? {} : { parameters }),
  }))
  const instructions = [
    ...messages.filter(({ role }) => role === 'system' || role === 'developer').map(textOf),
    ...context.map(({ description, value }) => `${description}: ${value}`),
  ].filter((text) => text.trim() !== '')
  return {
    task: last.content,
    ...(agent === defaultAgent ? {} : { profile: agent }),
    ...(earlier === null ? {} : { history_until: earlier.taskId }),
    ...(history.length === 0 ? {} : { history }),
    ...(instructions.length === 0 ? {} : { instructions: instructions.join('\n\n') }),
    ...(tools === undefined || tools.length === 0
      ? {}
      : { client_tools: tools as NonNullable<SubmitTask['client_tools']> }),
  }
}

/** The error of a task, with the place of a tool in the request instead of that in the task. */
export function toolError(error: unknown): unknown {
  if (!(error instanceof BeaverError) || !error.problems.some(({ path }) => path.startsWith('client_tools')))
    return error
  const inBody = (text: string): string => text.replace(/\bclient_tools\b/g, 'body.tools')
  const problems = error.problems.map(({ path, message: why }) => ({
    path: inBody(path),
    message: inBody(why),
  }))
  return new HttpProblem('invalid_arguments', inBody(error.message), { problems })
}

function turnOf(message: Message): { readonly role: 'user' | 'assistant'; readonly content: string }[] {
  const { role } = message
  return role === 'user' || role === 'assistant' ? [{ role, content: textOf(message) }] : []
}

const textPart = z.looseObject({ type: z.literal('text'), text: z.string() })

export function textOf({ content }: Message): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.flatMap((part) => textPart.safeParse(part).data?.text ?? []).join('\n')
}

async function mustHaveArguments(
  workflow: string,
  text: string,
  host: TaskHost,
): Promise<Record<string, unknown>> {
  const read = await argumentsOf(workflow, text, host)
  if (read.kind === 'read') return read.arguments
  throw read.kind === 'more'
    ? invalid('messages', read.message)
    : new HttpProblem('unknown_workflow', `There is no agent ${JSON.stringify(workflow)}.`)
}

/** The error for a part of the body that is not valid. @param at its path in the body */
export function invalid(at: string, message: string): HttpProblem {
  const path = `body.${at}`
  return new HttpProblem('invalid_arguments', `The request is not valid: ${path} ${message}.`, {
    problems: [{ path, message }],
  })
}
