// Counts lines, words and bytes as `LC_ALL=C.UTF-8 wc -lwc` does, byte by byte, in constant memory. The sum
// does not depend on where the chunks are cut.
import { asciiClasses, classOf, wordClass } from './word-classes.ts'

export class TextCounter {
  lines = 0
  words = 0
  bytes = 0
  /** Some byte was neither printable nor a separator, so versions of wc may count words differently. */
  uncertain = false

  #inWord = false
  /**
   * The multi-byte character under way: the bits so far, the bytes to come, and the least code point of its
   * length.
   */
  #codePoint = 0
  #bytesToCome = 0
  #least = 0

  add(chunk: Uint8Array): void {
    let { lines, words } = this
    let inWord = this.#inWord
    this.bytes += chunk.length
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number
      let found: number
      if (byte < 0x80) {
        if (this.#bytesToCome > 0) this.#brokenOff()
        if (byte === 0x0a) lines++
        found = asciiClasses[byte] as number
      } else {
        found = this.#multiByte(byte)
      }
      if (found === wordClass.printable) {
        if (!inWord) words++
        inWord = true
      } else if (found === wordClass.separator) {
        inWord = false
      } else if (found === wordClass.nothing) {
        this.uncertain = true
      }
    }
    this.lines = lines
    this.words = words
    this.#inWord = inWord
  }

  /** Ends the file: the next byte begins another. */
  endFile(): void {
    if (this.#bytesToCome > 0) this.#brokenOff()
    this.#inWord = false
  }

  /** The class of the character that this byte completes. `unknown` while it is incomplete. */
  #multiByte(byte: number): number {
    if (byte < 0xc0) {
      if (this.#bytesToCome === 0) return wordClass.nothing
      this.#codePoint = (this.#codePoint << 6) | (byte & 0x3f)
      if (--this.#bytesToCome > 0) return wordClass.unknown
      return this.#codePoint < this.#least || this.#codePoint > 0x10_ffff
        ? wordClass.nothing
        : classOf(this.#codePoint)
    }
    if (this.#bytesToCome > 0) this.#brokenOff()
    if (byte >= 0xf5 || byte < 0xc2) return wordClass.nothing
    const bytesToCome = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3
    this.#bytesToCome = bytesToCome
    this.#codePoint = byte & (0x3f >> bytesToCome)
    this.#least = bytesToCome === 1 ? 0x80 : bytesToCome === 2 ? 0x800 : 0x1_0000
    return wordClass.unknown
  }

  #brokenOff(): void {
    this.#bytesToCome = 0
    this.uncertain = true
  }
}
