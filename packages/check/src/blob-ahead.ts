// Blobs read ahead, in the order they will be needed: a bounded number at a time.
// A1. At most `aheadMax` blobs are held. A2. `next` is asked in the order the names were given.
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
      read.catch(() => {}) // `next` tells
      this.#ahead.push(read)
    }
    return (await this.#ahead.shift()) ?? this.#read(name)
  }
}
