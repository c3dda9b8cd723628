// `status`: what one of the daemons says about itself.
import { z } from 'zod'
import { contract } from '../contract.ts'
import { count, textOrNull } from '../fields.ts'

/** An endpoint of a daemon, and whether it answers. */
export const endpointState = z.object({
  name: z
    .string()
    .describe(
      'What the daemon asks it for: model, fallback, auxiliary, embeddings, or the name of a model of the configuration, as "model <name>".',
    ),
  provider: z.string().describe('Its name in the journal.'),
  model: z.string().describe('The model that is asked there.'),
  host: z
    .string()
    .nullable()
    .describe(
      'Where it is. null: nowhere that can be asked, because the model is simulated or a program brings it.',
    ),
  key_name: z.string().nullable().describe('The variable with its key. null: it needs none.'),
  key_set: z.boolean().describe('Whether there is a key.'),
  protocol: z.enum(['chat_completions', 'responses']).describe('The interface of the endpoint.'),
  circuit_open_ms: count.describe(
    'For how long the daemon does not ask it, because its last answers were failures. 0: the daemon asks it.',
  ),
  wait_ms: count
    .optional()
    .describe(
      'How long a call that came now would wait for its turn, because of the limits or because the endpoint asked for a pause. Absent: an older daemon.',
    ),
  requests_per_minute_max: count
    .nullable()
    .optional()
    .describe('The most requests in a minute. null: no bound. Absent: an older daemon.'),
  tokens_per_minute_max: count
    .nullable()
    .optional()
    .describe('The most tokens in a minute. null: no bound. Absent: an older daemon.'),
  last_failure: textOrNull
    .optional()
    .describe(
      'Why the daemon does not ask it. null: the daemon asks it, or the reason is not known. Absent: an older daemon.',
    ),
  answer: z
    .object({
      status: z.int().nullable().describe('The HTTP status. null: there was none.'),
      reason: z.string().nullable().describe('Why there was no answer. null: there was one.'),
      usable: z
        .boolean()
        .nullable()
        .optional()
        .describe(
          'Whether a call could succeed, as far as an answer to a request without a prompt tells. null: it does not tell. Absent: an older daemon.',
        ),
    })
    .nullable()
    .describe('What it answered a moment ago. null: nobody asked it.'),
})
export type EndpointState = z.infer<typeof endpointState>

const answer = z.object({
  daemon: z.string().describe('The id of the daemon that answers first.'),
  provider: z.string().describe('The provider that the daemon asks.'),
  model: z.string().describe('The model that the daemon asks for.'),
  endpoints: z
    .array(endpointState)
    .optional()
    .describe('The endpoints of the daemon. Absent: nobody asked for them, or an older daemon answers.'),
  tasks: count.describe('How many tasks the daemon drives now.'),
  skills: z
    .array(
      z.object({
        name: z.string().describe('The name of the skill.'),
        description: z.string().describe('What the skill is for.'),
      }),
    )
    .describe('The skills that a task may name.'),
  profiles: z.array(z.string()).describe('The profiles that a task may name.'),
  workflows: z.array(z.string()).describe('The workflows that a task may name.'),
  workflow_texts: z
    .record(z.string(), z.string())
    .optional()
    .describe(
      'The workflows that one text is enough for, each with the input that the text is for. Absent: an older daemon answers.',
    ),
  changes_not_used: z
    .array(
      z.object({
        file: z.string().describe('The file or folder.'),
        message: z.string().describe('Why the change cannot be used.'),
      }),
    )
    .optional()
    .describe(
      'Changes of skills, definitions and profiles that cannot be used: the daemon goes on with what it has. Absent: there are none.',
    ),
})
/** What a daemon says about itself. */
export type DaemonStatus = z.infer<typeof answer>

export const status = contract(
  'Asks one daemon for its model, its tasks, and the skills, profiles and workflows that a task may name. With the id of a daemon as one more token at the end, the subject asks this daemon.',
  {
    input: z.strictObject({
      endpoints: z
        .enum(['known', 'asked'])
        .optional()
        .describe(
          'known: the answer has the endpoints of the daemon. asked: the daemon asks each of them first whether it answers, which takes up to 3 s; it sends no prompt. Absent: neither.',
        ),
    }),
    output: answer,
  },
)
