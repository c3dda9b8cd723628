// An endpoint's cache for the beginnings of requests, as the guides of OpenAI, Anthropic and xAI describe
// theirs. It compares text, so division into parts does not matter.
// - `automatic`: each machine keeps all its requests. Without a key, requests go to the machines in turn.
// - `marked`: keeps only a beginning that ends at a mark. A request finds it at a mark, or at one of the 20
//   parts before it.
// - `breakpoints`: keeps only a beginning that ends at a mark or at the newest message, and finds it wherever
//   a part of a request ends.

/** The tokens of a request that were read from the cache and written to it. Four characters are one token. */
export interface CacheUse {
  readonly input: number
  readonly cached: number
  readonly written: number
}

export interface PrefixCacheOptions {
  readonly kind: 'automatic' | 'marked' | 'breakpoints'
  /** Shorter beginnings are not kept. Default: 64. */
  readonly tokensMin?: number
  /** Default: 1. */
  readonly machines?: number
}

export interface PrefixCache {
  /**
   * Takes a request.
   *
   * @param key the cache key, if it is not in the body
   * @throws an Error with the endpoint's words if the request has more than four marks, or a mark without a
   * text
   */
  use(body: string, key?: string): CacheUse
}

const lookBackParts = 20
const marksMax = 4

export function prefixCache({ kind, tokensMin = 64, machines = 1 }: PrefixCacheOptions): PrefixCache {
  const kept: readonly Set<string>[] = Array.from({ length: machines }, () => new Set<string>())
  const machineOf = new Map<string, number>()
  let next = 0

  function machine(key: string | undefined): Set<string> {
    const turn = (): number => next++ % machines
    const index = key === undefined ? turn() : (machineOf.get(key) ?? turn())
    if (key !== undefined) machineOf.set(key, index)
    return kept[index] ?? new Set()
  }

  function use(body: string, given?: string): CacheUse {
    const asked = JSON.parse(body) as Body
    const parts = partsOf(asked)
    const marks = parts.filter(({ marked }) => marked)
    if (marks.length > marksMax)
      throw new Error(`A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`)
    if (marks.some(({ text }) => text.trim() === ''))
      throw new Error('cache_control cannot be set for empty text blocks')
    const ends = endsOf(parts)
    const there = machine(asked.prompt_cache_key ?? given)
    const text = parts.map((part) => part.text).join('')
    const long = (end: number): boolean => tokens(end) >= tokensMin
    const has = (end: number): boolean => there.has(text.slice(0, end))
    const cached = Math.max(0, ...found(kind, parts, ends).filter((end) => long(end) && has(end)))
    const stored = written(kind, parts, ends).filter(long)
    const last = Math.max(0, ...stored)
    for (const end of stored) there.add(text.slice(0, end))
    return {
      input: tokens(text.length),
      cached: tokens(cached),
      written: kind === 'automatic' ? 0 : tokens(Math.max(0, last - cached)),
    }
  }

  return { use }
}

/** The ends at which a request finds a kept beginning. */
function found(
  kind: PrefixCacheOptions['kind'],
  parts: readonly Part[],
  ends: readonly number[],
): readonly number[] {
  if (kind !== 'marked') return ends
  return parts.flatMap(({ marked }, i) =>
    marked ? ends.slice(Math.max(0, i - lookBackParts + 1), i + 1) : [],
  )
}

/** The ends up to which a request is kept. */
function written(
  kind: PrefixCacheOptions['kind'],
  parts: readonly Part[],
  ends: readonly number[],
): readonly number[] {
  if (kind === 'automatic') return ends
  return ends.filter((_, i) => parts[i]?.marked === true || (kind === 'breakpoints' && i === ends.length - 1))
}

const tokens = (chars: number): number => Math.floor(chars / 4)

function endsOf(parts: readonly Part[]): readonly number[] {
  let end = 0
  return parts.map(({ text }) => (end += text.length))
}

interface Part {
  readonly text: string
  readonly marked: boolean
}

interface WirePart {
  readonly text?: string
  readonly cache_control?: unknown
  readonly prompt_cache_breakpoint?: unknown
}
interface WireMessage extends WirePart {
  readonly type?: string
  readonly role?: string
  readonly content?: string | readonly WirePart[] | null
  readonly [more: string]: unknown
}
interface Body {
  readonly tools?: readonly unknown[]
  readonly messages?: readonly WireMessage[]
  readonly input?: readonly WireMessage[]
  readonly prompt_cache_key?: string
}

/** The tools, then the messages. */
function partsOf({ tools = [], messages, input = [] }: Body): readonly Part[] {
  return [
    ...tools.map((tool) => ({ text: JSON.stringify(tool), marked: false })),
    ...(messages ?? input).flatMap(messageParts),
  ]
}

function messageParts({ content, cache_control: whole, ...rest }: WireMessage): readonly Part[] {
  const head = `<${JSON.stringify(rest)}>`
  const parts = typeof content === 'string' ? [{ text: content }] : (content ?? [])
  const texts = parts.map(({ text = '', cache_control: mark, prompt_cache_breakpoint: point }) => ({
    text,
    marked: mark !== undefined || point !== undefined,
  }))
  const [first = { text: '', marked: false }, ...others] = texts
  const all = [{ ...first, text: `${head}${first.text}` }, ...others]
  // A mark at the message is at its end.
  return whole === undefined
    ? all
    : all.map((part, i) => (i === all.length - 1 ? { ...part, marked: true } : part))
}
