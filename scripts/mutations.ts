// `pnpm mutations [rule…]`: for each rule of workflow arguments, the test that fails when the rule is
// removed. The edits are made in copies under .beaver/tmp; the sources are never touched. A mutant is killed
// by a test that passes on an unedited copy and fails on the edited one. Exit code 0 only if every mutant was
// made and killed.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, relative } from 'node:path'
import { type Mutation, mutations } from '../test/mutations/table.ts'
import { readJson, root } from './lib/layout.mjs'
import { run } from './lib/run.mjs'
import { table } from './lib/table.ts'

const timeoutMs = 10 * 60_000
const workersMax = 2

/**
 * Which tests of a package are asked: those of single claims first, then, for what they let live, the
 * properties.
 */
const rounds: readonly Readonly<Record<Mutation['package'], readonly string[]>>[] = [
  {
    'packages/workflows':
      'agent-name arguments/malformed arguments/read-arguments graphs/agent-rearrange graphs/concurrent graphs/graph-workflow graphs/mixture-of-agents graphs/sequential graphs/team-graph'
        .split(' ')
        .map(testOf),
    'packages/agent': ['src/loop/agent-loop.tools.test.ts'],
  },
  {
    'packages/workflows': ['src/graphs/plan.property.test.ts', 'src/arguments/refusal.property.test.ts'],
    'packages/agent': ['src/loop/agent-loop.tools.test.ts'],
  },
]

const asked = process.argv.slice(2)
const chosen = mutations.filter(({ rule }) => asked.length === 0 || asked.includes(rule))
if (chosen.length === 0) {
  process.stderr.write(
    `There is no rule ${asked.join(', ')}. Rules: ${[...new Set(mutations.map(({ rule }) => rule))].join(', ')}.\n`,
  )
  process.exit(2)
}

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, () => stop.abort(new Error(`stopped by ${name}`)))
const tmpDir = join(root, '.beaver', 'tmp')
mkdirSync(tmpDir, { recursive: true })
const folder = mkdtempSync(join(tmpDir, 'mutations-'))

try {
  const since = performance.now()
  const verdicts = new Map<Mutation, string>()
  let killed = 0
  for (const [index, testFiles] of rounds.entries()) {
    const left = chosen.filter((mutation) => !verdicts.has(mutation))
    if (left.length === 0) continue
    const round = join(folder, String(index))
    const originals = [...new Set(left.map((each) => each.package))].map((name) => ({
      name,
      copy: copyOf(name, join(round, basename(name)), testFiles[name]),
    }))
    const mutants = left.map((mutation, place) => ({
      mutation,
      copy: copyOf(mutation.package, join(round, `m${place}`), testFiles[mutation.package]),
    }))
    for (const { mutation, copy } of mutants) {
      const fault = edit(copy, mutation)
      if (fault !== null) verdicts.set(mutation, `NOT MADE: ${fault}`)
    }
    const results = await testsIn(round)
    const failing = (copy: string, ok: boolean): string[] =>
      (results.get(copy) ?? []).filter((test) => test.ok === ok).map((test) => test.name)
    for (const { name, copy } of originals) {
      const bad = failing(copy, false)
      if (failing(copy, true).length === 0) throw new Error(`No test of an unedited copy of ${name} passes.`)
      if (bad.length > 0)
        process.stderr.write(
          `${bad.length} tests of ${name} fail already and count for nothing: ${bad.join('; ')}\n`,
        )
    }
    for (const { mutation, copy } of mutants) {
      const passing = new Set(
        failing(originals.find(({ name }) => name === mutation.package)?.copy ?? '', true),
      )
      const [first, ...others] = failing(copy, false).filter((name) => passing.has(name))
      if (first === undefined || verdicts.has(mutation)) continue
      killed += 1
      verdicts.set(mutation, `${first}${others.length === 0 ? '' : ` (and ${others.length} more)`}`)
    }
  }
  const rows = chosen.map((mutation) => [
    mutation.rule,
    mutation.without,
    verdicts.get(mutation) ?? 'SURVIVES: no test fails',
  ])
  process.stdout.write(`${table(['RULE', 'REMOVED', 'KILLED BY'], rows).join('\n')}\n`)
  process.stdout.write(
    `\n${killed} of ${chosen.length} mutants killed in ${((performance.now() - since) / 1000).toFixed(1)} s\n`,
  )
  process.exitCode = killed === chosen.length ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function testOf(name: string): string {
  return `src/${name}.test.ts`
}

/** A copy of a package's sources with only these of its tests. */
function copyOf(name: Mutation['package'], copy: string, testFiles: readonly string[]): string {
  for (const each of ['src', 'test', 'package.json']) {
    const from = join(root, name, each)
    if (!existsSync(from)) continue
    cpSync(from, join(copy, each), {
      recursive: true,
      filter: (path) => !path.endsWith('.test.ts') || testFiles.includes(relative(join(root, name), path)),
    })
  }
  // Its own refers to its neighbours, which are not here.
  writeFileSync(join(copy, 'tsconfig.json'), '{}')
  symlinkSync(join(root, name, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** Makes the edit; what is wrong with it, when it cannot be made. */
function edit(copy: string, { file, snippet, replacement }: Mutation): string | null {
  const path = join(copy, file)
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const times = text.split(snippet).length - 1
  if (times !== 1) return `the snippet stands ${times} times in ${file}`
  writeFileSync(
    path,
    text.replace(snippet, () => replacement),
  )
  return null
}

interface TestResult {
  /** `src/flow.test.ts › AgentRearrange refuses › …` */
  readonly name: string
  readonly ok: boolean
}

interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly assertionResults: readonly {
      readonly ancestorTitles: readonly string[]
      readonly title: string
      readonly status: string
    }[]
  }[]
}

/**
 * What the tests say, by copy, in the order of their files: all copies in one run, so that what they share is
 * read once.
 */
async function testsIn(round: string): Promise<ReadonlyMap<string, readonly TestResult[]>> {
  const report = join(round, 'report.json')
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const args = [
    vitest,
    'run',
    `--root=${round}`,
    '--reporter=json',
    `--outputFile=${report}`,
    '--no-isolate',
    `--maxWorkers=${workersMax}`,
    '--testTimeout=60000',
  ]
  const { output, timedOut } = await run(process.execPath, args, {
    cwd: round,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
    signal: stop.signal,
    timeoutMs,
  })
  const said = readJson(report) as Report | null
  if (said === null)
    throw new Error(
      timedOut
        ? `The tests did not end within ${timeoutMs / 60_000} minutes.`
        : `The tests gave no report.\n${output}`,
    )
  const results = new Map<string, TestResult[]>()
  for (const { name, assertionResults } of said.testResults.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const [place = ''] = relative(round, name).split('/')
    const copy = join(round, place)
    const tests = assertionResults.map(({ ancestorTitles, title, status }) => ({
      name: [relative(copy, name), ...ancestorTitles, title].join(' › '),
      ok: status === 'passed',
    }))
    results.set(copy, [...(results.get(copy) ?? []), ...tests])
  }
  return results
}
