// Puts the published package together in a folder: our own code as tsc wrote it and in the folders of this
// repository, so that every path from a module to a worker or a skill stays right; the bundles of others in
// `vendor`; and a package.json that names what a program can import. Types are those that a program can reach.
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { importedByUsers } from '@beaver/platform/installation'
import {
  natsServerName,
  natsServerPlatforms,
  optionalPeers,
  packageName,
  pathsWithPeers,
  repository,
  sideEffects,
  subPaths,
  vendored,
} from './published.ts'
import { readPins } from './pins.mjs'
import { exportedNames, filesOf, type PublishedFiles, rewriteSpecifiers, typesNamedIn } from './specifiers.ts'
import { type BundledLibrary, bundleVendored, licensesText } from './vendor.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly publishConfig?: {
    readonly exports?: Readonly<Record<string, string | { readonly default: string }>>
  }
}

export interface Assembled {
  readonly manifest: { readonly name: string; readonly version: string; readonly dependencies: Versions }
  readonly libraries: readonly BundledLibrary[]
  readonly files: number
  /** What must not be: a specifier that nothing resolves, a public type of a bundled module. */
  readonly faults: readonly string[]
}

type Versions = Readonly<Record<string, string>>

const keywords = ['agents', 'llm', 'multi-agent', 'workflow', 'durable-execution', 'nats', 'mcp', 'actors']
/** Folders whose modules read a package.json beside `dist`, for the version. */
const withVersion = ['apps/cli', 'packages/platform']

/** @param out an empty folder */
export async function assemble(root: string, out: string): Promise<Assembled> {
  const packages = readPackages(root)
  const files = publishedFiles(packages)
  const libraries = await bundleVendored(root, join(out, 'vendor'))
  const faults: string[] = []
  const copied = copyCode(root, out, files, faults)
  const version = packages[0]?.manifest.version ?? '0.0.0'
  const exports = writeExports(out, files, faults)
  keepReachableTypes(out, Object.values(exports), faults)
  const dependencies = foreignVersions(
    root,
    packages,
    (name) => !isVendored(name) && !optionalPeers.includes(name),
  )
  const peers = foreignVersions(root, packages, (name) => optionalPeers.includes(name))
  for (const name of copied.bare.filter(
    (each) => dependencies[each] === undefined && peers[each] === undefined,
  ))
    faults.push(`${name} is imported, and is neither a dependency nor bundled.`)
  copyFixed(root, out, version)
  writeFileSync(join(out, 'THIRD_PARTY_LICENSES'), licensesText(libraries))
  const manifest = manifestOf(version, exports, dependencies, peers)
  writeFileSync(join(out, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  return { manifest, libraries, files: copied.count, faults }
}

interface Package {
  readonly dir: string
  readonly manifest: Manifest
}

const readPackages = (root: string): readonly Package[] =>
  globSync('{packages,apps}/*/package.json', { cwd: root })
    .toSorted()
    .filter((file) => !file.startsWith('packages/testing/'))
    .map((file) => ({
      dir: dirname(file),
      manifest: JSON.parse(readFileSync(join(root, file), 'utf8')) as Manifest,
    }))

function publishedFiles(packages: readonly Package[]): PublishedFiles {
  return new Map([
    ...packages.flatMap(({ dir, manifest }) => filesOf(dir, manifest)),
    ['@beaver/console-app/web/index.html', 'apps/console/dist/web/index.html'],
    ...Object.entries(vendored).map(([name, { file }]): [string, string] => [name, `vendor/${file}.js`]),
  ])
}

/** The code of all packages, without maps, tests and the sources of the console. */
function copyCode(
  root: string,
  out: string,
  files: PublishedFiles,
  faults: string[],
): { readonly count: number; readonly bare: readonly string[] } {
  const shown = namesForUsers()
  const bare = new Set<string>()
  const paths = globSync('{packages,apps}/*/dist/**/*.{js,d.ts}', { cwd: root }).filter(
    (file) => !/^(?:apps\/console|packages\/testing)\//.test(file),
  )
  for (const file of paths) {
    const result = rewriteSpecifiers(readFileSync(join(root, file), 'utf8'), file, files, shown)
    faults.push(...result.unknown.map((name) => `${file}: ${name} is no export of this workspace.`))
    if (file.endsWith('.js'))
      for (const name of result.bare.filter((each) => !each.startsWith('node:'))) bare.add(packageOf(name))
    put(out, file, result.text)
  }
  return { count: paths.length, bare: [...bare] }
}

/** `@scope/name/path` and `name/path` without the path. */
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

const isVendored = (name: string): boolean => Object.keys(vendored).some((each) => packageOf(each) === name)

/** What an example in a comment says instead of a name of this workspace. */
function namesForUsers(): ReadonlyMap<string, string> {
  const names = Object.entries(subPaths).flatMap(([path, modules]) =>
    modules.map((module): [string, string] => [module, packageName + path.slice(1)]),
  )
  const short = Object.entries(importedByUsers).map(([module, path]): [string, string] => [
    module,
    packageName + path,
  ])
  return new Map([...names, ...short])
}

type Exports = Readonly<Record<string, { readonly types: string; readonly default: string }>>

/**
 * A sub-path of several modules gets a file that exports them all. One that needs packages of others which a
 * user adds gets a file that says so, if they are missing: Node.js itself would only name a path.
 */
function writeExports(out: string, files: PublishedFiles, faults: string[]): Exports {
  const entries = Object.entries(subPaths).map(([path, modules]) => {
    const targets = modules.map((module) => files.get(module) ?? '')
    if (targets.includes(''))
      faults.push(`${path}: one of ${modules.join(', ')} is no export of this workspace.`)
    const [only, ...more] = targets
    const peers = pathsWithPeers[path]
    const isOneFile = only !== undefined && more.length === 0 && peers === undefined
    const file = isOneFile ? only : `exports/${path.slice(2)}.js`
    if (!isOneFile) {
      const text = targets.map((target) => `export * from '../${target}'\n`).join('')
      put(out, file.replace(/\.js$/, '.d.ts'), text)
      put(out, file, peers === undefined ? text : guardedText(out, path, only ?? '', files))
    }
    return [path, { types: `./${file.replace(/\.js$/, '.d.ts')}`, default: `./${file}` }] as const
  })
  return Object.fromEntries(entries)
}

function guardedText(out: string, path: string, target: string, files: PublishedFiles): string {
  const names = exportedNames(readFileSync(join(out, target), 'utf8'))
  return [
    `import { optionalPackages, requirePackages } from '../${files.get('@beaver/platform')}'`,
    `requirePackages('${packageName}${path.slice(1)}', optionalPackages['${pathsWithPeers[path]}'])`,
    `export const { ${names.join(', ')} } = await import('../${target}')`,
    '',
  ].join('\n')
}

/** Removes the types that no public type names, and finds public types of modules that are bundled. */
function keepReachableTypes(
  out: string,
  entries: readonly { readonly types: string }[],
  faults: string[],
): void {
  const reached = new Set<string>()
  const todo = entries.map(({ types }) => join(out, types))
  for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    const text = readFileSync(file, 'utf8')
    for (const named of typesNamedIn(text)) {
      const target = join(dirname(file), named)
      if (target.startsWith(join(out, 'vendor')))
        faults.push(`${relative(out, file)} has a type of ${named}, which is bundled without types.`)
      else if (existsSync(target)) todo.push(target)
      else faults.push(`${relative(out, file)} names ${named}, which is not there.`)
    }
  }
  for (const file of globSync('{packages,apps}/**/*.d.ts', { cwd: out }))
    if (!reached.has(join(out, file))) rmSync(join(out, file))
}

/** The versions of other people's packages as they are installed here. */
function foreignVersions(
  root: string,
  packages: readonly Package[],
  wanted: (name: string) => boolean,
): Versions {
  const found = packages.flatMap(({ dir, manifest }) =>
    Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
      .filter((name) => !name.startsWith('@beaver/') && wanted(name))
      .map((name): [string, string] => {
        const file = join(root, dir, 'node_modules', name, 'package.json')
        return [name, (JSON.parse(readFileSync(file, 'utf8')) as Manifest).version]
      }),
  )
  return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function copyFixed(root: string, out: string, version: string): void {
  for (const path of ['skills', 'templates', 'apps/console/dist/web', 'LICENSE', 'CHANGELOG.md'])
    cpSync(join(root, path), join(out, path), { recursive: true })
  for (const [from, to] of [
    ['packages/contracts/dist/wire.schema.json', 'wire.schema.json'],
    ['clients/python/beaver.py', 'clients/python/beaver.py'],
  ] as const)
    cpSync(join(root, from), join(out, to))
  for (const [from, to] of [
    ['scripts/lib/package-readme.md', 'README.md'],
    ['bin/beaver.mjs', 'bin/beaver.mjs'],
  ] as const)
    put(out, to, readFileSync(join(root, from), 'utf8').replaceAll('{{package}}', packageName))
  for (const folder of withVersion)
    put(out, `${folder}/package.json`, `${JSON.stringify({ type: 'module', version })}\n`)
}

function manifestOf(version: string, exports: Exports, dependencies: Versions, peers: Versions) {
  return {
    name: packageName,
    version,
    description:
      'Teams of LLM agents as supervised, durable actors: the runtime, its command line and its console',
    keywords,
    license: 'Apache-2.0',
    ...sourcesOf(null),
    type: 'module',
    bin: { beaver: './bin/beaver.mjs' },
    exports: {
      ...exports,
      './wire.schema.json': './wire.schema.json',
      './package.json': './package.json',
    },
    sideEffects,
    engines: { node: '>=24' },
    os: ['linux', 'darwin'],
    // A program may have a zod of its own: one that is newer serves both.
    dependencies: { ...dependencies, zod: `^${dependencies['zod']}` },
    optionalDependencies: Object.fromEntries(
      natsServerPlatforms.map((each) => [natsServerName(each), natsServerVersion()]),
    ),
    peerDependencies: Object.fromEntries(Object.entries(peers).map(([name, at]) => [name, `^${at}`])),
    peerDependenciesMeta: Object.fromEntries(Object.keys(peers).map((name) => [name, { optional: true }])),
    publishConfig: { access: 'public', provenance: true },
  }
}

/** The version of the nats-server that the set-up pins, and that is published. */
const natsServerVersion = (): string =>
  (readPins() as { 'nats-server': { version: string } })['nats-server'].version

/** Where the sources are, for a package.json. Nothing before a release names them. */
function sourcesOf(directory: string | null): object {
  if (repository === null) return {}
  return {
    homepage: `${repository}#readme`,
    bugs: `${repository}/issues`,
    repository: { type: 'git', url: `git+${repository}.git`, ...(directory === null ? {} : { directory }) },
  }
}

/** The package that brings the nats-server of this platform. @param binary the file of the set-up */
export function assembleNatsServer(root: string, out: string, platform: string, binary: string): string {
  const [os, cpu] = platform.split('-')
  const name = natsServerName(platform)
  const version = natsServerVersion()
  mkdirSync(out, { recursive: true })
  cpSync(binary, join(out, 'nats-server'), { dereference: true })
  cpSync(join(root, 'LICENSE'), join(out, 'LICENSE'))
  writeFileSync(
    join(out, 'README.md'),
    `# ${name}\n\nnats-server ${version} for ${platform}, as Debian builds it, unchanged. Beaver (\`${packageName}\`) starts it. nats-server is made by the NATS authors and has the licence Apache-2.0. The file needs glibc.\n`,
  )
  const manifest = {
    name,
    version,
    description: `nats-server ${version} for ${platform}`,
    license: 'Apache-2.0',
    ...sourcesOf(null),
    files: ['nats-server'],
    exports: { './nats-server': './nats-server', './package.json': './package.json' },
    os: [os],
    cpu: [cpu],
    ...(os === 'linux' ? { libc: ['glibc'] } : {}),
    publishConfig: { access: 'public', provenance: true },
  }
  writeFileSync(join(out, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  return name
}

function put(out: string, file: string, text: string): void {
  mkdirSync(dirname(join(out, file)), { recursive: true })
  writeFileSync(join(out, file), text)
}
