// The SessionSearch port: searches the visible transcript of a tenant's sessions (D-46), of the run's own
// user only (D-67). Hidden events, prompts, skills and worker runs are never found. Any query text is safe.
// Substrings of Chinese, Japanese and Korean text match.

/** What is searched for. */
export interface SessionSearchRequest {
  readonly query: string
  /** How many hits are wanted, from 1 to 50. */
  readonly limit: number
  /** The session that asks. */
  readonly session: string
  /** Whether hits in that session are wanted too. */
  readonly includeCurrent: boolean
}

/** A message that matches. */
export interface SessionSearchHit {
  readonly session_id: string
  readonly task_id: string
  readonly role: 'user' | 'assistant' | 'tool'
  /** The text around the match. */
  readonly excerpt: string
  /** ISO 8601. */
  readonly at: string
}

/** The sessions in which a search looks. */
export interface SessionScope {
  readonly tenant: string
  /** Only sessions of this user; `null`: only sessions without a user. Absent: all sessions of the tenant. */
  readonly user?: string | null | undefined
}

/** A search in the sessions of a tenant. */
export interface SessionSearch {
  /**
   * The hits, newest first.
   *
   * @throws {BeaverError} if the projector does not answer
   */
  search(scope: SessionScope, request: SessionSearchRequest): Promise<readonly SessionSearchHit[]>
}
