// The images that one call of a tool shows: checked, and durable before the result that refers to them. Their
// number is bounded. Images that come after the result are ignored.
import { imageLimits, type ImagePart } from '@beaver/core/images'
import type { LoopHost } from '../loop/loop-spec.ts'
import { ToolFailure } from '../tools/tool-failure.ts'
import { keepContent } from './image-contents.ts'
import { imageOf } from './image-file.ts'

/** The images of a call. */
export interface CallImages {
  /** `ToolContext.showImage` of the call. */
  readonly show: (content: Uint8Array, name?: string) => Promise<ImagePart>
  /** What was shown until now. */
  shown(): readonly ImagePart[]
}

/**
 * The images of one call, each checked and stored when it is shown.
 *
 * @example
 * const images = callImages({ storeBlob: async () => {} })
 * await images.show(Buffer.from('GIF89a\u0003\0\u0002\0', 'latin1'), 'dot.gif')
 * images.shown().map(({ name, width }) => [name, width]) // => [['dot.gif', 3]]
 */
export function callImages({ storeBlob }: Pick<LoopHost, 'storeBlob'>): CallImages {
  const images: ImagePart[] = []
  let under = 0
  return {
    shown: () => [...images],
    async show(bytes, name) {
      const { image, content } = imageOf(bytes, name)
      const total = images.reduce((sum, each) => sum + each.bytes, image.bytes)
      if (images.length + ++under > imageLimits.perTaskMax || total > imageLimits.totalBytesMax) {
        under--
        const limits = `${imageLimits.perTaskMax} images and ${imageLimits.totalBytesMax} bytes`
        throw new ToolFailure(
          'too_many_images',
          `One call shows at most ${limits}. Show the others with another call.`,
        )
      }
      try {
        await storeBlob(image.sha256, content)
      } catch {
        throw new ToolFailure(
          'images_unavailable',
          'The image could not be stored, so it is not shown. Try again later.',
        )
      } finally {
        under--
      }
      keepContent(image.sha256, content)
      images.push(image)
      return image
    },
  }
}
