// The images in messages: `image_url` of chat completions and `input_image` of Responses, as a data URL or as
// the URL of an image. Beaver fetches an image only from an origin that the operator allows
// (fetch-images.ts), and fetches nothing else that a client names.
import { imageLimits } from '@beaver/core/images'
import { OpenAiError } from './openai-error.ts'

/** The content of an image, in base64. */
export interface SentImage {
  readonly data: string
}

/** The URL of an image, and the place of this URL in the request. */
export interface ImageAddress {
  readonly url: URL
  readonly param: string
}

/** The origins from which images are fetched, such as `https://images.example`. */
export type ImageOrigins = readonly string[]

const imageParts: ReadonlySet<string> = new Set(['image_url', 'input_image'])

/** The text that replaces an image in an earlier message. */
export const earlierImage = '[an image that is not shown again]'

const dataUrl = /^data:image\/[a-z0-9.+-]+;base64,([A-Za-z0-9+/]+={0,2})$/i

/**
 * The image of a part of a message. `null`: the part is not an image.
 *
 * @param at the place of the part in the request
 * @throws {OpenAiError} `unsupported_value` for an image that is neither a data URL nor at one of `origins`;
 * `too_large` with the status 413
 */
export function imageOfPart(
  part: Readonly<Record<string, unknown>>,
  at: string,
  origins: ImageOrigins,
): SentImage | ImageAddress | null {
  if (!imageParts.has(String(part['type']))) return null
  const imageUrl = part['image_url']
  const url = typeof imageUrl === 'object' && imageUrl !== null && 'url' in imageUrl ? imageUrl.url : imageUrl
  const data = typeof url === 'string' ? dataUrl.exec(url)?.[1] : undefined
  if (data !== undefined && bytesOf(data) <= imageLimits.bytesMax) return { data }
  const param = `${at}.image_url`
  if (data !== undefined) throw imageTooLarge(`${bytesOf(data)} bytes`, { at, param })
  const address = typeof url === 'string' ? URL.parse(url) : null
  if (
    address !== null &&
    origins.includes(address.origin) &&
    address.username === '' &&
    address.password === ''
  )
    return { url: address, param }
  throw new OpenAiError(400, 'unsupported_value', notTaken(address, origins), { param })
}

function notTaken(address: URL | null, origins: ImageOrigins): string {
  const taken = 'Beaver takes an image with its content: a data URL such as "data:image/png;base64,…".'
  if (address === null || (address.protocol !== 'https:' && address.protocol !== 'http:')) return taken
  if (origins.includes(address.origin))
    return `${taken} The address of an image must have no user name and no password.`
  return `${taken} It fetches none from ${address.origin}: the operator names the origins from which it does in "gateway.image_origins".`
}

/** The error for an image that is too large. @param size such as `6000000 bytes` */
export const imageTooLarge = (
  size: string,
  { at, param }: { readonly at: string; readonly param: string },
): OpenAiError =>
  tooLarge(
    `${at} is an image of ${size}. An image has at most ${imageLimits.bytesMax} bytes. Make it smaller.`,
    param,
  )

/**
 * Checks the number and the total size of a message's images. Images that are not fetched yet count 0 bytes.
 *
 * @throws {OpenAiError} `too_large` with the status 413 if a task may not have so many
 */
export function mustFitTogether(images: readonly (SentImage | ImageAddress)[], at: string): void {
  const { perTaskMax, totalBytesMax } = imageLimits
  if (images.length > perTaskMax)
    throw tooLarge(`${at} has ${images.length} images. A message has at most ${perTaskMax} images.`, at)
  const bytes = images.reduce((sum, image) => sum + ('data' in image ? bytesOf(image.data) : 0), 0)
  if (bytes > totalBytesMax)
    throw tooLarge(
      `The images of ${at} have more than ${totalBytesMax} bytes together. Leave some out, or make them smaller.`,
      at,
    )
}

const bytesOf = (data: string): number => Math.floor((data.replace(/=+$/, '').length * 3) / 4)

const tooLarge = (message: string, param: string): OpenAiError =>
  new OpenAiError(413, 'too_large', message, { param, again: false })
