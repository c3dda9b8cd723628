// Tool names at a provider: canonical ids outside `^[a-zA-Z0-9_-]{1,64}$` are encoded into it, and decoded on the call (D-13).
// N1. A name that fits is sent as it is. N2. Two names that do not fit never have the same encoding, except that long ones are
//     told apart by 132 bits of their hash. N3. An encoding may be another tool's own name: `toolNameCollision` finds that,
//     when tools are loaded, before any is offered.
// The encoding: letters, digits and `_` as they are, `-` as `--`, `:` as `-_`, any other UTF-16 unit as `-HH` or `-uHHHH`.
// What would be longer than 64 is cut and ends in `-h` and its hash; only a table of the names there are leads back from it.
import { createHash } from 'node:crypto'

const fits = /^[a-zA-Z0-9_-]{1,64}$/
const charsMax = 64
const hashChars = 22
const escapes = /-(?:-|_|[0-9A-F]{2}|u[0-9A-F]{4})/g

/**
 * The name a provider knows a tool by.
 *
 * @example toolNameAtProvider('workflow:summarize_text') // 'workflow-_summarize_text'
 */
export function toolNameAtProvider(name: string): string {
  if (fits.test(name)) return name
  const escaped = name.replace(/[^a-zA-Z0-9_]/g, escape)
  if (escaped !== '' && escaped.length <= charsMax) return escaped
  const hash = createHash('sha256').update(name, 'utf16le').digest('base64url').slice(0, hashChars)
  return `${escaped.slice(0, charsMax - hashChars - 2)}-h${hash}`
}

/** The tool a provider's name stands for, by its spelling alone; the name itself when it is no encoding, or one with a hash. */
export function toolNameFromProvider(name: string): string {
  const decoded = name.replace(escapes, unescape)
  return decoded !== name && toolNameAtProvider(decoded) === name ? decoded : name
}

/** The tools that a provider's names stand for: the offered ones first, then by spelling. */
export function toolNamesFromProvider(offered: readonly { readonly name: string }[]): (name: string) => string {
  const byEncoding = new Map(offered.map(({ name }) => [toolNameAtProvider(name), name]))
  return (name) => byEncoding.get(name) ?? toolNameFromProvider(name)
}

/** Two different tools that a provider could not tell apart; `null` when there are none. */
export function toolNameCollision(names: readonly string[]): readonly [string, string] | null {
  const byEncoding = new Map<string, string>()
  for (const name of names) {
    const encoded = toolNameAtProvider(name)
    const other = byEncoding.get(encoded)
    if (other !== undefined && other !== name) return [other, name]
    byEncoding.set(encoded, name)
  }
  return null
}

function escape(unit: string): string {
  if (unit === '-') return '--'
  if (unit === ':') return '-_'
  const hex = unit.charCodeAt(0).toString(16).toUpperCase()
  return hex.length <= 2 ? `-${hex.padStart(2, '0')}` : `-u${hex.padStart(4, '0')}`
}

function unescape(sequence: string): string {
  if (sequence === '--') return '-'
  if (sequence === '-_') return ':'
  return String.fromCharCode(Number.parseInt(sequence.replace(/^-u?/, ''), 16))
}
