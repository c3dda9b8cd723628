// `npm test`: sets up, runs all tests, and ends with one line of totals.
// T1. The last line is `N passed, N failed`, with `, N skipped` if any were.
// T2. The exit code is 0 only if tests ran, none failed, and vitest agrees.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { describeFailure } from './lib/failure.mjs'
import { endLike, runInForeground } from './lib/foreground.mjs'
import { readJson, root } from './lib/layout.mjs'
import { totalsLine, totalsOf } from './lib/totals.mjs'
import { ensureSetup } from './setup.mjs'

const tmpDir = join(root, '.beaver', 'tmp')

let ending = /** @type {import('./lib/foreground.mjs').Ending} */ ({ code: 1, signal: null })
let report = null
try {
  const { node } = await ensureSetup()
  mkdirSync(tmpDir, { recursive: true })
  const reportDir = mkdtempSync(join(tmpDir, 'test-'))
  try {
    const reportFile = join(reportDir, 'report.json')
    ending = await runInForeground(
      node,
      [
        join(root, 'node_modules', 'vitest', 'vitest.mjs'),
        'run',
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${reportFile}`,
        ...process.argv.slice(2),
      ],
      // Tests that start `node` get the one Beaver runs on.
      { cwd: root, env: { ...process.env, PATH: [dirname(node), process.env.PATH].join(delimiter) }, ownGroup: false },
    )
    report = readJson(reportFile)
  } finally {
    rmSync(reportDir, { recursive: true, force: true })
  }
} catch (error) {
  process.stderr.write(`${describeFailure(error)}\n`)
}

const totals = totalsOf(report, ending.code === 0)
process.stdout.write(`\n${totalsLine(totals)}\n`)
endLike(ending.code === 0 && totals.failed > 0 ? { code: 1, signal: null } : ending)
