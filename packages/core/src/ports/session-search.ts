// The SessionSearch port: the visible transcript of a tenant's sessions, searched (D-46).
// S1. Hidden events, prompts, skills and workers' runs are never found. S2. Any query text is safe; CJK substrings match.

export interface SessionSearchRequest {
  readonly query: string
  /** 1 to 50; default 10. */
  readonly limit: number
  /** The session that asks. */
  readonly session: string
  /** Find in that session too; default `false`. */
  readonly includeCurrent: boolean
}

export interface SessionSearchHit {
  readonly session_id: string
  readonly task_id: string
  readonly role: 'user' | 'assistant' | 'tool'
  /** Around the match. */
  readonly excerpt: string
  /** ISO 8601. */
  readonly at: string
}

export interface SessionSearch {
  /** Best first. @throws {BeaverError} when the projector does not answer */
  search(tenant: string, request: SessionSearchRequest): Promise<readonly SessionSearchHit[]>
}
