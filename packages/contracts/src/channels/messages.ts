// What goes through the two queues between channels and tasks (GW-06). A channel is one network of chats,
// such as a webhook or e-mail. The network's own id of a message is its idempotency key: the same id in the
// same chat is the same message.
import { foreignId } from '@beaver/core'
import { z } from 'zod'

/** The name of a channel, as the configuration gives it. */
const channelName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be 1 to 32 letters, digits, "-" or "_"')
  .describe('The name of the channel in the configuration.')

/** Together with the name of a channel it fits into the id of a session. */
const chatIdCharsMax = 90
const chatId = foreignId
  .refine((id) => id.length <= chatIdCharsMax, `must have at most ${chatIdCharsMax} characters`)
  .describe(`The id of the chat in its network. 1 to ${chatIdCharsMax} characters, no control characters.`)
const messageId = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'must have at most 256 characters')
  .refine((id) => !/\p{Cc}|\p{Cs}/u.test(id), 'must not contain control characters')

/** The most characters of a text from a chat, and of one to it. A message of NATS has at most 1 MB. */
export const messageCharsMax = 100_000
const at = z.string().max(64).describe('When it was written. RFC 3339, UTC.')
/** The most characters of a way to a chat. */
const routeCharsMax = 8_000
const route = z
  .string()
  .max(routeCharsMax)
  .optional()
  .describe(
    'How the channel reaches the chat, in its own words, which the answer repeats. Absent: the chat_id says it.',
  )

/** A message that a person wrote in a chat. */
export const inboundMessage = z
  .strictObject({
    channel: channelName,
    chat_id: chatId,
    message_id: messageId.describe(
      'The id of the message in its network. The same id of the same writer in the same chat is the same message.',
    ),
    kind: z
      .enum(['message', 'control'])
      .describe(
        'message: it becomes a task. control: it overtakes the messages, because it is a decision about a call, or came while its chat waited for a person.',
      ),
    user: z
      .strictObject({
        name: z.string().min(1).max(128).describe('Who wrote it, by the name in the network.'),
        user_id: foreignId
          .nullable()
          .describe('The user of Beaver who that is. null: nobody that the configuration knows.'),
      })
      .describe('Who wrote it.'),
    text: z
      .string()
      .min(1, 'must not be empty')
      .max(messageCharsMax, `must have at most ${messageCharsMax} characters`)
      .describe('What the person wrote.'),
    route,
    at,
  })
  .meta({ id: 'inbound_message', description: 'A message that a person wrote in a chat.' })
/** A message that a person wrote in a chat. */
export type InboundMessage = z.infer<typeof inboundMessage>

/** A message to a chat. */
export const outboundMessage = z
  .strictObject({
    id: messageId.describe('The idempotency key of the message: a repeated delivery has the same.'),
    channel: channelName,
    chat_id: chatId,
    in_reply_to: messageId.nullable().describe('The message_id that it answers. null: it answers none.'),
    kind: z
      .enum(['answer', 'error', 'approval', 'question', 'notice'])
      .describe(
        'answer: a result. error: there is no result. approval: a call waits for a person. question: a call asks a person. notice: none of these.',
      ),
    text: z.string().max(messageCharsMax).describe('What the person reads.'),
    task_id: z.string().nullable().describe('The task. null: there is none.'),
    error: z
      .strictObject({
        code: z.string().max(64).describe('What programs compare.'),
        message: z.string().max(10_000).describe('What happened, for people.'),
      })
      .nullable()
      .describe('Why there is no result. null: the kind is not error.'),
    question: z
      .strictObject({
        code: z.string().describe('Names the question in an answer.'),
        options: z.array(z.string()).describe('What may be chosen. Empty: nothing is offered.'),
        several: z.boolean().describe('Whether several options may be chosen.'),
        free_text: z.boolean().describe('Whether a text that is no option is an answer.'),
      })
      .optional()
      .describe(
        'What a program needs to show the question by buttons. A button sends the text "answer <code> <option>". Absent: the kind is not question.',
      ),
    route,
    at,
  })
  .meta({ id: 'outbound_message', description: 'A message to a chat.' })
/** A message to a chat. */
export type OutboundMessage = z.infer<typeof outboundMessage>

/** What a program sends to a webhook channel. */
export const webhookMessage = z
  .strictObject({
    chat_id: inboundMessage.shape.chat_id,
    message_id: inboundMessage.shape.message_id
      .optional()
      .describe('The id of the message in its network. Absent: the header webhook-id.'),
    user: z.string().min(1).max(128).describe('Who wrote it, by the name in the network.'),
    text: inboundMessage.shape.text,
    at: at.optional().describe('When it was written. RFC 3339. Absent: now.'),
  })
  .meta({ id: 'webhook_message', description: 'What a program sends to a webhook channel.' })

/** The answer to it. */
export const messageReceipt = z
  .object({
    message_id: z.string().describe('The id of the message.'),
    task_id: z
      .string()
      .nullable()
      .describe(
        'The task that the message becomes. null: it becomes none, because it decides about a call, or came while its chat waited for a person.',
      ),
    duplicate: z.boolean().describe('Whether the message was received before. Then nothing happens.'),
  })
  .meta({ id: 'message_receipt', description: 'A message of a channel that is durable.' })
