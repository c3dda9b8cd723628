// `pnpm properties [file…] [--seed <n>] [--times <n>]`: the property tests of the workspace, with a fresh
// seed and more runs than `pnpm test` gives them, and a table of what was run. P1. The seed is told before
// anything runs, and again with the command that repeats a failure. What is counted is what fast-check did,
// not what the tests ask for. Exit code 0 only if properties ran and all hold.
import { randomInt } from 'node:crypto'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import type { PropertyRun } from '../test/properties/property-run.ts'
import { root } from './lib/layout.mjs'
import { run } from './lib/run.mjs'
import { table } from './lib/table.ts'

const minutesMax = 30
const say = (text: string): boolean => process.stdout.write(`${text}\n`)

const { values, positionals } = parseArgs({
  options: { seed: { type: 'string' }, times: { type: 'string', default: '5' } },
  allowPositionals: true,
})
const seed = Number(values.seed ?? randomInt(2 ** 31 - 1))
const times = Number(values.times)
if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(times) || times < 1) {
  process.stderr.write('--seed and --times are whole numbers, --times at least 1.\n')
  process.exit(2)
}

const files = globSync('{packages,apps}/*/src/**/*.test.ts', { cwd: root })
  .concat(globSync('{test,scripts,bench}/**/*.test.ts', { cwd: root }))
  .filter((file) => readFileSync(join(root, file), 'utf8').includes("from 'fast-check'"))
  .filter((file) => positionals.length === 0 || positionals.some((part) => file.includes(part)))
  .toSorted()
if (files.length === 0) {
  process.stderr.write(`No property test is called ${positionals.join(' or ')}.\n`)
  process.exit(2)
}

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, () => stop.abort(new Error(`stopped by ${name}`)))

say(`seed ${seed}, ${times} times the runs of each property, ${files.length} files`)
const tmpDir = join(root, '.beaver', 'tmp')
mkdirSync(tmpDir, { recursive: true })
const folder = mkdtempSync(join(tmpDir, 'properties-'))
try {
  const report = join(folder, 'runs.jsonl')
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const { code, output, timedOut } = await run(
    process.execPath,
    [vitest, 'run', '--config', join('test', 'properties', 'vitest.config.ts'), '--reporter=dot', ...files],
    {
      cwd: root,
      env: {
        ...process.env,
        NO_COLOR: '1',
        FORCE_COLOR: undefined,
        PROPERTIES_SEED: String(seed),
        PROPERTIES_TIMES: String(times),
        PROPERTIES_REPORT: report,
      },
      signal: stop.signal,
      timeoutMs: minutesMax * 60_000,
    },
  )
  const runs = readRuns(report)
  say(`\n${tableOf(runs).join('\n')}`)
  const failed = runs.filter((each) => each.failed)
  const silent = files.filter((file) => runs.every((each) => relative(root, each.file) !== file))
  for (const file of silent) say(`No property of ${file} ran.`)
  if (code !== 0)
    say(`\n${output.trim()}\n${timedOut ? `\nThe tests did not end within ${minutesMax} minutes.\n` : ''}`)
  for (const each of failed) say(`${relative(root, each.file)} › ${each.test}: does not hold`)
  if (code !== 0 || silent.length > 0)
    say(
      `Again: pnpm properties --seed ${seed} --times ${times} ${[...new Set(failed.map((each) => relative(root, each.file)))].join(' ')}`.trim(),
    )
  process.exitCode = code === 0 && silent.length === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function readRuns(report: string): PropertyRun[] {
  try {
    return readFileSync(report, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as PropertyRun)
  } catch {
    return []
  }
}

function tableOf(runs: readonly PropertyRun[]): string[] {
  const byFile = Map.groupBy(runs, (each) => relative(root, each.file))
  const rows = [...byFile].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([file, of]) => rowOf(file, of))
  return table(['TEST FILE', 'PROPERTIES', 'RUNS', 'SEED', ''], [...rows, rowOf('all', runs)], [1, 2, 3])
}

function rowOf(file: string, runs: readonly PropertyRun[]): string[] {
  const count = runs.reduce((sum, each) => sum + each.runs, 0)
  const failed = runs.filter((each) => each.failed).length
  return [
    file,
    String(runs.length),
    count.toLocaleString('en'),
    String(seed),
    failed === 0 ? 'hold' : `${failed} fail`,
  ]
}
