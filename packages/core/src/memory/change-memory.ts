// Decides what a change makes of a memory (D-45); a MemoryStore stores the result. A refused change and a
// repeated one leave everything as it was. Entries are trimmed, not empty, in NFC, and without control
// characters except line breaks and tabs. A target that exceeds its limit may only shrink.
import type { MemoryAnswer, MemoryChange, MemorySnapshot, MemoryTarget } from '../ports/memory-store.ts'

/** The length of all entries of each target together, in characters (UTF-16 units). */
export type MemoryLimits = Readonly<Record<MemoryTarget, number>>

export interface ChangedMemory {
  readonly answer: MemoryAnswer
  /** The memory to store; `null` if it does not change. */
  readonly next: MemorySnapshot | null
}

type Refusal = Extract<MemoryAnswer, { ok: false }>

/**
 * The answer to a change, and the memory after it.
 *
 * @param limits the limit of each target
 * @example
 * const limits = { memory: 2_000, user: 1_000 }
 * const { answer, next } = changeMemory(emptyMemory, { action: 'add', target: 'user', content: 'Ada writes English.' }, limits)
 * answer.ok // => true
 * next?.user // => ['Ada writes English.']
 */
export function changeMemory(
  snapshot: MemorySnapshot,
  change: MemoryChange,
  limits: MemoryLimits,
): ChangedMemory {
  const { target } = change
  const entries = snapshot[target]
  const charsMax = limits[target]
  const next = changedEntries(entries, change)
  if (!Array.isArray(next)) return { answer: next as Refusal, next: null }
  const chars = charsOf(next)
  const changed = next !== entries
  if (changed && chars > charsMax && chars >= charsOf(entries))
    return { answer: full(target, entries, { chars, charsMax }), next: null }
  return {
    answer: { ok: true, changed, entries: next, chars, charsMax },
    next: changed ? { ...snapshot, [target]: next } : null,
  }
}

/** The entries after the change. It is the same array if nothing changes. */
function changedEntries(entries: readonly string[], change: MemoryChange): readonly string[] | Refusal {
  if (change.action === 'add') {
    const content = entryOf(change.content)
    if (typeof content !== 'string') return content
    return entries.includes(content) ? entries : [...entries, content]
  }
  const sought = plain(change.old_text)
  if (sought === '')
    return refused(
      'invalid_arguments',
      `old_text is empty. Give a part of the entry to ${change.action} that no other entry has.`,
    )
  if (change.action === 'remove') {
    const place = find(entries, sought, change.target)
    return typeof place === 'number' ? entries.toSpliced(place, 1) : place
  }
  const content = entryOf(change.content)
  if (typeof content !== 'string') return content
  // If the change is repeated, old_text may now be part of an entry that was never meant.
  if (entries.includes(content) && !entries.includes(sought)) return entries
  const place = find(entries, sought, change.target)
  if (typeof place !== 'number') return place
  if (entries[place] === content) return entries
  return entries.includes(content) ? entries.toSpliced(place, 1) : entries.with(place, content)
}

/**
 * The entry that equals the text; otherwise the only entry that contains it. Of identical entries, it is the
 * first.
 */
function find(entries: readonly string[], sought: string, target: MemoryTarget): number | Refusal {
  const exact = entries.indexOf(sought)
  if (exact >= 0) return exact
  const [only, ...others] = new Set(entries.filter((entry) => entry.includes(sought)))
  const shown = JSON.stringify(excerpt(sought))
  if (only === undefined)
    return refused('no_match', `No entry of ${target} contains ${shown}. ${listed(target, entries)}`)
  if (others.length === 0) return entries.indexOf(only)
  return refused(
    'ambiguous_match',
    `${others.length + 1} entries of ${target} contain ${shown}: ${list([only, ...others])}. Give more of the one you mean.`,
  )
}

function full(
  target: MemoryTarget,
  entries: readonly string[],
  { chars, charsMax }: { chars: number; charsMax: number },
): Refusal {
  return refused(
    'memory_full',
    `Not stored: ${target} has ${charsOf(entries)} of ${charsMax} characters and would have ${chars}. Remove or shorten entries first. ${listed(target, entries)}`,
  )
}

function entryOf(text: string): string | Refusal {
  const entry = plain(text)
  if (entry === '') return refused('invalid_arguments', 'content is empty. Give the fact to remember.')
  const control = /[^\P{Cc}\n\t]/u.exec(entry)?.[0]
  if (control === undefined) return entry
  const code = control.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')
  return refused(
    'invalid_arguments',
    `content contains the control character U+${code}. Send plain text; line breaks and tabs are fine.`,
  )
}

const plain = (text: string): string => text.toWellFormed().normalize('NFC').replaceAll('\r\n', '\n').trim()

const charsOf = (entries: readonly string[]): number => entries.reduce((sum, entry) => sum + entry.length, 0)

const refused = (code: string, message: string): Refusal => ({ ok: false, code, message })

const listedMax = 12
const excerptCharsMax = 60

const listed = (target: MemoryTarget, entries: readonly string[]): string =>
  entries.length === 0 ? `${target} is empty.` : `Entries: ${list(entries)}.`

function list(entries: readonly string[]): string {
  const shown = entries.slice(0, listedMax).map((entry) => JSON.stringify(excerpt(entry)))
  return `${shown.join(', ')}${entries.length > listedMax ? ` and ${entries.length - listedMax} more` : ''}`
}

const excerpt = (text: string): string =>
  text.length <= excerptCharsMax ? text : `${text.slice(0, excerptCharsMax - 1).toWellFormed()}…`
