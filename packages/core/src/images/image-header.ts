// Reads what an image is from its first bytes, never from its name. Nothing is decoded: a hostile image costs
// no more than its bytes. A size that cannot be read is not known; the image is taken all the same.
import type { ImagePart } from './image-part.ts'

/** What the first bytes of an image say. */
export type ImageHeader = Pick<ImagePart, 'media_type' | 'width' | 'height'>

/**
 * What the bytes of an image say; `null` if they are none that models take.
 *
 * @example
 * readImageHeader(Buffer.from('GIF89a\u0003\0\u0002\0', 'latin1')) // => { media_type: 'image/gif', width: 3, height: 2 }
 * readImageHeader(Buffer.from('<svg>')) // => null
 */
export function readImageHeader(content: Uint8Array): ImageHeader | null {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const starts = (text: string, at = 0): boolean =>
    bytes.length >= at + text.length && bytes.toString('latin1', at, at + text.length) === text
  if (starts('\u0089PNG\r\n\u001a\n'))
    return {
      media_type: 'image/png',
      ...(starts('IHDR', 12) && bytes.length >= 24
        ? sized(bytes.readUInt32BE(16), bytes.readUInt32BE(20))
        : {}),
    }
  if (starts('GIF87a') || starts('GIF89a'))
    return {
      media_type: 'image/gif',
      ...(bytes.length >= 10 ? sized(bytes.readUInt16LE(6), bytes.readUInt16LE(8)) : {}),
    }
  if (starts('RIFF') && starts('WEBP', 8)) return { media_type: 'image/webp', ...webpSize(bytes) }
  if (bytes.length >= 3 && bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff)
    return { media_type: 'image/jpeg', ...jpegSize(bytes) }
  return null
}

type Size = Pick<ImageHeader, 'width' | 'height'>

const sized = (width: number, height: number): Size => (width > 0 && height > 0 ? { width, height } : {})

function webpSize(bytes: Buffer): Size {
  if (bytes.length < 30) return {}
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return sized(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff)
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return sized((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1)
    }
    case 'VP8X':
      return sized(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1)
    default:
      return {}
  }
}

/** Frames SOF0 to SOF15 have the size. Four numbers among them mean other segments. */
const noFrame: ReadonlySet<number> = new Set([0xc4, 0xc8, 0xcc])

function jpegSize(bytes: Buffer): Size {
  for (let at = 2; at + 9 <= bytes.length;) {
    if (bytes[at] !== 0xff) return {}
    const marker = bytes[at + 1] as number
    if (marker === 0xff) at++
    else if (marker >= 0xc0 && marker <= 0xcf && !noFrame.has(marker))
      return sized(bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5))
    else at += 2 + Math.max(2, bytes.readUInt16BE(at + 2))
  }
  return {}
}
