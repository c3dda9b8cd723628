// A knowledge base as the configuration has it: a folder, and how it is searched. Plain data: it is sent to a
// thread.
import type { EmbeddingProvider } from '@beaver/agent'
import { providerBundle, type ProviderChoices } from '@beaver/providers'

/** A folder of documents. */
export interface KnowledgeFolder {
  /** The id: `handbook` of `kb:handbook`. */
  readonly id: string
  /** Absolute. */
  readonly folder: string
  /** Whether passages may be sent to the embedding endpoint. */
  readonly embeddings: boolean
  /** Larger files are left out. */
  readonly fileBytesMax: number
}

interface Configured {
  readonly folder: string
  readonly embeddings: boolean
  readonly file_bytes_max: number
}

/** The folders of a configuration, by id. */
export const knowledgeFolders = (bases: Readonly<Record<string, Configured>>): KnowledgeFolder[] =>
  Object.entries(bases).map(([id, { folder, embeddings, file_bytes_max: fileBytesMax }]) => ({
    id,
    folder,
    embeddings,
    fileBytesMax,
  }))

/** The bounds of a knowledge base. What is beyond them is left out, and reported. */
export interface KnowledgeBounds {
  readonly documentsMax: number
  /** Of all documents together. */
  readonly bytesMax: number
  /** How long a search waits for documents that are not indexed yet. Then it answers from the others. */
  readonly waitMs: number
}

/** The bounds of every knowledge base. */
export const knowledgeBounds: KnowledgeBounds = {
  documentsMax: 50_000,
  bytesMax: 536_870_912,
  waitMs: 10_000,
}

/** The embedding endpoint of a process, as the daemon's choice of endpoints has it. `null` if there is none. */
export const embeddingsOf = (choices: ProviderChoices | null): EmbeddingProvider | null =>
  choices === null ? null : providerBundle(choices).embeddings
