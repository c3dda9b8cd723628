// Reads images from open files and from bytes of a request. The first bytes decide what an image is, not its
// name; the refusal of other content says what to do. No more than the largest image is read, also if the
// file grows. The content stays as it is, with its metadata, so journal, model and file have the same
// SHA-256.
import { imageLimits, type ImagePart, readImageHeader } from '@beaver/core/images'
import { hash } from 'node:crypto'
import type { OpenedFile } from '../files/open-inside.ts'
import { openFileInside } from '../files/open-inside.ts'
import { readPart } from '../files/file-part.ts'
import { quoted, workspaceRoot } from '../files/workspace-path.ts'
import { ToolFailure } from '../tools/tool-failure.ts'

/** An image with its content. */
export interface ImageContent {
  readonly image: ImagePart
  readonly content: Uint8Array
}

/**
 * What the bytes are, under a name.
 *
 * @throws {ToolFailure} `not_an_image`, `image_too_large`
 * @example
 * const dot = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
 * imageOf(dot, 'dot.png').image.media_type // => 'image/png'
 */
export function imageOf(content: Uint8Array, name: string | undefined): ImageContent {
  const called = name === undefined ? 'The image' : quoted(name)
  if (content.length > imageLimits.bytesMax) throw tooLarge(called, content.length)
  const header = readImageHeader(content)
  if (header === null)
    throw new ToolFailure(
      'not_an_image',
      `${called} ${otherKind(content)}. Models take PNG, JPEG, GIF and WebP: convert it to one of them.`,
    )
  return {
    image: {
      ...header,
      sha256: hash('sha256', content),
      bytes: content.length,
      ...(name === undefined ? {} : { name }),
    },
    content,
  }
}

/**
 * A part of an image that is sent in several, by its SHA-256.
 *
 * @param data in base64
 * @example
 * imagePartOf('aGk=').content.toString() // => 'hi'
 */
export function imagePartOf(data: string): { readonly sha256: string; readonly content: Buffer } {
  const content = Buffer.from(data, 'base64')
  return { sha256: hash('sha256', content), content }
}

/**
 * Reads an open file as an image. The caller closes it.
 *
 * @throws {ToolFailure} `not_an_image`, `image_too_large`
 */
export async function readImageFile({ handle, shown }: OpenedFile): Promise<ImageContent> {
  const { size } = await handle.stat()
  if (size > imageLimits.bytesMax) throw tooLarge(quoted(shown), size)
  return imageOf(await readPart(handle, 0, Math.min(size, imageLimits.bytesMax) + 1), shown)
}

/**
 * Reads an image of a workspace that a person names. The path is followed as the file tools follow it.
 *
 * @throws {ToolFailure} `not_an_image`, `image_too_large`, and what `openFileInside` throws
 * @example
 * const missing = await readWorkspaceImage('.', 'no-such-image.png').catch(() => 'there is none')
 * missing // => 'there is none'
 */
export async function readWorkspaceImage(workspace: string, path: string): Promise<ImageContent> {
  await using file = await openFileInside(workspaceRoot(workspace), path)
  return await readImageFile(file)
}

const tooLarge = (called: string, bytes: number): ToolFailure =>
  new ToolFailure(
    'image_too_large',
    `${called} has ${bytes} bytes, and an image may have at most ${imageLimits.bytesMax}. Make it smaller first.`,
  )

const otherKinds: readonly (readonly [RegExp, string])[] = [
  [
    /^\s*(<\?xml[^>]*>\s*)?(<!--[^]*?-->\s*)?(<!doctype svg[^>]*>\s*)?<svg[\s>]/i,
    'is an SVG drawing, not a picture of pixels',
  ],
  [/^%PDF-/, 'is a PDF document'],
  [/^BM/, 'is a BMP image'],
  [/^(II\*\0|MM\0\*)/, 'is a TIFF image'],
  [/^....ftyp(heic|heix|mif1|msf1)/s, 'is a HEIC image'],
  [/^....ftypavi[fs]/s, 'is an AVIF image'],
]

function otherKind(content: Uint8Array): string {
  const start = Buffer.from(content.subarray(0, 512)).toString('latin1')
  return otherKinds.find(([pattern]) => pattern.test(start))?.[1] ?? 'is no image that is known here'
}
