// A query is a pure function of the read model, from the input of its contract to the answer of its contract. The schemas are in
// @beaver/contracts, because the client reads them too. The types here follow from them: a field that is renamed on one side only does not
// compile.
import type { QueryName, QueryOutput, QueryRead } from '@beaver/contracts'
import type { Sql } from '../store/sql.ts'

/** What the process that follows the journal knows besides the rows. */
export interface Following {
  /** The last sequence of the journal. `null` if the journal could not be asked. */
  readonly streamSequence: number | null
  /** When messages were last applied, and since when some wait; RFC 3339. */
  readonly movedAt: string | null
  readonly behindSince: string | null
  /** Why the projector makes no progress. `null` while it does. */
  readonly fault: { readonly code: string; readonly message: string; readonly since: string } | null
}

/** What a query may ask besides the read model. */
export interface Around {
  /** Milliseconds since 1970. */
  now(): number
  /** `null`: this process does not follow a journal. */
  readonly following: Following | null
}

export type Query<Name extends QueryName> = (sql: Sql, input: QueryRead<Name>, around: Around) => QueryOutput<Name>
