// web_fetch: reads one page of the public web as text, bounded in time, bytes and characters. No name,
// redirect or spelling leads to a private address (public-address.ts).
import { defineTool, type Tool, type ToolContext, ToolFailure, wholeEnd } from '@beaver/agent/tool-kit'
import { z } from 'zod'
import type { BuiltinToolOptions } from '../options.ts'
import { htmlToText } from './html-text.ts'
import { type HttpAnswer, httpGet } from './http-get.ts'
import { publicAddressesOf } from './public-address.ts'

export interface FetchedPage {
  /** The URL after redirects. */
  readonly url: string
  readonly status: number
  readonly content_type: string
  readonly title: string | null
  /** `null`: it is no text and was not fetched. */
  readonly text: string | null
  /** The size of the answer, or the size that the server announced if it was not read. */
  readonly bytes: number | null
  readonly cut: boolean
}

const charsDefault = 50_000
/** As JSON, a text of this length fits into a tool result in most scripts. */
const charsLimit = 150_000
const urlCharsMax = 4_096
/** The time to report a failure before the executor ends the call. */
const reserveMs = 1_000

export function webFetch(options: BuiltinToolOptions['webFetch']): Tool {
  return defineTool({
    name: 'web_fetch',
    description: 'Fetches a public web page: its text and links.',
    input: z.strictObject({
      url: z.string().min(1).max(urlCharsMax),
      max_chars: z.int().min(100).max(charsLimit).default(charsDefault).meta({ brief: null }),
    }),
    idempotent: true,
    effects: 'reads',
    reads: 'web',
    sink: 'fetch',
    subject: ({ url }) => shownUrl(url),
    subjectKind: 'url',
    timeoutMs: options.timeoutMs + reserveMs,
    async run({ url, max_chars }, context): Promise<FetchedPage> {
      const late = AbortSignal.timeout(options.timeoutMs)
      const signal = AbortSignal.any([context.signal, late])
      try {
        const answer = await httpGet(url, {
          addressesOf: (each, until) => publicAddressesOf(each, options.privateHosts, until),
          accept: 'text/html,application/xhtml+xml,application/json,text/*;q=0.9,*/*;q=0.5',
          bytesMax: options.bytesMax,
          wants: (type) =>
            mediaType(type) === '' ||
            mediaType(type) === 'application/octet-stream' ||
            kindOf(type, null) !== null,
          signal,
        })
        return await pageOf(answer, max_chars, { ...context, signal })
      } catch (error) {
        if (!late.aborted || context.signal.aborted) throw error
        throw new ToolFailure(
          'tool_timeout',
          `${url.slice(0, 300)} did not answer within ${options.timeoutMs / 1000} s. Try another page.`,
        )
      }
    },
  })
}

async function pageOf(answer: HttpAnswer, charsMax: number, context: ToolContext): Promise<FetchedPage> {
  const { url, status, statusText, type, body } = answer
  const about = { url: url.href, status, content_type: type }
  const kind = kindOf(type, body)
  if (status < 200 || status > 299) {
    const serverText =
      body === null || kind !== 'text' ? '' : ` It says: ${decodeText(body, type, kind).slice(0, 500)}`
    throw new ToolFailure('http_error', `${url.href} answered ${statusText}.${serverText}`)
  }
  if (body === null || kind === null)
    return {
      ...about,
      title: null,
      text: null,
      bytes: answer.length ?? body?.length ?? null,
      cut: answer.cut,
    }
  const whole = decodeText(body, type, kind)
  const page =
    kind === 'html'
      ? await htmlToText(whole, { baseUrl: url, charsMax }, context)
      : { title: null, text: start(whole, charsMax), chars: whole.length }
  return {
    ...about,
    title: page.title,
    text: page.text,
    bytes: body.length,
    cut: answer.cut || page.chars > page.text.length,
  }
}

/** The one spelling of a URL for rules. A host with a dot at its end is the same host. */
function shownUrl(url: string): string {
  const parsed = URL.parse(url)
  if (parsed === null) return url
  parsed.hostname = parsed.hostname.replace(/\.+$/, '')
  return parsed.href
}

const start = (text: string, charsMax: number): string =>
  text.length > charsMax ? text.slice(0, wholeEnd(text, charsMax)) : text

/** `text/html` of `text/html; charset=gbk`, lower case. */
const mediaType = (type: string): string => (type.split(';', 1)[0] ?? '').trim().toLowerCase()

type TextKind = 'html' | 'text'

/** Text has a text type, or no type and no NUL. `null`: it is no text, or the bytes are needed. */
function kindOf(type: string, bytes: Uint8Array | null): TextKind | null {
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
 * Decodes a page by its byte order mark, its type, or the declaration near the beginning of HTML, otherwise
 * as UTF-8. Invalid bytes become U+FFFD.
 */
function decodeText(bytes: Uint8Array, type: string, kind: TextKind): string {
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
