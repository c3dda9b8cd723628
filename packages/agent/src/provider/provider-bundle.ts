// The providers of a run: main, its fallbacks, the one that chooses skills, and embeddings (PR-04). Every
// call asks the main provider first, then its fallbacks in their order, which is the route (PR-02). The
// auxiliary provider never takes part in the dialogue of a loop (PR-03).
import type { ChatProvider } from './chat-provider.ts'

/** The providers of a run. */
export interface ProviderBundle {
  readonly main: ChatProvider
  /**
   * The providers that are asked after main, in this order. Their names differ from each other and from
   * main's.
   */
  readonly fallbacks: readonly ChatProvider[]
  /** Chooses skills and summarises. `null`: the main provider does this. */
  readonly auxiliary: ChatProvider | null
  /** `null`: recall compares words. */
  readonly embeddings: EmbeddingProvider | null
  /** The models that profiles and agents may name, each with its route. Absent: none. */
  readonly models?: ReadonlyMap<string, AskedProviders>
}

/** The provider of a run, and those that are asked if it does not answer. */
export type AskedProviders = Pick<ProviderBundle, 'main' | 'fallbacks'>

/**
 * A bundle with only a main provider.
 *
 * @example
 * const parrot: ChatProvider = {
 *   name: 'parrot',
 *   model: 'parrot-1',
 *   chat: () => Promise.reject(new ProviderError('provider_unavailable', 'The parrot sleeps.')),
 * }
 * onlyProvider(parrot).main.model // => 'parrot-1'
 */
export function onlyProvider(main: ChatProvider): ProviderBundle {
  return { main, fallbacks: [], auxiliary: null, embeddings: null }
}

// The EmbeddingProvider port: it turns texts into vectors to find similar ones. It has the same failure
// classes as chat.

/** An embedding back end. */
export interface EmbeddingProvider {
  readonly name: string
  readonly model: string
  /**
   * Returns one vector for each text, in the same order, all of the same length.
   *
   * @throws {ProviderError}
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly (readonly number[])[]>
}
