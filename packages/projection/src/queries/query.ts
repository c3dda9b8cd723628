// What a query is: a pure function of the read model, from the input that its contract says to the answer that its contract says.
// The schemas are in @beaver/contracts, because the client reads them too. The types here follow from them: a field that is renamed
// on one side alone does not compile.
import type { QueryName, QueryOutput, QueryRead } from '@beaver/contracts'
import type { Sql } from '../store/sql.ts'

/** What the process that follows the journal knows beside its rows. */
export interface Following {
  /** Where the journal ends; `null` when it could not be asked. */
  readonly streamSequence: number | null
  /** When messages were last applied, and since when some wait; RFC 3339. */
  readonly movedAt: string | null
  readonly behindSince: string | null
  /** Why it does not go on; `null` while it does. */
  readonly fault: { readonly code: string; readonly message: string; readonly since: string } | null
}

/** What a query may ask beside the read model. */
export interface Around {
  /** Milliseconds since 1970. */
  now(): number
  /** `null`: nobody follows a journal here. */
  readonly following: Following | null
}

export type Query<Name extends QueryName> = (sql: Sql, input: QueryRead<Name>, around: Around) => QueryOutput<Name>
