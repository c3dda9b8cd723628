// The BlobStore port: payloads under the hash of their content.
/** A store of payloads. The name of a payload is its SHA-256, in lower-case hexadecimal digits. */
export interface BlobStore {
  /**
   * Stores bytes under their SHA-256. To store the same bytes again has no effect. Resolves when they are
   * durable.
   */
  put(sha256: string, bytes: Uint8Array): Promise<void>
  /**
   * The bytes under a SHA-256.
   *
   * @throws {BeaverError} `blob_missing`; `blob_corrupt` if the stored bytes do not have that SHA-256
   */
  get(sha256: string): Promise<Uint8Array>
}
