// Asking the projector one query and reading its answer by the contract of the query.
import { queryContracts, type QueryInput, type QueryName, type QueryOutput } from '@beaver/contracts'
import type { NatsConnection } from '@nats-io/nats-core'
import { call, readAnswer } from './rpc.ts'
import type { Subjects } from './subjects.ts'

/** @throws {BeaverError} as `call` and `readAnswer` */
export async function askProjector<Name extends QueryName>(
  nc: NatsConnection,
  subjects: Subjects,
  name: Name,
  input: QueryInput<Name>,
  timeoutMs: number,
): Promise<QueryOutput<Name>> {
  const whom = 'projector'
  return readAnswer(queryContracts[name].output, await call(nc, subjects.query(name), input, { timeoutMs, whom }), whom)
}
