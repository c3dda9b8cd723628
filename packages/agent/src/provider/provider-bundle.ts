// What a run may ask: the main provider, what stands in for it, who chooses skills, who embeds (PR-04).
// B1. Every call asks the main provider first, then the fallback (PR-02). B2. The auxiliary provider never takes part in the
//     dialogue of a loop (PR-03).
import type { ChatProvider } from './chat-provider.ts'
import type { EmbeddingProvider } from './embedding-provider.ts'

export interface ProviderBundle {
  readonly main: ChatProvider
  readonly fallback: ChatProvider | null
  /** Chooses skills and summarises; `null`: the main provider does. */
  readonly auxiliary: ChatProvider | null
  /** `null`: recall is lexical. */
  readonly embeddings: EmbeddingProvider | null
}

/** A bundle of one. */
export function onlyProvider(main: ChatProvider): ProviderBundle {
  return { main, fallback: null, auxiliary: null, embeddings: null }
}
