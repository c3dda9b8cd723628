// What daemons tell each other on the subject of presence. The messages are hints: nothing depends on them.
import { z } from 'zod'

/** A daemon is there, or goes away. */
export const presenceMessage = z.object({
  daemon: z.string().min(1).max(128).describe('The id of the daemon.'),
  leaving: z.boolean().optional().describe('true: the daemon goes away. Absent: it is there.'),
})

/** What a daemon answers to a message with a reply subject. */
export const presenceAnswer = z.object({
  daemon: z.string().describe('The id of the daemon.'),
  tasks: z.number().optional().describe('How many tasks the daemon drives. Absent: the daemon does not say.'),
  refused: z
    .number()
    .optional()
    .describe(
      'How many messages the daemon could do nothing with since it started. Absent: the daemon does not say.',
    ),
  journal_silent_ms: z
    .number()
    .optional()
    .describe(
      'For how long the journal has not answered the daemon, in milliseconds. Absent: the daemon does not say.',
    ),
  journal_changed: z
    .string()
    .optional()
    .describe(
      'What is wrong with the journal, so that the daemon writes nothing to it. Absent: the journal is as the daemon saw it before.',
    ),
})
