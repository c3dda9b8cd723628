// `quarantine`: the messages of the journal that are no records.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { after, count, cursor, limitOf, textOrNull } from '../fields.ts'

const quarantinedMessage = z
  .object({
    sequence: count.describe('The sequence number of the message in the journal stream.'),
    tenant: textOrNull.describe(
      'The tenant in the subject of the message. null: the subject is none of a log.',
    ),
    session_id: textOrNull.describe(
      'The session in the subject of the message. null: the subject is none of a log.',
    ),
    task_id: textOrNull.describe(
      'The task in the subject of the message, which may not exist. null: the subject is none of a log.',
    ),
    subject: textOrNull.describe(
      'The subject of the message, if it is none of a log. null: it is the subject of a log.',
    ),
    reason: z.string().describe('Why the message is no record, in one sentence.'),
    bytes: count.describe('The size of the message.'),
    sha256: z.string().describe('The SHA-256 of the message.'),
    excerpt: z
      .string()
      .describe('How the message begins, at most 2,048 bytes. Empty for a message after the first 10,000.'),
  })
  .meta({ id: 'quarantined_message', description: 'A message of the journal that is no record.' })

export const quarantine = contract(
  'Lists the messages of the journal that are no records. Somebody who is no daemon published them.',
  {
    input: z.strictObject({
      sequence: count
        .optional()
        .describe('Only the message with this sequence number. Absent: all messages.'),
      after: after.describe(
        'Only messages after this one: the "next" of the page before. 0: the first page.',
      ),
      limit: limitOf('messages', { usual: 20, max: 200 }),
    }),
    output: z.object({
      total: count.describe('The number of all such messages.'),
      messages: z.array(quarantinedMessage).describe('The messages, oldest first.'),
      more: z.boolean().describe('Whether there are more messages after this page.'),
      next: cursor.nullable().describe('The "after" of the next page. null: this is the last page.'),
    }),
  },
)
