// Reads a message of an A2A client as a new task, as a text that steers a task or answers its question, or as
// decisions about calls. Agents read text; a part with data becomes JSON. A file is refused, because an
// answer that ignored the file would look as if the agent had seen it.
import { Role } from '@a2a-js/sdk'
import { ContentTypeNotSupportedError, PushNotificationNotSupportedError } from '@a2a-js/sdk/errors'
import { type AnswerRequest, requestContracts, type SubmitTask } from '@beaver/contracts'
import { foreignId, problemsOf } from '@beaver/core'
import { z } from 'zod'
import { argumentsOf, defaultAgent, isWorkflow } from '../agents.ts'
import type { TaskHost } from '../host.ts'
import { fieldsOf } from '../route.ts'
import { InvalidParams } from './failure.ts'

/** The field, or an empty text, which counts as absent: ProtoJSON may write the default value of a field. */
const orEmpty = <Schema extends z.ZodType<string>>(schema: Schema) =>
  z.union([z.literal('').transform(() => undefined), schema]).nullish()

const part = z.looseObject({
  text: z.string().nullish(),
  data: z.unknown().optional(),
  raw: z.unknown().optional(),
  url: z.unknown().optional(),
  filename: z.string().nullish(),
})
type Part = z.infer<typeof part>

const message = z.looseObject({
  messageId: z.string().min(1).max(255),
  role: z.literal(['ROLE_USER', Role.ROLE_USER], {
    message: 'must be "ROLE_USER": the agent writes its own messages',
  }),
  parts: z.array(part).min(1, 'has no parts. Send a text').max(1_000),
  contextId: orEmpty(foreignId),
  taskId: orEmpty(foreignId),
})
export type A2aMessage = z.infer<typeof message>

export const historyLength = z.int().min(0).nullish()

export const sendParams = z.looseObject({
  message,
  configuration: z
    .looseObject({
      acceptedOutputModes: z.array(z.string().max(200)).max(100).nullish(),
      taskPushNotificationConfig: z.unknown().optional(),
      historyLength,
      returnImmediately: z.boolean().nullish(),
    })
    .nullish(),
})
export type SendParams = z.infer<typeof sendParams>

/** Validates the parameters of a method. @throws {InvalidParams} with the place of each fault */
export function readParams<Schema extends z.ZodType>(schema: Schema, params: unknown): z.output<Schema> {
  const read = schema.safeParse(params)
  if (read.success) return read.data
  const problems = problemsOf(read.error.issues, params, 'params')
  const [first] = problems
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
  throw new InvalidParams(`The request is not valid: ${first?.path} ${first?.message}${more}.`, problems)
}

/**
 * Refuses a message whose client wants the answer in a form that Beaver does not give.
 *
 * @throws {PushNotificationNotSupportedError}, {ContentTypeNotSupportedError}
 */
export function mustSuit({ configuration }: SendParams): void {
  const { taskPushNotificationConfig: push, acceptedOutputModes: modes } = configuration ?? {}
  if (push !== undefined && push !== null)
    throw new PushNotificationNotSupportedError(
      'Beaver sends no push notifications. Leave "taskPushNotificationConfig" out, and use SubscribeToTask or GetTask.',
    )
  if (
    modes !== undefined &&
    modes !== null &&
    modes.length > 0 &&
    !modes.some((mode) => /^(text|\*)(\/|$)/.test(mode))
  )
    throw new ContentTypeNotSupportedError(
      `Beaver's agents write text. Add "text/plain" to "acceptedOutputModes", which has ${modes.join(', ')}.`,
    )
}

/** A decision about a call that waits for a person. */
const decision = z.strictObject({
  call_id: z.string().min(1).max(100_000),
  call_hash: z.string().max(1_000).optional(),
  approved: z.boolean(),
  reason: z.string().max(1_000).optional(),
  /** The changed arguments for the call. Absent: the model's arguments. */
  arguments: z.record(z.string(), z.json()).optional(),
})
export type Decision = z.infer<typeof decision>

/** The decisions in a message. Empty, unless every part is a decision. */
export function decisionsIn({ parts }: A2aMessage): readonly Decision[] {
  const read = parts.map(({ data }) => decision.safeParse(data))
  return read.every((each) => each.success) ? read.map(({ data }) => data as Decision) : []
}

/**
 * Refuses data that names a call but is neither a decision nor an answer. Otherwise it would be a text that
 * steers the agent.
 *
 * @throws {InvalidParams}
 */
export function mustSayWhat({ parts }: A2aMessage): void {
  const i = parts.findIndex(({ data }) => typeof data === 'object' && data !== null && 'call_id' in data)
  if (i === -1) return
  const says =
    'names a call, but is neither a decision (call_id, approved, and call_hash, reason, arguments) nor an answer (call_id, answer)'
  throw new InvalidParams(
    `The part ${i} of the message ${says}. A message with a decision or an answer has no other parts.`,
    [{ path: `params.message.parts[${i}].data`, message: says }],
  )
}

/** An answer to a question of a call. */
const answer = fieldsOf(requestContracts['task.answer'].input, ['task_id', 'user_id'])
export type CallAnswer = Omit<AnswerRequest, 'task_id' | 'user_id'>

/** The answers in a message. Empty, unless every part is an answer. */
export function answersIn({ parts }: A2aMessage): readonly CallAnswer[] {
  const read = parts.map(({ data }) => answer.safeParse(data))
  return read.every((each) => each.success) ? read.map(({ data }) => data as CallAnswer) : []
}

/** The text of a message: its parts, one below the other. @throws {A2AError}, {InvalidParams} */
export function textOf({ parts }: A2aMessage): string {
  const text = parts.map(partText).join('\n')
  if (text.trim() === '')
    throw new InvalidParams('The message is empty. Say what to do.', [
      { path: 'params.message.parts', message: 'has no text' },
    ])
  return text
}

function partText(part: Part, i: number): string {
  if (part.raw !== undefined || part.url !== undefined)
    throw new ContentTypeNotSupportedError(
      `Beaver's agents read text and JSON. The part ${i} is a file. Leave it out, or send its text. An image belongs into the workspace of the agent, which looks at it with view_image.`,
    )
  const { text, data } = part
  if (typeof text === 'string' && data === undefined) return text
  if (typeof text !== 'string' && data !== undefined) return JSON.stringify(data)
  const message = data === undefined ? 'has neither text nor data' : 'has both text and data'
  throw new InvalidParams(`The part ${i} ${message}. Send one of them.`, [
    { path: `params.message.parts.${i}`, message },
  ])
}

/** The agent and the text of a task. @throws {InvalidParams} */
export async function workOf(agent: string, text: string, host: TaskHost): Promise<SubmitTask> {
  if (!isWorkflow(agent)) return { task: text, ...(agent === defaultAgent ? {} : { profile: agent }) }
  const read = await argumentsOf(agent, text, host)
  if (read.kind === 'read') return { workflow: { name: agent, arguments: read.arguments } }
  throw new InvalidParams(read.kind === 'more' ? read.message : `There is no agent ${JSON.stringify(agent)}.`)
}
