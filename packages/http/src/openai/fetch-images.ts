// Fetches the images that a client names by their addresses. Each is at an origin that the operator allows (part-images.ts).
// F1. No redirect is followed: it could lead to another origin.
// F2. Time and bytes are bounded.
import { imageLimits, messageOf } from '@beaver/core'
import type { Conversation } from './conversation.ts'
import { OpenAiError } from './openai-error.ts'
import { type ImageAddress, imageTooLarge, mustFitTogether, type SentImage } from './part-images.ts'

const fetchMsMax = 10_000

/**
 * The images with their contents.
 *
 * @param at the place of the message with the images
 * @throws {OpenAiError} `invalid_image_url` for an image that cannot be fetched, `too_large` with 413
 */
export async function fetchedImages(images: Conversation['images'], at: string): Promise<SentImage[]> {
  const fetched = await Promise.all(images.map(async (image) => ('data' in image ? image : fetchedImage(image))))
  mustFitTogether(fetched, at)
  return fetched
}

async function fetchedImage({ url, param }: ImageAddress): Promise<SentImage> {
  const signal = AbortSignal.timeout(fetchMsMax)
  let content: Buffer | null
  try {
    const answer = await fetch(url, { redirect: 'manual', signal, headers: { accept: 'image/png, image/jpeg, image/webp, image/gif', 'user-agent': 'beaver' } })
    if (answer.status !== 200) {
      await answer.body?.cancel()
      throw new Error(answer.status >= 300 && answer.status <= 399 ? 'it leads to another address, which is not followed' : `the answer is ${answer.status}`)
    }
    content = await contentOf(answer)
  } catch (error) {
    const why = signal.aborted ? `there was no answer within ${fetchMsMax / 1_000} s` : reasonOf(error)
    throw new OpenAiError(400, 'invalid_image_url', `The image at ${url.origin}${url.pathname} cannot be fetched: ${why}.`, { param })
  }
  if (content === null) throw imageTooLarge(`more than ${imageLimits.bytesMax} bytes`, { at: param, param })
  return { data: content.toString('base64') }
}

/** `null`: it is too large. */
async function contentOf(answer: Response): Promise<Buffer | null> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes > imageLimits.bytesMax) return null
  }
  return Buffer.concat(pieces)
}

/** `fetch` says why only in its cause. */
const reasonOf = (error: unknown): string => messageOf(error instanceof TypeError && error.cause !== undefined ? error.cause : error)
