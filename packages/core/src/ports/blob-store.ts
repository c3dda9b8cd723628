// The BlobStore port: payloads by content.
export interface BlobStore {
  /** Stores bytes under their SHA-256; storing the same again does nothing. Resolves when they are durable. */
  put(sha256: string, bytes: Uint8Array): Promise<void>
  /** @throws {BeaverError} `blob_missing`; `blob_corrupt` when what is stored does not have that SHA-256 */
  get(sha256: string): Promise<Uint8Array>
}
