// `npm test`: sets up, runs a suite of tests, and ends with one line of totals. The suites are projects of
// vitest.config.ts. The last line is `N passed, N failed`, with `, N skipped` if any were. The exit code is 0
// only if tests ran, none failed, and vitest agrees. With `--second-try`, a file that failed runs once more,
// alone. If it passes then, it counts as passed and is listed as flaky.
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { delimiter, dirname, join, relative } from 'node:path'
import { chromiumAdvice, findChromium } from './lib/chromium.mjs'
import { describeFailure } from './lib/failure.mjs'
import { endLike, runInForeground } from './lib/foreground.mjs'
import { readJson, root } from './lib/layout.mjs'
import { failedFiles, totalsLine, totalsOf, withSecondTries } from './lib/totals.mjs'
import { ensureSetup } from './setup.mjs'

const tmpDir = join(root, '.beaver', 'tmp')
/** More files than that do not fail by chance. */
const secondTriesMax = 8

const suites = /** @type {Record<string, { projects: string[], what: string }>} */ ({
  fast: {
    projects: ['unit', 'smoke', 'console-smoke'],
    what: 'unit tests and one scenario for each verb and protocol',
  },
  all: { projects: ['system', 'console'], what: 'the other tests of the whole system' },
  campaign: { projects: ['campaign'], what: 'campaigns: kills, races and garbage' },
})

const args = process.argv.slice(2)
const suite =
  args[0] !== undefined && Object.hasOwn(suites, args[0]) ? /** @type {string} */ (args.shift()) : 'fast'
const secondTry = args.includes('--second-try')
const given = args.filter((arg) => arg !== '--second-try')
/** The parts of paths that were given. What follows an option may be its value. */
const named = given.filter(
  (arg, i) =>
    !arg.startsWith('-') && (i === 0 || !given[i - 1].startsWith('-') || given[i - 1].includes('=')),
)
/** A file may be in any suite. */
const hasBrowser = findChromium(process.env) !== null
const projects =
  named.length > 0 ? [] : suites[suite].projects.filter((name) => hasBrowser || !name.startsWith('console'))
requireFiles()

let ending = /** @type {import('./lib/foreground.mjs').Ending} */ ({ code: 1, signal: null })
let report = null
const flaky = []
try {
  const { node } = await ensureSetup()
  mkdirSync(tmpDir, { recursive: true })
  const reportDir = mkdtempSync(join(tmpDir, 'test-'))
  try {
    if (!hasBrowser && (named.length === 0 || named.some((part) => part.includes('console'))))
      process.stderr.write(`tests: ${chromiumAdvice}\n`)
    process.stderr.write(`tests: ${projects.length === 0 ? given.join(' ') : suites[suite].what}\n`)
    ;({ ending, report } = await vitest(node, reportDir, [
      ...projects.flatMap((name) => ['--project', name]),
      ...given,
    ]))
    const failed = failedFiles(report)
    if (secondTry && ending.signal === null && failed.length > 0 && failed.length <= secondTriesMax) {
      const again = []
      for (const file of failed) {
        process.stderr.write(`\ntests: ${relative(root, file)} failed and runs once more, alone\n`)
        again.push(await vitest(node, reportDir, [relative(root, file)]))
      }
      flaky.push(...failed.filter((_, i) => again[i].ending.code === 0).map((file) => relative(root, file)))
      report = withSecondTries(
        report,
        again.map((each) => each.report),
      )
      if (flaky.length === failed.length) ending = { code: 0, signal: null }
    }
  } finally {
    rmSync(reportDir, { recursive: true, force: true })
  }
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`)
}

const totals = totalsOf(report, ending.code === 0)
if (flaky.length > 0)
  process.stdout.write(
    `\nflaky: failed, and passed when run once more, alone\n${flaky.map((file) => `  ${file}\n`).join('')}`,
  )
process.stdout.write(`\n${totalsLine(totals)}\n`)
endLike(ending.code === 0 && totals.failed > 0 ? { code: 1, signal: null } : ending)

/** Ends the process if no test file has one of the given parts in its path. */
function requireFiles() {
  if (named.length === 0) return
  const files = ['apps', 'bench', 'packages', 'scripts', 'test'].flatMap((folder) => [
    ...testFiles(join(root, folder)),
  ])
  const missing = named.filter((part) => !files.some((file) => file.includes(part.replace(/:\d+$/, ''))))
  if (missing.length === 0) return
  process.stderr.write(missing.map((part) => `No test file has "${part}" in its path.\n`).join(''))
  process.exit(2)
}

/**
 * @param {string} folder
 * @returns {Generator<string>}
 */
function* testFiles(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && entry.name !== 'node_modules') yield* testFiles(path)
    else if (entry.name.endsWith('.test.ts')) yield path
  }
}

/**
 * @param {string} node
 * @param {string} reportDir
 * @param {readonly string[]} more arguments of vitest
 */
async function vitest(node, reportDir, more) {
  const reportFile = join(reportDir, 'report.json')
  rmSync(reportFile, { force: true })
  const ending = await runInForeground(
    node,
    [
      join(root, 'node_modules', 'vitest', 'vitest.mjs'),
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${reportFile}`,
      ...more,
    ],
    // Tests that start `node` get the one Beaver runs on.
    {
      cwd: root,
      env: { ...process.env, PATH: [dirname(node), process.env.PATH].join(delimiter) },
      ownGroup: false,
    },
  )
  return { ending, report: readJson(reportFile) }
}
