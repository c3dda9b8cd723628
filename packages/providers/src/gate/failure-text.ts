// The last failure of an endpoint in words, in memory that threads share, so that a call that is not made can
// say why. A reader never gets a mixture of two texts. While one is written, and after a thread died while it
// wrote one, there is no text.
import { at } from './gate-words.ts'

export const failureTextBytes = 448

export class FailureText {
  readonly #words: BigInt64Array
  readonly #bytes: Uint8Array

  /** @param bytes `failureTextBytes` of shared memory. The first two are the length of the text. */
  constructor(words: BigInt64Array, bytes: Uint8Array) {
    this.#words = words
    this.#bytes = bytes
  }

  /** A text that is too long is cut. If another thread writes now, its text stays. */
  write(text: string): void {
    const version = Atomics.load(this.#words, at.textVersion)
    if (
      isWriting(version) ||
      Atomics.compareExchange(this.#words, at.textVersion, version, version + 1n) !== version
    )
      return
    const encoded = new Uint8Array(failureTextBytes - 2)
    const { written } = new TextEncoder().encodeInto(text, encoded)
    this.#bytes.set([written >> 8, written & 0xff])
    this.#bytes.set(encoded, 2)
    Atomics.store(this.#words, at.textVersion, version + 2n)
  }

  /** `null`: there is none, or it is being written. */
  read(): string | null {
    const version = Atomics.load(this.#words, at.textVersion)
    if (version === 0n || isWriting(version)) return null
    const [high = 0, low = 0, ...text] = this.#bytes.slice()
    if (Atomics.load(this.#words, at.textVersion) !== version) return null
    return new TextDecoder().decode(Uint8Array.from(text).subarray(0, high * 256 + low))
  }
}

/** An odd version means that a thread writes. */
const isWriting = (version: bigint): boolean => version % 2n === 1n
