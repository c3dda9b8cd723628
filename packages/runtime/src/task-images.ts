// The images of a request, as they are when the task is accepted: read, checked and durable.
// M1. A path is followed as the file tools follow it, so it leads nowhere that an agent could not read.
// M2. The content is durable before the task is accepted. A task that waits shows what it was accepted with, even if the file changes.
// M3. A request that is repeated for a task that was accepted needs no file any more: its images are the same by their paths.
import { posix } from 'node:path'
import { type ImageContent, imageOf, readWorkspaceImage, ToolFailure } from '@beaver/agent'
import type { RequestRead } from '@beaver/contracts'
import { BeaverError, type BlobStore, imageLimits, type ImagePart } from '@beaver/core'

type Given = NonNullable<RequestRead<'task.submit'>['images']>

/**
 * The images of a request for a task that there is already, as they are compared with those of the task. Nothing is read or stored.
 *
 * @throws {BeaverError} `invalid_arguments` with the place of the image
 */
export function namedImages(given: Given): ImagePart[] {
  return given.map((each, i) => {
    // A path is below the workspace, so its shortest form is its name.
    if (typeof each === 'string') return { name: posix.normalize(each), sha256: '', bytes: 0, media_type: 'image/png' }
    try {
      return imageOf(Buffer.from(each.data, 'base64'), each.name).image
    } catch (error) {
      throw error instanceof ToolFailure ? refused(i, error.message, error.code) : error
    }
  })
}

/** @throws {BeaverError} `invalid_arguments` with the place of the image */
export async function taskImages(given: Given, workspace: string, blobs: Pick<BlobStore, 'put'>): Promise<ImagePart[]> {
  const read: ImageContent[] = []
  for (const [i, each] of given.entries()) {
    try {
      read.push(typeof each === 'string' ? await readWorkspaceImage(workspace, each) : imageOf(Buffer.from(each.data, 'base64'), each.name))
    } catch (error) {
      if (error instanceof ToolFailure) throw refused(i, error.message, error.code)
      throw error
    }
    const bytes = read.reduce((sum, { image }) => sum + image.bytes, 0)
    if (bytes > imageLimits.totalBytesMax)
      throw refused(i, `The images have more than ${imageLimits.totalBytesMax} bytes together. Leave some out, or make them smaller.`, 'too_many_images')
  }
  for (const { image, content } of read) await blobs.put(image.sha256, content)
  return read.map(({ image }) => image)
}

function refused(i: number, message: string, code: string): BeaverError {
  return new BeaverError('invalid_arguments', message, { problems: [{ path: `images.${i}`, message, code }] })
}
