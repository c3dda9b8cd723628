// The rules about names and sizes, as pure functions like those of rules.ts: facts in, findings out. A name
// that two modules export is judged by where it is defined: a re-export is the same name. What is listed as
// an exception and needs none is a finding, so that the lists cannot rot.
import { posix } from 'node:path'
import type { Facts } from './facts.ts'
import { isTest, type Package, packageName } from './rules.ts'
import { type Exception, functionLinesMax, type Row } from './table.ts'

/** Functions of sources that do not fit a screen. Those of tests may be longer. */
export function longFunctions(files: readonly Facts[]): string[] {
  const sources = files.filter(({ path }) => !isTest(path) && !path.startsWith('packages/testing/'))
  return sources.flatMap(({ path, functions }) =>
    functions
      .filter(({ lines }) => lines > functionLinesMax)
      .map(
        ({ name, line, lines }) => `${path}:${line} ${name} has ${lines} lines, ${functionLinesMax} allowed`,
      ),
  )
}

/** Rows of the table that name what no source imports. */
export function idleRows(
  files: readonly Facts[],
  table: Readonly<Record<string, Row>>,
  testRow: Row,
  otherwise: readonly Exception[] = [],
): string[] {
  const unused = (name: string, row: Row, of: readonly Facts[]): string[] => {
    const imported = new Set(of.flatMap(({ imports }) => imports.map(({ specifier }) => specifier ?? '')))
    const reached = new Set(
      [...imported].flatMap((specifier) =>
        specifier.startsWith('node:') ? specifier : [specifier, packageName(specifier)],
      ),
    )
    const listed = [
      ...row.packages.map((each) => `@beaver/${each}`),
      ...row.modules,
      ...(row.node === 'any' ? [] : row.node.map((each) => `node:${each}`)),
    ]
    const isExcepted = (each: string): boolean =>
      otherwise.some(({ path, what }) => path === name && what === each)
    return listed.flatMap((each) => {
      if (reached.has(each) !== isExcepted(each)) return []
      return reached.has(each)
        ? `${name} imports ${each}: it needs no exception`
        : `the row ${name} names ${each}, which nothing there imports`
    })
  }
  const tests = files.filter(({ path }) => isTest(path) && /^(?:packages|apps)\//.test(path))
  return [
    ...Object.entries(table).flatMap(([folder, row]) =>
      unused(
        folder,
        row,
        files.filter(({ path }) => path.startsWith(`${folder}/`) && !isTest(path)),
      ),
    ),
    ...unused('of the tests', testRow, tests),
  ]
}

/**
 * Values that a source exports and no other file imports. An import that takes everything takes every name.
 */
export function idleExports(
  files: readonly Facts[],
  packages: readonly Package[],
  allowed: readonly Exception[],
): string[] {
  const reach = reacher(files, packages)
  const taken = new Set(
    files.flatMap(({ path, imports }) =>
      imports.flatMap(({ specifier, names }) =>
        reach(path, specifier).flatMap((to) => names.map((name) => `${to}#${name}`)),
      ),
    ),
  )
  const idle = files
    .filter(({ path }) => /^(?:packages|apps)\/[^/]+\/src\//.test(path) && !isTest(path))
    .flatMap(({ path, exports }) =>
      exports.filter(({ kind }) => kind === 'value').map(({ name, line }) => ({ path, line, name })),
    )
    .filter(({ path, name }) => !taken.has(`${path}#${name}`) && !taken.has(`${path}#*`))
  const covers = ({ path, what }: Exception, each: { path: string; name: string }): boolean =>
    path === each.path && (what === '*' || what === each.name)
  return [
    ...idle
      .filter((each) => !allowed.some((row) => covers(row, each)))
      .map(({ path, line, name }) => `${path}:${line} exports ${name}, which nobody imports`),
    ...allowed
      .filter((row) => !idle.some((each) => covers(row, each)))
      .map(({ path, what }) => `${path} needs no exception for ${what} any more`),
  ]
}

/** Names that the packages export with more than one meaning. */
export function twiceDefined(
  files: readonly Facts[],
  packages: readonly Package[],
  allowed: readonly Exception[],
): string[] {
  const reach = reacher(files, packages)
  const byPath = new Map(files.map((file) => [file.path, file]))
  const originOf = (path: string, name: string): string => {
    const from = byPath.get(path)?.exports.find((each) => each.name === name)?.from
    if (from === undefined || from === null) return path
    const [next] = reach(path, from.specifier).filter(
      (to) => byPath.get(to)?.exports.some((each) => each.name === from.name) === true,
    )
    return next === undefined ? from.specifier : originOf(next, from.name)
  }
  const origins = new Map<string, Set<string>>()
  for (const { folder, manifest } of packages)
    for (const entry of entriesOf(folder, manifest))
      for (const { name } of byPath.get(entry)?.exports ?? [])
        origins.set(name, (origins.get(name) ?? new Set()).add(originOf(entry, name)))
  const twice = [...origins].filter(([, places]) => places.size > 1)
  return [
    ...twice
      .filter(([name]) => allowed.every(({ what }) => what !== name))
      .map(([name, places]) => `${name} is defined in ${[...places].toSorted().join(' and ')}`),
    ...allowed
      .filter(({ what }) => twice.every(([name]) => name !== what))
      .map(({ what }) => `${what} needs no exception any more: it has one definition`),
  ]
}

const entriesOf = (folder: string, { exports = {} }: Package['manifest']): string[] =>
  Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? posix.join(folder, entry) : []))

/** The files that an import may reach: one for a path, every entry of a package. */
function reacher(
  files: readonly Facts[],
  packages: readonly Package[],
): (path: string, specifier: string | null) => readonly string[] {
  const known = new Set(files.map(({ path }) => path))
  const entries = new Map(
    packages.map(({ folder, manifest }) => [manifest.name, entriesOf(folder, manifest)]),
  )
  return (path, specifier) => {
    if (specifier === null) return []
    if (!specifier.startsWith('.')) return entries.get(packageName(specifier)) ?? []
    const target = posix.join(posix.dirname(path), specifier)
    return known.has(target) ? [target] : []
  }
}
