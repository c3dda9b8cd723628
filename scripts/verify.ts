// `pnpm verify [check…]`: everything the repository is held to, or the checks named: one line each, and a
// last line. Exit code 0 only if every check was run and passed. What can run at once does; tests run alone,
// they watch the clock.
import { join } from 'node:path'
import { type Check, runChecks } from './lib/checks.ts'
import { root } from './lib/layout.mjs'

const node = process.execPath
const module = (path: string): string => join(root, 'node_modules', path)
const minute = 60_000

const checks: readonly Check[] = [
  { name: 'lint', command: [node, module('oxlint/bin/oxlint')], timeoutMs: 2 * minute },
  { name: 'types', command: [node, module('typescript/bin/tsc'), '-b'], timeoutMs: 2 * minute },
  {
    name: 'dead code',
    command: [node, module('knip/bin/knip.js'), '--treat-config-hints-as-errors'],
    timeoutMs: 2 * minute,
  },
  {
    name: 'format',
    command: [node, module('oxfmt/bin/oxfmt'), '--check'],
    timeoutMs: minute,
    remedy: 'pnpm format writes it',
  },
  {
    name: 'conformance',
    command: [node, join(root, 'scripts', 'conformance.ts')],
    timeoutMs: 3 * minute,
    summary: (output) => output.trim().split('\n').at(-1) ?? null,
  },
  {
    name: 'tests',
    command: [node, join(root, 'scripts', 'test.mjs')],
    timeoutMs: 10 * minute,
    alone: true,
    summary: (output) => output.trim().split('\n').at(-1) ?? null,
  },
  {
    name: 'all tests',
    command: [node, join(root, 'scripts', 'test.mjs'), 'all'],
    timeoutMs: 20 * minute,
    alone: true,
    summary: (output) => output.trim().split('\n').at(-1) ?? null,
  },
]

const named = process.argv.slice(2).map((name) => name.replace('-', ' '))
const unknown = named.find((name) => checks.every((check) => check.name !== name))
if (unknown !== undefined) {
  process.stderr.write(
    `There is no check "${unknown}". Checks: ${checks.map(({ name }) => name.replace(' ', '-')).join(', ')}.\n`,
  )
  process.exit(2)
}

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, () => stop.abort(new Error(`stopped by ${name}`)))

const since = performance.now()
const chosen = named.length === 0 ? checks : checks.filter(({ name }) => named.includes(name))
const ended = await runChecks(chosen, {
  parallelMax: 2,
  signal: stop.signal,
  say: (text) => process.stdout.write(text),
})
const failed = ended.filter(({ ok }) => !ok).map(({ name }) => name)
const seconds = ((performance.now() - since) / 1000).toFixed(1)
process.stdout.write(
  `\n${failed.length === 0 ? `verified: ${ended.length} checks passed` : `not verified: ${failed.join(', ')} failed`} in ${seconds} s\n`,
)
process.exitCode = failed.length === 0 ? 0 : 1
