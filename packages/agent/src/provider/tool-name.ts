// Tool names at a provider: ids outside `^[a-zA-Z0-9_-]{1,64}$` are encoded into this form, and decoded when
// a call comes (D-13). The encoding keeps letters, digits and `_`; it writes `-` as `--`, `:` as `-_`, and
// any other UTF-16 unit as `-HH` or `-uHHHH`. One longer than 64 is cut and ends in `-h` and 132 bits of its
// hash; only a table of the names leads back from it. `toolNameCollision` finds an encoding that is another
// tool's own name before any tool is offered.
import { createHash } from 'node:crypto'

const fits = /^[a-zA-Z0-9_-]{1,64}$/
const charsMax = 64
const hashChars = 22
const escapes = /-(?:-|_|[0-9A-F]{2}|u[0-9A-F]{4})/g

/**
 * The name by which a provider knows a tool.
 *
 * @example
 * toolNameAtProvider('workflow:summarize_text') // => 'workflow-_summarize_text'
 * toolNameAtProvider('read_file') // => 'read_file'
 */
export function toolNameAtProvider(name: string): string {
  if (fits.test(name)) return name
  const escaped = name.replace(/[^a-zA-Z0-9_]/g, escape)
  if (escaped !== '' && escaped.length <= charsMax) return escaped
  const hash = createHash('sha256').update(name, 'utf16le').digest('base64url').slice(0, hashChars)
  return `${escaped.slice(0, charsMax - hashChars - 2)}-h${hash}`
}

/**
 * The tool that a provider's name means, by its spelling alone. It is the name itself if that is no encoding,
 * or one with a hash.
 */
export function toolNameFromProvider(name: string): string {
  const decoded = name.replace(escapes, unescape)
  return decoded !== name && toolNameAtProvider(decoded) === name ? decoded : name
}

/**
 * Finds the tools that a provider's names mean: first among the offered tools, then by spelling.
 *
 * @example
 * const nameOf = toolNamesFromProvider([{ name: 'workflow:summarize_text' }])
 * nameOf('workflow-_summarize_text') // => 'workflow:summarize_text'
 */
export function toolNamesFromProvider(
  offered: readonly { readonly name: string }[],
): (name: string) => string {
  const byEncoding = new Map(offered.map(({ name }) => [toolNameAtProvider(name), name]))
  return (name) => byEncoding.get(name) ?? byEncoding.get(withoutFormat(name)) ?? toolNameFromProvider(name)
}

/**
 * Parts of a model's own format, which servers leave in a name: `functions.read_file` and
 * `read_file<|channel|>commentary`.
 */
const withoutFormat = (name: string): string =>
  name
    .replace(/<\|.*$/s, '')
    .replace(/^(functions|default_api)[.:]/, '')
    .trim()

/**
 * Finds two different tools that a provider could not tell apart. Returns `null` if there are none.
 *
 * @example
 * toolNameCollision(['read_file', 'write_file']) // => null
 * toolNameCollision(['workflow:sum', 'workflow-_sum']) // => ['workflow:sum', 'workflow-_sum']
 */
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
