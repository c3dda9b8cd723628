// The content of images: each event that shows an image refers to a blob. Content is read once for all
// events; at most `knownMax` images are remembered.
import { hash } from 'node:crypto'
import { type CheckedEvent, imagesOf } from './event.ts'
import type { Report } from './rules.ts'
import type { JournalSource } from './source.ts'

const knownMax = 10_000

/** Missing content. `tell` reports it, unless an operator removed it. */
export interface AbsentContent {
  readonly name: string
  readonly taskseq: number
  tell(): void
}

export class ImageContents {
  readonly #readBlob: JournalSource['readBlob']
  /** The length of the content by its name; `null`: the content does not match its name. */
  readonly #known = new Map<string, number | null>()
  /** How many contents were read and have their hash. */
  verified = 0

  constructor({ readBlob }: Pick<JournalSource, 'readBlob'>) {
    this.#readBlob = readBlob
  }

  /** Returns the missing contents. */
  async judge(event: CheckedEvent, taskseq: number, report: Report): Promise<readonly AbsentContent[]> {
    const absent: AbsentContent[] = []
    for (const { sha256: name, bytes } of imagesOf(event)) {
      const length = this.#known.has(name) ? this.#known.get(name) : await this.#read(name)
      if (length === undefined)
        absent.push({
          name,
          taskseq,
          tell: () => report('blob_missing', `event ${taskseq}: the blob ${name} of an image does not exist`),
        })
      else if (length === null)
        report('blob_changed', `event ${taskseq}: the blob ${name} of an image holds other content`)
      else if (length !== bytes)
        report(
          'event_data',
          `event ${taskseq}: the image ${name} has ${length} bytes, and the event says ${bytes}`,
        )
    }
    return absent
  }

  async #read(name: string): Promise<number | null | undefined> {
    const content = await this.#readBlob(name)
    if (content === null) return undefined
    const length = hash('sha256', content) === name ? content.length : null
    if (length !== null) this.verified++
    if (this.#known.size >= knownMax) this.#known.clear()
    this.#known.set(name, length)
    return length
  }
}
