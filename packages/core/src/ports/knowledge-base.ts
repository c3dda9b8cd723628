// The KnowledgeBase port: finds passages in the documents of the operator (D-72). `kb:<id>` names a knowledge
// base. A query contains words, never a query language, so any text is safe; one without a word finds
// nothing. At most `limit` passages come, best first, each of at most `passageCharsMax` characters with its
// document and lines. What was changed or removed before the search is not found, unless the answer says that
// it is incomplete.
import type { Usage } from '../chat.ts'

/** What is searched for. */
export interface KnowledgeRequest {
  /** Words or a question, in any language. */
  readonly query: string
  /** How many passages are wanted, from 1 to 20. */
  readonly limit: number
}

/** A passage of a document. */
export interface KnowledgePassage {
  /** The path of the document, relative to the knowledge base, with `/`. */
  readonly file: string
  /** Lines count from 1. */
  readonly first_line: number
  readonly last_line: number
  /** The headings above the passage, outermost first, with ` > ` between them. `null`: there is none. */
  readonly heading: string | null
  readonly text: string
}

/** The answer to a search. */
export interface KnowledgeAnswer {
  readonly passages: readonly KnowledgePassage[]
  /** How the passages were ranked: by common words, or also by the similarity of their embeddings. */
  readonly ranked_by: 'words' | 'words_and_meaning'
  /** Whether every document was searched as it is now. `false`: some are not indexed yet. */
  readonly complete: boolean
  /** The call that embedded the query. Absent: there was none. The documents are embedded for all, unasked. */
  readonly paid?: PaidEmbedding
}

/** A call of an embedding model that must be paid. */
export interface PaidEmbedding {
  readonly provider_name: string
  readonly model: string
  readonly usage: Usage
}

/** The most passages of an answer. */
export const knowledgeLimitMax = 20

/** Documents in which agents search. */
export interface KnowledgeBase {
  /**
   * Finds the passages that a query is about.
   *
   * @throws {BeaverError} `not_found` if there are no documents to search, such as for a folder that does not
   * exist; `start_failed` if its index cannot be used
   * @throws the reason of `signal`
   */
  search(request: KnowledgeRequest, signal: AbortSignal): Promise<KnowledgeAnswer>
}
