// Fetches the images that a client names by URL. The operator allows their origins (part-images.ts), so no
// redirect is followed, because it could lead to another origin. The images of one request are fetched one
// after the other, each URL once, up to a bound for their sum. The number of requests that fetch at the same
// time is bounded, too. If a client disconnects, its fetches are aborted.
import { messageOf } from '@beaver/core'
import { imageLimits } from '@beaver/core/images'
import type { Conversation } from './conversation.ts'
import { OpenAiError } from './openai-error.ts'
import { type ImageAddress, imageTooLarge, mustFitTogether, type SentImage } from './part-images.ts'

const fetchMsMax = 10_000
const requestsMax = 4

/** The fetches of an app. At most 4 requests fetch at the same time; others wait. */
export class ImageFetches {
  #running = 0
  readonly #waiting: (() => void)[] = []

  /**
   * The images of a message, each with its content.
   *
   * @param of.at the place of the message in the request, for errors
   * @throws {OpenAiError} `invalid_image_url` if an image cannot be fetched within 10 s; `too_large` with the
   * status 413
   */
  async contents(
    images: Conversation['images'],
    fetching: { readonly at: string; readonly signal: AbortSignal },
  ): Promise<SentImage[]> {
    if (images.every((image) => 'data' in image)) return images.filter((image) => 'data' in image)
    if (this.#running >= requestsMax) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    try {
      return await contentsOf(images, fetching)
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

async function contentsOf(
  images: Conversation['images'],
  { at, signal }: { readonly at: string; readonly signal: AbortSignal },
): Promise<SentImage[]> {
  const known = new Map<string, SentImage>()
  const contents: SentImage[] = []
  for (const image of images) {
    const content =
      'data' in image ? image : (known.get(image.url.href) ?? (await fetchedImage(image, signal)))
    if ('url' in image) known.set(image.url.href, content)
    contents.push(content)
    mustFitTogether(contents, at)
  }
  return contents
}

async function fetchedImage({ url, param }: ImageAddress, gone: AbortSignal): Promise<SentImage> {
  const late = AbortSignal.timeout(fetchMsMax)
  let content: Buffer | null
  try {
    const answer = await fetch(url, {
      redirect: 'manual',
      signal: AbortSignal.any([late, gone]),
      headers: { accept: 'image/png, image/jpeg, image/webp, image/gif', 'user-agent': 'beaver' },
    })
    if (answer.status !== 200) {
      await answer.body?.cancel()
      throw new Error(
        answer.status >= 300 && answer.status <= 399
          ? 'it leads to another address, which is not followed'
          : `the answer is ${answer.status}`,
      )
    }
    content = await contentOf(answer)
  } catch (error) {
    const why = late.aborted ? `there was no whole answer within ${fetchMsMax / 1_000} s` : reasonOf(error)
    throw new OpenAiError(
      400,
      'invalid_image_url',
      `The image at ${url.origin}${url.pathname} cannot be fetched: ${why}.`,
      { param },
    )
  }
  if (content === null) throw imageTooLarge(`more than ${imageLimits.bytesMax} bytes`, { at: param, param })
  return { data: content.toString('base64') }
}

/** The body of an answer. `null`: it is too large for an image. */
async function contentOf(answer: Response): Promise<Buffer | null> {
  if (Number(answer.headers.get('content-length')) > imageLimits.bytesMax) {
    await answer.body?.cancel()
    return null
  }
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes > imageLimits.bytesMax) return null
  }
  return Buffer.concat(pieces)
}

/** The reason why a fetch failed, which `fetch` gives only as the cause of its error. */
const reasonOf = (error: unknown): string =>
  messageOf(error instanceof TypeError && error.cause !== undefined ? error.cause : error)
