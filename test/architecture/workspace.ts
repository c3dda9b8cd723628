// The workspace as the tests of the architecture see it: the facts of all sources and tests, and the
// packages.
import { globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Facts, factsOf } from './facts.ts'
import type { Manifest, Package } from './rules.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
const listed = (pattern: string): string[] =>
  globSync(pattern, {
    cwd: root,
    exclude: (path) => /(?:^|\/)(?:node_modules|dist|\.beaver|vite\.config\.ts)(?:\/|$)/.test(path),
  })
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted()

export const files = listed('{packages,apps,test,bench,scripts}/**/*.{ts,tsx,mjs}').map((path) =>
  factsOf(path, read(path)),
)
export const packages = listed('{packages,apps}/*/package.json').map((path): Package => {
  const folder = posix.dirname(path)
  const { references } = JSON.parse(read(`${folder}/tsconfig.json`)) as { references: { path: string }[] }
  return {
    folder,
    manifest: JSON.parse(read(path)) as Manifest,
    references: references.map((reference) => posix.join(folder, reference.path)),
  }
})

/** A small package for planted faults. */
export const core: Package = {
  folder: 'packages/core',
  manifest: { name: '@beaver/core', dependencies: { zod: '1' }, exports: { '.': './src/index.ts' } },
  references: [],
}
/** A file that does not exist, with this text. */
export const planted = (path: string, text: string): readonly Facts[] => [factsOf(path, text)]
