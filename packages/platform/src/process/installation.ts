// How Beaver got onto this machine: as the package that `pnpm build` makes, or as a checkout. Both have their
// package.json four folders above this file. That of a checkout is private.
import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The name under which Beaver is published. A build may replace it by `BEAVER_PACKAGE_NAME`. */
export const publishedName = '@beaver-agents/beaver'

/**
 * The modules of this workspace that a user's files import, by what comes after the name of the package in
 * the published one.
 */
export const importedByUsers = {
  '@beaver/service': '',
  '@beaver/agent/tool': '/tool',
  '@beaver/agent': '/tool',
} as const

/** Platforms whose nats-server Debian builds. The files need glibc. */
export const natsServerPlatforms = ['linux-x64', 'linux-arm64'] as const

/** The package that brings the nats-server of a platform to users of the package `name`. */
export const natsServerName = (platform: string, name: string = publishedName): string =>
  `${name.startsWith('@') ? `${dirname(name)}/` : ''}nats-server-${platform}`

/** The file of a package among those that a build leaves, relative to the checkout. */
export const builtTarball = (name: string): string =>
  `.beaver/build/${name.replace(/^@/, '').replace('/', '-')}.tgz`

/** Such as `linux-x64`. */
export const thisPlatform = `${process.platform}-${process.arch}`

export interface Installation {
  /** The folder of the package or of the checkout. */
  readonly folder: string
  readonly kind: 'package' | 'checkout'
  /** What a program imports: the name of the package. */
  readonly name: string
  readonly version: string
  /** Packages that may be there: among them the nats-server for this platform. */
  readonly optional: readonly string[]
  /** Packages that a user adds if necessary, with their versions. */
  readonly peers: Readonly<Record<string, string>>
}

interface OwnManifest {
  readonly name?: string
  readonly version?: string
  readonly private?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Reads the package.json of this Beaver. */
export function installation(): Installation {
  const file = fileURLToPath(new URL('../../../../package.json', import.meta.url))
  const manifest = readManifest(file)
  const kind = manifest.name === undefined || manifest.private === true ? 'checkout' : 'package'
  return {
    folder: dirname(file),
    kind,
    name: kind === 'package' ? (manifest.name ?? publishedName) : publishedName,
    version: manifest.version ?? '0.0.0',
    optional: Object.keys(manifest.optionalDependencies ?? {}),
    peers: manifest.peerDependencies ?? {},
  }
}

function readManifest(file: string): OwnManifest {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as OwnManifest
  } catch {
    return {}
  }
}

/**
 * The package that brings a nats-server, among the optional ones of Beaver; `null` if there is none for this
 * platform.
 */
export function natsServerPackage(
  { optional }: Pick<Installation, 'optional'>,
  platform: string,
): string | null {
  return optional.find((name) => basename(name) === `nats-server-${platform}`) ?? null
}

/** What a person does to get a nats-server. */
export function natsServerAdvice(own: Installation = installation(), platform = thisPlatform): string {
  if (own.kind === 'checkout')
    return 'Run "node scripts/setup.mjs" to get one, or set BEAVER_NATS_SERVER to one.'
  const name = natsServerPackage(own, platform)
  const get =
    name === null
      ? platform.startsWith('darwin')
        ? 'Run "brew install nats-server"'
        : 'Install nats-server 2.12 or newer from https://nats.io/download and put it on PATH'
      : `Run "npm install ${name}"`
  return `${get}, set BEAVER_NATS_SERVER to one, or name a running server in NATS_URL.`
}
