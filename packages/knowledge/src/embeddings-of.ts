// The embedding endpoint of a process, as the daemon's choice of endpoints has it.
import type { EmbeddingProvider } from '@beaver/agent'
import { providerBundle, type ProviderChoices } from '@beaver/providers'

/** `null` if there is none. */
export const embeddingsOf = (choices: ProviderChoices | null): EmbeddingProvider | null =>
  choices === null ? null : providerBundle(choices).embeddings
