// An image in numbers and words: its limits, its tokens and its text. The limits hold for a task, a result and
// a request; a longer conversation keeps references to its older images. The schema is in image-part.ts, so a
// screen can use this file without it.
import { visible } from '../hidden-characters.ts'
import type { ImagePart } from './image-part.ts'

/** The limits of images. */
export const imageLimits = {
  /** The bytes of one image. */
  bytesMax: 5_000_000,
  /** The images that a task may name, and that one call may show. */
  perTaskMax: 10,
  /** The images of one request to a model. */
  perRequestMax: 20,
  /** The bytes of all images of a task, and of one request. In base64 they are 20 MB. */
  totalBytesMax: 15_000_000,
} as const

/**
 * An image in words, for people and for models that cannot be shown it.
 *
 * @example
 * const chart = { media_type: 'image/png', sha256: 'f'.repeat(64), bytes: 35_000, name: 'chart.png', width: 640, height: 480 } as const
 * imageText(chart) // => 'image chart.png 640×480 png 35 KB'
 */
export function imageText({ name, width, height, media_type, bytes }: ImagePart): string {
  const size = width === undefined || height === undefined ? [] : [`${width}×${height}`]
  const weight =
    bytes < 1_000
      ? `${bytes} B`
      : bytes < 1_000_000
        ? `${Math.round(bytes / 1_000)} KB`
        : `${(bytes / 1_000_000).toFixed(1)} MB`
  return [
    'image',
    ...(name === undefined ? [] : [visible(name)]),
    ...size,
    media_type.slice('image/'.length),
    weight,
  ].join(' ')
}

const baseTokens = 85

const tileTokens = 170

const tilePixels = 512

const longSideMax = 2_048

const shortSideMax = 768

/** What an image of the largest size costs. It counts for an image whose size is not known. */
const tokensMax = baseTokens + tileTokens * 8

/**
 * The estimated tokens of an image, by the published rule of OpenAI's models for images of high detail: the
 * image is made to fit into 2,048 × 2,048 pixels and to have a short side of at most 768; then it costs 85
 * tokens, and 170 more for each square of 512 pixels.
 *
 * @example
 * const square = { media_type: 'image/png', sha256: 'f'.repeat(64), bytes: 900, width: 1_024, height: 1_024 } as const
 * imageTokens(square) // => 765
 */
export function imageTokens({ width = 0, height = 0 }: Pick<ImagePart, 'width' | 'height'>): number {
  if (width === 0 || height === 0) return tokensMax
  const scale = Math.min(1, longSideMax / Math.max(width, height), shortSideMax / Math.min(width, height))
  return (
    baseTokens +
    tileTokens * Math.ceil((width * scale) / tilePixels) * Math.ceil((height * scale) / tilePixels)
  )
}
