// Decodes the bytes of a page in the encoding that the page declares.

/** `text/html` of `text/html; charset=gbk`, lower case. */
export const mediaType = (type: string): string => (type.split(';', 1)[0] ?? '').trim().toLowerCase()

export type TextKind = 'html' | 'text'

/**
 * Text is what has a text type, and what has no type and no NUL. `null`: it is something else, or the bytes
 * are needed to decide.
 */
export function kindOf(type: string, bytes: Uint8Array | null): TextKind | null {
  const media = mediaType(type)
  if (media === 'text/html' || media === 'application/xhtml+xml') return 'html'
  if (media.startsWith('text/') || textual.has(media) || /\+(json|xml|yaml)$/.test(media)) return 'text'
  if (media !== '' && media !== 'application/octet-stream') return null
  if (bytes === null || bytes.subarray(0, sniffedBytes).includes(0)) return null
  return /^\s*<(!doctype\s+html|html)\b/i.test(new TextDecoder().decode(bytes.subarray(0, sniffedBytes)))
    ? 'html'
    : 'text'
}

const sniffedBytes = 8_000
const textual = new Set([
  'application/json',
  'application/xml',
  'application/javascript',
  'application/x-javascript',
  'application/ld+json',
  'application/x-ndjson',
  'application/yaml',
  'application/x-yaml',
  'application/toml',
  'application/sql',
  'application/x-sh',
])

/**
 * By the byte order mark, the type, or the declaration near the beginning of an HTML page, otherwise UTF-8.
 * Invalid bytes become U+FFFD.
 */
export function decodeText(bytes: Uint8Array, type: string, kind: TextKind): string {
  const label =
    markOf(bytes) ??
    /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(type)?.[1] ??
    (kind === 'html' ? declared(bytes) : undefined)
  return decoderOf(label).decode(bytes)
}

function markOf([a, b, c]: Uint8Array): string | undefined {
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8'
  if (a === 0xfe && b === 0xff) return 'utf-16be'
  return a === 0xff && b === 0xfe ? 'utf-16le' : undefined
}

function declared(bytes: Uint8Array): string | undefined {
  return /<meta[^>]{1,200}?charset\s*=\s*["']?([\w-]{1,40})/i.exec(
    new TextDecoder('latin1').decode(bytes.subarray(0, 1_024)),
  )?.[1]
}

function decoderOf(label: string | undefined): TextDecoder {
  try {
    return new TextDecoder(label)
  } catch {
    return new TextDecoder() // an unknown encoding
  }
}
