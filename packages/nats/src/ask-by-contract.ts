// Asks a daemon or the projector, and reads the answer by its contract.
import {
  queryContracts,
  type QueryInput,
  type QueryName,
  type QueryOutput,
  requestContracts,
  type RequestInput,
  type RequestName,
  type RequestOutput,
} from '@beaver/contracts'
import { BeaverError } from '@beaver/core'
import type { NatsConnection } from '@nats-io/nats-core'
import { z } from 'zod'
import type { TraceContext } from '@beaver/core/trace'
import { call } from './rpc.ts'
import type { Subjects } from './subjects.ts'

export interface AskAt {
  readonly nc: NatsConnection
  readonly subjects: Subjects
  readonly timeoutMs: number
  /** The trace in which the caller asks. Default: none is said. */
  readonly trace?: TraceContext | undefined
}

/** Asks any daemon. @throws {BeaverError} as `call`; `internal` if the answer does not fit the contract */
export async function askDaemon<Name extends RequestName>(
  { nc, subjects, timeoutMs, trace }: AskAt,
  name: Name,
  input: RequestInput<Name>,
): Promise<RequestOutput<Name>> {
  const whom = 'daemon'
  return readAnswer(
    requestContracts[name].output,
    await call(nc, subjectFor(subjects, name, input), input, { timeoutMs, whom, trace }),
    whom,
  )
}

/** Asks this daemon and no other. @throws {BeaverError} as `askDaemon` */
export async function askOneDaemon<Name extends 'actors' | 'status'>(
  { nc, subjects, timeoutMs }: AskAt,
  daemon: string,
  name: Name,
  input: RequestInput<Name>,
): Promise<RequestOutput<Name>> {
  const whom = `daemon ${daemon}`
  return readAnswer(
    requestContracts[name].output,
    await call(nc, subjects.serviceOf(daemon, name), input, { timeoutMs, whom }),
    whom,
  )
}

/** A request for another user has its own subject, for which the caller needs its own right. */
function subjectFor(
  subjects: Subjects,
  name: RequestName,
  input: object & { readonly user_id?: string | undefined },
): string {
  return input.user_id === undefined || input.user_id === subjects.caller
    ? subjects.service(name)
    : subjects.behalf(name)
}

/**
 * Asks the projector. `input` may be `undefined` if the query has no fields.
 * @throws {BeaverError} as `call`; `internal` if the answer does not fit the contract
 */
export async function askProjector<Name extends QueryName>(
  { nc, subjects, timeoutMs }: AskAt,
  name: Name,
  input: QueryInput<Name> | undefined,
): Promise<QueryOutput<Name>> {
  const whom = 'projector'
  return readAnswer(
    queryContracts[name].output,
    await call(nc, subjects.query(name), input ?? {}, { timeoutMs, whom }),
    whom,
  )
}

function readAnswer<Answer>(schema: z.ZodType<Answer>, answered: unknown, whom: string): Answer {
  const parsed = schema.safeParse(answered)
  if (parsed.success) return parsed.data
  throw new BeaverError(
    'internal',
    `The ${whom} gave an answer of an unknown shape. It may have another version: ${z.prettifyError(parsed.error)}`,
  )
}
