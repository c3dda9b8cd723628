// `pnpm build`: JavaScript and types of all packages and apps in their `dist`, and one package made of them:
// .beaver/build has its tarball, and that of the nats-server for this platform. `dist` holds what `src` gives and
// nothing older. What is checked is the tarball, unpacked outside the workspace: there Node.js strips no types.
// Nothing is fetched. Beside the tarballs are sbom.cdx.json, what is in them, and provenance.intoto.json, what
// they were made from. `pnpm build --install` also installs the tarballs from the registry into an empty folder
// and does there what a new user would do.
import { execFile } from 'node:child_process'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { wireDocument } from '@beaver/contracts/wire'
import { messageOf } from '@beaver/core'
import { builtTarball } from '@beaver/platform/installation'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { type Assembled, assemble, assembleNatsServer } from './lib/assemble.ts'
import { provenanceOf, withFetchedPrograms } from './lib/build-record.ts'
import { buildConsole, consoleIsBuilt } from './lib/console.mjs'
import {
  aiSdkTypes,
  consumerEmbedding,
  consumerProgram,
  consumerTypes,
  importProgram,
  lonelyTool,
  pathsWithoutPeers,
  peersProgram,
} from './lib/consumer.ts'
import { root } from './lib/layout.mjs'
import { asNewUser } from './lib/new-user.ts'
import { pinsFile, readPins, sha256Of } from './lib/pins.mjs'
import {
  natsServerName,
  natsServerPlatforms,
  optionalPeers,
  packageName,
  pathsWithPeers,
} from './lib/published.ts'
import { run as runTool } from './lib/run.mjs'
import { toolPaths } from './setup.mjs'

interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Package {
  readonly dir: string
  readonly manifest: Manifest
}

/** A check's finding, told without a stack. */
class Finding extends Error {}

const exec = promisify(execFile)
const node = process.execPath
const stepMsMax = 600_000
const outDir = join(root, dirname(builtTarball(packageName)))

// The twins and contract suites are for the tests of this workspace; vite builds the console.
const packages: readonly Package[] = globSync('{packages,apps}/*/package.json', {
  cwd: root,
  exclude: ['packages/testing', 'apps/console'],
})
  .toSorted()
  .map((file) => ({
    dir: join(root, dirname(file)),
    manifest: JSON.parse(readFileSync(join(root, file), 'utf8')) as Manifest,
  }))

const platform = `${process.platform}-${process.arch}`
const packageDir = join(outDir, 'package')
const serverDir = join(outDir, 'nats-server-package')
const tarball = join(root, builtTarball(packageName))
const serverTarball = join(root, builtTarball(natsServerName(platform)))
let assembled: Assembled | null = null

const consumer = mkdtempSync(join(tmpdir(), 'beaver-consumer-'))
const copy = join(consumer, 'node_modules', packageName)
const beaver = join(copy, 'bin/beaver.mjs')
const since = performance.now()
const startedOn = new Date().toISOString()
try {
  await step('compile', () =>
    run(node, [
      join(root, 'node_modules/typescript/bin/tsc'),
      '-b',
      '--force',
      ...packages.map(({ dir }) => dir),
    ]),
  )
  await step('dist', () => collect(packages.flatMap(checkDist)))
  await step('schemas', writeSchemas)
  await step('console', pages)
  await step('assemble', assembleAll)
  await step('record', writeRecord)
  await step('pack', packAll)
  await step('publint', lint)
  await step('attw', typesAsTools)
  await step('import', importAsConsumer)
  await step('types', typesAsConsumer)
  await step('run', runAsConsumer)
  await step('provenance', writeProvenance)
  if (process.argv.includes('--install')) await step('install', installAsNewUser)
  process.stdout.write(
    `\nbuilt: ${packageName} of ${packages.length} packages in ${secondsSince(since)} s; tarballs in ${relative(root, outDir)}\n`,
  )
} catch (error) {
  if (!(error instanceof Finding)) throw error
  process.stdout.write(`\nnot built, after ${secondsSince(since)} s\n`)
  process.exitCode = 1
} finally {
  rmSync(consumer, { recursive: true, force: true })
}

/** Removes what no source gives any more, and tells what is missing or would not load. */
function checkDist({ dir, manifest }: Package): string[] {
  const expected = new Set(
    globSync('**/*.ts', { cwd: join(dir, 'src') })
      .filter((file) => !file.endsWith('.test.ts'))
      .flatMap((file) => ['.js', '.js.map', '.d.ts'].map((ending) => file.replace(/\.ts$/, ending))),
  )
  const found = globSync('**/*.*', { cwd: join(dir, 'dist') })
  for (const file of found.filter((each) => !expected.has(each)))
    rmSync(join(dir, 'dist', file), { recursive: true })
  const missing = [...expected]
    .filter((file) => !found.includes(file))
    .map((file) => `${manifest.name}: dist/${file} is missing`)
  const unresolved = found
    .filter((file) => file.endsWith('.js') && expected.has(file))
    .flatMap((file) => {
      const text = readFileSync(join(dir, 'dist', file), 'utf8')
      const imported = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g)].map(
        (match) => match[1] ?? '',
      )
      // Entries of workers and processes: `new URL('./worker.js', import.meta.url)`.
      const entries = [...text.matchAll(/['"](\.\/[\w./-]+\.js)['"]/g)].map((match) => match[1] ?? '')
      return [...imported, ...entries]
        .filter((target) => !target.endsWith('.js') || !existsSync(join(dir, 'dist', dirname(file), target)))
        .map((target) => `${manifest.name}: dist/${file} refers to ${target}`)
    })
  return [...missing, ...unresolved]
}

/** The JSON Schemas of the wire as one file of the published package: for programs in other languages. */
function writeSchemas(): void {
  writeFileSync(
    join(root, 'packages', 'contracts', 'dist', 'wire.schema.json'),
    `${JSON.stringify(wireDocument(), null, 2)}\n`,
  )
}

async function pages(): Promise<void> {
  if (!consoleIsBuilt(root))
    await buildConsole(
      root,
      (command, args, options) =>
        runTool(command, args, { ...options, signal: AbortSignal.timeout(stepMsMax) }),
      node,
    )
}

async function assembleAll(): Promise<void> {
  rmSync(outDir, { recursive: true, force: true })
  mkdirSync(packageDir, { recursive: true })
  assembled = await assemble(root, packageDir)
  if (hasServer()) assembleNatsServer(root, serverDir, platform, toolPaths().natsServer)
  collect(assembled.faults)
}

/** Whether a nats-server for this platform is published. */
function hasServer(): boolean {
  return (natsServerPlatforms as readonly string[]).includes(platform)
}

/** Packs, and unpacks at the consumer. What the package does not declare it does not find there. */
async function packAll(): Promise<void> {
  const { pnpm } = toolPaths()
  await run(pnpm, ['--ignore-workspace', 'pack', '--out', tarball], packageDir)
  mkdirSync(copy, { recursive: true })
  await run('tar', ['-xzf', tarball, '-C', copy, '--strip-components=1'])
  for (const name of Object.keys(assembled?.manifest.dependencies ?? {}))
    link(installed(name), join(copy, 'node_modules', name))
  if (!hasServer()) return
  await run(pnpm, ['--ignore-workspace', 'pack', '--out', serverTarball], serverDir)
  const place = join(consumer, 'node_modules', natsServerName(platform))
  mkdirSync(place, { recursive: true })
  await run('tar', ['-xzf', serverTarball, '-C', place, '--strip-components=1'])
}

/** Where this workspace has a package of others. */
function installed(name: string): string {
  const found = packages.map(({ dir }) => join(dir, 'node_modules', name)).find((path) => existsSync(path))
  return found ?? fail(`${name} is installed nowhere in this workspace.`)
}

async function lint(): Promise<void> {
  const { messages, pkg } = await publint({ pkgDir: copy, pack: false, strict: true })
  // The package is assembled file by file. A test in it is one of a project that `beaver init` makes.
  const faults = messages.filter(({ code }) => code !== 'USE_FILES')
  collect(faults.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code))
}

/** Whether TypeScript resolves each sub-path as Node.js does. */
async function typesAsTools(): Promise<void> {
  await run(node, [
    join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js'),
    tarball,
    '--profile',
    'esm-only',
    '--no-emoji',
    '--no-color',
  ])
}

/** A program of somebody else imports the package and plans a workflow. An import starts nothing. */
async function importAsConsumer(): Promise<void> {
  writeFileSync(join(consumer, 'package.json'), '{ "type": "module", "private": true }\n')
  writeFileSync(join(consumer, 'main.js'), consumerProgram)
  const planned = await run(node, [join(consumer, 'main.js')], consumer)
  if (planned.trim() !== 'planned researcher, writer')
    fail(`The program outside the workspace printed:\n${planned}`)
  const told = await run(node, ['--input-type=module', '--eval', peersProgram], consumer)
  const expected = Object.keys(pathsWithPeers).map((path) => `${path} package_missing true\n`)
  if (told !== expected.join('')) fail(`Without packages that a user adds, an import says:\n${told}`)
  const before = readdirSync(consumer)
  const left = await Promise.all(
    pathsWithoutPeers.map(async (path) => {
      const printed = await run(node, ['--input-type=module', '--eval', importProgram(path)], consumer)
      return printed.trim() === '[]' ? [] : [`import of ${path} leaves running: ${printed.trim()}`]
    }),
  )
  const made = readdirSync(consumer).filter((name) => !before.includes(name))
  collect([...left.flat(), ...made.map((name) => `an import made the file ${name}`)])
}

/** The declarations hold together without the sources: also those that a consumer may leave unchecked. */
async function typesAsConsumer(): Promise<void> {
  for (const name of optionalPeers) link(installed(name), join(consumer, 'node_modules', name))
  link(join(root, 'node_modules/@types/node'), join(consumer, 'node_modules/@types/node'))
  const compilerOptions = {
    target: 'es2025',
    lib: ['es2025', 'esnext.disposable'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noEmit: true,
  }
  // Types of others do not hold under this option.
  const strictest = { ...compilerOptions, exactOptionalPropertyTypes: true, skipLibCheck: true }
  writeFileSync(join(consumer, 'main.ts'), consumerTypes)
  writeFileSync(join(consumer, 'ai-sdk.ts'), aiSdkTypes)
  const project = join(consumer, 'tsconfig.json')
  for (const [options, files] of [
    [strictest, ['main.ts', 'ai-sdk.ts']],
    [{ ...compilerOptions, skipLibCheck: false }, ['main.ts']],
  ] as const) {
    writeFileSync(project, JSON.stringify({ compilerOptions: options, files }))
    await run(node, [join(root, 'node_modules/typescript/bin/tsc'), '-p', consumer], consumer)
  }
  for (const name of optionalPeers) rmSync(join(consumer, 'node_modules', name), { recursive: true })
}

function ofConsumer(home: string): NodeJS.ProcessEnv {
  return { PATH: `${dirname(node)}:/usr/bin:/bin`, HOME: consumer, BEAVER_HOME: join(consumer, home) }
}

/**
 * The built command line starts the built services, with their workers, and has a team work; a program embeds
 * the same. The nats-server is the one that the package brings.
 */
async function runAsConsumer(): Promise<void> {
  const env = hasServer() ? {} : { BEAVER_NATS_SERVER: toolPaths().natsServer }
  const args = [
    'run',
    '--up',
    '--quiet',
    '--workspace',
    consumer,
    '--skill',
    'folder-report',
    'Report on this folder.',
  ]
  const output = await run(node, [beaver, ...args], consumer, { ...ofConsumer('home'), ...env })
  if (output.trim() === '') fail('The built command line printed no report.')
  await runLonelyTool(env)
  writeFileSync(join(consumer, 'embed.js'), consumerEmbedding)
  const embedded = await run(node, [join(consumer, 'embed.js')], consumer, {
    ...ofConsumer('embedded'),
    ...env,
  })
  if (embedded.trim() !== 'completed: 5')
    fail(`The program that embeds the built Beaver printed:\n${embedded}`)
}

/** The only step that needs the registry. Its transcript is printed, too. */
async function installAsNewUser(): Promise<void> {
  // Not below the consumer: npm installs into the nearest folder above that has a package.json.
  const folder = mkdtempSync(join(tmpdir(), 'beaver-new-user-'))
  const tarballs = hasServer() ? [tarball, serverTarball] : [tarball]
  try {
    process.stdout.write(`\n${await asNewUser({ folder, tarballs, node, env: process.env })}\n`)
  } catch (error) {
    fail(messageOf(error))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The built command line loads a tool from a folder where nothing is installed. */
async function runLonelyTool(env: NodeJS.ProcessEnv): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'beaver-lonely-'))
  try {
    writeFileSync(join(folder, 'tool.ts'), lonelyTool)
    writeFileSync(join(folder, 'beaver.config.json'), '{ "tools": ["tool.ts"] }\n')
    const output = await run(
      node,
      [beaver, 'run', '--up', '--quiet', '--trust', 'Call `half` with {"n": 5}.'],
      folder,
      { ...ofConsumer('lonely'), ...env },
    )
    if (!output.includes('5 / 2 = 2.5')) fail(`The tool outside of everything answered:\n${output}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** What is in the package, as a part of it: `npm audit` does not see what is bundled. */
async function writeRecord(): Promise<void> {
  const args = [
    '--config.offline=true',
    'sbom',
    '--sbom-format',
    'cyclonedx',
    '--sbom-type',
    'application',
    '--prod',
  ]
  const sbom = JSON.parse(await run(toolPaths().pnpm, args)) as { components?: readonly unknown[] }
  const text = `${JSON.stringify(withFetchedPrograms(sbom, readPins(), platform), null, 2)}\n`
  for (const dir of [outDir, packageDir]) writeFileSync(join(dir, 'sbom.cdx.json'), text)
}

/** What was built, and from what. It is written last, so that a build that failed has no record. */
async function writeProvenance(): Promise<void> {
  const files = globSync('*.{tgz,cdx.json}', { cwd: outDir })
    .toSorted()
    .map((name) => ({ name, sha256: sha256Of(join(outDir, name)) }))
  const isCheckout = existsSync(join(root, '.git'))
  const commit = isCheckout ? (await run('git', ['rev-parse', 'HEAD'])).trim() : null
  const changed =
    isCheckout && (await run('git', ['status', '--porcelain', '--untracked-files=no'])).trim() !== ''
  const hashes = { lockSha256: sha256Of(join(root, 'pnpm-lock.yaml')), pinsSha256: sha256Of(pinsFile) }
  const statement = provenanceOf({
    files,
    commit,
    changed,
    ...hashes,
    pins: readPins(),
    platform,
    startedOn,
    finishedOn: new Date().toISOString(),
  })
  writeFileSync(join(outDir, 'provenance.intoto.json'), `${JSON.stringify(statement, null, 2)}\n`)
}

function link(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  symlinkSync(realpathSync(from), to)
}

async function run(
  command: string,
  args: readonly string[],
  cwd = root,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  try {
    return (await exec(command, args, { cwd, env, timeout: stepMsMax, maxBuffer: 64 * 1024 * 1024 })).stdout
  } catch (error) {
    const {
      stdout = '',
      stderr = '',
      message,
    } = error as { stdout?: string; stderr?: string; message: string }
    return fail(`${message}\n${stdout}${stderr}`)
  }
}

async function step(name: string, act: () => Promise<unknown> | void): Promise<void> {
  const started = performance.now()
  const told = (word: string): string =>
    `${word.padEnd(8)}${name.padEnd(10)}${secondsSince(started).padStart(6)} s\n`
  try {
    await act()
    process.stdout.write(told('ok'))
  } catch (error) {
    process.stdout.write(told('failed'))
    if (error instanceof Finding) process.stdout.write(`${error.message.trim().replace(/^/gm, '    ')}\n`)
    throw error
  }
}

function collect(findings: readonly string[]): void {
  if (findings.length > 0) fail(findings.join('\n'))
}

function fail(message: string): never {
  throw new Finding(message)
}

function secondsSince(started: number): string {
  return ((performance.now() - started) / 1000).toFixed(1)
}
