// Set-up: brings everything Beaver needs into the project: pnpm, the packages (among them Node.js 26) and
// nats-server, and builds the pages of the console. Needs Node.js >= 20 with npm and has no dependencies. Nothing
// outside the project is written, nothing needs root. A finished set-up is recognised by its stamp; the stamp is removed before anything
// changes and written last. Half-made things stay in `.beaver/tools/partial`, which no later run trusts. What
// is fetched has the hash of scripts/pins.json, or is not used. A failure is one sentence that says what to
// do, and exit code 1.
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brokenBetweenWords } from './lib/broken-line.mjs'
import { buildConsole, consoleIsBuilt } from './lib/console.mjs'
import { SetupError, describeFailure, toolFailure } from './lib/failure.mjs'
import {
  cacheDir,
  lockDir,
  natsServerFile,
  nodeLink,
  partialDir,
  pathsFile,
  pnpmDir,
  readJson,
  root,
  stampFile,
  toolsDir,
} from './lib/layout.mjs'
import { takeLock } from './lib/lock.mjs'
import { chosenNatsServer, findOrBringNatsServer } from './lib/nats-server.mjs'
import { checkNodeLock, checkPnpm, pinsFile, readPins, sha256Of } from './lib/pins.mjs'
import { exitCodeOf, packageManagerEnv, run } from './lib/run.mjs'
import { stampFiles, stampKey, workspaceDirs } from './lib/stamp.mjs'
import { isAtLeast, parseVersion, pnpmVersionOf } from './lib/versions.mjs'

const NODE_NEEDED = '24.0.0'
const NPM_MS_MAX = 10 * 60_000
const PNPM_MS_MAX = 30 * 60_000
const PROGRESS_MS = 4_000
const platform = `${process.platform}-${process.arch}`

/**
 * Sets everything up, or finds that it is. Ends the process on SIGINT, SIGTERM
 * and SIGHUP while it works.
 * @param {{ quiet?: boolean }} [options] quiet: print no progress (default false); progress goes to stderr
 * @returns {Promise<ToolPaths>}
 * @throws {SetupError}
 *
 * @typedef {object} ToolPaths
 * @property {string} node the Node.js that runs Beaver
 * @property {string} pnpm
 * @property {string} natsServer
 */
export async function ensureSetup({ quiet = false } = {}) {
  if (isSetUp()) return toolPaths()
  const say = quiet
    ? () => {}
    : (line) => process.stderr.write(`${brokenBetweenWords(`set-up: ${line}`, process.stderr)}\n`)
  const stop = new AbortController()
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
  let received = null
  const onSignal = (name) => {
    received ??= name
    stop.abort(new SetupError(`stopped by ${name}; run it again to go on.`))
  }
  for (const name of signals) process.on(name, onSignal)
  let lock
  const tidy = () => {
    if (lock === undefined) return
    rmSync(partialDir, { recursive: true, force: true })
    lock.release()
  }
  try {
    lock = await takeLock(lockDir, {
      signal: stop.signal,
      onWait: (pid) => say(`waiting for another set-up of this folder (process ${pid})`),
    })
    if (!isSetUp()) await setUp({ say, stop, lock })
    return toolPaths()
  } catch (error) {
    if (received === null) throw error
    say('stopped; run it again to go on')
    tidy()
    process.exit(exitCodeOf(received))
  } finally {
    tidy()
    for (const name of signals) process.off(name, onSignal)
  }
}

/**
 * Where the tools are, as the last finished set-up recorded it.
 * @returns {ToolPaths}
 * @throws {SetupError} before the first set-up
 */
export function toolPaths() {
  const paths = readJson(pathsFile)
  if (paths === null) throw new SetupError('Beaver is not set up yet; run "node scripts/setup.mjs".')
  return { node: paths.node, pnpm: pnpmBinary(), natsServer: paths.natsServer }
}

/**
 * For the other scripts: the tools' paths, or the failure printed and exit code 1.
 * @returns {Promise<ToolPaths>}
 */
export async function setupOrExit() {
  try {
    return await ensureSetup()
  } catch (error) {
    process.stderr.write(`${describeFailure(error)}\n`)
    process.exit(1)
  }
}

async function setUp({ say, stop, lock }) {
  if (!existsSync(join(root, 'pnpm-lock.yaml')))
    throw new SetupError('pnpm-lock.yaml is missing; restore it from the repository.')
  const pins = readPins()
  checkNodeLock(readFileSync(join(root, 'pnpm-lock.yaml'), 'utf8'), pins.node)
  const stamp = readJson(stampFile)
  const key = currentKey()
  const packagesDone = packagesAreIn(stamp, key)
  rmSync(stampFile, { force: true })
  rmSync(partialDir, { recursive: true, force: true })
  mkdirSync(partialDir, { recursive: true })
  if (!packagesDone) say(`bringing what Beaver needs into ${root}`)

  const runTool = (command, args, { cwd = partialDir, env, timeoutMs = NPM_MS_MAX, onOutput } = {}) =>
    run(command, args, { cwd, env, timeoutMs, signal: stop.signal, onStart: lock.addChild, onOutput })
  if (packagesDone) checkPnpm(pnpmDir, pins.pnpm)
  const underWay = stepsUnderWay(say)
  const packages = packagesDone
    ? Promise.resolve()
    : underWay.of(async (doing) => {
        await installPnpm(runTool, { say, doing, pins: pins.pnpm })
        await installPackages(runTool, { say, doing })
      })
  const nats = underWay.of((doing) => bringNatsServer(runTool, { say, doing }))
  // One failure ends the other step too; what it has downloaded is kept.
  for (const step of [packages, nats]) step.catch((error) => stop.abort(error))
  await Promise.allSettled([packages, nats]).finally(() => underWay.over())
  stop.signal.throwIfAborted()

  const natsServer = await nats
  const node = await nodeForBeaver(runTool)
  linkNode(node)
  if (!packagesDone || !consoleIsBuilt(root)) {
    const since = Date.now()
    await buildConsole(root, runTool, node)
    say(`the console in apps/console/dist (${secondsSince(since)})`)
  }
  const own = natsServer.path === natsServerFile ? { natsServerSha256: sha256Of(natsServerFile) } : {}
  writeWhole(pathsFile, { node, natsServer: natsServer.path, natsServerVersion: natsServer.version, ...own })
  writeWhole(stampFile, {
    key,
    pins: sha256Of(pinsFile),
    modules: modulesDirs(),
    natsServer: { ...fileMark(natsServer.path), chosen: chosenNatsServer() !== null },
  })
}

/**
 * Steps that run beside each other. Each says what it does when it begins to do it, and every few seconds
 * what is still under way is said again. All times count from the beginning of the set-up, so that no line
 * has less than the one before it.
 * @typedef {{ begin(text: string): void, now(text: string): void, took(): string }} Doing `begin` says it at
 * once, `now` with the next look
 */
function stepsUnderWay(say) {
  const since = Date.now()
  const texts = new Map()
  const timer = setInterval(() => {
    if (texts.size > 0) say(`${[...texts.values()].join('; ')} (${secondsSince(since)})`)
  }, PROGRESS_MS)
  return {
    over: () => clearInterval(timer),
    /** @param {(doing: Doing) => Promise<any>} step */
    async of(step) {
      const key = Symbol('step')
      const now = (text) => void texts.set(key, text)
      try {
        return await step({
          now,
          begin: (text) => (say(text), now(`still ${text}`)),
          took: () => secondsSince(since),
        })
      } finally {
        texts.delete(key)
      }
    },
  }
}

async function installPnpm(runTool, { say, doing, pins }) {
  const version = pnpmVersionOf(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).packageManager)
  if (
    readJson(join(pnpmDir, 'node_modules', 'pnpm', 'package.json'))?.version === version &&
    existsSync(pnpmBinary())
  )
    return checkPnpm(pnpmDir, pins)
  doing.begin(`installing pnpm ${version} with npm`)
  const dir = join(partialDir, 'pnpm')
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'package.json'), '{ "private": true }\n')
  const result = await runTool(
    'npm',
    [
      'install',
      '--prefix',
      dir,
      '--cache',
      join(cacheDir, 'npm'),
      '--ignore-scripts',
      '--include=optional',
      '--no-save',
      '--no-package-lock',
      '--no-audit',
      '--no-fund',
      '--no-update-notifier',
      `pnpm@${version}`,
    ],
    { cwd: dir, env: packageManagerEnv(process.env) },
  )
  if (result.missing)
    throw new SetupError('npm was not found on PATH; install Node.js 20 or newer with npm and try again.')
  if (result.code !== 0) throw toolFailure(`installing pnpm ${version} with npm`, result)
  checkPnpm(dir, pins)
  rmSync(pnpmDir, { recursive: true, force: true })
  renameSync(dir, pnpmDir)
  say(`pnpm ${version} in .beaver/tools/pnpm (${doing.took()})`)
}

async function installPackages(runTool, { say, doing }) {
  doing.begin('installing the packages with pnpm')
  const home = join(cacheDir, 'pnpm')
  const result = await runTool(
    pnpmBinary(),
    [
      // --force: a folder that an interrupted install left half filled is filled.
      'install',
      '--frozen-lockfile',
      '--force',
      '--reporter=append-only',
      '--config.confirm-modules-purge=false',
      '--store-dir',
      join(cacheDir, 'pnpm-store'),
      `--config.cache-dir=${join(home, 'cache')}`,
      `--config.state-dir=${join(home, 'state')}`,
    ],
    {
      cwd: root,
      // pnpm's own folders; its settings (XDG_CONFIG_HOME) stay the user's.
      env: {
        ...packageManagerEnv(process.env),
        XDG_CACHE_HOME: join(home, 'cache'),
        XDG_DATA_HOME: join(home, 'data'),
        XDG_STATE_HOME: join(home, 'state'),
        PNPM_HOME: join(home, 'home'),
      },
      timeoutMs: PNPM_MS_MAX,
      onOutput(text) {
        const [, all, reused, downloaded] =
          [...text.matchAll(/resolved (\d+), reused (\d+), downloaded (\d+)/g)].at(-1) ?? []
        if (all !== undefined)
          doing.now(
            `still installing the packages: ${Number(reused) + Number(downloaded)} of ${all} are here`,
          )
      },
    },
  )
  if (result.code !== 0) throw toolFailure('pnpm install', result)
  // pnpm goes on without an optional package it could not fetch; ours are programs for this platform.
  if (/could not be fetched\. Excluding/.test(result.output)) throw toolFailure('pnpm install', result)
  const node = await nodeForBeaver(runTool)
  const version = await nodeVersion(runTool, node)
  say(
    `the packages${node === process.execPath ? '' : `, with Node.js ${version},`} in node_modules (${doing.took()})`,
  )
}

async function bringNatsServer(runTool, { say, doing }) {
  const server = await findOrBringNatsServer(runTool, doing.begin)
  if (server.installedFrom !== null) {
    say(
      `nats-server ${server.version} from ${server.installedFrom} in ${relative(root, dirname(natsServerFile))} (${doing.took()})`,
    )
    if (server.unpinned !== undefined) say(`this nats-server is ${server.unpinned}`)
  }
  return server
}

/** The bundled Node.js, or the one that runs this if it is new enough. */
async function nodeForBeaver(runTool) {
  for (const name of [`node-${platform}`, `node-bin-${platform}`]) {
    const path = join(root, 'node_modules', name, 'bin', 'node')
    if (existsSync(path) && isAtLeast(await nodeVersion(runTool, path), NODE_NEEDED)) return path
  }
  if (isAtLeast(process.versions.node, NODE_NEEDED)) return process.execPath
  throw new SetupError(
    `there is no packaged Node.js that runs on ${platform}, and this one is ${process.versions.node}; install Node.js 26 and run it with that.`,
  )
}

async function nodeVersion(runTool, path) {
  try {
    return parseVersion((await runTool(path, ['--version'])).output)
  } catch (error) {
    if (/** @type {any} */ (error)?.syscall === undefined) throw error
    return null
  }
}

// Relative, for bin/beaver.
function linkNode(node) {
  rmSync(nodeLink, { force: true })
  symlinkSync(
    node.startsWith(join(root, 'node_modules')) ? relative(dirname(nodeLink), node) : node,
    nodeLink,
  )
}

/** The cheap check that a run with nothing to do comes down to. */
function isSetUp() {
  const stamp = readJson(stampFile)
  const paths = readJson(pathsFile)
  if (stamp === null || paths === null || stamp.pins !== pinsHash() || !packagesAreIn(stamp, currentKey()))
    return false
  if (!consoleIsBuilt(root)) return false
  const chosen = chosenNatsServer()
  const { path, size, mtimeMs } = stamp.natsServer ?? {}
  if (chosen === null ? stamp.natsServer?.chosen : chosen !== path) return false
  const now = fileMark(path)
  return paths.natsServer === path && now !== null && now.size === size && now.mtimeMs === mtimeMs
}

function packagesAreIn(stamp, key) {
  const node = readJson(pathsFile)?.node
  return (
    stamp?.key === key &&
    existsSync(node ?? '') &&
    existsSync(nodeLink) &&
    stamp.modules.every((dir) => existsSync(join(root, dir)))
  )
}

function currentKey() {
  return stampKey({ files: stampFiles(root), platform, root })
}

function pinsHash() {
  try {
    return sha256Of(pinsFile)
  } catch {
    return null
  }
}

function modulesDirs() {
  const dirs = [
    'node_modules',
    'node_modules/.modules.yaml',
    'node_modules/vitest/package.json',
    ...workspaceDirs(root).map((dir) => `${dir}/node_modules`),
  ]
  return dirs.filter((dir) => existsSync(join(root, dir)))
}

/** pnpm's native program; npm puts it beside the package that would start it through Node.js. */
function pnpmBinary() {
  const suffixes = ['', '-musl']
  const modules = join(pnpmDir, 'node_modules')
  const native = suffixes
    .map((suffix) => join(modules, '@pnpm', `exe.${platform}${suffix}`, 'pnpm'))
    .find((path) => existsSync(path))
  return native ?? join(modules, '.bin', 'pnpm')
}

function fileMark(path) {
  try {
    const { size, mtimeMs } = statSync(path)
    return { path, size, mtimeMs }
  } catch {
    return null
  }
}

// Whole or not at all: written beside the place and renamed into it.
function writeWhole(path, value) {
  const partial = join(partialDir, basename(path))
  writeFileSync(partial, `${JSON.stringify(value, null, 2)}\n`)
  mkdirSync(toolsDir, { recursive: true })
  renameSync(partial, path)
}

function secondsSince(ms) {
  return `${((Date.now() - ms) / 1000).toFixed(1)} s`
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await setupOrExit()
