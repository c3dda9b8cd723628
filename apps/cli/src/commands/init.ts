// `beaver init`: makes a small project from templates/init, as files of the user's own. It takes a new or an
// empty folder and writes all of the project or nothing: the files are made beside their place, and moved
// there when they are complete.
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { BeaverError, messageOf, shellWord } from '@beaver/core'
import {
  builtTarball,
  importedByUsers,
  type Installation,
  installation,
  makeFolder,
  natsServerName,
  natsServerPackage,
  thisPlatform,
} from '@beaver/platform'
import type { GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import { screenOf } from '../screen.ts'
import { oneLine } from '../text/plain-text.ts'

export interface InitOptions {
  readonly json?: true
}

export function init(typed: string, { json }: InitOptions, globals: GlobalOptions): number {
  const screen = screenOf({ colour: globals.color })
  if (typed.trim() === '') throw new UsageError('Name a folder: beaver init my-team')
  const folder = resolve(typed)
  const isThere = requireEmpty(folder, typed)
  const name = nameOf(folder)
  const own = installation()
  const sources = sourcesOf(own, folder)
  const files = projectFiles(own, name, sources.dependencies)
  writeProject(folder, files, isThere)
  const next = [
    ...(sources.unbuilt ? [`npm --prefix ${shellWord(own.folder)} run build`] : []),
    ...(folder === process.cwd() ? [] : [`cd ${shellWord(typed)}`]),
    'npm install',
    'npm test',
    ...(folder === process.cwd() ? ['npm start'] : []),
  ]
  if (json === true) screen.json({ name, folder, files: Object.keys(files).toSorted(), next })
  else
    screen.print(
      `${screen.symbols.done} Made ${oneLine(name)}: a skill, a tool, a program and tests. Its README.md says more.`,
      ...(sources.unbuilt
        ? ['This Beaver is a checkout, and the project needs a package of it. The first command builds it.']
        : []),
      'Next:',
      ...next.map((line) => `  ${line}`),
    )
  return 0
}

/**
 * The name of the project: that of its folder, if npm takes it.
 *
 * @throws {UsageError}
 */
export function nameOf(folder: string): string {
  const name = basename(folder)
  if (/^[a-z0-9][a-z0-9._-]{0,99}$/.test(name) && name !== 'node_modules') return name
  const better = name
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[^a-z0-9]+|-+$/g, '')
    .slice(0, 100)
  const example = better === '' || better === 'node_modules' ? 'my-team' : better
  const beside = relative(process.cwd(), join(dirname(folder), example))
  const rule =
    name === 'node_modules'
      ? 'npm keeps packages in folders of this name'
      : 'npm takes at most 100 lower-case letters, digits, ".", "_" and "-", with a letter or a digit first'
  throw new UsageError(
    `${JSON.stringify(name)} cannot be the name of a project: ${rule}. Name another folder: beaver init ${shellWord(beside)}`,
  )
}

/**
 * Whether the folder exists. It is then empty, but for what git keeps there.
 *
 * @throws {BeaverError} `wrong_state`
 */
function requireEmpty(folder: string, typed: string): boolean {
  const found = reading(folder, () => statSync(folder, { throwIfNoEntry: false }))
  if (found === undefined) return false
  if (!found.isDirectory())
    throw new BeaverError('wrong_state', `${typed} is a file. Name a new folder: beaver init <folder>`)
  const inside = reading(folder, () => readdirSync(folder)).filter((name) => name !== '.git')
  if (inside.length === 0) return true
  throw new BeaverError(
    'wrong_state',
    `The folder ${typed} is not empty: it has ${oneLine(inside.toSorted()[0] ?? '')}${inside.length === 1 ? '' : ` and ${inside.length - 1} more`}. "beaver init" overwrites nothing. Name a new or an empty folder.`,
  )
}

/** What the project depends on. */
interface Sources {
  readonly dependencies: Readonly<Record<string, string>>
  /** Whether the dependencies are files that are not there yet. */
  readonly unbuilt: boolean
}

/**
 * The version of this Beaver, from where this Beaver came: the registry, files that somebody installed, or
 * what a build of this checkout leaves.
 */
export function sourcesOf(own: Installation, folder: string): Sources {
  const file = (path: string): string => `file:${relative(folder, path).replaceAll(sep, '/')}`
  if (own.kind === 'checkout') {
    const tarball = join(own.folder, builtTarball(own.name))
    const server = natsServerName(thisPlatform)
    const serverTarball = join(own.folder, builtTarball(server))
    return {
      dependencies: {
        [own.name]: file(tarball),
        ...(existsSync(serverTarball) ? { [server]: file(serverTarball) } : {}),
      },
      unbuilt: !existsSync(tarball),
    }
  }
  const host = join(own.folder, ...own.name.split('/').map(() => '..'), '..')
  const installed = dependenciesOf(join(host, 'package.json'))
  const files = [own.name, natsServerPackage(own, thisPlatform)]
    .filter((name) => name !== null)
    .flatMap((name): [string, string][] => {
      const path = /^file:(?<path>.+)$/.exec(installed[name] ?? '')?.groups?.['path']
      return path === undefined ? [] : [[name, file(resolve(host, path))]]
    })
  return { dependencies: { [own.name]: `^${own.version}`, ...Object.fromEntries(files) }, unbuilt: false }
}

function dependenciesOf(manifest: string): Readonly<Record<string, string>> {
  try {
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync(manifest, 'utf8')) as {
      dependencies?: Record<string, string>
      optionalDependencies?: Record<string, string>
    }
    return { ...dependencies, ...optionalDependencies }
  } catch {
    return {}
  }
}

/** The texts of the project, by their paths. The template has the names `my-team` and those of the workspace. */
export function projectFiles(
  own: Pick<Installation, 'folder' | 'name'>,
  name: string,
  dependencies: Sources['dependencies'],
): Readonly<Record<string, string>> {
  const template = join(own.folder, 'templates', 'init')
  const files = readdirSync(template, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(template, path)).isFile())
    .map((path): [string, string] => {
      const text = renamed(readFileSync(join(template, path), 'utf8'), own.name, name)
      // npm leaves files with these names out of packages.
      if (path === 'gitignore' || path === 'npmrc') return [`.${path}`, text]
      return [path, path === 'package.json' ? withDependencies(text, dependencies) : text]
    })
  return Object.fromEntries(files)
}

function renamed(text: string, packageName: string, projectName: string): string {
  return Object.entries(importedByUsers)
    .toSorted(([a], [b]) => b.length - a.length)
    .reduce((before, [module, path]) => before.replaceAll(module, packageName + path), text)
    .replaceAll('my-team', projectName)
}

const withDependencies = (manifest: string, dependencies: Sources['dependencies']): string =>
  `${JSON.stringify({ ...(JSON.parse(manifest) as object), dependencies }, null, 2)}\n`

/** The folders of a project are as open as the user's others. */
const foldersMode = 0o777

/** @param isThere whether the folder exists, and is empty */
function writeProject(folder: string, files: Readonly<Record<string, string>>, isThere: boolean): void {
  const place = isThere ? folder : dirname(folder)
  const stage = join(place, `.beaver-init-${process.pid}`)
  const missing = missingFolders(place)
  const moved: string[] = []
  try {
    makeFolder(stage, foldersMode)
    for (const [path, text] of Object.entries(files)) {
      makeFolder(dirname(join(stage, path)), foldersMode)
      writeFileSync(join(stage, path), text)
    }
    if (!isThere) renameSync(stage, folder)
    else {
      for (const entry of readdirSync(stage)) {
        renameSync(join(stage, entry), join(folder, entry))
        moved.push(join(folder, entry))
      }
      rmdirSync(stage)
    }
  } catch (cause) {
    for (const path of [stage, ...moved].filter((each) => existsSync(each))) rmSync(path, { recursive: true })
    for (const path of missing) removeEmpty(path)
    throw new BeaverError(
      'wrong_state',
      `The project ${oneLine(folder)} was not made: ${reasonOf(cause)}. Name another folder.`,
      { cause },
    )
  }
}

/** The folder and those above it that do not exist, the deepest first. */
const missingFolders = (folder: string): readonly string[] =>
  existsSync(folder) ? [] : [folder, ...missingFolders(dirname(folder))]

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // It was not made, or somebody else put something there.
  }
}

function reading<T>(folder: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new BeaverError(
      'wrong_state',
      `The folder ${oneLine(folder)} cannot be read: ${reasonOf(cause)}. Name another folder.`,
      { cause },
    )
  }
}

function reasonOf(error: unknown): string {
  const reasons: Readonly<Record<string, string>> = {
    EACCES: 'you have no permission there',
    EPERM: 'you have no permission there',
    EROFS: 'the disk is read-only',
    ENOSPC: 'the disk is full',
    ENOENT: 'the system makes no folder there',
    ENOTDIR: 'a part of the path is not a folder',
    EEXIST: 'a part of the path is not a folder',
    ENOTEMPTY: 'somebody else wrote into it meanwhile',
    ENAMETOOLONG: 'the path is too long',
    ELOOP: 'a part of the path is a link to itself',
  }
  return reasons[(error as NodeJS.ErrnoException).code ?? ''] ?? messageOf(error)
}
