// Sends images that are too large for one message of NATS: in parts, which a daemon stores before the task
// names them. The same image has the same parts, so a repeated request is the same request.
import { BeaverError, imageLimits } from '@beaver/core'
import { imagePartBytesMax, type SubmitTask } from '@beaver/contracts'

type Image = NonNullable<SubmitTask['images']>[number]

/** The characters of all images that a request has in itself. The rest of the message is for its texts. */
const inRequestCharsMax = 200_000

/**
 * The task with its images in parts, if they have too many characters for one message.
 *
 * @param store stores a part, in base64, and returns its SHA-256
 * @throws {BeaverError} `too_large` for an image that is larger than any that is taken
 */
export async function withImageParts(
  task: SubmitTask,
  store: (data: string) => Promise<string>,
): Promise<SubmitTask> {
  const { images = [] } = task
  const chars = images.reduce(
    (sum, image) => sum + (typeof image === 'object' && 'data' in image ? image.data.length : 0),
    0,
  )
  if (chars <= inRequestCharsMax) return task
  const sent: Image[] = []
  for (const image of images)
    sent.push(typeof image === 'object' && 'data' in image ? await inParts(image, store) : image)
  return { ...task, images: sent }
}

async function inParts(
  { data, ...rest }: Extract<Image, { data: string }>,
  store: (data: string) => Promise<string>,
): Promise<Image> {
  const { bytesMax } = imageLimits
  if (data.length > Math.ceil(bytesMax / 3) * 4)
    throw new BeaverError(
      'too_large',
      `An image has about ${Math.floor((data.length * 3) / 4)} bytes, and at most ${bytesMax} are taken. Make it smaller.`,
    )
  const parts: string[] = []
  const charsMax = Math.floor(imagePartBytesMax / 3) * 4
  for (let at = 0; at < data.length; at += charsMax) parts.push(await store(data.slice(at, at + charsMax)))
  return { parts, ...rest }
}
