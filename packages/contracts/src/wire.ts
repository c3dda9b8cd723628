// Everything that goes over the wire, as JSON Schema (draft 2020-12), for people, for other languages and for
// the published package; from the tables of contracts and the catalogue of events. Each schema says what a
// sender may write: a field with a default may be left out, and an answer may have unknown fields. Import it
// as `@beaver/contracts/wire`.
import { eventData, liveDelta, liveProgress } from '@beaver/core'
import { z } from 'zod'
import { changedMessage } from './changes.ts'
import { inboundMessage, messageReceipt, outboundMessage, webhookMessage } from './channels/messages.ts'
import type { Contract } from './contract.ts'
import { queryContracts } from './queries/queries.ts'
import { daemonContracts } from './requests/daemon-commands.ts'
import { requestContracts } from './requests/requests.ts'

/** A JSON Schema as plain data. */
export type WireSchema = Readonly<Record<string, unknown>>

/**
 * `request`: any daemon answers. `query`: the projector answers. `live`: published while a task runs, not
 * journaled. `event`: journaled. `channel`: between people in chats and tasks. `daemon`: between daemons
 * alone.
 */
export type WireKind = 'request' | 'query' | 'live' | 'channel' | 'event' | 'daemon'

export interface WireEntry {
  /** Unique among those of its kind. */
  readonly name: string
  readonly kind: WireKind
  /** What it is for, in one sentence. */
  readonly says: string
  /** By their roles: `input` and `answer`; `message`; or `data`. */
  readonly schemas: Readonly<Record<string, WireSchema>>
}

/**
 * Every request, query, live message, message of channels, event and message between daemons, in that order.
 */
export function wireEntries(): readonly WireEntry[] {
  const asked = (kind: WireKind, table: Readonly<Record<string, Contract>>): WireEntry[] =>
    Object.entries(table).map(([name, { says, input, output }]) => ({
      name,
      kind,
      says,
      schemas: { input: jsonSchemaOf(input), answer: jsonSchemaOf(output) },
    }))
  return [
    ...asked('request', requestContracts),
    ...asked('query', queryContracts),
    {
      name: 'live',
      kind: 'live',
      says: 'A piece of an answer while the model writes it, for tasks submitted with "stream". It is a hint and may be lost. The answer in the journal replaces it.',
      schemas: { message: jsonSchemaOf(liveDelta) },
    },
    {
      name: 'progress',
      kind: 'live',
      says: 'How far a call is while its tool runs, on the subject of "live". It is a hint and may be lost.',
      schemas: { message: jsonSchemaOf(liveProgress) },
    },
    {
      name: 'ended',
      kind: 'live',
      says: 'A task has ended. The subject names the task, and the message is empty. It is a hint and may be lost. The journal says how the task ended.',
      schemas: {},
    },
    {
      name: 'changed',
      kind: 'live',
      says: 'Tasks changed, and the projector already answers with the new rows. Only a projector may publish it; clients, gateways and operators may hear it. There are at most ten messages a second. While the projector is behind the journal, there is one every five seconds at most. The message is a hint and may be lost: "after" shows that. After a reconnect, ask again for what you show.',
      schemas: { message: jsonSchemaOf(changedMessage) },
    },
    {
      name: 'webhook',
      kind: 'channel',
      says: 'A message that a program sends to a webhook channel by a signed POST to /api/v1/channels/<name>/messages.',
      schemas: { input: jsonSchemaOf(webhookMessage), answer: jsonSchemaOf(messageReceipt) },
    },
    {
      name: 'inbound',
      kind: 'channel',
      says: 'A message that a person wrote in a chat, on its way to a task.',
      schemas: { message: jsonSchemaOf(inboundMessage) },
    },
    {
      name: 'outbound',
      kind: 'channel',
      says: 'A message to a chat. A webhook channel sends it by a signed POST.',
      schemas: { message: jsonSchemaOf(outboundMessage) },
    },
    ...Object.entries(eventData).map(([name, shape]): WireEntry => {
      const { description = '', ...data } = jsonSchemaOf(shape)
      return { name, kind: 'event', says: String(description), schemas: { data } }
    }),
    ...asked('daemon', daemonContracts),
    {
      name: 'presence',
      kind: 'daemon',
      says: 'A daemon is there or goes away. If the message has a reply subject, every daemon answers it.',
      schemas: { message: jsonSchemaOf(presenceMessage), answer: jsonSchemaOf(presenceAnswer) },
    },
  ]
}

/** What the sections of the document are called. */
export const wireSections: Readonly<Record<WireKind, string>> = {
  request: 'requests',
  query: 'queries',
  live: 'live',
  channel: 'channels',
  event: 'events',
  daemon: 'daemons',
}

/** All schemas as one document: a section for each kind, and in it each name. */
export function wireDocument(
  entries: readonly WireEntry[] = wireEntries(),
): Record<string, Record<string, object>> {
  const document: Record<string, Record<string, object>> = {}
  for (const { kind, name, says, schemas } of entries)
    (document[wireSections[kind]] ??= {})[name] = { says, ...schemas }
  return document
}

/** Fields of zod schemas that hold "any integer" get this bound; it says nothing. */
const integerMax = Number.MAX_SAFE_INTEGER

function jsonSchemaOf(schema: z.ZodType): WireSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === integerMax) delete jsonSchema.maximum
      if (jsonSchema.minimum === -integerMax) delete jsonSchema.minimum
    },
  })
}

// What daemons tell each other on the subject of presence. The messages are hints: nothing depends on them.

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
