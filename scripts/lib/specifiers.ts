// The specifiers in a compiled module: which there are, and what they become in the published package. There
// is one package, so a name of this workspace becomes a path to a file. Pure: it works on texts.
import { dirname, relative } from 'node:path'

/** The published file of each export of this workspace, and of each bundled module, from the package's root. */
export type PublishedFiles = ReadonlyMap<string, string>

export interface Rewritten {
  readonly text: string
  /** What is left and is no path: `zod`, `node:fs`. */
  readonly bare: readonly string[]
  /** Names of this workspace that no map has. */
  readonly unknown: readonly string[]
}

interface ExportsOf {
  readonly name: string
  readonly publishConfig?: {
    readonly exports?: Readonly<Record<string, string | { readonly default: string }>>
  }
}

/** Adds the exports of a package of this workspace. `dir` is its folder from the root. */
export function filesOf(dir: string, { name, publishConfig }: ExportsOf): [string, string][] {
  return Object.entries(publishConfig?.exports ?? {}).map(([path, value]) => {
    const file = typeof value === 'string' ? value : value.default
    return [path === '.' ? name : name + path.slice(1), `${dir}/${file.replace(/^\.\//, '')}`]
  })
}

const pattern =
  /(^(?:import|export|})(?:[^'"]*\b)?\s*from\s*|\bimport\s*\(\s*|^import\s+|import\.meta\.resolve\(\s*|createRequire\(import\.meta\.url\)\(\s*)(['"])([@\w.][\w@./-]*|node:[\w/]+)\2/gm

/**
 * Rewrites one file.
 *
 * @param file its path from the package's root
 * @param inComments the published name of a name of this workspace: examples show what a user types
 */
export function rewriteSpecifiers(
  text: string,
  file: string,
  files: PublishedFiles,
  inComments: ReadonlyMap<string, string>,
): Rewritten {
  const bare = new Set<string>()
  const unknown = new Set<string>()
  const replaced = text.replace(/\n?\/\/# sourceMappingURL=.*$/m, '').split('\n')
  const lines = replaced.map((line) => {
    if (/^\s*(?:\*|\/\/|\/\*)/.test(line))
      return line.replace(/(['"])(@beaver\/[\w/-]+)\1/g, (whole, quote: string, name: string) => {
        const shown = inComments.get(name)
        return shown === undefined ? whole : quote + shown + quote
      })
    return line.replace(pattern, (whole, head: string, quote: string, specifier: string) => {
      if (/^\.{1,2}\//.test(specifier)) return whole
      const target = files.get(specifier)
      if (target !== undefined) return head + quote + pathTo(file, target) + quote
      if (specifier.startsWith('@beaver/')) unknown.add(specifier)
      else bare.add(specifier)
      return whole
    })
  })
  return { text: lines.join('\n'), bare: [...bare], unknown: [...unknown] }
}

function pathTo(file: string, target: string): string {
  const path = relative(dirname(file), target)
  return path.startsWith('.') ? path : `./${path}`
}

/** The files that a file of types names by their paths, as files of types. */
export function typesNamedIn(text: string): readonly string[] {
  return [...text.matchAll(pattern)]
    .map((match) => match[3] ?? '')
    .filter((specifier) => /^\.{1,2}\//.test(specifier))
    .map((specifier) => specifier.replace(/\.(?:ts|js)$/, '.d.ts'))
}

/** The names that a compiled module exports from others, one by one. Names of types are not among them. */
export function exportedNames(text: string): readonly string[] {
  return [...text.matchAll(/^export \{([^}]*)\}/gm)]
    .flatMap((match) => (match[1] ?? '').split(','))
    .map((part) => part.trim().replace(/^.* as /, ''))
    .filter((name) => name !== '')
}
