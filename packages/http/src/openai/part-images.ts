// The images of a client's messages: `image_url` of chat completions and `input_image` of Responses, with data URLs.
// P1. Beaver fetches no address that a client sends: an image comes with the request.
import { imageLimits } from '@beaver/core'
import { OpenAiError } from './openai-error.ts'

/** The content of an image, in base64. */
export interface SentImage {
  readonly data: string
}

const imageParts: ReadonlySet<string> = new Set(['image_url', 'input_image'])

/** What an earlier message of the client has in place of an image. */
export const earlierImage = '[an image that is not shown again]'

const dataUrl = /^data:image\/[a-z0-9.+-]+;base64,([A-Za-z0-9+/]+={0,2})$/i

/**
 * The image of a part. `null`: the part is none.
 *
 * @param at the place of the part
 * @throws {OpenAiError} `unsupported_value` for an image that does not come with the request, `too_large` with 413 for one that is too large
 */
export function imageOfPart(part: Readonly<Record<string, unknown>>, at: string): SentImage | null {
  if (!imageParts.has(String(part['type']))) return null
  const given = part['image_url']
  const url = typeof given === 'object' && given !== null && 'url' in given ? given.url : given
  const data = typeof url === 'string' ? dataUrl.exec(url)?.[1] : undefined
  if (data !== undefined && bytesOf(data) <= imageLimits.bytesMax) return { data }
  if (data !== undefined)
    throw tooLarge(`${at} is an image of ${bytesOf(data)} bytes. An image has at most ${imageLimits.bytesMax} bytes. Make it smaller.`, `${at}.image_url`)
  throw new OpenAiError(400, 'unsupported_value', 'Beaver takes an image with its content: a data URL such as "data:image/png;base64,…". It fetches none.', {
    param: `${at}.image_url`,
  })
}

/**
 * The images of a message, which are shown together.
 *
 * @throws {OpenAiError} `too_large` with 413 for more than a task may have
 */
export function mustFitTogether(images: readonly SentImage[], at: string): void {
  const { perTaskMax, totalBytesMax } = imageLimits
  const bytes = images.reduce((sum, { data }) => sum + bytesOf(data), 0)
  if (images.length > perTaskMax || bytes > totalBytesMax)
    throw tooLarge(`${at} has ${images.length} images of ${bytes} bytes. A message has at most ${perTaskMax} images of ${totalBytesMax} bytes together.`, at)
}

const bytesOf = (data: string): number => Math.floor((data.replace(/=+$/, '').length * 3) / 4)

const tooLarge = (message: string, param: string): OpenAiError => new OpenAiError(413, 'too_large', message, { param, again: false })
