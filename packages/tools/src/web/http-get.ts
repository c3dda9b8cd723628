// Makes one HTTP GET for a tool, bounded in time, size and redirects, without cookies, credentials, a proxy
// or a reused connection. The connection goes to the checked address: the name is not resolved again. Each
// redirect is checked like a new request, and must not lead from https to http.
// The first request loads `node:http`, with which Node.js loads its own undici: that would slow every start
// of a daemon (docs/decisions/0029).
import type { LookupAddress } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip } from 'node:zlib'
import { ToolFailure } from '@beaver/agent/tool-kit'

export interface HttpGet {
  /**
   * The addresses to which a request may go.
   *
   * @throws {ToolFailure} if there is none
   */
  readonly addressesOf: (url: URL, signal: AbortSignal) => Promise<readonly LookupAddress[]>
  readonly accept: string
  /** The limit of the unpacked body. A longer body is cut. */
  readonly bytesMax: number
  /** Whether the body of an answer is read. Default: yes. */
  readonly wants?: (type: string) => boolean
  readonly signal: AbortSignal
}

export interface HttpAnswer {
  /** The URL after redirects. */
  readonly url: URL
  readonly status: number
  /** For example `404 Not Found`. */
  readonly statusText: string
  /** `content-type` as sent. Empty if there is none. */
  readonly type: string
  /** `content-length` as sent. */
  readonly length: number | null
  /** `null`: not wanted. */
  readonly body: Buffer | null
  readonly cut: boolean
}

const redirectsMax = 5
const headerBytesMax = 32_768
const userAgent = 'Beaver (+web_fetch)'

/**
 * @throws {ToolFailure} `invalid_url`, `redirect_refused`, `connection_failed`, `bad_answer`, what
 * `addressesOf` throws; the reason of `signal`
 */
export async function httpGet(start: string | URL, options: HttpGet): Promise<HttpAnswer> {
  let url = checkedUrl(start, null)
  for (let redirects = 0; ; redirects++) {
    const answer = await requestOnce(url, options)
    const location = answer.headers.location
    if (location === undefined || ![301, 302, 303, 307, 308].includes(answer.statusCode ?? 0))
      return await readAnswer(url, answer, options)
    answer.destroy()
    if (redirects === redirectsMax)
      throw new ToolFailure(
        'redirect_refused',
        `${shown(start)} redirects more than ${redirectsMax} times. Fetch ${shown(url)} or another page.`,
      )
    url = checkedUrl(location, url)
  }
}

/**
 * @param from the base of a relative URL: the page that redirects there
 * @throws {ToolFailure} `invalid_url`, `redirect_refused`
 */
export function checkedUrl(text: string | URL, from: URL | null): URL {
  const refused = (what: string): ToolFailure =>
    from === null
      ? new ToolFailure('invalid_url', `The URL ${shown(text)} ${what}.`)
      : new ToolFailure('redirect_refused', `${shown(from)} redirects to ${shown(text)}, which ${what}.`)
  const url = URL.parse(text, from ?? undefined)
  if (url === null) throw refused('is not a URL. Write it whole, such as https://example.com/page')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refused('is neither http nor https')
  if (url.username !== '' || url.password !== '')
    throw refused('contains a user name or a password. Leave them out')
  if (from?.protocol === 'https:' && url.protocol === 'http:')
    throw refused('is not encrypted any more. Fetch it by its own URL if that is all right')
  return url
}

async function requestOnce(url: URL, { addressesOf, accept, signal }: HttpGet): Promise<IncomingMessage> {
  const addresses = await addressesOf(url, signal)
  const { request: requestOf } = await (url.protocol === 'https:'
    ? import('node:https')
    : import('node:http'))
  signal.throwIfAborted()
  const lookup: LookupFunction = (_, options, give) => {
    const [first] = addresses
    if (options.all === true) give(null, [...addresses])
    else give(null, first?.address ?? '', first?.family)
  }
  return await new Promise((resolve, reject) => {
    const request = requestOf(url, {
      method: 'GET',
      agent: false,
      lookup,
      maxHeaderSize: headerBytesMax,
      signal,
      headers: { accept, 'accept-encoding': 'gzip, br', 'user-agent': userAgent },
    })
    request.once('response', resolve)
    request.on('error', (error) => reject(failureOf(url, error, signal)))
    request.end()
  })
}

async function readAnswer(
  url: URL,
  answer: IncomingMessage,
  { bytesMax, wants, signal }: HttpGet,
): Promise<HttpAnswer> {
  const status = answer.statusCode ?? 0
  const { STATUS_CODES } = await import('node:http')
  const type = answer.headers['content-type'] ?? ''
  const length = Number(answer.headers['content-length'] ?? NaN)
  const about = {
    url,
    status,
    statusText: `${status} ${STATUS_CODES[status] ?? ''}`.trim(),
    type,
    length: Number.isFinite(length) ? length : null,
  }
  try {
    if (wants?.(type) === false) return { ...about, body: null, cut: false }
    return { ...about, ...(await readBody(unpacked(answer, bytesMax), bytesMax)) }
  } catch (error) {
    throw failureOf(url, error as Error, signal)
  } finally {
    answer.destroy()
  }
}

async function readBody(stream: Readable, bytesMax: number): Promise<{ body: Buffer; cut: boolean }> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    parts.push(chunk as Buffer)
    bytes += (chunk as Buffer).length
    if (bytes > bytesMax) break
  }
  return { body: Buffer.concat(parts).subarray(0, bytesMax), cut: bytes > bytesMax }
}

/** @throws {ToolFailure} `bad_answer` for an encoding that was not requested */
function unpacked(answer: IncomingMessage, bytesMax: number): Readable {
  const encoding = (answer.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (encoding === 'identity' || encoding === '') return answer
  const unpack =
    encoding === 'gzip' || encoding === 'x-gzip'
      ? createGunzip()
      : encoding === 'br'
        ? createBrotliDecompress()
        : null
  if (unpack === null)
    throw new ToolFailure(
      'bad_answer',
      `The answer is packed with ${JSON.stringify(encoding.slice(0, 40))}, which Beaver did not ask for.`,
    )
  let packed = 0
  // Packed data may be endless and unpack to nothing.
  answer.on(
    'data',
    (chunk: Buffer) =>
      (packed += chunk.length) > bytesMax &&
      unpack.destroy(new Error(`it is larger than ${bytesMax} bytes while packed`)),
  )
  answer.on('error', (error) => unpack.destroy(error))
  unpack.on('close', () => answer.destroy())
  return answer.pipe(unpack)
}

function failureOf(url: URL, error: Error, signal: AbortSignal): Error {
  if (signal.aborted) return signal.reason as Error
  if (error instanceof ToolFailure) return error
  const { code = '', message } = error as NodeJS.ErrnoException
  // The codes of the parser and of zlib.
  if (/^(HPE_|Z_|ERR__ERROR_|ERR_BROTLI|ERR_ZLIB)/.test(code) || code === '')
    return new ToolFailure('bad_answer', `The answer of ${url.host} cannot be read: ${message}.`)
  const several =
    error instanceof AggregateError ? error.errors.map((each: Error) => each.message).join('; ') : message
  return new ToolFailure(
    'connection_failed',
    `${url.host} cannot be reached: ${several}. Try again later, or use another page.`,
  )
}

const shown = (url: string | URL): string => {
  const text = String(url)
  return JSON.stringify((text.length > 300 ? `${text.slice(0, 300)}…` : text).replace(/\/\/[^/@]*@/, '//…@'))
}
