// The images of a request: read, checked and stored before the task is accepted, so the task keeps them even
// if the files change. A path follows the rules of the file tools, so it leads nowhere that an agent could
// not read.
import { posix } from 'node:path'
import { type ImageContent, imageOf, readWorkspaceImage, ToolFailure } from '@beaver/agent'
import { imagePartBytesMax, type RequestRead } from '@beaver/contracts'
import { BeaverError, type BlobStore } from '@beaver/core'
import { imageLimits, type ImagePart } from '@beaver/core/images'

type Given = NonNullable<RequestRead<'task.submit'>['images']>

/**
 * The images of a request whose task exists already, for comparison with that task's. Reads no file, compares
 * by path, and stores nothing.
 *
 * @throws {BeaverError} `invalid_arguments` with the place of the image
 */
export async function namedImages(given: Given, blobs: Pick<BlobStore, 'get'>): Promise<ImagePart[]> {
  const named: ImagePart[] = []
  for (const [i, each] of given.entries()) {
    // A path is below the workspace, so its shortest form is its name.
    if (typeof each === 'string')
      named.push({ name: posix.normalize(each), sha256: '', bytes: 0, media_type: 'image/png' })
    else named.push((await atPlace(i, async () => imageOf(await contentOf(each, blobs), each.name))).image)
  }
  return named
}

/** @throws {BeaverError} `invalid_arguments` with the place of the image */
export async function taskImages(
  given: Given,
  workspace: string,
  blobs: Pick<BlobStore, 'get' | 'put'>,
): Promise<ImagePart[]> {
  const read: ImageContent[] = []
  for (const [i, each] of given.entries()) {
    read.push(
      await atPlace(i, async () =>
        typeof each === 'string'
          ? readWorkspaceImage(workspace, each)
          : imageOf(await contentOf(each, blobs), each.name),
      ),
    )
    const bytes = read.reduce((sum, { image }) => sum + image.bytes, 0)
    if (bytes > imageLimits.totalBytesMax)
      throw refused(
        i,
        `The images have more than ${imageLimits.totalBytesMax} bytes together. Leave some out, or make them smaller.`,
        'too_many_images',
      )
  }
  for (const { image, content } of read) await blobs.put(image.sha256, content)
  return read.map(({ image }) => image)
}

async function contentOf(
  given: Exclude<Given[number], string>,
  blobs: Pick<BlobStore, 'get'>,
): Promise<Buffer> {
  if ('data' in given) return Buffer.from(given.data, 'base64')
  const parts: Uint8Array[] = []
  for (const sha256 of given.parts) {
    try {
      const part = await blobs.get(sha256)
      // The blob may be something else, for example an event that is too large for a message.
      if (part.length > imagePartBytesMax)
        throw new ToolFailure(
          'no_such_part',
          `What is stored as ${sha256} is larger than a part of an image.`,
        )
      parts.push(part)
    } catch (error) {
      if (!(error instanceof BeaverError && error.code === 'blob_missing')) throw error
      throw new ToolFailure(
        'no_such_part',
        `The part ${sha256} of an image is not stored. Store each part with "image.store" first.`,
      )
    }
  }
  return Buffer.concat(parts)
}

async function atPlace<Value>(i: number, act: () => Promise<Value>): Promise<Value> {
  try {
    return await act()
  } catch (error) {
    throw error instanceof ToolFailure ? refused(i, error.message, error.code) : error
  }
}

function refused(i: number, message: string, code: string): BeaverError {
  return new BeaverError('invalid_arguments', message, { problems: [{ path: `images.${i}`, message, code }] })
}
