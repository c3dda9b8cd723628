// Versions: what a version number is and which of two is newer. Runs nothing. Only the three numbers count: a
// pre-release compares equal to its release.

/**
 * The first `major.minor[.patch]` in a text, or null.
 * @param {string} text
 * @returns {string | null}
 */
export function parseVersion(text) {
  const found = /(?<![\d.])v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text)
  return found ? `${found[1]}.${found[2]}.${found[3] ?? 0}` : null
}

/**
 * Is `found` as new as `needed`? Null (nothing found) is not.
 * @param {string | null} found
 * @param {string} needed
 * @returns {boolean}
 */
export function isAtLeast(found, needed) {
  if (found === null) return false
  const a = numbers(found)
  const b = numbers(needed)
  for (let i = 0; i < 3; i += 1) {
    if (a[i] !== b[i]) return a[i] > b[i]
  }
  return true
}

/**
 * The version a `packageManager` field asks for.
 * @param {string | undefined} field such as `pnpm@12.21.0`, with or without `+sha512.…`
 * @returns {string}
 * @throws {Error} when the field does not name an exact pnpm version
 */
export function pnpmVersionOf(field) {
  const found = /^pnpm@(\d+\.\d+\.\d+[^+\s]*)/.exec(field ?? '')
  if (!found) throw new Error('package.json: "packageManager" must name an exact pnpm version')
  return found[1]
}

function numbers(version) {
  return version.split('.', 3).map((part) => Number.parseInt(part, 10) || 0)
}
