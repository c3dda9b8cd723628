// A knowledge base as the configuration describes it: a folder, and how to search it. It is plain data, so
// that it can be sent to a thread.
import type { EmbeddingProvider } from '@beaver/agent'
import { providerBundle, type ProviderChoices } from '@beaver/providers'

/** A folder of documents. */
export interface KnowledgeFolder {
  /** The id, such as `handbook` of `kb:handbook`. */
  readonly id: string
  /** The absolute path of the folder. */
  readonly folder: string
  /** Whether passages may be sent to the embedding endpoint. */
  readonly embeddings: boolean
  /** The largest size of a document, in bytes. Larger files are left out. */
  readonly fileBytesMax: number
}

interface Configured {
  readonly folder: string
  readonly embeddings: boolean
  readonly file_bytes_max: number
}

/** Reads the section `knowledge_bases` of the configuration, whose keys are the ids. */
export const knowledgeFolders = (bases: Readonly<Record<string, Configured>>): KnowledgeFolder[] =>
  Object.entries(bases).map(([id, { folder, embeddings, file_bytes_max: fileBytesMax }]) => ({
    id,
    folder,
    embeddings,
    fileBytesMax,
  }))

/** The bounds of a knowledge base. What exceeds them is left out, and a sentence says so. */
export interface KnowledgeBounds {
  /** The number of documents. */
  readonly documentsMax: number
  /** The size of all documents together, in bytes. */
  readonly bytesMax: number
  /**
   * How long a search waits until changed documents are indexed, in milliseconds. After that it answers from
   * what is indexed.
   */
  readonly waitMs: number
}

/** The bounds of every knowledge base. */
export const knowledgeBounds: KnowledgeBounds = {
  documentsMax: 50_000,
  bytesMax: 536_870_912,
  waitMs: 10_000,
}

/** The embedding endpoint that a daemon with these endpoints uses; `null` if there is none. */
export const embeddingsOf = (choices: ProviderChoices | null): EmbeddingProvider | null =>
  choices === null ? null : providerBundle(choices).embeddings
