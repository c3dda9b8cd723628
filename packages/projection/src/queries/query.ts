// A query is a pure function of the read model, from the input of its contract to the answer of its contract.
// The schemas are in
// @beaver/contracts, because the client reads them too. The types here follow from them: a field that is
// renamed on one side only does not compile.
import type { ProjectorStatus, QueryName, QueryOutput, QueryRead } from '@beaver/contracts'
import type { PriceTable } from '@beaver/core/cost'
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
  /** What is wrong with the journal as a whole and with the read model. */
  readonly journal: readonly { readonly kind: string; readonly message: string; readonly harmful: boolean }[]
}

/** Signs notes with the key of the projector. */
export interface NoteSigner {
  /** The public key as name+id+base64. */
  readonly key: string
  sign(text: string): string
}

/** Where checkpoints go, and what is wrong with that. */
export interface Anchoring {
  /** Checkpoints that were made outside of the journal's reach and do not fit it. */
  readonly faults: readonly { readonly from: string; readonly message: string }[]
  /** Each place to which checkpoints are written, and why the last one did not get there. */
  readonly targets: readonly {
    readonly name: string
    readonly message: string | null
    readonly since: string | null
  }[]
}

/** What a query may ask besides the read model. */
export interface Around {
  /** What calls of models cost. */
  readonly prices: PriceTable
  /** `null`: this process signs nothing. */
  readonly notes: NoteSigner | null
  /** `null`: this process makes no checkpoints. */
  readonly anchoring: Anchoring | null
  /** How it goes with the collector of traces. `null`: no spans are sent, or nobody knows. */
  readonly tracing: NonNullable<ProjectorStatus['traces']> | null
  /** Milliseconds since 1970. */
  now(): number
  /** `null`: this process does not follow a journal. */
  readonly following: Following | null
  /** What a comparison with the journal gave that was just made; `null` if nobody asked for one. */
  readonly verified: QueryOutput<'audit'>['verified']
}

export type Query<Name extends QueryName> = (
  sql: Sql,
  input: QueryRead<Name>,
  around: Around,
) => QueryOutput<Name>
