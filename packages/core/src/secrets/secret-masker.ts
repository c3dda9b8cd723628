// Replaces secrets in texts by marks: `[secret:OPENAI_API_KEY]`, `[secret:aws_access_key]`. It sits on the
// way of every event, so it reads a text once, by pairs of bytes, and most texts contain few pairs with which
// a secret could begin. A masked text contains no known value in any of its spellings, and nothing of the
// shape of a well-known key. Masking is idempotent: a mark contains no secret. A text or value without a
// secret is returned as it is: the same string, the same object.
import type { SecretPattern } from './secret-patterns.ts'
import { secretPatterns } from './secret-patterns.ts'
import { isHideable, type KnownSecret, spellingsOf } from './secret-spellings.ts'

export interface SecretMasker {
  /** @param start what comes before this place is only looked at. Default: 0 */
  mask(text: string, start?: number): string
  /** The places of the secrets, in order and without overlaps. */
  find(text: string): readonly FoundSecret[]
  /**
   * How much of a text that still grows is decided: whatever follows, no secret begins before this place and
   * ends behind it.
   */
  decided(text: string): number
}

export interface FoundSecret {
  readonly name: string
  readonly from: number
  readonly to: number
}

type Candidate = { readonly anchor: string } & (
  | { readonly name: string }
  | { readonly pattern: SecretPattern }
)

/** The first characters of each anchor that are looked for. */
const windowLength = 3
const nothing: readonly FoundSecret[] = []

/**
 * The low byte of each character of a piece of the text. To read bytes takes a fraction of the time that it
 * takes to read characters. A character beyond ASCII may look like another one here, so what is found is
 * compared with the text itself.
 */
const pieceLength = 65_536
const bytes = Buffer.alloc(pieceLength + windowLength)

/** @returns how many characters were copied */
function copied(text: string, start: number): number {
  if (start === 0 && text.length <= pieceLength) return bytes.write(text, 0, pieceLength, 'latin1')
  return bytes.write(text.slice(start, start + pieceLength), 0, pieceLength, 'latin1')
}

export function secretMasker(known: readonly KnownSecret[]): SecretMasker {
  return new Masker(known)
}

const markOf = (name: string): string => `[secret:${name.replace(/[^\w.-]/g, '_')}]`

const windowHash = (first: number, second: number, third: number): number =>
  ((first << 8) ^ (second << 4) ^ third) & 0x7fff

class Masker implements SecretMasker {
  /** The list of candidates for each pair of ASCII characters, as an index into `#lists`; 0: none. */
  readonly #pairs = new Uint16Array(128 * 128)
  readonly #lists: { readonly candidate: Candidate; readonly offset: number }[][] = [[]]
  /** Whether an anchor may begin with three characters, by their hash. */
  readonly #windows = new Uint8Array(32_768)
  /** Spellings that do not begin with ASCII. They are rare. */
  readonly #others: { readonly anchor: string; readonly name: string }[] = []
  readonly #anchors: { readonly anchor: string; readonly pattern?: SecretPattern }[] = []

  constructor(known: readonly KnownSecret[]) {
    const spellings = known
      .filter(({ value }) => isHideable(value))
      .flatMap(({ name, value }) => spellingsOf(value).map((anchor) => ({ anchor, name })))
    // A longer spelling first: a secret may begin another one.
    for (const each of spellings.toSorted((a, b) => b.anchor.length - a.anchor.length)) {
      if (/^[\x20-\x7f]{3}/.test(each.anchor)) this.#add(each)
      else this.#others.push(each)
      this.#anchors.push({ anchor: each.anchor })
    }
    for (const pattern of secretPatterns)
      for (const anchor of pattern.anchors) {
        this.#add({ anchor, pattern })
        this.#anchors.push({ anchor, pattern })
      }
  }

  mask(text: string, start = 0): string {
    const all = this.find(text)
    const found = start === 0 ? all : all.filter(({ from }) => from >= start)
    if (found.length === 0) return start === 0 ? text : text.slice(start)
    let masked = ''
    let at = start
    for (const { name, from, to } of found) {
      masked += text.slice(at, from) + markOf(name)
      at = to
    }
    return masked + text.slice(at)
  }

  find(text: string): readonly FoundSecret[] {
    let found: FoundSecret[] | null = null
    let masked = 0
    for (let start = 0; ; start += pieceLength - windowLength + 1) {
      const length = copied(text, start)
      // An anchor has a pair of its characters at every second place.
      for (let i = 0; i < length - 1; i += 2) {
        const first = (bytes[i] as number) & 127
        const second = (bytes[i + 1] as number) & 127
        const list = this.#pairs[(first << 7) | second] as number
        // Only then the third character, after the pair or before it.
        if (
          list === 0 ||
          (!this.#hasWindow(first, second, bytes[i + 2] as number) &&
            !this.#hasWindow(i === 0 ? 0 : (bytes[i - 1] as number), first, second))
        )
          continue
        const one = this.#at(text, start + i, list, masked)
        if (one === null) continue
        found ??= []
        found.push(one)
        masked = one.to
      }
      if (start + length >= text.length) break
    }
    return this.#others.length > 0 ? this.#withOthers(text, found ?? nothing) : (found ?? nothing)
  }

  decided(text: string): number {
    let open = text.length
    for (const { anchor, pattern } of this.#anchors) {
      const from = pattern === undefined ? beginningAtEnd(text, anchor) : growingAtEnd(text, anchor, pattern)
      if (from < open) open = from
    }
    // A secret that was found may be the beginning of a longer one.
    for (const { to, from } of this.find(text))
      if (to >= Math.min(open, text.length - 1)) return Math.min(open, from)
    return open
  }

  #hasWindow(first: number, second: number, third: number): boolean {
    return this.#windows[windowHash(first & 127, second, third & 127)] === 1
  }

  #add(candidate: Candidate): void {
    const { anchor } = candidate
    this.#windows[windowHash(anchor.charCodeAt(0), anchor.charCodeAt(1), anchor.charCodeAt(2))] = 1
    for (let offset = 0; offset < windowLength - 1; offset++) {
      const pair = (anchor.charCodeAt(offset) << 7) | anchor.charCodeAt(offset + 1)
      if (this.#pairs[pair] === 0) this.#pairs[pair] = this.#lists.push([]) - 1
      this.#lists[this.#pairs[pair] as number]?.push({ candidate, offset })
    }
  }

  #at(text: string, place: number, list: number, masked: number): FoundSecret | null {
    for (const { candidate, offset } of this.#lists[list] ?? []) {
      const from = place - offset
      if (
        from < masked ||
        text.charCodeAt(from + 2) !== candidate.anchor.charCodeAt(2) ||
        !text.startsWith(candidate.anchor, from)
      )
        continue
      if ('name' in candidate) return { name: candidate.name, from, to: from + candidate.anchor.length }
      const found = shaped(text, from, candidate.pattern)
      if (found !== null) return found
    }
    return null
  }

  #withOthers(text: string, found: readonly FoundSecret[]): readonly FoundSecret[] {
    const all = [...found]
    for (const { anchor, name } of this.#others)
      for (let from = text.indexOf(anchor); from >= 0; from = text.indexOf(anchor, from + anchor.length))
        all.push({ name, from, to: from + anchor.length })
    if (all.length === found.length) return found
    const kept: FoundSecret[] = []
    for (const each of all.toSorted((a, b) => a.from - b.from || b.to - a.to))
      if (each.from >= (kept.at(-1)?.to ?? 0)) kept.push(each)
    return kept
  }
}

function shaped(
  text: string,
  at: number,
  { name, shape, wordStart = true, accepts }: SecretPattern,
): FoundSecret | null {
  if (wordStart && !startsWord(text, at)) return null
  shape.lastIndex = at
  const match = shape.exec(text)
  const [from, to] = match?.indices?.[1] ?? match?.indices?.[0] ?? [0, 0]
  if (match === null || accepts?.(text.slice(from, to)) === false) return null
  return { name, from, to }
}

/**
 * Whether a word may begin here. A letter before this place may be part of an escape: `\n` in JSON, `%0A` in
 * a URL.
 */
function startsWord(text: string, at: number): boolean {
  const before = text[at - 1] ?? ' '
  if (!/[A-Za-z0-9_-]/.test(before)) return true
  return (
    (/[bfnrt]/.test(before) && text[at - 2] === '\\') ||
    /(?:%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4})$/.test(text.slice(Math.max(0, at - 6), at))
  )
}

/**
 * Where the end of a text is the beginning of `anchor`, and no more than that; the length of the text:
 * nowhere.
 */
function beginningAtEnd(text: string, anchor: string): number {
  const first = anchor.charCodeAt(0)
  for (let from = Math.max(0, text.length - anchor.length + 1); from < text.length; from++)
    if (text.charCodeAt(from) === first && anchor.startsWith(text.slice(from))) return from
  return text.length
}

/**
 * Where a secret of this shape may have begun that the text does not end yet; the length of the text:
 * nowhere.
 */
function growingAtEnd(
  text: string,
  anchor: string,
  { wordStart = true, goesOn = /^[\x21-\x7e]*$/ }: SecretPattern,
): number {
  const growsAt = (from: number): boolean =>
    (!wordStart || startsWord(text, from)) && goesOn.test(text.slice(from + anchor.length))
  for (
    let from = text.indexOf(anchor, Math.max(0, text.length - growingCharactersMax));
    from >= 0;
    from = text.indexOf(anchor, from + 1)
  )
    if (growsAt(from)) return from
  const from = beginningAtEnd(text, anchor)
  return from === text.length || (wordStart && !startsWord(text, from)) ? text.length : from
}

/** A longer text without an end is no secret, and who follows a task waits for it. */
const growingCharactersMax = 32_768
