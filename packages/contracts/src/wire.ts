// Everything that goes over the wire, as JSON Schema (draft 2020-12): for people, for other languages, and for the published package.
// S1. Each schema says what a sender may write: a field with a default may be left out, and an answer may have fields that this
//     version does not know. S2. The tables of contracts are the only source.
import { eventData, liveDelta } from '@beaver/core'
import { z } from 'zod'
import type { Contract } from './contract.ts'
import { eventSays } from './event-says.ts'
import { presenceAnswer, presenceMessage } from './presence.ts'
import { queryContracts } from './queries/queries.ts'
import { daemonContracts } from './requests/daemon-commands.ts'
import { requestContracts } from './requests/requests.ts'

/** A JSON Schema as plain data. */
export type WireSchema = Readonly<Record<string, unknown>>

/**
 * `request`: any daemon answers. `query`: the projector answers. `live`: published while a task runs, not journaled. `event`: journaled.
 * `daemon`: between daemons alone.
 */
export type WireKind = 'request' | 'query' | 'live' | 'event' | 'daemon'

export interface WireEntry {
  /** Unique among those of its kind. */
  readonly name: string
  readonly kind: WireKind
  /** What it is for, in one sentence. */
  readonly says: string
  /** By their roles: `input` and `answer`; `message`; or `data`. */
  readonly schemas: Readonly<Record<string, WireSchema>>
}

/** Every request, query, live message, event and message between daemons, in that order. */
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
      says: 'What a model says, while it says it: of tasks submitted with "stream". A hint that may be lost; the journaled answer replaces it.',
      schemas: { message: jsonSchemaOf(liveDelta) },
    },
    {
      name: 'ended',
      kind: 'live',
      says: 'A task has ended. The subject names the task, and the message is empty. A hint that may be lost; the journal says how it ended.',
      schemas: {},
    },
    ...Object.entries(eventData).map(([name, data]): WireEntry => ({ name, kind: 'event', says: sayingOf(name), schemas: { data: jsonSchemaOf(data) } })),
    ...asked('daemon', daemonContracts),
    {
      name: 'presence',
      kind: 'daemon',
      says: 'A daemon is there or goes away. A message with a reply subject asks every daemon what it drives.',
      schemas: { message: jsonSchemaOf(presenceMessage), answer: jsonSchemaOf(presenceAnswer) },
    },
  ]
}

/** What the sections of the document are called. */
export const wireSections: Readonly<Record<WireKind, string>> = { request: 'requests', query: 'queries', live: 'live', event: 'events', daemon: 'daemons' }

/** All schemas as one document: a section for each kind, and in it each name. */
export function wireDocument(entries: readonly WireEntry[] = wireEntries()): Record<string, Record<string, object>> {
  const document: Record<string, Record<string, object>> = {}
  for (const { kind, name, says, schemas } of entries) (document[wireSections[kind]] ??= {})[name] = { says, ...schemas }
  return document
}

const sayings: Readonly<Record<string, string>> = eventSays
const sayingOf = (event: string): string => sayings[event] ?? ''

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
