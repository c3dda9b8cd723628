// The rules of the architecture, as pure functions: facts in, findings out. What is allowed stands in
// table.ts. A finding is one line, `path:line what`. An exception that nothing needs is a finding.
import { posix } from 'node:path'
import type { Facts } from './facts.ts'
import { type Exception, linesMax, type Row } from './table.ts'

/** A package.json, with what the rules read of it. */
export interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, unknown>>
}

const declaredBy = ({ dependencies, optionalDependencies }: Manifest): readonly string[] =>
  Object.keys({ ...dependencies, ...optionalDependencies })

/** A package that exports only what its build made has everything in it that its sources import. */
const bundledBy = ({ exports, devDependencies = {} }: Manifest): readonly string[] =>
  Object.values(exports ?? { '.': '' }).every((target) => String(target).startsWith('./dist/'))
    ? Object.keys(devDependencies)
    : []

export interface Package {
  /** `packages/core` */
  readonly folder: string
  readonly manifest: Manifest
  /** Folders its tsconfig.json refers to: `packages/core`. */
  readonly references: readonly string[]
}

type Table = Readonly<Record<string, Row>>

/** Sources import only what the row of their package names; tests also what `testRow` does. */
export function importsBeyondTable(
  files: readonly Facts[],
  table: Table,
  testRow: Row,
  computed: readonly Exception[] = [],
): string[] {
  return files.flatMap((file) => {
    const folder = packageOf(file.path)
    const row = folder === null ? undefined : table[folder]
    if (folder === null || row === undefined) return []
    const rows = isTest(file.path) ? [row, testRow] : [row]
    return file.imports.flatMap(({ specifier, line }) => {
      if (specifier === null)
        return computed.some(({ path }) => path === file.path)
          ? []
          : [`${file.path}:${line} imports what only running it tells`]
      return specifier.startsWith('.') ||
        isSelf(specifier, folder) ||
        rows.some((each) => allows(each, specifier))
        ? []
        : [`${file.path}:${line} imports ${specifier}`]
    })
  })
}

/** A package declares nothing its row does not name, and refers to exactly the packages it declares. */
export function packagesBeyondTable(packages: readonly Package[], table: Table): string[] {
  const nameOf = (folder: string): string =>
    packages.find((each) => each.folder === folder)?.manifest.name ?? folder
  const missing = Object.keys(table).filter((folder) => packages.every((each) => each.folder !== folder))
  return [
    ...missing.map((folder) => `${folder} stands in the table and is no package`),
    ...packages.flatMap(({ folder, manifest, references }) => {
      const row = table[folder]
      if (row === undefined) return [`${folder} does not stand in the table`]
      const declared = declaredBy(manifest)
      const allowed = new Set([...row.packages.map((each) => packageName(`@beaver/${each}`)), ...row.modules])
      const beyond = declared
        .filter((name) => !allowed.has(name))
        .map((name) => `${folder}/package.json declares ${name}`)
      const siblings = declared.filter((name) => name.startsWith('@beaver/'))
      const referred = references.map(nameOf)
      const unlike =
        siblings.toSorted().join() === referred.toSorted().join()
          ? []
          : [
              `${folder}/tsconfig.json refers to [${referred.toSorted().join(', ')}], package.json declares [${siblings.toSorted().join(', ')}]`,
            ]
      return [...beyond, ...unlike]
    }),
  ]
}

/**
 * An app is an entry that is started. No package needs one, and nothing imports one: what others use is in a
 * package.
 */
export function appsReached(files: readonly Facts[], packages: readonly Package[]): string[] {
  const apps = new Set(
    packages.filter(({ folder }) => folder.startsWith('apps/')).map(({ manifest }) => manifest.name),
  )
  return [
    ...packages
      .filter(({ folder }) => folder.startsWith('packages/'))
      .flatMap(({ folder, manifest }) =>
        Object.keys(manifest.dependencies ?? {})
          .filter((name) => apps.has(name))
          .map((name) => `${folder}/package.json declares the app ${name}`),
      ),
    ...files.flatMap(({ path, imports }) =>
      imports
        .filter(({ specifier }) => specifier !== null && apps.has(packageName(specifier)))
        .map(({ specifier, line }) => `${path}:${line} imports the app ${specifier}`),
    ),
  ]
}

/** What a source imports, its package declares. */
export function undeclaredImports(files: readonly Facts[], packages: readonly Package[]): string[] {
  return files.flatMap((file) => {
    const own = packages.find(({ folder }) => folder === packageOf(file.path))
    if (own === undefined || isTest(file.path)) return []
    return file.imports.flatMap(({ specifier, line }) => {
      if (
        specifier === null ||
        specifier.startsWith('.') ||
        specifier.startsWith('node:') ||
        isSelf(specifier, own.folder)
      )
        return []
      return [...declaredBy(own.manifest), ...bundledBy(own.manifest)].includes(packageName(specifier))
        ? []
        : [`${file.path}:${line} imports ${specifier}, which ${own.folder}/package.json does not declare`]
    })
  })
}

/** Rows that lead back to themselves: the direction is one way. */
export function cyclesOf(table: Table): string[] {
  return cyclesFrom(Object.keys(table), (folder) =>
    (table[folder]?.packages ?? []).map((name) => `packages/${name.split('/')[0]}`),
  )
}

/** Sources of one package that import each other in a circle. An import of a type counts like any other. */
export function importCycles(files: readonly Facts[]): string[] {
  const targets = new Map(
    files
      .filter(({ path }) => packageOf(path) !== null && !isTest(path))
      .map(({ path, imports }) => [
        path,
        imports
          .flatMap(({ specifier }) => specifier ?? [])
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => posix.join(posix.dirname(path), specifier)),
      ]),
  )
  return cyclesFrom([...targets.keys()], (path) => targets.get(path) ?? [])
}

function cyclesFrom(starts: readonly string[], next: (name: string) => readonly string[]): string[] {
  const seen = new Set<string>()
  const walk = (name: string, way: readonly string[]): string[] => {
    if (way.includes(name)) return [[...way.slice(way.indexOf(name)), name].join(' → ')]
    if (seen.has(name)) return []
    const found = next(name).flatMap((each) => walk(each, [...way, name]))
    seen.add(name)
    return found
  }
  return starts.flatMap((name) => walk(name, []))
}

/**
 * What a browser would load with these names of these files or exports of packages, and cannot have: modules
 * from the registry but for those that are named, and what is of Node.js. As a bundler does, this follows a
 * re-exported name to where it is defined, and takes that file as a whole.
 */
export function beyondBrowser(
  files: readonly Facts[],
  packages: readonly Package[],
  starts: Readonly<Record<string, readonly string[]>>,
  modules: readonly string[] = [],
): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const fileOf = (specifier: string, from: string): Facts | undefined => {
    if (specifier.startsWith('.')) return byPath.get(posix.join(posix.dirname(from), specifier))
    const home = packages.find(({ manifest }) => manifest.name === packageName(specifier))
    const entry = home?.manifest.exports?.[`.${specifier.slice(packageName(specifier).length)}`]
    return home !== undefined && typeof entry === 'string'
      ? byPath.get(posix.join(home.folder, entry))
      : byPath.get(specifier)
  }
  const found: string[] = []
  const seen = new Set<string>()
  const follow = (specifier: string, names: readonly string[], way: readonly string[]): void => {
    const file = fileOf(specifier, way.at(-1) ?? '')
    if (file !== undefined) for (const name of names) take(file, name, way)
    else if (specifier.endsWith('.css')) return
    else if (!modules.includes(packageName(specifier))) found.push([...way, specifier].join(' → '))
  }
  const take = (file: Facts, name: string, way: readonly string[]): void => {
    const from = file.exports.find((each) => each.name === name)?.from ?? null
    const key = from === null ? file.path : `${file.path}#${name}`
    if (seen.has(key)) return
    seen.add(key)
    const here = [...way, file.path]
    if (from !== null) return follow(from.specifier, [from.name], here)
    for (const { name: use } of file.uses)
      if (/^(?:process|Buffer)\./.test(use)) found.push([...here, use].join(' → '))
    for (const { specifier, values } of file.imports)
      if (specifier === null) found.push([...here, 'what only running it tells'].join(' → '))
      else if (values.length > 0) follow(specifier, values, here)
  }
  for (const [specifier, names] of Object.entries(starts)) {
    const known = fileOf(specifier, '')?.exports ?? []
    const missing = names.filter((name) => name !== '*' && known.every((each) => each.name !== name))
    found.push(...missing.map((name) => `${specifier} does not export ${name}`))
    follow(specifier, names, [])
  }
  return found
}

/** Another package is reached by its name and its exports; tests, benches and scripts keep to that too. */
export function privateImports(files: readonly Facts[], packages: readonly Package[]): string[] {
  return files.flatMap((file) => {
    const home = packageOf(file.path)
    return file.imports.flatMap(({ specifier, line }) => {
      if (specifier === null) return []
      if (specifier.startsWith('@beaver/')) {
        const other = packages.find(({ manifest }) => manifest.name === packageName(specifier))
        const subpath = `.${specifier.slice(packageName(specifier).length)}`
        return other !== undefined && subpath in (other.manifest.exports ?? {})
          ? []
          : [`${file.path}:${line} imports ${specifier}, which is not exported`]
      }
      if (!specifier.startsWith('.')) return []
      const target = posix.join(posix.dirname(file.path), specifier)
      if (packageOf(target) !== home)
        return [`${file.path}:${line} imports ${specifier}, a private file of another place`]
      return home !== null && !isTest(file.path) && isTest(target)
        ? [`${file.path}:${line} imports ${specifier}, a file of the tests`]
        : []
    })
  })
}

/** Only apps read the environment. */
export function environmentReads(files: readonly Facts[], exceptions: readonly Exception[]): string[] {
  const sources = files.filter(({ path }) => path.startsWith('packages/') && !isTest(path))
  return except(
    sources.flatMap((file) =>
      file.uses
        .filter(({ name }) => name === 'process.env' || name === 'process.*')
        .map(({ name, line }) => ({ path: file.path, line, what: name })),
    ),
    exceptions,
    'reads the environment',
  )
}

/** Only the command line writes to stdout. */
export function stdoutWrites(files: readonly Facts[], exceptions: readonly Exception[]): string[] {
  const sources = files.filter(
    ({ path }) => packageOf(path) !== null && !path.startsWith('apps/cli/') && !isTest(path),
  )
  const writes = (name: string): boolean =>
    name === 'process.stdout' || name === 'process.*' || name.startsWith('console.')
  return except(
    sources.flatMap((file) =>
      file.uses
        .filter(({ name }) => writes(name))
        .map(({ name, line }) => ({ path: file.path, line, what: name })),
    ),
    exceptions,
    'writes to stdout',
  )
}

/** Programs are started in one file, which gives them no file that was left open. */
export function programStarts(files: readonly Facts[], exceptions: readonly Exception[]): string[] {
  return except(
    files
      .filter(({ path }) => packageOf(path) !== null && !isTest(path))
      .flatMap((file) =>
        file.uses
          .filter(({ name }) => name.startsWith('node:child_process.'))
          .map(({ name, line }) => ({ path: file.path, line, what: name })),
      ),
    exceptions,
    'starts a program with',
  )
}

/** Folders are made in one file, because `mkdir` of Node.js can run without end. */
export function foldersMade(files: readonly Facts[], exceptions: readonly Exception[]): string[] {
  return except(
    files
      .filter(({ path }) => packageOf(path) !== null && !isTest(path))
      .flatMap((file) =>
        file.uses
          .filter(({ name }) => /^node:fs(?:\/promises)?\.(?:mkdir|mkdirSync|\*)$/.test(name))
          .map(({ name, line }) => ({ path: file.path, line, what: name })),
      ),
    exceptions,
    'makes a folder with',
  )
}

const impure = new Set([
  'new Date()',
  'Date()',
  'Date.now',
  'Date.*',
  'Math.random',
  'Math.*',
  'performance.now',
  'performance.*',
  'Temporal.Now',
  'Temporal.*',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'process.hrtime',
  'process.uptime',
  'process.pid',
  'process.cwd',
  'process.env',
  'process.*',
  'crypto.randomUUID',
  'crypto.getRandomValues',
  'crypto.*',
  'node:crypto.randomUUID',
  'node:crypto.randomBytes',
  'node:crypto.randomInt',
  'node:crypto.getRandomValues',
  'node:crypto.webcrypto',
  'node:crypto.*',
])

/** core and workflows get time, ids and randomness as arguments. */
export function impureUses(files: readonly Facts[], exceptions: readonly Exception[]): string[] {
  const sources = files.filter(
    ({ path }) => ['packages/core', 'packages/workflows'].includes(packageOf(path) ?? '') && !isTest(path),
  )
  return except(
    sources.flatMap((file) =>
      file.uses
        .filter(({ name }) => impure.has(name))
        .map(({ name, line }) => ({ path: file.path, line, what: name })),
    ),
    exceptions,
    'uses',
  )
}

/** What went wrong is told apart by codes and typed fields, never by the words of a message. */
export function wordsOfErrors(files: readonly Facts[], exceptions: readonly Exception[]): string[] {
  const sources = files.filter(
    ({ path }) => packageOf(path) !== null && !isTest(path) && !path.startsWith('packages/testing/'),
  )
  return except(
    sources.flatMap((file) =>
      file.uses
        .filter(({ name }) => name.startsWith('words of '))
        .map(({ name, line }) => ({ path: file.path, line, what: name })),
    ),
    exceptions,
    'decides by the',
  )
}

const times = new Set([
  'new Date()',
  'Date()',
  'Date.now',
  'Date.*',
  'performance.now',
  'performance.*',
  'process.hrtime',
  'setTimeout',
  'setInterval',
  'AbortSignal.timeout',
  'node:timers.*',
  'node:timers/promises.setTimeout',
  'node:timers/promises.*',
])

/**
 * Packages that take a Clock read time and wait by it. Core and workflows are held to more, by `impureUses`.
 */
export function clockBypasses(files: readonly Facts[], exceptions: readonly Exception[]): string[] {
  const sources = files.filter(({ path }) => clocked.has(packageOf(path) ?? '') && !isTest(path))
  return except(
    sources.flatMap((file) =>
      file.uses
        .filter(({ name }) => times.has(name))
        .map(({ name, line }) => ({ path: file.path, line, what: name })),
    ),
    exceptions,
    'goes around the Clock by',
  )
}

const clocked = new Set(
  ['agent', 'mcp', 'nats', 'projection', 'providers', 'runtime', 'simulated-model', 'tools'].map(
    (name) => `packages/${name}`,
  ),
)

// `beaver.task_submitted.v1` is the type of a record, `beaver.config.json` and `beaver.mjs` are files.
const noSubject = /^beaver\.(?:[a-z_]+\.v\d+|config\.json|mjs)$/

/** One place builds subjects. */
export function subjectTexts(files: readonly Facts[], exceptions: readonly Exception[]): string[] {
  const found = files
    .filter(({ path }) => packageOf(path) !== null)
    .flatMap((file) =>
      file.texts
        .filter(({ text }) => text.startsWith('beaver.') && !noSubject.test(text))
        .map(({ text, line }) => ({ path: file.path, line, what: text })),
    )
  return except(found, exceptions, 'builds the subject')
}

/** The types are gone around only where the table says so, and no oftener. */
export function escapesBeyond(
  files: readonly Facts[],
  allowed: readonly (Exception & { readonly times: number })[],
): string[] {
  const beyond = files.flatMap((file) => {
    const forTests = isTest(file.path) || file.path.startsWith('packages/testing/')
    const counted = file.escapes.filter(({ name }) => !forTests || !name.startsWith('as '))
    return [...Map.groupBy(counted, ({ name }) => name)].flatMap(([name, uses]) => {
      const times = allowed.find(({ path, what }) => path === file.path && what === name)?.times ?? 0
      return uses
        .slice(times)
        .map(
          ({ line }) =>
            `${file.path}:${line} has \`${name}\` ${uses.length} ${uses.length === 1 ? 'time' : 'times'}, ${times} allowed`,
        )
    })
  })
  const fewer = allowed.filter(
    ({ path, what, times }) =>
      (files.find((file) => file.path === path)?.escapes ?? []).filter(({ name }) => name === what).length <
      times,
  )
  return [
    ...beyond,
    ...fewer.map(
      ({ path, what, times }) => `${path} has \`${what}\` fewer than ${times} times: correct the table`,
    ),
  ]
}

/** Files that have grown beyond what one reads at a time. */
export function longFiles(files: readonly Facts[]): string[] {
  return files
    .filter(({ lines }) => lines > linesMax)
    .map(({ path, lines }) => `${path}:${lines} is longer than ${linesMax} lines`)
}

/** A test file, or what only tests use. */
export function isTest(path: string): boolean {
  return path.endsWith('.test.ts') || /^(?:(?:packages|apps)\/[^/]+\/)?test\//.test(path)
}

/** `packages/core` of a path in it; `null` outside of packages and apps. */
function packageOf(path: string): string | null {
  return /^(?:packages|apps)\/[^/]+(?=\/)/.exec(path)?.[0] ?? null
}

function allows(row: Row, specifier: string): boolean {
  if (specifier.startsWith('node:'))
    return row.node === 'any' || row.node.includes(specifier.slice('node:'.length))
  const name = packageName(specifier)
  if (!name.startsWith('@beaver/')) return row.modules.includes(name)
  return [name, specifier].some((each) => row.packages.includes(each.slice('@beaver/'.length)))
}

/** Only a package can be: nobody imports an app. */
function isSelf(specifier: string, folder: string): boolean {
  return packageName(specifier).replace('@beaver/', 'packages/') === folder
}

export function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function except(
  found: readonly { path: string; line: number; what: string }[],
  exceptions: readonly Exception[],
  says: string,
): string[] {
  const covers = (exception: Exception, each: { path: string; what: string }): boolean =>
    exception.path === each.path && each.what.startsWith(exception.what)
  const left = found.filter((each) => !exceptions.some((exception) => covers(exception, each)))
  const idle = exceptions.filter((exception) => !found.some((each) => covers(exception, each)))
  return [
    ...left.map(({ path, line, what }) => `${path}:${line} ${says} ${what}`),
    ...idle.map(({ path, what }) => `${path} needs no exception for ${what} any more`),
  ]
}
