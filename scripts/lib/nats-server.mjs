// NATS server: finds one that is new enough on this machine, or brings one into the project. Starting it is
// the product's. Order: BEAVER_NATS_SERVER, PATH, the project's own, apt, Homebrew. Nothing outside the
// project is written, nothing needs root. A downloaded server is put in place by one rename, after it has run
// once. From apt only what Debian's archive key has signed is accepted, and of the pinned version only what
// has the pinned hash. If Debian no longer has the pinned version, a newer one that Debian signed is taken,
// and the set-up says so; BEAVER_SETUP_PINNED=1 refuses it. A server in the project that differs from its pin
// is not used.
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { debianUris, parseDeb822, parseOneLine } from './apt-sources.mjs'
import { SetupError, toolFailure } from './failure.mjs'
import { cacheDir, natsServerFile, partialDir, pathsFile, readJson } from './layout.mjs'
import { checkFile, readPins, sha256Of } from './pins.mjs'
import { isAtLeast, parseVersion } from './versions.mjs'

const NATS_SERVER_NEEDED = '2.12.0'
const NEEDED_TEXT = '2.12'
const platform = `${process.platform}-${process.arch}`
const KEYRINGS = [
  '/usr/share/keyrings/debian-archive-keyring.gpg',
  '/usr/share/keyrings/debian-archive-keyring.pgp',
]
const INSTALL_PAGE = 'https://nats.io/download/'
const VERSION_MS_MAX = 10_000
const APT_MS_MAX = 5 * 60_000
const BREW_MS_MAX = 10 * 60_000

/**
 * @typedef {object} NatsServer
 * @property {string} path absolute
 * @property {string} version
 * @property {string | null} installedFrom where it was brought from just now; null when it was there
 * @property {string} [unpinned] set if it is another version than the pinned one
 *
 * @typedef {(command: string, args: readonly string[], options?: { cwd?: string, env?: NodeJS.ProcessEnv,
 * timeoutMs?: number }) => Promise<import('./run.mjs').Result>} RunTool
 */

/**
 * @param {RunTool} run
 * @param {(text: string) => void} begin hears what is done, when it begins
 * @returns {Promise<NatsServer>}
 * @throws {SetupError} when there is none and none could be brought
 */
export async function findOrBringNatsServer(run, begin) {
  const chosen = chosenNatsServer()
  if (chosen !== null) return await checkChosen(run, chosen)
  const tooOld = []
  for (const path of [...onPath('nats-server'), natsServerFile]) {
    if (path === natsServerFile && existsSync(path) && !isKnownServer(path)) continue
    const version = await versionOf(run, path)
    if (isAtLeast(version, NATS_SERVER_NEEDED))
      return { path, version: /** @type {string} */ (version), installedFrom: null }
    if (version !== null) tooOld.push(`${path} is ${version}`)
  }
  const failures = []
  for (const bring of [bringWithApt, bringWithBrew]) {
    const outcome = await bring(run, begin)
    if (outcome.kind === 'brought') return outcome.server
    if (outcome.kind === 'failed') failures.push(outcome.failure)
  }
  const found = tooOld.length > 0 ? ` (${tooOld.join(', ')})` : ''
  const failure = failures[0]
  if (failure?.ofMachine) throw failure
  const why = failure ? `, and ${failure.message.split(';')[0]}` : ''
  throw new SetupError(
    `nats-server ${NEEDED_TEXT} or newer is missing${found}${why}; ${advice()}, then try again.`,
    failure?.output,
  )
}

/**
 * The server the user names, as an absolute path, or null.
 * @returns {string | null}
 */
export function chosenNatsServer() {
  const chosen = process.env.BEAVER_NATS_SERVER
  return chosen ? resolve(process.env.INIT_CWD ?? process.cwd(), chosen) : null
}

async function checkChosen(run, path) {
  const version = await versionOf(run, path)
  if (version === null) {
    throw new SetupError(
      `BEAVER_NATS_SERVER names ${path}, which is not a nats-server that runs; correct it or unset it.`,
    )
  }
  if (!isAtLeast(version, NATS_SERVER_NEEDED)) {
    throw new SetupError(
      `BEAVER_NATS_SERVER names ${path}, which is version ${version}, but ${NEEDED_TEXT} or newer is needed; name a newer one or unset it.`,
    )
  }
  return { path, version, installedFrom: null }
}

/**
 * Whether a server that the set-up brought earlier is still what it was then. The program is not started
 * before.
 * @param {string} path
 * @param {string | undefined} recorded its hash at that time; an earlier set-up wrote none down
 * @returns {boolean} false: it is from an earlier set-up and not the pinned one, so it is brought again
 * @throws {SetupError} if it has changed
 */
export function isKnownServer(path, recorded = readJson(pathsFile)?.natsServerSha256) {
  if (recorded === undefined)
    return [undefined, sha256Of(path)].includes(readPins()['nats-server'].debian.platforms[platform]?.program)
  checkFile(path, recorded, `${path}, which the set-up brought,`)
  return true
}

/** Null when it is missing, does not run, or does not say. */
async function versionOf(run, path) {
  if (!isExecutable(path)) return null
  try {
    const { code, output } = await run(path, ['--version'], { timeoutMs: VERSION_MS_MAX })
    return code === 0 && /nats-server/.test(output) ? parseVersion(output) : null
  } catch (error) {
    // A file of another architecture (ENOEXEC) counts as no server; an interrupt does not.
    if (/** @type {any} */ (error)?.syscall === undefined) throw error
    return null
  }
}

async function bringWithApt(run, begin) {
  const keyring = KEYRINGS.find((path) => existsSync(path))
  const uris = debianUris(readAptSources('/etc/apt'), releaseCodename())
  if (
    keyring === undefined ||
    uris.length === 0 ||
    onPath('apt-get').length === 0 ||
    onPath('dpkg-deb').length === 0
  ) {
    return { kind: 'unavailable' }
  }
  const pin = readPins()['nats-server']
  begin(`getting nats-server ${pin.version} with apt`)
  let failure
  for (const uri of uris.slice(0, 3)) {
    const dir = join(partialDir, 'apt')
    rmSync(dir, { recursive: true, force: true })
    const result = await aptDownload(run, { dir, uri, keyring, pin: pin.debian })
    if (result.code === 0) return await placeFromDeb(run, dir, { pin, pinned: result.pinned })
    failure ??= toolFailure(`getting nats-server with apt (suite ${pin.debian.suite})`, result)
  }
  return { kind: 'failed', failure }
}

async function aptDownload(run, { dir, uri, keyring, pin }) {
  for (const name of ['lists/partial', 'cache/archives/partial', 'state', 'deb'])
    mkdirSync(join(dir, name), { recursive: true })
  writeFileSync(join(dir, 'status'), '')
  writeFileSync(
    join(dir, 'debian.sources'),
    `Types: deb\nURIs: ${uri}\nSuites: ${pin.suite}\nComponents: main\nSigned-By: ${keyring}\n`,
  )
  writeFileSync(join(dir, 'apt.conf'), aptConf(dir))
  const apt = (...args) =>
    run('apt-get', ['-q', '-c', join(dir, 'apt.conf'), ...args], {
      cwd: join(dir, 'deb'),
      timeoutMs: APT_MS_MAX,
    })
  const updated = await apt('update')
  if (updated.code !== 0) return updated
  const pinned = await apt('download', `nats-server=${pin.package}`)
  if (pinned.code === 0) return { ...pinned, pinned: true }
  if (!/was not found/.test(pinned.output)) return pinned
  // Debian has moved on to a newer version.
  if (process.env.BEAVER_SETUP_PINNED === '1')
    throw new SetupError(
      `Debian ${pin.suite} no longer has the pinned nats-server ${pin.package}; bring Beaver up to date, unset BEAVER_SETUP_PINNED, or ${advice()}.`,
    )
  return { ...(await apt('download', 'nats-server')), pinned: false }
}

// Read after the machine's own settings, of which proxies and the like stay.
function aptConf(dir) {
  return `#clear APT::Default-Release;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear AptCli::Hooks;
APT::Update::Error-Mode "any";
APT::Sandbox::User "root";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
Dir::Etc::SourceList "${dir}/debian.sources";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "${dir}/state";
Dir::State::Lists "${dir}/lists";
Dir::State::Status "${dir}/status";
Dir::Cache "${dir}/cache";
`
}

async function placeFromDeb(run, dir, { pin, pinned }) {
  const [deb] = readdirSync(join(dir, 'deb')).filter((name) => name.endsWith('.deb'))
  const from = `Debian ${pin.debian.suite}`
  const hashes = pinned ? pin.debian.platforms[platform] : undefined
  checkFile(
    join(dir, 'deb', deb ?? ''),
    hashes?.deb,
    `the package nats-server ${pin.debian.package} from ${from}`,
  )
  const unpacked = await run('dpkg-deb', ['-x', join(dir, 'deb', deb ?? ''), join(dir, 'root')], {
    cwd: dir,
    timeoutMs: APT_MS_MAX,
  })
  if (unpacked.code !== 0) return { kind: 'failed', failure: toolFailure('unpacking nats-server', unpacked) }
  const binary = ['usr/sbin', 'usr/bin']
    .map((name) => join(dir, 'root', name, 'nats-server'))
    .find((path) => existsSync(path))
  if (binary !== undefined) checkFile(binary, hashes?.program, `the nats-server ${pin.version} from ${from}`)
  const unpinned =
    hashes === undefined ? `signed by Debian, and not the pinned version ${pin.debian.package}` : undefined
  return await place(run, binary, from, { unpinned, oldest: pin.version })
}

// The bottle is unpacked into the project: `brew install` would change the machine.
async function bringWithBrew(run, begin) {
  if (onPath('brew').length === 0) return { kind: 'unavailable' }
  begin('getting nats-server with Homebrew')
  const home = join(cacheDir, 'homebrew')
  mkdirSync(home, { recursive: true })
  const env = {
    ...process.env,
    HOMEBREW_CACHE: home,
    HOMEBREW_LOGS: join(home, 'logs'),
    HOMEBREW_NO_AUTO_UPDATE: '1',
    HOMEBREW_NO_ANALYTICS: '1',
  }
  const brew = (...args) => run('brew', args, { env, timeoutMs: BREW_MS_MAX })
  const installed = await brew('--prefix', 'nats-server')
  const own = join(lastLine(installed.output), 'bin', 'nats-server')
  if (installed.code === 0) {
    const version = await versionOf(run, own)
    if (version !== null && isAtLeast(version, NATS_SERVER_NEEDED))
      return { kind: 'brought', server: { path: own, version, installedFrom: null } }
  }
  const fetched = await brew('fetch', '--formula', 'nats-server')
  if (fetched.code !== 0)
    return { kind: 'failed', failure: toolFailure('getting nats-server with Homebrew', fetched) }
  const bottle = lastLine((await brew('--cache', '--formula', 'nats-server')).output)
  const dir = join(partialDir, 'brew')
  mkdirSync(dir, { recursive: true })
  const unpacked = await run('tar', ['-xzf', bottle, '-C', dir], { timeoutMs: BREW_MS_MAX })
  if (unpacked.code !== 0) return { kind: 'failed', failure: toolFailure('unpacking nats-server', unpacked) }
  const versions = existsSync(join(dir, 'nats-server')) ? readdirSync(join(dir, 'nats-server')) : []
  return await place(run, join(dir, 'nats-server', versions[0] ?? '', 'bin', 'nats-server'), 'Homebrew', {
    unpinned: 'checked by Homebrew, which has no old versions to pin',
  })
}

async function place(run, binary, from, { unpinned, oldest = NATS_SERVER_NEEDED }) {
  const version = binary === undefined ? null : await versionOf(run, binary)
  // Another version than the pinned one is never an older one.
  if (binary === undefined || !isAtLeast(version, oldest)) {
    return {
      kind: 'failed',
      failure: new SetupError(
        `the nats-server from ${from} ${version === null ? 'does not run here' : `is only ${version}`};`,
      ),
    }
  }
  const ready = join(partialDir, 'nats-server')
  rmSync(ready, { recursive: true, force: true })
  mkdirSync(ready, { recursive: true })
  renameSync(binary, join(ready, 'nats-server'))
  rmSync(dirname(natsServerFile), { recursive: true, force: true })
  renameSync(ready, dirname(natsServerFile))
  return {
    kind: 'brought',
    server: { path: natsServerFile, version: /** @type {string} */ (version), installedFrom: from, unpinned },
  }
}

function advice() {
  const brew = process.platform === 'darwin' || onPath('brew').length > 0
  const install = brew
    ? 'run `brew install nats-server`'
    : `install it from ${INSTALL_PAGE} so that it is on PATH`
  return `${install}, or set BEAVER_NATS_SERVER to its path`
}

/**
 * Every executable of this name on PATH; servers also live in the sbin folders, which PATH often leaves out.
 */
function onPath(name) {
  const dirs = [
    ...(process.env.PATH ?? '').split(delimiter).filter(isAbsolute),
    '/usr/local/sbin',
    '/usr/sbin',
  ]
  return [...new Set(dirs)].map((dir) => join(dir, name)).filter(isExecutable)
}

function lastLine(text) {
  return text.trim().split('\n').at(-1) ?? ''
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function readAptSources(etcDir) {
  const parts = join(etcDir, 'sources.list.d')
  const names = existsSync(parts) ? readdirSync(parts).sort() : []
  const paths = [join(etcDir, 'sources.list'), ...names.map((name) => join(parts, name))]
  return paths.flatMap((path) => {
    const parse = path.endsWith('.sources') ? parseDeb822 : path.endsWith('.list') ? parseOneLine : null
    return parse === null || !existsSync(path) ? [] : parse(readFileSync(path, 'utf8'))
  })
}

function releaseCodename() {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : ''
  return /^VERSION_CODENAME="?([\w-]+)/m.exec(release)?.[1] ?? ''
}
