// The digest of what a folder asks for: the settings that need consent, and the files that these settings
// run, with the files that a module imports by a relative path (not computed imports or packages). Other
// settings and files do not change it. It is the same wherever the folder is, so a machine can be configured
// to accept it. Reading is bounded: a folder beyond the bounds has no digest, so it can only be trusted
// whatever it contains.
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { canonicalJson, type JsonValue } from '@beaver/core'

const filesMax = 2_000
const bytesMax = 64 * 1024 * 1024

export interface TrustDigest {
  /** `sha256:…`, or `null` beyond the bounds. */
  readonly digest: string | null
  /** The SHA-256 of each file that is run, by its absolute path. */
  readonly files: ReadonlyMap<string, string>
}

/** @param folder the folder of the configuration file @param settings the values that need consent, by key */
export function trustDigest(folder: string, settings: Readonly<Record<string, unknown>>): TrustDigest {
  const hashed = new Map<string, string>()
  let bytes = 0
  const left = startsOf(folder, settings)
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (hashed.has(path)) continue
    if (hashed.size >= filesMax || bytes > bytesMax) return { digest: null, files: hashed }
    const content = contentOf(path)
    hashed.set(path, content === null ? 'missing' : sha256(content))
    if (content === null) continue
    bytes += content.length
    if (/\.[cm]?[jt]sx?$/.test(path))
      left.push(
        ...importsOf(content.toString('utf8'))
          .map((target) => resolve(dirname(path), target))
          .filter(isFile),
      )
  }
  const files = [...hashed]
    .map(([path, hash]): [string, string] => [relative(folder, path), hash])
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return { digest: digestOf({ version: 1, settings, files }), files: hashed }
}

/** The files that the settings name: modules, and what the command line of an MCP server names. */
function startsOf(folder: string, settings: Readonly<Record<string, unknown>>): string[] {
  const modules = texts(settings['tools']).map((path) => resolve(folder, path))
  const servers = Object.values(record(settings['mcp'])).flatMap((server) => {
    const { command, args, cwd } = record(server)
    const at = resolve(folder, ...texts(cwd))
    const words = [...texts(command).filter((word) => word.includes('/')), ...texts(args)]
    // An argument may also be `--require=./file.js`.
    return words
      .flatMap((word) => [word, word.slice(word.indexOf('=') + 1)])
      .map((word) => resolve(at, word))
      .filter((path) => isFile(path))
  })
  return [...modules, ...servers]
}

/**
 * Static imports, dynamic imports and `require` of a relative path. What only looks like one costs a hash,
 * and nothing else.
 */
const importsOf = (source: string): string[] =>
  [...source.matchAll(/(?:\bfrom|\bimport|\brequire|\bURL)\s*\(?\s*['"`](\.{1,2}\/[^'"`\n]+)['"`]/g)].map(
    ([, target = '']) => target,
  )

function contentOf(path: string): Buffer | null {
  try {
    return isFile(path) ? readFileSync(path) : null
  } catch {
    return null
  }
}

function isFile(path: string): boolean {
  const found = statOf(path)
  return found !== null && found.isFile() && found.size <= bytesMax
}

function statOf(path: string) {
  try {
    return statSync(path)
  } catch {
    return null
  }
}

/** `null` for a value that has no canonical form, because it is nested too deeply. */
function digestOf(value: unknown): string | null {
  try {
    return `sha256:${sha256(canonicalJson(value as JsonValue))}`
  } catch {
    return null
  }
}

export const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex')

const texts = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((each): each is string => typeof each === 'string')
const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {}
