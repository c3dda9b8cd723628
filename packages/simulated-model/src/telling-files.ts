// Finds the files that say what a folder is.
import type { FileList } from './known.ts'

const readMax = 5

/** The most useful first. Earlier patterns win, and among equals the file that is nearest to the folder. */
const telling: readonly RegExp[] = [
  /^readme(\.\w+)*$/i,
  /^(package\.json|cargo\.toml|pyproject\.toml|go\.mod|pom\.xml|composer\.json|gemfile|build\.gradle(\.kts)?|setup\.py|mix\.exs|deno\.json)$/i,
  /^(licen[cs]e|copying)(\.\w+)?$/i,
  /^(index|overview|introduction|about|skill|summary)\.(md|txt|rst|html)$/i,
  /^(architecture|contributing|changelog|history|agents|claude)\.md$/i,
  /^(makefile|dockerfile|docker-compose\.ya?ml|justfile)$/i,
]
const anyProse = /\.(md|txt|rst|adoc|org)$/i

export function tellingFiles(list: FileList | null): string[] {
  const files = (list?.entries ?? [])
    .filter((entry) => entry.kind === 'file' && entry.bytes !== 0)
    .map((entry) => entry.path)
  const ranked = files
    .map((path) => ({ path, depth: path.split('/').length, rank: rankOf(path) }))
    .filter(({ rank, depth }) => rank !== -1 && depth - rootDepth(list) <= 2)
    .toSorted((a, b) => a.depth - b.depth || a.rank - b.rank || (a.path < b.path ? -1 : 1))
  if (ranked.length > 0) return ranked.slice(0, readMax).map(({ path }) => path)
  return files.filter((path) => anyProse.test(path)).slice(0, 2)
}

const rankOf = (path: string): number =>
  telling.findIndex((pattern) => pattern.test(path.slice(path.lastIndexOf('/') + 1)))

const rootDepth = (list: FileList | null): number =>
  list === null || list.path === '.' ? 0 : list.path.split('/').length
