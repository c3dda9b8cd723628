// Compares the pattern of a rule with what a call acts on. A rule that asks or denies holds for every
// spelling of the same path, address or command; a rule that allows holds for the subject as written. The
// host of a pattern is first brought into the spelling of subjects: lower case, ASCII, no dot at its end, no
// usual port.
import { foldedText } from '../files/folded-text.ts'
import { patternOfAddress } from '../hosts/host-pattern.ts'
import { matchesPattern } from './rule-pattern.ts'
import { judgedLine } from './programs/command-rule.ts'

/** What the subject of a tool is. */
export const subjectKinds = ['text', 'path', 'url', 'command'] as const
/** What the subject of a tool is. */
export type SubjectKind = (typeof subjectKinds)[number]

/** A subject that rules are compared with. */
export interface JudgedSubject {
  /**
   * Whether a rule that asks or denies holds. Says for which spelling, if that is not the subject itself.
   * `possible`: nobody can read all of it, and the rule could hold.
   */
  restricts(pattern: string): { readonly as: string | null; readonly possible?: boolean } | null
  /** Whether a rule that allows holds. */
  allows(pattern: string): boolean
}

export function judgedSubject(kind: SubjectKind, subject: string): JudgedSubject {
  switch (kind) {
    case 'text':
      return {
        restricts: (pattern) => (matchesPattern(pattern, subject) ? { as: null } : null),
        allows: (pattern) => matchesPattern(pattern, subject),
      }
    case 'path':
      return judgedPath(subject)
    case 'url':
      return judgedAddress(subject)
    case 'command':
      return judgedLine(subject)
    default:
      return kind satisfies never
  }
}

function judgedPath(path: string): JudgedSubject {
  let folded: readonly string[] | undefined
  return {
    restricts(pattern) {
      if (matchesPattern(pattern, path)) return { as: null }
      const spelled = (folded ??= pathSpellings(path)).find((each) =>
        matchesPattern(foldedText(pattern), each),
      )
      return spelled === undefined ? null : { as: spelled }
    },
    allows: (pattern) => matchesPattern(pattern, path),
  }
}

/** Windows leaves out dots and spaces at the end of a name, and what follows a colon. */
function pathSpellings(path: string): string[] {
  const folded = foldedText(path)
  const bare = folded
    .split('/')
    .map((name) => name.replace(/:.*$/s, '').replace(/[. ]+$/, '') || name)
    .join('/')
  return [...new Set([folded, bare])]
}

function judgedAddress(address: string): JudgedSubject {
  const url = URL.parse(address)
  const named = url !== null && (url.username !== '' || url.password !== '')
  return {
    restricts(pattern) {
      if (matchesPattern(pattern, address)) return { as: null }
      const own = patternOfAddress(pattern)
      const spelled = addressSpellings(address, url).find(
        (each) => matchesPattern(own, each) || matchesPattern(pattern, each),
      )
      return spelled === undefined ? null : { as: spelled === address ? null : spelled }
    },
    // Before the "@" stands no host, although it looks like one.
    allows: (pattern) =>
      (!named || pattern.includes('@') || /^\**$/.test(pattern)) &&
      matchesPattern(patternOfAddress(pattern), address),
  }
}

function addressSpellings(address: string, url: URL | null): string[] {
  if (url === null) return [address]
  const bare = new URL(url)
  bare.username = ''
  bare.password = ''
  bare.hostname = bare.hostname.replace(/\.+$/, '')
  return [...new Set([address, bare.href, unescaped(bare.href)])]
}

function unescaped(href: string): string {
  try {
    return decodeURIComponent(href)
  } catch {
    return href
  }
}
