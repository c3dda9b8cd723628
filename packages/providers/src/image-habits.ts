// Which images of a conversation one server is shown, learned from its refusals. A server that takes no
// images gets a text in place of each. If its operator says that it takes some, its refusals do not change
// that. A server that takes at most N images gets the newest N: what the model has just looked at is what it
// needs. A server that cannot use an image does not say which. Images that it has taken before are none of
// these. Of the others, the newest half is left out, then the newest half of the rest: a few tries find a
// request that it takes. What was left out stays out. A conversation that is too long says nothing about
// images, although some servers then speak of them. The model reads in place of each image why it is not
// shown.
import type { ChatMessage } from '@beaver/core'
import type { ServerError } from './server-error.ts'
import { mostImagesSaid, saysBadImage, saysNoImages, saysOverflow } from './server-words.ts'
import { imagesIn, type ShownImages } from './wire-images.ts'

/** A request with images. */
export interface WithImages {
  readonly messages: readonly ChatMessage[]
  readonly images?: ReadonlyMap<string, Uint8Array> | undefined
}

/** How many images are remembered. */
const knownMax = 1_000

export class ImageHabits {
  /** Whether it takes images. */
  #takes: boolean
  readonly #takesIsKnown: boolean
  /** The most images of one request. */
  #most: number = Infinity
  readonly #taken = new Set<string>()
  readonly #refused = new Set<string>()

  /** @param takes what the operator says about it; absent: nothing */
  constructor(takes?: boolean) {
    this.#takes = takes ?? true
    this.#takesIsKnown = takes !== undefined
  }

  /** The content of each image of a request, or why it is not shown. `null`: it takes no images. */
  shown({ messages, images = new Map() }: WithImages): ShownImages {
    if (!this.#takes) return null
    const shown = new Map<string, Uint8Array | string>(images)
    let room = this.#most
    for (const [sha256, times] of timesShown(messages, images)) {
      if (this.#refused.has(sha256)) shown.set(sha256, 'the server of this model cannot use it')
      else if (times > room)
        shown.set(sha256, `this model takes at most ${this.#most} images at once, and it is shown newer ones`)
      else room -= times
    }
    return shown
  }

  /** The images whose content a request has, the newest first, each as often as it is there. */
  sent({ messages, images = new Map() }: WithImages): readonly string[] {
    const shown = this.shown({ messages, images })
    if (shown === null) return []
    return [...timesShown(messages, images)].flatMap(([sha256, times]) =>
      typeof shown.get(sha256) === 'string' ? [] : Array<string>(times).fill(sha256),
    )
  }

  /** A request with these images was not refused. */
  taken(sent: readonly string[]): void {
    if (this.#taken.size + sent.length > knownMax) this.#taken.clear()
    for (const sha256 of sent) this.#taken.add(sha256)
  }

  /** Returns whether a refusal says that the server takes no images, or fewer, so that it is asked again. */
  learns(said: ServerError, sent: readonly string[]): boolean {
    if (sent.length === 0 || saysOverflow(said)) return false
    const most = saysNoImages(said) ? 0 : mostImagesSaid(said)
    if (most === 0) return this.#learnsNone()
    if (most === null) return false
    const fewer = most === 'fewer' ? Math.max(1, Math.floor(sent.length / 2)) : most
    // Several requests may be refused at once, and each is asked again with what the first one taught.
    if (fewer >= sent.length) return false
    this.#most = Math.min(this.#most, fewer)
    return true
  }

  /**
   * Returns whether a refusal says that the server cannot use an image, so that it is asked again. Many words
   * say so: ask this last.
   */
  learnsBad(said: ServerError, sent: readonly string[]): boolean {
    if (sent.length === 0 || saysOverflow(said) || !saysBadImage(said)) return false
    const images = [...new Set(sent)]
    const fresh = images.filter((sha256) => !this.#taken.has(sha256))
    const suspects = fresh.length > 0 ? fresh : images
    if (this.#refused.size >= knownMax) this.#refused.clear()
    for (const sha256 of suspects.slice(0, Math.ceil(suspects.length / 2))) this.#refused.add(sha256)
    return true
  }

  #learnsNone(): boolean {
    if (this.#takesIsKnown) return false
    this.#takes = false
    return true
  }
}

/** How often each image with content is in a conversation, the newest first. */
function timesShown(
  messages: readonly ChatMessage[],
  contents: ReadonlyMap<string, Uint8Array>,
): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  for (const { sha256 } of messages.flatMap((message) => imagesIn(message)).toReversed())
    if (contents.has(sha256)) times.set(sha256, (times.get(sha256) ?? 0) + 1)
  return times
}
