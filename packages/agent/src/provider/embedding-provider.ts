// The EmbeddingProvider port: texts as vectors, to find what is alike. The same failure classes as chat.

export interface EmbeddingProvider {
  readonly name: string
  readonly model: string
  /** One vector a text, in the same order, all of the same length. @throws {ProviderError} */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly (readonly number[])[]>
}
