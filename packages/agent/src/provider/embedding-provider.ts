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
