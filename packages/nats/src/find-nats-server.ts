// Finds the nats-server binary for the embedded server: the named one, else one on PATH that is new enough,
// else the one of the package for this platform, else the one from the set-up. If the named binary cannot be used, no other one takes its place.
import { accessSync, constants, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { BeaverError } from '@beaver/core'
import {
  type Installation,
  installation,
  natsServerAdvice,
  natsServerPackage,
  thisPlatform,
} from '@beaver/platform/installation'
import { compareVersions, serverVersionMin } from './connect.ts'
import { natsServerVersion } from './embedded-server.ts'

export interface FoundNatsServer {
  readonly binary: string
  readonly version: string
  readonly from: 'BEAVER_NATS_SERVER' | 'PATH' | 'its package' | 'the set-up'
}

/**
 * @param named the binary that BEAVER_NATS_SERVER names, or `null` if none is named
 * @param path the value of the variable PATH
 * @param own how Beaver got onto this machine, which says where else a nats-server may be
 * @throws {BeaverError} `server_missing`, `server_too_old`
 */
export async function findNatsServer(
  named: string | null,
  path: string | undefined,
  own: Installation = installation(),
): Promise<FoundNatsServer> {
  if (named !== null) {
    const version = await natsServerVersion(named)
    if (compareVersions(version, serverVersionMin) < 0)
      throw tooOld(named, version, 'Unset BEAVER_NATS_SERVER, or point it to a newer one.')
    return { binary: named, version, from: 'BEAVER_NATS_SERVER' }
  }
  let old: { binary: string; version: string } | null = null
  for (const { binary, from } of [...onPath(path), ...fromPackage(own), ...fromSetup(own)]) {
    const version = await natsServerVersion(binary).catch(() => null)
    if (version === null) continue
    if (compareVersions(version, serverVersionMin) >= 0) return { binary, version, from }
    old ??= { binary, version }
  }
  const remedy = natsServerAdvice(own)
  if (old !== null) throw tooOld(old.binary, old.version, remedy)
  throw new BeaverError('server_missing', `No nats-server was found. ${remedy}`)
}

function tooOld(binary: string, version: string, remedy: string): BeaverError {
  return new BeaverError(
    'server_too_old',
    `The nats-server ${binary} is version ${version}; Beaver needs ${serverVersionMin} or newer. ${remedy}`,
  )
}

type Candidate = Pick<FoundNatsServer, 'binary' | 'from'>

function onPath(path = ''): Candidate[] {
  const folders = path.split(delimiter).filter((folder) => folder !== '')
  return folders
    .map((folder): Candidate => ({ binary: join(folder, 'nats-server'), from: 'PATH' }))
    .filter(({ binary }) => executable(binary))
}

/** The file of the optional package for this platform. npm installs it beside Beaver or inside of it. */
function fromPackage(own: Installation): Candidate[] {
  const name = natsServerPackage(own, thisPlatform)
  if (name === null) return []
  try {
    const binary = createRequire(join(own.folder, 'package.json')).resolve(`${name}/nats-server`)
    return [{ binary, from: 'its package' }]
  } catch {
    return []
  }
}

/** The set-up records the binary that it found or fetched in `.beaver/tools` of the checkout. */
function fromSetup(own: Installation): Candidate[] {
  if (own.kind === 'package') return []
  const tools = join(own.folder, '.beaver', 'tools')
  const noted = readPaths(join(tools, 'paths.json'))
  const binaries = [...(noted === null ? [] : [noted]), join(tools, 'nats-server', 'nats-server')]
  return binaries.filter(executable).map((binary): Candidate => ({ binary, from: 'the set-up' }))
}

function readPaths(file: string): string | null {
  try {
    const { natsServer } = JSON.parse(readFileSync(file, 'utf8')) as { natsServer?: unknown }
    return typeof natsServer === 'string' ? natsServer : null
  } catch {
    return null
  }
}

function executable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
