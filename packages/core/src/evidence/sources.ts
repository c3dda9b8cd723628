// Finds the sources that a text names: URLs, and names that are given as text. URLs are compared without
// their scheme, their fragment, a trailing slash and the punctuation around them. Host names are compared
// without case. A name occurs only as a whole: `doc-1` does not occur in `doc-12`.
import { wordLetters } from './result-texts.ts'

/**
 * The URLs of a text, in the form in which they are compared. Each has the form in which it was first
 * written.
 */
export function urlsIn(text: string): Map<string, string> {
  const urls = new Map<string, string>()
  for (const [found] of text.matchAll(/https?:\/\/[^\s<>"'`|\\^{}（）【】《》「」，。；、]+/giu)) {
    const written = withoutPunctuation(found)
    const key = urlKey(written)
    if (key !== null && !urls.has(key)) urls.set(key, written)
  }
  return urls
}

/** Whether a text names a source. The source is a URL or a name. */
export function names(text: string, source: string): boolean {
  const key = /^https?:\/\//i.test(source) ? urlKey(source) : null
  return key === null ? occursWhole(text, source) : urlsIn(text).has(key)
}

function urlKey(url: string): string | null {
  if (!URL.canParse(url)) return null
  const { host, pathname, search } = new URL(url)
  return host + pathname.replace(/\/+$/, '') + search
}

/** A full stop after a URL and the bracket of a Markdown link are not part of the URL. */
function withoutPunctuation(url: string): string {
  let end = url.length
  const count = (mark: string): number => url.slice(0, end).split(mark).length
  for (; end > 0; end--) {
    const last = url[end - 1] ?? ''
    if (!'.,;:!?*_~)]'.includes(last)) break
    if (last === ')' && count('(') >= count(')')) break
    if (last === ']' && count('[') >= count(']')) break
  }
  return url.slice(0, end)
}

const wordCharacter = new RegExp(`[${wordLetters}\\p{Nd}_]`, 'u')

function occursWhole(text: string, name: string): boolean {
  const isWord = (character: string | undefined): boolean =>
    character !== undefined && wordCharacter.test(character)
  const [startsAsWord, endsAsWord] = [isWord(name[0]), isWord(name.at(-1))]
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    if (!(startsAsWord && isWord(text[at - 1])) && !(endsAsWord && isWord(text[at + name.length])))
      return true
  }
  return false
}
