// The providers of a run: main, its fallbacks, the one that chooses skills, and embeddings (PR-04). Every
// call asks the main provider first, then its fallbacks in their order, which is the route (PR-02). The
// auxiliary provider never takes part in the dialogue of a loop (PR-03).
import type { Usage } from '@beaver/core'
import { type ChatProvider, ProviderError } from './chat-provider.ts'

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
  /** The most texts that it embeds at once, as far as is known. */
  readonly textsMax: number
  /**
   * Embeds the first of the texts, in one request that is paid: at most `textsMax`, fewer if the server takes
   * fewer.
   *
   * @param texts at least one
   * @throws {ProviderError}
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<Embedded>
}

/** The first of the texts as vectors. */
export interface Embedded {
  /** At least one, in the order of the texts, all of the same length. */
  readonly vectors: readonly (readonly number[])[]
  readonly usage: Usage
}

/** What is done for each request for embeddings. */
export interface EmbeddingSteps {
  /** Awaited before each request, with its texts. What it throws ends the work. */
  before?(texts: readonly string[]): Promise<void>
  /** Awaited after each request that is paid. */
  onPaid?(usage: Usage): Promise<void> | void
}

/**
 * Embeds all texts, in as many requests as it takes.
 *
 * @throws {ProviderError}
 * @throws the abort of `signal`, and what the steps throw
 * @example
 * const lengths: EmbeddingProvider = {
 *   ...{ name: 'lengths', model: 'lengths-1', textsMax: 1 },
 *   embed: async ([text = '']) => ({ vectors: [[text.length]], usage: { input_tokens: 1, output_tokens: 0, calls: 1 } }),
 * }
 * await embedAll(lengths, ['rain', 'umbrella'], new AbortController().signal) // => [[4], [8]]
 */
export async function embedAll(
  provider: EmbeddingProvider,
  texts: readonly string[],
  signal: AbortSignal,
  steps: EmbeddingSteps = {},
): Promise<readonly (readonly number[])[]> {
  const vectors: (readonly number[])[] = []
  while (vectors.length < texts.length) {
    const next = texts.slice(vectors.length, vectors.length + provider.textsMax)
    await steps.before?.(next)
    const { vectors: some, usage } = await embedded(provider, next, { signal, steps })
    await steps.onPaid?.(usage)
    if (some.length === 0 || some.length > next.length)
      throw new ProviderError(
        'malformed_output',
        `${provider.name} answered with ${some.length} vectors for ${next.length} texts.`,
      )
    vectors.push(...some)
  }
  return vectors
}

async function embedded(
  provider: EmbeddingProvider,
  texts: readonly string[],
  { signal, steps }: { readonly signal: AbortSignal; readonly steps: EmbeddingSteps },
): Promise<Embedded> {
  try {
    return await provider.embed(texts, signal)
  } catch (error) {
    if (error instanceof ProviderError && error.paid !== null) await steps.onPaid?.(error.paid.usage)
    throw error
  }
}
