// Which images of a conversation one server is shown, learned from its refusals. In place of each other image
// the model reads why it is not shown. What was left out stays out. Refusals do not change an operator's
// statement that the server takes images.
// A server with a limit of N gets the newest N, which the model needs most. A server that cannot use an image
// does not say which one. So the newest half of those that it never took is left out, then the newest half of
// the rest, until a request is taken. A conversation that is too long says nothing about images, although
// some servers then mention them.
import type { ChatMessage } from '@beaver/core'
import type { ServerError } from './server-error.ts'
import { mostImagesSaid, saysBadImage, saysNoImages, saysOverflow } from './server-words.ts'
import { imagesIn, type ShownImages } from './wire-images.ts'

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

  /** @param takes what the operator says; absent: nothing */
  constructor(takes?: boolean) {
    this.#takes = takes ?? true
    this.#takesIsKnown = takes !== undefined
  }

  /** The content of each image of a request, or why it is not shown. `null`: the server takes no images. */
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

  /** The images of a request with content, the newest first, repeated as in the request. */
  sent({ messages, images = new Map() }: WithImages): readonly string[] {
    const shown = this.shown({ messages, images })
    if (shown === null) return []
    return [...timesShown(messages, images)].flatMap(([sha256, times]) =>
      typeof shown.get(sha256) === 'string' ? [] : Array<string>(times).fill(sha256),
    )
  }

  /** Notes that a request with these images was not refused. */
  taken(sent: readonly string[]): void {
    if (this.#taken.size + sent.length > knownMax) this.#taken.clear()
    for (const sha256 of sent) this.#taken.add(sha256)
  }

  /** Whether the server refused because it takes no images, or fewer, so that it is asked again. */
  learns(serverError: ServerError, sent: readonly string[]): boolean {
    if (sent.length === 0 || saysOverflow(serverError)) return false
    const most = saysNoImages(serverError) ? 0 : mostImagesSaid(serverError)
    if (most === 0) return this.#learnsNone()
    if (most === null) return false
    const fewer = most === 'fewer' ? Math.max(1, Math.floor(sent.length / 2)) : most
    // Each of several refused requests is sent again with what the first refusal taught.
    if (fewer >= sent.length) return false
    this.#most = Math.min(this.#most, fewer)
    return true
  }

  /** Whether the server cannot use an image, so that it is asked again. Ask last: many words match. */
  learnsBad(serverError: ServerError, sent: readonly string[]): boolean {
    if (sent.length === 0 || saysOverflow(serverError) || !saysBadImage(serverError)) return false
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

/** How often a conversation has each image with content, the newest first. */
function timesShown(
  messages: readonly ChatMessage[],
  contents: ReadonlyMap<string, Uint8Array>,
): ReadonlyMap<string, number> {
  const times = new Map<string, number>()
  for (const { sha256 } of messages.flatMap((message) => imagesIn(message)).toReversed())
    if (contents.has(sha256)) times.set(sha256, (times.get(sha256) ?? 0) + 1)
  return times
}
