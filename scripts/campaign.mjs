// `npm run test:campaign [-- part…]`: looks for faults that no change of today made, with fresh seeds. It is
// not part of the gate. The seed is told before anything runs, and each part says how to run it again. All
// parts run, also after one that failed. Exit code 0 only if none did.
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { runInForeground } from './lib/foreground.mjs'
import { root } from './lib/layout.mjs'
import { setupOrExit } from './setup.mjs'

const { node } = await setupOrExit()
const seed = randomInt(1, 2 ** 31 - 1)
const script = (/** @type {string} */ path, /** @type {readonly string[]} */ ...args) => [
  join(root, path),
  ...args,
]
const vitest = (/** @type {readonly string[]} */ ...args) =>
  script(join('node_modules', 'vitest', 'vitest.mjs'), 'run', '--reporter=dot', ...args)

const parts = /** @type {Record<string, { what: string, command: readonly string[] }>} */ ({
  properties: {
    what: 'every property, five times its runs',
    command: script('scripts/properties.ts', '--seed', String(seed)),
  },
  simulation: {
    what: '20,000 schedules of simulated daemons',
    command: script('scripts/simulate.ts', '--schedules', '20000', '--seed', String(seed)),
  },
  faults: {
    what: 'kills, freezes and partitions of real processes',
    command: script('test/faults/main.ts', '--seed', String(seed)),
  },
  campaigns: {
    what: 'kills of channels and archives, injection, garbage, races',
    command: vitest('--project', 'campaign'),
  },
  order: {
    what: 'the unit tests in another order',
    command: vitest('--project', 'unit', '--sequence.shuffle', `--sequence.seed=${seed}`),
  },
})

const named = process.argv.slice(2)
const unknown = named.find((name) => !Object.hasOwn(parts, name))
if (unknown !== undefined) {
  process.stderr.write(`There is no part "${unknown}". Parts: ${Object.keys(parts).join(', ')}.\n`)
  process.exit(2)
}

const rows = []
process.stdout.write(`seed ${seed}\n`)
for (const [name, { what, command }] of Object.entries(parts)) {
  if (named.length > 0 && !named.includes(name)) continue
  process.stdout.write(`\n== ${name}: ${what}\n`)
  const since = performance.now()
  const { code } = await runInForeground(node, command, { cwd: root, ownGroup: false })
  rows.push({ name, what, code, seconds: (performance.now() - since) / 1000 })
}

process.stdout.write(`\nseed ${seed}\n`)
for (const { name, what, code, seconds } of rows)
  process.stdout.write(
    `${code === 0 ? 'ok    ' : 'failed'}  ${name.padEnd(11)}${seconds.toFixed(0).padStart(5)} s  ${what}\n`,
  )
process.exitCode = rows.every(({ code }) => code === 0) ? 0 : 1
