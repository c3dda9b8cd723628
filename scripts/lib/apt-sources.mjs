// Apt sources: reads the two formats of a machine's package sources and finds in them where it takes Debian
// packages from. Reads texts, runs nothing. No archive address is known here: all come from the machine's own
// sources. A wrong guess is harmless: whatever is fetched must be signed by Debian.

/**
 * @typedef {object} AptSource
 * @property {readonly string[]} types
 * @property {readonly string[]} uris
 * @property {readonly string[]} suites
 * @property {readonly string[]} components
 * @property {string} signedBy path of the keyring, or ''
 */

/**
 * The enabled sources of a deb822 file (`*.sources`).
 * @param {string} text
 * @returns {AptSource[]}
 */
export function parseDeb822(text) {
  const lines = text.split(/\r?\n/).filter((line) => !line.startsWith('#'))
  return lines
    .join('\n')
    .split(/\n[ \t]*\n/)
    .map(fieldsOf)
    .filter((fields) => fields.has('uris') && !/^(no|false|0|off)$/i.test(fields.get('enabled') ?? ''))
    .map((fields) => ({
      types: words(fields.get('types')),
      uris: words(fields.get('uris')),
      suites: words(fields.get('suites')),
      components: words(fields.get('components')),
      signedBy: words(fields.get('signed-by'))[0] ?? '',
    }))
}

/**
 * The sources of a one-line file (`sources.list`, `*.list`).
 * @param {string} text
 * @returns {AptSource[]}
 */
export function parseOneLine(text) {
  const sources = []
  for (const raw of text.split(/\r?\n/)) {
    const found = /^\s*(deb(?:-src)?)\s+(?:\[([^\]]*)\]\s*)?(\S+)\s+(\S+)\s*(.*)$/.exec(
      raw.replace(/#.*$/, ''),
    )
    if (!found) continue
    const [, type, options, uri, suite, components] = found
    const signedBy = /(?:^|\s)signed-by=(\S+)/i.exec(options ?? '')?.[1] ?? ''
    sources.push({ types: [type], uris: [uri], suites: [suite], components: words(components), signedBy })
  }
  return sources
}

/**
 * Addresses of the Debian archive, the likeliest first; none when the machine
 * does not take binary packages of its own Debian release from anywhere.
 * @param {readonly AptSource[]} sources
 * @param {string} codename of the machine's release, such as `bookworm`
 * @returns {string[]}
 */
export function debianUris(sources, codename) {
  const releases = new Set([codename, 'stable', 'testing', 'unstable', 'sid', 'oldstable'])
  const ranked = sources
    .filter((source) => source.types.includes('deb') && source.components.includes('main'))
    .filter((source) => source.suites.some((suite) => releases.has(suite)))
    .flatMap((source) => source.uris.map((uri) => ({ uri, rank: rankOf(source, uri) })))
    .filter(({ uri }) => !uri.startsWith('cdrom:'))
    .sort((a, b) => b.rank - a.rank)
  return [...new Set(ranked.map(({ uri }) => uri))]
}

// A third party's repository may carry the release's name too; Debian's own is
// the one with Debian's keyring, a path that says so, and an updates suite.
function rankOf(source, uri) {
  return (
    (/debian-archive/.test(source.signedBy) ? 4 : 0) +
    (/\/debian\/?$/.test(uri) ? 2 : 0) +
    (source.suites.some((suite) => suite.endsWith('-updates')) ? 1 : 0)
  )
}

function fieldsOf(stanza) {
  const fields = new Map()
  let last = ''
  for (const line of stanza.split('\n')) {
    const found = /^([A-Za-z][A-Za-z0-9-]*):\s*(.*)$/.exec(line)
    if (found) fields.set((last = found[1].toLowerCase()), found[2])
    else if (/^\s/.test(line) && last) fields.set(last, `${fields.get(last)} ${line.trim()}`)
  }
  return fields
}

function words(text) {
  return (text ?? '').split(/\s+/).filter((word) => word !== '')
}
