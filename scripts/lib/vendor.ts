// Bundles the modules of others that are in the published package: each one file, and files that they share.
// They are read as pnpm installed them, so with the patches of this workspace. Their licences are collected.
import { existsSync, globSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { sharedWithVendored, vendored } from './published.ts'

export interface BundledLibrary {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly licenseText: string | null
}

const prefix = 'beaver-vendor-entry-'

/** Writes the bundles into `dir` and tells which packages are in them, by name. */
export async function bundleVendored(root: string, dir: string): Promise<readonly BundledLibrary[]> {
  const entries = Object.entries(vendored)
  const input = Object.fromEntries(entries.map(([, { file }]) => [file, prefix + file]))
  // An entry stands in the folder of the package that declares the module, so it finds that version.
  const texts = new Map(
    entries.map(([specifier, { file, from }]) => [
      join(root, from, `${prefix}${file}.mjs`),
      entryText(specifier, join(root, from, 'package.json')),
    ]),
  )
  const bundle = await rolldown({
    input,
    platform: 'node',
    external: [...sharedWithVendored],
    logLevel: 'warn',
    plugins: [
      {
        name: 'entries',
        resolveId: (id) => [...texts.keys()].find((path) => path.endsWith(`/${id}.mjs`)) ?? null,
        load: (id) => texts.get(id) ?? null,
      },
    ],
  })
  try {
    const { output } = await bundle.write({ dir, format: 'esm', minify: false })
    const files = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
    return librariesOf(files.filter((file) => file.includes('/node_modules/')))
  } finally {
    await bundle.close()
  }
}

/** A module of CommonJS tells its names only when it runs, and `export *` of it gives none. */
function entryText(specifier: string, manifest: string): string {
  const text = JSON.stringify(specifier)
  if (!isCommonJs(specifier, manifest))
    return `export * from ${text}\n${hasDefault(specifier) ? `export { default } from ${text}\n` : ''}`
  const names = Object.keys(createRequire(manifest)(specifier) as object).filter(
    (name) => /^[A-Za-z_$][\w$]*$/.test(name) && name !== 'default',
  )
  return `import all from ${text}\nexport default all\nexport const { ${names.join(', ')} } = all\n`
}

const hasDefault = (specifier: string): boolean => specifier === 'openai'
const isCommonJs = (specifier: string, manifest: string): boolean =>
  specifier === 'undici' && createRequire(manifest).resolve(specifier).endsWith('.js')

function librariesOf(files: readonly string[]): readonly BundledLibrary[] {
  const found = new Map<string, BundledLibrary>()
  for (const folder of new Set(files.map(packageFolder))) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      name: string
      version: string
      license?: string
    }
    const [file] = globSync('{LICENSE,LICENCE,license,licence}*', { cwd: folder }).toSorted()
    found.set(`${name}@${version}`, {
      name,
      version,
      license: license ?? 'see its text',
      licenseText: file === undefined ? null : readFileSync(join(folder, file), 'utf8'),
    })
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** The folder of the package to which a module belongs: the nearest one whose package.json has a version. */
function packageFolder(file: string): string {
  for (let folder = dirname(realpathSync(file)); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json')
    if (existsSync(manifest) && 'version' in (JSON.parse(readFileSync(manifest, 'utf8')) as object))
      return folder
  }
  throw new Error(`${file} belongs to no package.`)
}

/** The file that goes into the package beside the bundles. */
export function licensesText(libraries: readonly BundledLibrary[]): string {
  const parts = libraries.map(
    ({ name, version, license, licenseText }) =>
      `## ${name} ${version} (${license})\n\n${licenseText?.trim() ?? 'Its package has no text of the licence.'}\n`,
  )
  return `The folder vendor contains these libraries.\n\n${parts.join('\n')}`
}
