// What daemons tell each other on the subject of presence. Hints: nothing depends on one of them.
import { z } from 'zod'

/** A daemon is there, or goes away. */
export const presenceMessage = z.object({
  daemon: z.string().min(1).max(128).describe('The id of the daemon.'),
  leaving: z.boolean().optional().describe('true: it goes away. Absent: it is there.'),
})

/** What a daemon answers to a message with a reply subject. */
export const presenceAnswer = z.object({
  daemon: z.string().describe('The id of the daemon.'),
  tasks: z.number().optional().describe('How many tasks it drives.'),
  journal_silent_ms: z.number().optional().describe('For how long its journal has not answered, in milliseconds.'),
})
