// `task.submit` and `task.run`: the same request; the second is answered when the task has ended.
import { foreignId, isTimeZone, jsonObject, modelSettings, failedResult } from '@beaver/core'
import { budgetLimits } from '@beaver/core/budget'
import { outputSchema, plannedRequirement } from '@beaver/core/evidence'
import { imageLimits } from '@beaver/core/images'
import type { TraceContext } from '@beaver/core/trace'
import { z } from 'zod'
import { contract } from '../contract.ts'
import { imagePartBytesMax, partName } from './store-image.ts'
import { onBehalfOf, sessionIdField, taskIdField } from '../fields.ts'

const historyMessagesMax = 2_000
const historyCharsMax = 1_000_000

const imageName = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .describe('A name for the model and for people. Absent: the image has none.')

const image = z.union([
  z.string().min(1).max(4_096).describe('The path of a file in the workspace, relative to it.'),
  z.strictObject({
    data: z
      .base64()
      .max(Math.ceil(imageLimits.bytesMax / 3) * 4)
      .describe('The content, in base64. The whole request must fit into one message.'),
    name: imageName,
  }),
  z.strictObject({
    parts: z
      .array(partName)
      .min(1)
      .max(Math.ceil(imageLimits.bytesMax / imagePartBytesMax))
      .describe('The parts of a larger image, in their order. "image.store" has stored each of them.'),
    name: imageName,
  }),
])

const clientToolsMax = 128
const clientToolCharsMax = 65_536
const clientToolsCharsMax = 262_144

const clientTools = z
  .array(
    z
      .strictObject({
        name: z
          .string()
          .regex(/^[a-zA-Z0-9_-]{1,64}$/, { message: 'must have 1 to 64 of a-z A-Z 0-9 _ -' })
          .describe('The name of the tool. No tool of the system has it.'),
        description: z
          .string()
          .optional()
          .describe('What the tool does, for the model. Absent: nothing is said.'),
        parameters: jsonObject
          .optional()
          .describe('The JSON Schema of the arguments. Absent: the tool has none.'),
      })
      .refine((tool) => JSON.stringify(tool).length <= clientToolCharsMax, {
        message: `has more than ${clientToolCharsMax.toLocaleString('en')} characters`,
      }),
  )
  .max(clientToolsMax)
  .refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, {
    message: 'has two tools of one name',
  })
  .refine((tools) => JSON.stringify(tools).length <= clientToolsCharsMax, {
    message: `has more than ${clientToolsCharsMax.toLocaleString('en')} characters`,
  })

/** Which tools the root agent may or must call. */
export const choice = z.union([
  z.enum(['auto', 'none', 'required']),
  z.strictObject({
    mode: z
      .enum(['auto', 'required'])
      .describe('auto: it may call these tools. required: it must call one of them.'),
    names: z.array(z.string().min(1).max(64)).min(1).max(128).describe('The names of the tools.'),
  }),
  z.strictObject({
    mode: z.literal('auto'),
    except: z
      .array(z.string().min(1).max(64))
      .min(1)
      .max(128)
      .describe('The names of tools that it may not call.'),
  }),
])

/** Free fields of the endpoint are for its operator. */
const settings = modelSettings.shape

const fields = z.strictObject({
  task: z
    .string()
    .max(1_000_000)
    .optional()
    .describe('What to do, in words. Required, unless "workflow" is given.'),
  workflow: z
    .strictObject({
      name: z
        .string()
        .describe(
          'A workflow tool, such as GraphWorkflow, or a definition file, such as workflow:summarize.',
        ),
      arguments: z.record(z.string(), z.unknown()).describe('The arguments of the workflow.'),
    })
    .optional()
    .describe('A workflow that the task runs without a root agent. Give it instead of "task".'),
  task_id: foreignId
    .optional()
    .describe(
      'An id of your own, which makes a repeated request harmless. 1 to 128 characters, no control characters. Absent: Beaver makes one.',
    ),
  session_id: foreignId
    .optional()
    .describe(
      'The session. Tasks of one session run one after the other. 1 to 128 characters. Absent: the session of the task with this task_id, or else a new one.',
    ),
  fresh: z
    .enum(['task', 'session'])
    .optional()
    .describe(
      'Which ids are new, so that Beaver does not search for them. task: task_id. session: task_id and session_id. Leave it out if you repeat a request.',
    ),
  workspace: z
    .string()
    .optional()
    .describe(
      'The absolute path of the folder in which the agents may work. Absent: the folder in which the daemon was started.',
    ),
  roots_only: z
    .boolean()
    .optional()
    .describe(
      'true: the workspace must be in the folder in which the daemon was started or in a configured root, also where the folders of its user are allowed. The gateway asks for it.',
    ),
  skill: z.string().optional().describe('The name of a skill to activate. Absent: Beaver may choose one.'),
  profile: z
    .string()
    .optional()
    .describe("The name of the root agent's profile. Absent: the daemon's default profile."),
  model: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'The name of the model that the root agent asks. Absent: that of its profile, or the main one.',
    ),
  model_settings: z
    .strictObject({
      temperature: settings.temperature,
      top_p: settings.top_p,
      output_tokens_max: settings.output_tokens_max,
      reasoning_effort: settings.reasoning_effort,
    })
    .optional()
    .describe(
      'How the root agent asks its model. Each field takes the place of the same one of the profile and of the endpoint. Absent: as they say.',
    ),
  skills: z
    .array(z.string().min(1).max(200))
    .max(1_000)
    .optional()
    .describe(
      'The only skills that the agents of the task may have. An empty list: they have none. Absent: all that are loaded.',
    ),
  source: z
    .string()
    .max(128)
    .optional()
    .describe('Who submits the task. The journal keeps this text. Absent: "nats".'),
  stream: z
    .boolean()
    .optional()
    .describe(
      'Whether answers are streamed and published live, for a client that follows the task. Absent: they are not.',
    ),
  approvals: z
    .enum(['wait', 'refuse'])
    .optional()
    .describe(
      'What happens to calls that need an approval. refuse: nobody can answer. Absent: what the daemon is configured to do.',
    ),
  required_evidence: z
    .array(plannedRequirement)
    .max(100)
    .optional()
    .describe(
      'What the final text must rest on. A sentence is for the root agent; code checks an object. Absent: nothing.',
    ),
  output_schema: outputSchema
    .optional()
    .describe(
      'The JSON Schema of the final answer of the root agent. The answer is checked, and asked for again once. A workflow has no root agent. Absent: any text.',
    ),
  instructions: z
    .string()
    .min(1)
    .max(100_000)
    .optional()
    .describe(
      'What is asked of the root agent beside its task, such as a style. A workflow has no root agent. Absent: nothing.',
    ),
  history: z
    .array(
      z.strictObject({
        role: z.enum(['user', 'assistant']).describe('Who wrote the message.'),
        content: z.string().max(1_000_000).describe('The text of the message.'),
      }),
    )
    .max(historyMessagesMax)
    .refine(
      (messages) => messages.reduce((chars, { content }) => chars + content.length, 0) <= historyCharsMax,
      {
        message: `has more than ${historyCharsMax.toLocaleString('en')} characters`,
      },
    )
    .optional()
    .describe(
      'A conversation that you kept, oldest first. The root agent is given it after the history of the session. A workflow has no root agent. Absent: none.',
    ),
  history_until: foreignId
    .optional()
    .describe(
      'An earlier task of the session. The root agent is given the conversation up to this task; later tasks of the session are left out. Absent: all of it.',
    ),
  budget: budgetLimits
    .optional()
    .describe(
      'The most that the task may use, in all. It may be less than the configuration gives a task, and not more. Absent: as much as the configuration says.',
    ),
  images: z
    .array(image)
    .max(imageLimits.perTaskMax)
    .optional()
    .describe(
      'The images that the root agent is shown with its task: PNG, JPEG, GIF or WebP. A workflow has no root agent. Absent: none.',
    ),
  client_tools: clientTools
    .optional()
    .describe(
      'Tools of your own. If the root agent calls one, the task waits until you answer the call with "task.client_answer". A workflow has no root agent. Absent: none.',
    ),
  tool_choice: choice
    .optional()
    .describe(
      'Which tools the root agent must call in its first answer. none: no tool. required: any tool. Absent, auto: it chooses. A workflow has no root agent.',
    ),
  title: z.string().min(1).max(200).optional().describe('A name for the task. The journal keeps it.'),
  user_id: onBehalfOf,
  time_zone: z
    .string()
    .max(64)
    .refine(isTimeZone, { message: 'is no time zone. Use a name such as Europe/Zurich or UTC' })
    .optional()
    .describe(
      'The time zone of the user, such as Europe/Zurich, in which agents are told the date. Absent: they are told the date in UTC.',
    ),
})

export const submitRequest = fields
  .refine((request) => request.task !== undefined || request.workflow !== undefined, {
    path: ['task'],
    message: 'is required, or "workflow" instead of it',
  })
  .refine(({ workflow, output_schema }) => workflow === undefined || output_schema === undefined, {
    path: ['output_schema'],
    message:
      'needs a root agent. Give the "output_schema" to the agent of the workflow whose output is the answer',
  })
  .refine(
    ({ fresh, task_id, session_id }) =>
      fresh === undefined || (task_id !== undefined && (fresh === 'task' || session_id !== undefined)),
    {
      path: ['fresh'],
      message: 'needs the ids that it says are new: "task_id", and with "session" also "session_id"',
    },
  )
export type SubmitRequest = z.input<typeof submitRequest>
/** A task as a client describes it. */
export type SubmitTask = Readonly<Omit<SubmitRequest, 'fresh'>> & {
  /** The trace in which the program submits the task. Default: the task has a trace of its own. */
  readonly trace?: TraceContext | undefined
}

const submitted = z.object({ task_id: taskIdField, session_id: sessionIdField })
/** Where an accepted task is. */
export type SubmittedTask = z.infer<typeof submitted>

/** What a task ended with. */
const taskOutcome = failedResult.extend({
  ...submitted.shape,
  status: z.enum(['completed', 'incomplete', 'failed', 'cancelled']).describe('How the task ended.'),
})
export type TaskOutcome = z.infer<typeof taskOutcome>

export const submit = contract('Submits a task. The task is durable when the answer comes.', {
  input: submitRequest,
  output: submitted,
})
export const run = contract(
  'Submits a task and waits for its end. If the request names a task_id, the same request again waits for the same task.',
  {
    input: submitRequest,
    output: taskOutcome,
  },
)
/** The answer to a retry builds on it. */
export const submittedFields = submitted.shape

/** The advice for a submission without an answer: the task may exist or not. */
export const mayBeAccepted = (taskId: string): string =>
  `The task ${taskId} may have been accepted. Submit it again with this id: it is accepted once.`
