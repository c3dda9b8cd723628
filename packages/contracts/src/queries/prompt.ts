// `prompt`: what a run sent to its model for one answer, as the journal gives it again.
import { jsonValue, modelSettings } from '@beaver/core'
import { imagePart } from '@beaver/core/images'
import { z } from 'zod'
import { contract } from '../contract.ts'
import {
  after,
  count,
  limitOf,
  paged,
  runIdField,
  runNamed,
  sessionIdField,
  taskIdField,
  taskNameOfUser,
  tenantField,
  textOrNull,
} from '../fields.ts'
import { contextPart } from './run-tree.ts'

const sentCall = z.object({
  call_id: z.string().describe("The provider's id of the call."),
  tool: z.string().describe('The name of the tool.'),
  arguments: z
    .string()
    .describe(
      'The arguments as they were sent. Beaver cuts those of all calls of a message after 20,000 characters together.',
    ),
  arguments_chars: count.describe('The number of characters (UTF-16 units) of the whole arguments.'),
})

const sentMessage = z
  .object({
    index: count.describe('The place of the message in the request, from 0.'),
    role: z.enum(['system', 'user', 'assistant', 'tool']).describe('The role of the message.'),
    content: textOrNull.describe(
      'The text, as it was sent. Beaver cuts it after 20,000 characters. null: the model had sent only calls.',
    ),
    content_chars: count.describe('The number of characters (UTF-16 units) of the whole text.'),
    calls: z.array(sentCall).optional().describe('The calls of an answer of the model. Absent: it has none.'),
    call_id: z.string().optional().describe('The call whose result this is. Absent: it is no result.'),
    images: z.array(imagePart).optional().describe('The images that the message shows. Absent: none.'),
    provider_state: z
      .literal(true)
      .optional()
      .describe(
        'Whether fields that only the provider reads go back to it with the message. Absent: there are none.',
      ),
    taskseq: count
      .nullable()
      .describe(
        'The event that gave the message this text, which may have shortened it. null: no event of this task did.',
      ),
    task_id: taskIdField
      .optional()
      .describe('The earlier task of the session to whose history the message belongs. Absent: this task.'),
  })
  .meta({ id: 'sent_message', description: 'A message of a request to a model.' })
/** A message of a request to a model. */
export type SentMessage = z.infer<typeof sentMessage>

export const prompt = contract(
  'What a run sent to its model for one answer: the messages, the names of the tools, and the settings. Beaver makes it again from the journal.',
  {
    input: z.strictObject({
      ...taskNameOfUser,
      run_id: runNamed,
      taskseq: z
        .int()
        .positive()
        .optional()
        .describe(
          'The place of the answer, or of the failed call of the model, in the log of the task. Absent: the newest one of the run.',
        ),
      after: after.describe(
        'Only messages after this many: the "next" of the page before. 0: the first page.',
      ),
      limit: limitOf('messages', { usual: 100, max: 500 }),
    }),
    output: z.object({
      task_id: taskIdField,
      session_id: sessionIdField,
      tenant: tenantField,
      run_id: runIdField,
      taskseq: count
        .nullable()
        .describe(
          'The place of the answer, or of the failed call of the model, in the log of the task. null: the journal has none of this run, and the messages are those that it has so far.',
        ),
      provider: textOrNull.describe('The provider that was asked. null: not known.'),
      model: textOrNull.describe('The model that answered, by its own name. null: not known.'),
      settings: z
        .object({
          model: textOrNull.describe(
            'The model of the run, by its name in the configuration. null: the main model.',
          ),
          model_settings: modelSettings
            .nullable()
            .describe(
              'How the run asks its model, beyond what the endpoint sets. A budget may bound the answer further. null: as the endpoint sets.',
            ),
          output_schema: jsonValue.describe(
            'The JSON Schema of the final answer. null: there is none, or it is too large for this answer.',
          ),
        })
        .describe('The settings of the run.'),
      tools: z
        .array(z.string())
        .describe(
          'The names of the tools that the request offered. If use_tool is among them, the request had at most 40 of the others, and a call of one that it did not have was sent as a call of use_tool.',
        ),
      context: z
        .array(contextPart)
        .nullable()
        .describe('The size of each part of the first prompt of the run. null: not known.'),
      input_tokens: count
        .nullable()
        .describe('The tokens of this request, as the provider reported them. null: not known.'),
      message_count: count.describe('How many messages the request had.'),
      same_until: count
        .nullable()
        .describe(
          'How many messages, from the first one on, are the same as in the request for the answer before. null: there was no answer before.',
        ),
      unreadable_events: count.describe(
        'How many events of the run before this answer are lost or unreadable. If there are any, the messages may differ from those that were sent.',
      ),
      messages: z
        .array(sentMessage)
        .describe('The messages, in the order of the request. The first one is the system prompt.'),
      ...paged,
    }),
  },
)
