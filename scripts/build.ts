// `pnpm build`: JavaScript and types of all packages and apps in their `dist`, and the tarballs that would be
// published. `dist` holds what `src` gives and nothing older, and that of contracts the JSON Schemas. What is
// checked are the tarballs, in a folder outside the workspace, as copies: there Node.js strips no types and
// `publishConfig` holds. Nothing is fetched. Beside the tarballs are sbom.cdx.json, what is in them, and
// provenance.intoto.json, what they were made from.
import { execFile } from 'node:child_process'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
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
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { provenanceOf, withFetchedPrograms } from './lib/build-record.ts'
import { consumerEmbedding, consumerProgram, consumerTypes } from './lib/consumer.ts'
import { root } from './lib/layout.mjs'
import { pinsFile, readPins, sha256Of } from './lib/pins.mjs'
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
const stepMsMax = 120_000
const outDir = join(root, '.beaver', 'build')

// The twins and contract suites are for the tests of this workspace.
const packages: readonly Package[] = globSync('{packages,apps}/*/package.json', {
  cwd: root,
  exclude: ['packages/testing'],
})
  .toSorted()
  .map((file) => ({
    dir: join(root, dirname(file)),
    manifest: JSON.parse(readFileSync(join(root, file), 'utf8')) as Manifest,
  }))

const consumer = mkdtempSync(join(tmpdir(), 'beaver-consumer-'))
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
  await step('pack', packAll)
  await step('publint', lintAll)
  await step('import', importAsConsumer)
  await step('types', typesAsConsumer)
  await step('run', runAsConsumer)
  await step('record', writeRecord)
  process.stdout.write(
    `\nbuilt: ${packages.length} packages in ${secondsSince(since)} s; tarballs in ${relative(root, outDir)}\n`,
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

async function packAll(): Promise<void> {
  rmSync(outDir, { recursive: true, force: true })
  mkdirSync(outDir, { recursive: true })
  const { pnpm } = toolPaths()
  await Promise.all(
    packages.map(async ({ dir, manifest }) => {
      const tarball = join(outDir, `${manifest.name.replace(/^@/, '').replace('/', '-')}.tgz`)
      await run(pnpm, ['pack', '--out', tarball], dir)
      const copy = copyOf(manifest)
      mkdirSync(copy, { recursive: true })
      await run('tar', ['-xzf', tarball, '-C', copy, '--strip-components=1'])
      // In its own folder: what a package does not declare it does not find.
      const foreign = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).filter(
        (name) => !name.startsWith('@beaver/'),
      )
      for (const name of foreign) link(join(dir, 'node_modules', name), join(copy, 'node_modules', name))
    }),
  )
}

async function lintAll(): Promise<void> {
  const findings = await Promise.all(
    packages.map(async ({ manifest }) => {
      const { messages, pkg } = await publint({ pkgDir: copyOf(manifest), pack: false, strict: true })
      return messages.map(
        (message) => `${manifest.name}: ${formatMessage(message, pkg, { color: false }) ?? message.code}`,
      )
    }),
  )
  return collect(findings.flat())
}

/** A program of somebody else imports the packages and plans a workflow. */
async function importAsConsumer(): Promise<void> {
  writeFileSync(join(consumer, 'package.json'), '{ "type": "module", "private": true }\n')
  writeFileSync(join(consumer, 'main.js'), consumerProgram)
  const planned = await run(node, [join(consumer, 'main.js')], consumer)
  if (planned.trim() !== 'planned researcher, writer')
    fail(`The program outside the workspace printed:\n${planned}`)
}

/** The same, as TypeScript sees it: the declarations hold together without the sources. */
async function typesAsConsumer(): Promise<void> {
  link(join(root, 'node_modules/@types/node'), join(consumer, 'node_modules/@types/node'))
  const compilerOptions = {
    target: 'es2025',
    lib: ['es2025', 'esnext.disposable'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
  }
  writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['main.ts'] }))
  writeFileSync(join(consumer, 'main.ts'), consumerTypes)
  await run(node, [join(root, 'node_modules/typescript/bin/tsc'), '-p', consumer], consumer)
}

/**
 * The built command line starts the built services, with their workers, and has a task done; a program embeds
 * the same.
 */
async function runAsConsumer(): Promise<void> {
  const env = {
    PATH: process.env['PATH'],
    BEAVER_NATS_SERVER: toolPaths().natsServer,
    BEAVER_HOME: join(consumer, 'home'),
  }
  const output = await run(
    node,
    [
      join(consumer, 'node_modules/@beaver/cli/dist/main.js'),
      'run',
      '--up',
      '--quiet',
      '--workspace',
      consumer,
      'Say what you are.',
    ],
    consumer,
    env,
  )
  if (output.trim() === '') fail('The built command line printed no report.')
  writeFileSync(join(consumer, 'embed.js'), consumerEmbedding)
  const embedded = await run(node, [join(consumer, 'embed.js')], consumer, {
    ...env,
    BEAVER_HOME: join(consumer, 'embedded'),
  })
  if (embedded.trim() !== 'completed: 5')
    fail(`The program that embeds the built Beaver printed:\n${embedded}`)
}

/** What was built, and from what. It is written last, so that a build that failed has no record. */
async function writeRecord(): Promise<void> {
  const pins = readPins()
  const platform = `${process.platform}-${process.arch}`
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
  writeFileSync(
    join(outDir, 'sbom.cdx.json'),
    `${JSON.stringify(withFetchedPrograms(sbom, pins, platform), null, 2)}\n`,
  )
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
    pins,
    platform,
    startedOn,
    finishedOn: new Date().toISOString(),
  })
  writeFileSync(join(outDir, 'provenance.intoto.json'), `${JSON.stringify(statement, null, 2)}\n`)
}

function copyOf({ name }: Manifest): string {
  return join(consumer, 'node_modules', name)
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
