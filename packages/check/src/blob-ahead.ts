// Reads blobs ahead, at most `aheadMax` in memory. Call `next` in the order of the names.
const aheadMax = 8

export class BlobAhead {
  readonly #names: readonly string[]
  readonly #read: (name: string) => Promise<Uint8Array | null>
  readonly #ahead: Promise<Uint8Array | null>[] = []
  #begun = 0

  constructor(names: readonly string[], read: (name: string) => Promise<Uint8Array | null>) {
    this.#names = names
    this.#read = read
  }

  async next(name: string): Promise<Uint8Array | null> {
    while (this.#begun < this.#names.length && this.#ahead.length < aheadMax) {
      const read = this.#read(this.#names[this.#begun++] as string)
      read.catch(() => {}) // `next` reports the error
      this.#ahead.push(read)
    }
    return (await this.#ahead.shift()) ?? this.#read(name)
  }
}
